"""Does weighting the draft's tokens by where target paths leave the tree make blocks longer?  A small experiment, on one CPU thread.

    python examples/train.py                        token loss and exit weights, one seed: under two minutes
    python examples/train.py --page                 every objective, five seeds: some twenty minutes; writes docs/training/
    python examples/train.py --page --seeds 8       more seeds; seeds in out/training are not run again
"""

import argparse
import json
from pathlib import Path
from time import perf_counter

import torch
from training.experiment import OBJECTIVES, Seed

ROOT = Path(__file__).resolve().parents[1]
RUNS, PAGE = ROOT / "out" / "training", ROOT / "docs" / "training"


def run(seed: int, names: list[str], steps: int, every: int, target_steps: int = 300, draft_steps: int = 500) -> dict[str, object]:
    """The curves of one seed, by objective."""
    begin = perf_counter()
    shared = Seed(seed, target_steps, draft_steps)
    print(f"seed {seed}: target at {shared.target_loss:.2f} nats a token, drafter ready after {perf_counter() - begin:.0f} s", flush=True)
    curves = {}
    for name in names:
        curves[name] = shared.trained(OBJECTIVES[name], steps, every)
        last = curves[name][-1]
        ratio = f", credit ratio {last['credit ratio']:.4f}" if "credit ratio" in last else ""
        print(f"  {name:<18} block length {curves[name][0]['block length']:.3f} -> {last['block length']:.3f}{ratio}", flush=True)
    return {"seed": seed, "target loss": shared.target_loss, "seconds": perf_counter() - begin, "curves": curves}


def page(seeds: int, steps: int) -> None:
    """Run what has not been run, then write the results, figures and table."""
    from training.page import write

    RUNS.mkdir(parents=True, exist_ok=True)
    runs = []
    for seed in range(seeds):
        kept = RUNS / f"seed-{seed}-{steps}.json"
        if not kept.exists():
            kept.write_text(json.dumps(run(seed, list(OBJECTIVES), steps, max(1, steps // 8))))
        runs.append(json.loads(kept.read_text()))
    write(runs, PAGE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=240)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.page:
        page(options.seeds, options.steps)
    else:
        run(0, ["token", "exit"], min(options.steps, 100), 25, target_steps=200, draft_steps=400)


if __name__ == "__main__":
    main()
