"""A run is a list of independent work items, one subject on one instance each, folded by addition: order, place and repetition do not matter.

What an item finds depends on the item and on the settings only: everything sampled starts from the run's seed, and an item's share of alpha is
fixed by the plan, so that a union bound over the items holds whatever was judged before, elsewhere, or twice.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from .calling import told
from .interrupt import Hung, alarm
from .reading import WAYS
from .readings.refused import Refused
from .report import Failure, NotJudged, Report
from .subjects import SubjectError, spelled
from .verdicts import Verdict

MAX_ERRORS = 3
"""A subject that could not be judged on this many instances is given up."""

GIVEN_UP = f"not tried: the subject could not be judged on {MAX_ERRORS} instances before"
STOPPED = "not tried: stopped at the first nonconform instance"
HUNG = "did not come back"
NO_MORE = "not tried: the subject did not come back before"
NOT_TRIED = (GIVEN_UP, STOPPED, NO_MORE)
"""What is said of instances that the run did not come to."""
GO_ON = "; a run with --log FILE is gone on with by draftproof check --resume FILE"

Observe = Callable[[str, int, int], None]
Record = Callable[[Verdict | Failure], None]
Keep = Callable[[int, Report], None]


@dataclass(frozen=True)
class Item:
    """One subject on one instance, both by name; ``verdicts`` judges it."""

    subject: str
    instance: str
    verdicts: Callable[[], Iterable[Verdict | Failure]]


@dataclass(frozen=True)
class Plan:
    """The items of a run in the order of its report.  ``time_limit``: seconds for each.  ``interrupted``: the subjects that did not keep it, in this
    process: nobody knows what state they are in.  Raises ValueError for settings that make no sense.
    """

    items: Sequence[Item]
    settings: Mapping[str, Any]
    time_limit: float
    interrupted: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        require_sense(self.settings.get("alpha", 0.5), self.settings.get("tolerance"), self.time_limit)

    @property
    def names(self) -> list[tuple[str, str]]:
        """Subject and instance of every item."""
        return [(item.subject, item.instance) for item in self.items]

    def judge(self, number: int, then: str = "") -> Report:
        """What one item finds.  Whatever goes wrong in the subject is a Failure, next to what was found before.  ``then``: what a hang entails."""
        item, found, since = self.items[number], Report(), time.monotonic()

        def took(verdict: str) -> None:
            nonlocal since
            now = time.monotonic()
            key = item.subject, item.instance, verdict
            found.seconds[key], since = round(found.seconds.get(key, 0.0) + now - since, 6), now

        try:
            with alarm(self.time_limit):
                for verdict in item.verdicts():
                    found.put(verdict)
                    took(getattr(verdict, "verdict", ""))
            return found
        except KeyboardInterrupt:
            raise
        except Hung:
            message = f"{HUNG} within the time limit of {self.time_limit:g} s{then}"
            self.interrupted.add(item.subject)
        except BaseException as error:  # the subject's own code may raise anything
            message = said(error)
        found.put(Failure(item.subject, item.instance, message))
        took("")
        return found

    def run(self, observe: Observe | None = None, record: Record | None = None, fold: "Fold | None" = None, keep: Keep | None = None) -> Report:
        """Judge what ``fold`` wants, by default everything, here and now; ``keep(number, found)`` before it is added."""
        fold = Fold(self.names, self.settings) if fold is None else fold
        while (number := next((one for one in fold.wanted() if self.items[one].subject not in self.interrupted), None)) is not None:
            if observe:
                observe(fold.name(number), *fold.progress())
            fold.take(number, self.judge(number, "; nothing more is asked of it"), record, keep)
        return fold.report()


class Fold:
    """What the items of a run have found, added up in whatever order it comes.

    The report is in the order of the plan, and ends where the plan does: a subject after its third failure, and with ``fail_fast`` the run after its
    first nonconform item.  Which items belong to it depends on what they find, not on when.
    """

    def __init__(self, names: Sequence[tuple[str, str]], settings: Mapping[str, Any], fail_fast: bool = False):
        """``names``: subject and instance of every item."""
        self.names, self.settings, self.fail_fast = names, dict(settings), fail_fast
        self._found: dict[int, Report] = {}

    def name(self, number: int) -> str:
        """An item, for people."""
        return " on ".join(self.names[number])

    def add(self, number: int, found: Report) -> None:
        """What an item found; said again, it counts once."""
        self._found.setdefault(number, found)

    def take(self, number: int, found: Report, record: Record | None, keep: Keep | None = None) -> None:
        """Keep, add and record."""
        if keep:
            keep(number, found)
        self.add(number, found)
        every: list[Verdict | Failure] = [*found.verdicts, *found.errors, *found.not_judged]
        for one in every:
            if record:
                record(one)

    def _walk(self) -> Iterator[tuple[int, Report | None]]:
        errors = Counter[str]()
        for number, (subject, _) in enumerate(self.names):
            if errors[subject] >= MAX_ERRORS:
                continue
            found = self._found.get(number)
            yield number, found
            if found is not None:
                errors[subject] += len(found.errors)
                if self.fail_fast and any(verdict.outcome == "nonconform" for verdict in found.verdicts):
                    return

    def wanted(self) -> Iterator[int]:
        """The items that are still to be judged, as far as is known."""
        return (number for number, found in self._walk() if found is None)

    def progress(self) -> tuple[int, int]:
        """How many are done, of how many."""
        walked = list(self._walk())
        return sum(found is not None for _, found in walked), len(walked)

    def report(self) -> Report:
        """The sum of what was found; what will not be judged is said, and a run that is not at its end is an error, never a pass."""
        report, left = Report(settings=self.settings), set(range(len(self.names)))
        missing = list[int]()
        for number, found in self._walk():
            left.discard(number)
            if found is None:
                missing.append(number)
            else:
                report.add(found)
        given_up = {subject for subject, errors in Counter(one.subject for one in report.errors).items() if errors >= MAX_ERRORS}
        for number in sorted(left):
            subject, instance = self.names[number]
            why = GIVEN_UP if subject in given_up else STOPPED
            report.put(NotJudged(subject, instance, why))
        hung = {one.subject for one in report.errors if one.message.startswith(HUNG)}
        for number in [one for one in missing if self.names[one][0] in hung]:
            report.put(NotJudged(*self.names[number], NO_MORE))
            missing.remove(number)
        if missing:
            subject, instance = self.names[missing[0]]
            done = len(self._found)
            report.put(Failure(subject, instance, f"interrupted: {done} of {len(self.names)} instances were judged{GO_ON}"))
        return report


def said(error: BaseException) -> str:
    """What is said of an exception that left a subject."""
    if isinstance(error, SubjectError | Refused):
        return str(error)
    if isinstance(error, MemoryError):
        return f"ran out of memory: {told(error)}"
    return f"raised {type(error).__name__}: {spelled(error, str)}"


def require_sense(alpha: float, tolerance: float | None, time_limit: float, way: str | None = None, seed: int = 0) -> None:
    """Raises ValueError for settings that make no sense, NaN among them: nothing is more than a tolerance of NaN."""
    for name, value in {"alpha": alpha, "tolerance": tolerance, "time limit": time_limit}.items():
        if value is not None and not isinstance(value, int | float | Fraction):
            raise ValueError(f"the {name} must be a number, not {value!r}")
    if way is not None and way not in WAYS:
        raise ValueError(f"way must be one of {', '.join(WAYS)}, not {way!r}")
    if not isinstance(seed, int) or not 0 <= seed < 1 << 62:
        raise ValueError(f"the seed must be an integer, 0 or above, not {seed!r}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be in (0, 1), not {alpha}")
    if tolerance is not None and not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must be in [0, 1), not {tolerance}")
    if not time_limit > 0:
        raise ValueError(f"the time limit must be positive, not {time_limit}")
