"""The ledger: every claim as a theorem of ``rocq/``, with the Python function and the test that it backs (``ledger.toml``).

``faults`` reads the sources, so that the ledger cannot say what the proofs do not: each theorem is there and is a headline theorem, nothing is
admitted or assumed, and ``rocq/assumptions.txt``, written by the build, says of these very sources that every theorem is closed.
"""

import ast
import re
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CLOSED = "Closed under the global context"
FORBIDDEN = ("Admitted", "admit", "Axiom", "Axioms", "Parameter", "Parameters", "Conjecture")


class LedgerError(ValueError):
    """A ledger that cannot be read."""


@dataclass(frozen=True)
class Claim:
    """One claim.  ``function`` is ``module:name`` below ``draftproof``, ``test`` is ``path::name`` below the checkout.

    A claim that is open has no theorem; ``says`` then states what is missing.  ``families``: the reference verifiers that it is about.
    """

    says: str
    status: str
    theorem: str = ""
    file: str = ""
    assumes: str = ""
    function: str = ""
    test: str = ""
    families: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.theorem or "/".join(self.families) or self.says


def claims(path: Path = HERE / "ledger.toml") -> list[Claim]:
    """The claims of a ledger.  Raises LedgerError, naming the entry."""
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get("claim", [])
    found = []
    for number, entry in enumerate(entries, 1):
        try:
            claim = Claim(**{**entry, "families": tuple(entry.get("families", ()))})
        except TypeError as error:
            raise LedgerError(f"entry {number}: {str(error).replace('Claim.__init__() ', '')}") from None
        if claim.status not in ("proved", "open"):
            raise LedgerError(f'entry {number}: status "{claim.status}" is neither proved nor open')
        found.append(claim)
    return found


@dataclass(frozen=True)
class Places:
    """Where things are: the Rocq sources, the package's folders, and the folder that holds ``tests`` (None in an installed package)."""

    rocq: Path = HERE / "rocq"
    package: Path = HERE.parent
    checkout: Path | None = HERE.resolve().parent if (HERE.resolve().parent / "tests").is_dir() else None


def faults(ledger: Collection[Claim], families: Collection[str], places: Places) -> Iterator[str]:
    """What is wrong, a line each; nothing when every claim holds.  ``families``: the verifiers that need a claim."""
    proved = [claim for claim in ledger if claim.status == "proved"]
    names = [claim.theorem for claim in proved]
    yield from (f"{name} is claimed twice" for name in sorted({name for name in names if names.count(name) > 1}))
    for claim in ledger:
        yield from _claim_faults(claim, places)
    yield from _forbidden(places.rocq)
    groups = headline_groups(places.rocq)
    headlines = {theorem for group in groups.values() for theorem in group}
    yield from (f"{name} is not among the headline theorems of Assumptions.v" for name in names if name not in headlines)
    yield from (f"{name} is a headline theorem without a claim" for name in sorted(headlines - set(names)))
    yield from _open_groups(groups, places.rocq)
    named = {family for claim in ledger for family in claim.families}
    yield from (f"{family} is no reference verifier" for family in sorted(named - set(families)))
    for family in families:
        if not (files := {claim.file for claim in proved if family in claim.families}):
            yield f"the verifier {family} has no theorem"
        elif (file := f"{family.capitalize()}.v") not in files:
            yield f"the verifier {family} has no theorem in a file of its name, {file}"


def headline_groups(rocq: Path) -> dict[str, list[str]]:
    """The groups of headline theorems that ``Assumptions.v`` asks about: every one of a group is closed exactly when the group is."""
    text = (rocq / "Assumptions.v").read_text(encoding="utf-8")
    groups = {group: re.findall(r"@(\w+)", body) for group, body in re.findall(r"^Definition (\w+) := \((.*?)\)\.", text, re.M | re.S)}
    return {group: groups[group] for group in re.findall(r"^Print Assumptions (\w+)\.", text, re.M)}


def digest(rocq: Path) -> str:
    """Of the Rocq sources that the build reads."""
    listed = [line for line in (rocq / "_CoqProject").read_text(encoding="utf-8").splitlines() if line.endswith(".v")]
    sources = [rocq / name for name in (*listed, "Assumptions.v") if (rocq / name).is_file()]
    return sha256(b"".join(f"{source.name}\n".encode() + source.read_bytes() for source in sources)).hexdigest()


def record(output: str, rocq: Path) -> None:
    """Write ``assumptions.txt`` from what the build printed."""
    said = [line for line in output.splitlines() if re.fullmatch(rf"\w+: {CLOSED}", line)]
    (rocq / "assumptions.txt").write_text("\n".join([f"sources {digest(rocq)}", *said]) + "\n", encoding="utf-8")


def _claim_faults(claim: Claim, places: Places) -> Iterator[str]:
    if claim.status == "open":
        if claim.theorem:
            yield f"{claim.name} is open and yet names a theorem"
        return
    source = places.rocq / claim.file
    if not source.is_file():
        yield f"{claim.name}: there is no file {claim.file}"
    elif not re.search(rf"^\s*(Theorem|Lemma|Corollary)\s+{re.escape(claim.theorem)}\b", source.read_text(encoding="utf-8"), re.M):
        yield f"{claim.file} has no theorem {claim.theorem}"
    module, _, name = claim.function.partition(":")
    if not _defines(places.package / (module.replace(".", "/") + ".py"), name) and not _defines(
        places.package / module.replace(".", "/") / "__init__.py", name
    ):
        yield f"{claim.name}: there is no function {claim.function}"
    if places.checkout is not None:
        path, _, test = claim.test.partition("::")
        if not test.startswith("test_") or not _defines(places.checkout / path, test):
            yield f"{claim.name}: there is no test {claim.test}"


def _defines(path: Path, name: str) -> bool:
    """Whether a Python file defines ``name`` or ``Class.method``; it is not run."""
    body = _statements(path)
    for part in name.split("."):
        found = next((node for node in body if part in _names(node)), None)
        if found is None:
            return False
        body = found.body if isinstance(found, ast.ClassDef) else []
    return True


@cache
def _statements(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text(encoding="utf-8")).body if path.is_file() else []


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _forbidden(rocq: Path) -> Iterator[str]:
    pattern = re.compile(rf"\b({'|'.join(FORBIDDEN)})\b")
    for file in sorted(rocq.glob("*.v")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if found := pattern.search(line):
                yield f"{file.name}, line {number}: {found[0]}"


def _open_groups(groups: dict[str, list[str]], rocq: Path) -> Iterator[str]:
    path = rocq / "assumptions.txt"
    if not path.is_file():
        yield "assumptions.txt is missing: run draftproof prove --build"
        return
    first, *said = path.read_text(encoding="utf-8").splitlines()
    if first != f"sources {digest(rocq)}":
        yield "assumptions.txt is about other sources: run draftproof prove --build"
    for group, theorems in groups.items():
        if f"{group}: {CLOSED}" not in said:
            yield f"not known to be closed: {', '.join(theorems)}"
