"""What an installed pytest plugin costs a run that does not use it: pytest on an empty folder, with and without it, turn and turn about."""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median


def seconds(folder: Path, *options: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options], cwd=folder, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        pairs = [(seconds(Path(name)), seconds(Path(name), "-p", "no:draftproof")) for _ in range(rounds)]
    with_it, without = (median(times) for times in zip(*pairs, strict=True))
    difference = median(a - b for a, b in pairs)
    print(f"pytest on an empty folder: {1000 * with_it:.0f} ms with the plugin, {1000 * without:.0f} ms without")
    print(f"median difference: {1000 * difference:.1f} ms")


if __name__ == "__main__":
    main()
