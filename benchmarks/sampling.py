"""How many blocks a second the sampling reading judges, of the shipped batched verifiers: on one core, and on several at once.

    python benchmarks/sampling.py [--jobs 2]

Every verifier is sampled on all instances of the catalogue that suit it, as `draftproof check gpu_impl --way sample` does:
drafts, uniforms, the call, counts and decisions are all in the time.  A process a job, as `--jobs` has it; figures
are by the clock, and what all of them did together is added up.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

GOAL = 1e6
BLOCKS = 1 << 16  # an instance


def _ready() -> None:
    """In each process, before the clock starts."""
    import torch

    torch.set_num_threads(1)
    import draftproof.oracle.sampling  # noqa: F401


def blocks_per_second(name: str, seed: int) -> tuple[float, float, str]:
    """Of one verifier in this process: over all instances that suit it, and on the slowest of them, with its name."""
    from draftproof.oracle.cases import Case
    from draftproof.oracle.catalogue import suiting
    from draftproof.oracle.sampling import Budget, sample
    from draftproof.oracle.subjects import load

    subject = next(one for one in load("gpu_impl") if one.name == name)
    blocks, seconds, rates = 0, 0.0, list[tuple[float, str]]()
    for case in [Case(subject, instance) for instance in suiting(subject)]:
        sample(case, Budget(1e-6, time.monotonic() + 60, blocks=1 << 12), None, seed)  # trees and laws are made
        start = time.monotonic()
        seen, _ = sample(case, Budget(1e-6, start + 60, blocks=BLOCKS), 1e-9, seed + 1)  # a tolerance that does not end it early
        spent = time.monotonic() - start
        blocks, seconds = blocks + seen.observations, seconds + spent
        rates.append((seen.observations / spent, case.instance.name))
    return blocks / seconds, *min(rates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    from draftproof.oracle.subjects import load

    with ProcessPoolExecutor(options.jobs, get_context("spawn"), initializer=_ready) as pool:
        for name in [subject.name for subject in load("gpu_impl") if subject.batched]:
            alone, _, _ = pool.submit(blocks_per_second, name, 0).result()
            together = [each.result() for each in [pool.submit(blocks_per_second, name, seed) for seed in range(options.jobs)]]
            rate, (_, slowest, instance) = sum(each[0] for each in together), min(together, key=lambda each: each[1])
            print(f"{name:<28} {alone:>9,.0f} blocks/s alone   {rate:>9,.0f} with {options.jobs} jobs ({'not ' * (rate < GOAL)}{GOAL:,.0f} or more)"
                  f"   slowest: {slowest:,.0f} a job, {instance}", flush=True)


if __name__ == "__main__":
    main()
