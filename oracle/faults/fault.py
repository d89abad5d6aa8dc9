"""What a planted fault is, and what is said about it before it is judged."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ..builders import Builder
from ..drafters import Drafter
from ..generators import Generator
from ..subjects import Subject

Said = Literal["caught", "unreadable", "below resolution"]
"""What a way of reading makes of a fault.  *below resolution*: readable, but the budget of one instance is too small for its total variation."""

READ_BY = ("enumerate", "integrate", "sample")
"""The ways of reading a law."""

WAYS = (*READ_BY, "compare", "lift", "precision")
"""*compare*: answers held against each other or against the best there is (the verdicts *invariance* and *construction*); no law is read.
*lift*: judged on the instance lifted to a real size.  *precision*: by ``draftproof precision``, on coarse grids and small vocabularies."""

Planted = Subject | Drafter | Generator | Builder


@dataclass(frozen=True)
class Fault:
    """One planted fault.

    ``kind``: A to O.  ``instance``: where it shows, an instance of the catalogue (for a drafter its rows, for a generator its task, for a
    builder its marginals).  ``total_variation``: exact there, or None where it is not a short fraction.  ``verdict``: the one that rejects it, or
    "error".  ``enumerate``, ``integrate``, ``sample``: what each way of reading makes of it.  ``only``: the one way that shows it, where the law of
    the small instance does not; ``lift``: the lift that does.  ``strict``: judged strictly, boundary events included.
    """

    kind: str
    subject: Planted
    instance: str
    total_variation: str | None = None
    verdict: str = "exactness"
    enumerate: Said = "caught"
    integrate: Said = "unreadable"
    sample: Said = "caught"
    strict: bool = False
    only: str = ""
    lift: str = ""

    @property
    def name(self) -> str:
        return self.subject.name.rpartition(":")[2] + (f" ({self.lift})" if self.lift else "")

    @property
    def what(self) -> str:
        """What it does, in one sentence."""
        return (self.subject.call.__doc__ or "").strip()

    @property
    def distance(self) -> Fraction | None:
        return None if self.total_variation is None else Fraction(self.total_variation)

    def said(self, way: str) -> Said:
        if self.only or way not in READ_BY:
            return "caught" if way == self.only else "unreadable"
        answers: dict[str, Said] = {"enumerate": self.enumerate, "integrate": self.integrate, "sample": self.sample}
        return answers[way]

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways that are tried."""
        return (self.only,) if self.only else READ_BY


def family_of(subject: Planted) -> str:
    """The rule a subject claims to be, or what it is where it is no verifier."""
    return (subject.family or "any") if isinstance(subject, Subject) else type(subject).__name__.lower()


def compared(kind: str, subject: Planted, instance: str, verdict: str) -> Fault:
    """A fault that no law shows."""
    return Fault(kind, subject, instance, verdict=verdict, only="compare")


def at_size(kind: str, subject: Planted, instance: str, lift: str, verdict: str = "exactness") -> Fault:
    """A fault that shows at real sizes only."""
    return Fault(kind, subject, instance, verdict=verdict, only="lift", lift=lift)


def of_precision(subject: Planted, instance: str, strict: bool) -> Fault:
    """A fault of floating point, which samples would not show."""
    return Fault("G", subject, instance, verdict="precision", only="precision", strict=strict)
