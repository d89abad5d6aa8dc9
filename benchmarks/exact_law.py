"""How long the exact law of a verifier takes: recursive rejection, three siblings drawn without replacement at every node, depth three.

Run ``python benchmarks/exact_law.py``.  Each line is a process of its own, once with python-flint's rationals (the ``[exact]`` extra; left out
where it is not installed) and once with the standard library's.  Processor time says what it costs; on a busy machine the clock says more.
"""

import importlib.util
import os
import subprocess
import sys
import time

SIZES = (6, 10)


def measure(vocabulary: int) -> str:
    """One law with the rationals that this process was started with."""
    from draftproof.reference.blocks import block_law
    from draftproof.reference.drafting import without_replacement
    from draftproof.reference.growth import total_variation
    from draftproof.reference.models import random_model
    from draftproof.reference.trees import uniform_topology
    from draftproof.reference.verifiers import family

    target, draft = random_model(1, vocabulary), random_model(2, vocabulary)
    clock, processor = time.perf_counter(), time.process_time()
    law = block_law(family("recursive_rejection"), target, uniform_topology((3, 3, 3)), without_replacement(draft))
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    return f"{len(law):>7} outcomes   {clock:5.2f} s ({processor:.2f} s of processor time)   total variation {total_variation(law, target)}"


def main() -> None:
    """Every size with every kind of rational."""
    if len(sys.argv) > 1:
        print(measure(int(sys.argv[1])))
        return
    for vocabulary in SIZES:
        for kind in ("flint", "fraction") if importlib.util.find_spec("flint") else ("fraction",):
            command = [sys.executable, __file__, str(vocabulary)]
            environment = {**os.environ, "DRAFTPROOF_RATIONAL": kind}
            found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
            print(f"vocabulary {vocabulary:>2}   {kind:<8} {found}", end="", flush=True)


if __name__ == "__main__":
    main()
