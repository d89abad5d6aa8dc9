"""What an installed pytest plugin costs a run that does not use it: pytest on an empty folder, with and without it, turn and turn about."""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median


def seconds(folder: Path, *options: str) -> float:
    """Processor time, which other work on the machine sways less than the clock; compiled modules are kept, as where people run pytest."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    subprocess.run(command, cwd=folder, env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder, without_it = Path(name), ("-p", "no:draftproof")
        seconds(folder), seconds(folder, *without_it)  # the first run of either compiles
        pairs = [(seconds(folder), seconds(folder, *without_it)) for _ in range(rounds)]
    with_it, without = (median(times) for times in zip(*pairs, strict=True))
    difference = median(a - b for a, b in pairs)
    print(f"pytest on an empty folder: {1000 * with_it:.0f} ms of processor time with the plugin, {1000 * without:.0f} ms without")
    print(f"median difference: {1000 * difference:.1f} ms")


if __name__ == "__main__":
    main()
