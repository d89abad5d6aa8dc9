"""The import rule: which room may import which, read off every Python file without running it.

The reference and the fast implementation are compared with each other, so neither may lean on the other. Naming a
module in a string (a subject such as "draftproof.gpu_impl.traversal:traversal") is not an import and is free.
"""
import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# What of ours a room may import besides itself. Outside the rooms (tests, examples, ...) everything of ours is free.
ALLOWED = {
    "reference": (),
    "gpu_impl": (),
    "oracle": ("reference", "__version__"),
    "proofs": ("reference",),
}
FORBIDDEN = {"reference": "torch", "src": "draftproof.gpu_impl"}


def python_files(root: Path) -> Iterator[Path]:
    """Every Python file below root, relative to it; links are not followed, hidden folders and products left out."""
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if not name.startswith(".") and name not in ("build", "dist", "out")]
        yield from (Path(folder, name).relative_to(root) for name in names if name.endswith(".py"))


def imports(source: str, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted name) of everything that a module of `package` imports, at any depth of the code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: max(0, len(package) + 1 - node.level)] if node.level else ()
            module = (*base, node.module) if node.module else base
            yield from ((node.lineno, ".".join((*module, alias.name))) for alias in node.names)


def package_of(path: Path) -> tuple[str, ...]:
    """The package a file belongs to: the rooms and src/ both make up `draftproof`."""
    folders = path.parent.parts
    if folders[:1] == ("src",):
        return folders[1:]
    return ("draftproof", *folders) if path.parts[0] in ALLOWED else folders


def breaks_rule(room: str, name: str) -> bool:
    top, _, rest = name.partition(".")
    if top in ALLOWED:  # a bare `import reference` would make a second copy of draftproof.reference
        return True
    if top == "draftproof" and room in ALLOWED:
        return rest.split(".")[0] not in (room, *ALLOWED[room])
    return room in FORBIDDEN and f"{name}.".startswith(f"{FORBIDDEN[room]}.")


def violations(root: Path) -> list[str]:
    """Each import below root that breaks the rule, as "path:line: imported name"."""
    return [
        f"{path.as_posix()}:{line}: {name}"
        for path in sorted(python_files(root))
        for line, name in imports((root / path).read_text(encoding="utf-8"), package_of(path))
        if breaks_rule(path.parts[0], name)
    ]


def test_house_keeps_the_rule() -> None:
    assert {path.parts[0] for path in python_files(ROOT)} >= {*ALLOWED, "src", "tests"}
    assert violations(ROOT) == []


def plant(root: Path, path: str, source: str) -> list[str]:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(source, encoding="utf-8")
    return violations(root)


@pytest.mark.parametrize(
    ("path", "source", "name"),
    [
        ("reference/laws.py", "import draftproof.oracle", "draftproof.oracle"),
        ("reference/laws.py", "from draftproof import gpu_impl", "draftproof.gpu_impl"),
        ("reference/laws.py", "from draftproof.proofs.ledger import entries", "draftproof.proofs.ledger.entries"),
        ("reference/laws.py", "from draftproof import check", "draftproof.check"),
        ("reference/laws.py", "import torch", "torch"),
        ("reference/laws.py", "import torch.nn as nn", "torch.nn"),
        ("reference/laws.py", "def f():\n    from torch import nn", "torch.nn"),
        ("reference/verifiers/x.py", "from ...oracle import check", "draftproof.oracle.check"),
        ("reference/__init__.py", "from .. import oracle", "draftproof.oracle"),
        ("gpu_impl/x.py", "from draftproof.reference.laws import Law", "draftproof.reference.laws.Law"),
        ("gpu_impl/x.py", "import draftproof.oracle as judge", "draftproof.oracle"),
        ("gpu_impl/x.py", "from draftproof import proofs", "draftproof.proofs"),
        ("gpu_impl/x.py", "import draftproof", "draftproof"),
        ("gpu_impl/x.py", "from ..reference import laws", "draftproof.reference.laws"),
        ("oracle/x.py", "from draftproof.gpu_impl import traversal", "draftproof.gpu_impl.traversal"),
        ("oracle/x.py", "import draftproof.proofs", "draftproof.proofs"),
        ("oracle/adapters/x.py", "from ...gpu_impl.x import y", "draftproof.gpu_impl.x.y"),
        ("proofs/x.py", "from draftproof.oracle import check", "draftproof.oracle.check"),
        ("proofs/x.py", "from ..gpu_impl import x", "draftproof.gpu_impl.x"),
        ("proofs/x.py", "from draftproof import *", "draftproof.*"),
        ("src/draftproof/cli.py", "from draftproof.gpu_impl import x", "draftproof.gpu_impl.x"),
        ("src/draftproof/cli.py", "from . import gpu_impl", "draftproof.gpu_impl"),
        ("tests/test_x.py", "import reference", "reference"),
        ("tests/oracle/test_x.py", "from oracle.report import Report", "oracle.report.Report"),
        ("examples/x.py", "import gpu_impl.traversal", "gpu_impl.traversal"),
        ("x.py", "from proofs import ledger", "proofs.ledger"),
        ("oracle/x.py", "from reference import laws", "reference.laws"),
        ("gpu_impl/x.py", "import gpu_impl.y", "gpu_impl.y"),
    ],
)
def test_planted_fault_is_found(tmp_path: Path, path: str, source: str, name: str) -> None:
    line = source.count("\n") + 1
    assert plant(tmp_path, path, source) == [f"{path}:{line}: {name}"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("reference/verifiers/x.py", "from fractions import Fraction\nfrom ..laws import Law\nfrom . import traversal"),
        ("gpu_impl/x.py", "import torch\nfrom draftproof.gpu_impl.tree import Tree\nfrom .tree import depth"),
        ("oracle/x.py", "from draftproof import __version__\nfrom draftproof.reference.laws import Law\nimport torch"),
        ("oracle/x.py", 'import importlib\nimportlib.import_module("draftproof.gpu_impl.traversal")'),
        ("proofs/checks/x.py", "from draftproof.reference import laws\nfrom ...reference.laws import Law"),
        ("src/draftproof/cli.py", "from draftproof.oracle import check\nfrom draftproof import reference"),
        ("tests/gpu_impl/test_x.py", "from draftproof import gpu_impl, oracle, proofs, reference"),
        ("tests/helper.py", "from .reference import cases\nimport referenced"),
        (".venv/lib/x.py", "import reference"),
    ],
)
def test_permitted_import_passes(tmp_path: Path, path: str, source: str) -> None:
    assert plant(tmp_path, path, source) == []
