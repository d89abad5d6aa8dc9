"""``draftproof init``: a verifier of one's own to begin with, and its test."""

import argparse
from pathlib import Path
from typing import Any

from .common import complain

VERIFIER = '''\
"""Token-level speculative sampling, one request at a time. A mistake to try: draw from p where a token was rejected."""

import random

import draftproof


@draftproof.chain(framework="numpy", batched=False, family="token")
def verify(drafts, declared, target):
    block = []
    for position, token in enumerate(drafts[0]):
        p = target[0, position]  # the target's law here; q: the law that the token was drawn from, None where it was no draw
        q = declared[0, position] if declared is not None else [t == token for t in range(len(p))]
        if random.random() * q[token] >= p[token]:
            residual = [max(a - b, 0) for a, b in zip(p, q)]
            rejected = random.choices(range(len(p)), residual if any(residual) else p)
            return [block + rejected + [-1] * (len(drafts[0]) - len(block))], [len(block)]
        block.append(token)
    bonus = random.choices(range(target.shape[2]), target[0, -1])
    return [block + bonus], [len(block)]
'''

TEST = '''\
"""One test for each instance and verdict: pytest"""

import draftproof


@draftproof.conformance(family="token", tier="smoke")
def test_verifier():
    from verifier import verify

    return verify
'''

FILES = {"verifier.py": VERIFIER, "test_verifier.py": TEST}


def add(commands: Any) -> None:
    """Put the command on the parser."""
    what = "Write a verifier of ten lines and its test, to be changed into your own. Nothing that is there is overwritten."
    command = commands.add_parser("init", help="write a first verifier and its test", description=what)
    command.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="FOLDER", help="where to (default: here)")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    folder: Path = options.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if there := [name for name in FILES if (folder / name).exists() or (folder / name).is_symlink()]:
            return complain(f"{folder / there[0]} is there already; nothing was written")
        for name, content in FILES.items():
            with (folder / name).open("x", encoding="utf-8") as out:
                out.write(content)
    except OSError as error:
        return complain(f"{error.filename or folder}: {error.strerror or error}")
    there_first = "" if folder.resolve() == Path.cwd() else f"  cd {folder}\n"
    print(f"wrote {' and '.join(str(folder / name) for name in FILES)}. Next:\n")
    print(f"{there_first}  draftproof check verifier.py:verify     is it lossless, and does it accept what it should?")
    print("  pytest                                  the same as tests (pip install pytest)")
    print("\nThen make it yours: help(draftproof.chain) and help(draftproof.tree) say what a verifier may look like.")
    return 0
