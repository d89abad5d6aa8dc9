"""Golden vectors: block laws computed by the definitions of the theorems (``rocq/Golden.v``), one JSON object a line in ``rocq/vectors.jsonl``.

A vector holds an instance (the format of ``reference.instances``), the name of a verifier and the law of the block.  The law must be the
reference's, block for block: two different rules can both be lossless, and only the whole law tells them apart.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from draftproof.reference.blocks import Block, block_law
from draftproof.reference.instances import Instance, parse
from draftproof.reference.laws import ZERO, Law
from draftproof.reference.rational import Rational, rational
from draftproof.reference.verifiers import family

VECTORS = Path(__file__).parent / "rocq" / "vectors.jsonl"


@dataclass(frozen=True)
class Vector:
    """One golden vector; ``line`` is its line in the file, ``law`` the probability of every possible block."""

    line: int
    verifier: str
    instance: Instance
    law: dict[Block, Rational]


@dataclass(frozen=True)
class Difference:
    """The first block, in order, whose probability is not the golden one; ``computed`` is None when there is no law at all."""

    vector: Vector
    block: Block
    golden: Rational
    computed: Rational | None

    def __str__(self) -> str:
        v = self.vector
        computed = "nothing, since the masses do not sum to one" if self.computed is None else self.computed
        return f"line {v.line}, {v.verifier} on {v.instance.scheme_name}: block {self.block} has probability {computed}, not {self.golden}"


def read(path: Path = VECTORS) -> Iterator[Vector]:
    """The vectors of a file.  Raises ValueError, naming the line, for one whose law does not sum to one or lists a block twice."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            source = json.loads(line)
            law = {tuple(entry["tokens"]): rational(entry["probability"]) for entry in source["law"]}
            if sum(law.values(), ZERO) != 1 or len(law) < len(source["law"]):
                raise ValueError(f"{path.name}, line {number}: not a law")
            yield Vector(number, source["verifier"], parse(source["instance"]), law)


def reference_law(vector: Vector) -> Law[Block]:
    """What the reference computes."""
    instance = vector.instance
    return block_law(family(vector.verifier), instance.target, instance.topology, instance.scheme)


def differences(vectors: Iterable[Vector], compute: Callable[[Vector], Law[Block]] = reference_law) -> Iterator[Difference]:
    """The vectors that ``compute`` does not reproduce exactly; a ValueError that it raises counts as a law that is not there."""
    for vector in vectors:
        try:
            found = dict(compute(vector).items())
        except ValueError:
            block = min(vector.law)
            yield Difference(vector, block, vector.law[block], None)
            continue
        for block in sorted({*found, *vector.law}):
            if (golden := vector.law.get(block, ZERO)) != (computed := found.get(block, ZERO)):
                yield Difference(vector, block, golden, computed)
                break
