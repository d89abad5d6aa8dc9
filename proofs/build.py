"""Building the Rocq development, and what the build must reproduce."""

import shutil
import subprocess
from pathlib import Path

from .ledger import record

PACKAGES = "make coq libcoq-mathcomp-algebra libcoq-mathcomp-algebra-tactics libcoq-mathcomp-zify"
"""What Debian 12 calls everything that is needed."""


class BuildError(RuntimeError):
    """The proofs cannot be built here."""


def build(rocq: Path) -> list[str]:
    """Run ``make`` in the folder of the sources and write ``assumptions.txt``; returns what is wrong with the outcome.

    Raises BuildError when Rocq is not installed.
    """
    if missing := [tool for tool in ("make", "coqc") if shutil.which(tool) is None]:
        raise BuildError(f"{' and '.join(missing)} not found; on Debian: apt-get install {PACKAGES}")
    vectors = rocq / "vectors.jsonl"
    before = vectors.read_bytes() if vectors.is_file() else b""
    done = subprocess.run(["make", "-j2", "-C", str(rocq)], capture_output=True, text=True)
    if done.returncode:
        tail = (done.stdout + done.stderr).splitlines()[-20:]
        return ["the proofs do not build:", *tail]
    record(done.stdout, rocq)
    return [] if vectors.read_bytes() == before else ["vectors.jsonl changed: the build prints other golden vectors"]
