"""How fast enumerate visits branches: leaves per second of processor time, beside the calls per second that the program itself makes.

Run ``python benchmarks/enumerate.py``.  A leaf takes two runs at least: one that explores, one that replays it with real numbers; so half the
calls per second is what no reading of this kind can pass.
"""

import random
import time
from collections.abc import Callable, Hashable
from typing import Any

TARGET, DRAFT = [[0.5, 0.2, 0.3]] * 6, [[0.2, 0.5, 0.3]] * 6


def pythons_chain() -> tuple[int, ...]:
    """Six drafts drawn by inverse CDF, token-level verification, in plain Python: 127 blocks behind thousands of branches."""
    block = list[int]()
    for p, q in zip(TARGET, DRAFT, strict=True):
        draft = _draw(q, 1.0)
        if random.random() * q[draft] >= p[draft]:
            residual = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
            return (*block, _draw(residual, sum(residual)))
        block.append(draft)
    return tuple(block)


def _draw(weights: list[float], total: float) -> int:
    left = random.random() * total
    for token, weight in enumerate(weights):
        left -= weight
        if left < 0:
            return token
    return len(weights) - 1


def pythons_flips() -> int:
    """Ten comparisons, one after another."""
    return sum(random.random() < 0.3 for _ in range(10))


def numpys_flips() -> int:
    """Ten comparisons in one array."""
    import numpy as np

    return int((np.random.random(10) < 0.3).sum())


def torchs_flips() -> int:
    """Ten comparisons in one eager tensor."""
    import torch

    return int((torch.rand(10) < 0.3).sum())


def torchs_race() -> int:
    """A race of five exponentials, twice."""
    import torch

    weights = torch.tensor([[0.1, 0.2, 0.3, 0.15, 0.25]] * 2)
    return int(((weights / torch.empty_like(weights).exponential_()).argmax(1) * torch.tensor([1, 5])).sum())


def per_second(work: Callable[[], int]) -> float:
    """What it counts, by second of processor time, over at least half a second."""
    work()  # imports, caches
    start, done = time.process_time(), 0
    while (spent := time.process_time() - start) < 0.5:
        done += work()
    return done / spent


def line(name: str, program: Callable[[], Hashable]) -> str:
    """One program: leaves and calls per second, and the ratio that no reading can bring above 1/2."""
    from draftproof.oracle.readings.enumerate import enumerate_law

    leaves = enumerate_law(program).leaves
    read = per_second(lambda: enumerate_law(program).leaves)

    def calls() -> int:
        for _ in range(100):
            program()
        return 100

    own = per_second(calls)
    return f"{name:<16} {leaves:>6} leaves   {read:>8,.0f} leaves/s   {own:>9,.0f} calls/s   ratio {read / own:.3f}"


def main() -> None:
    """Print every program, then the adapter of transformers on the catalogue."""
    import torch

    torch.set_num_threads(1)
    programs: list[Callable[[], Any]] = [pythons_flips, pythons_chain, numpys_flips, torchs_flips, torchs_race]
    for program in programs:
        print(line(program.__name__, program), flush=True)
    print(catalogue_line("transformers"))


def catalogue_line(spec: str) -> str:
    """A subject on the instances of the catalogue that suit it: with everything that is checked of its answers."""
    from draftproof.oracle.cases import Case
    from draftproof.oracle.catalogue import suiting
    from draftproof.oracle.reading import enumerate_
    from draftproof.oracle.subjects import load

    subject = load(spec)[0]
    cases = [Case(subject, instance) for instance in suiting(subject)]
    for case in cases:
        assert len(case.trees) and len(case.batch)  # made before the clock starts
    start = time.process_time()
    leaves = sum(int(enumerate_(case).effort.split()[0]) for case in cases)
    return f"{spec:<16} {leaves:>6} leaves   {leaves / (time.process_time() - start):>8,.0f} leaves/s   on {len(cases)} instances"


if __name__ == "__main__":
    main()
