"""Shrinking: the smallest instance on which a subject still fails the same verdict, to look at by hand and to keep as a test.

Greedy, as in delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input"): of all instances one step smaller, the
first that still fails is taken, until none does.  A step drops a token or merges two, drops a sibling, a level or a branch, makes the drafting
simpler, fills a zero, makes rows alike, or rounds weights to small integers.  What is smaller is a matter of ``_size``, which falls at every step.
Every row that a verifier may ask for stays, so that the instance is of use once the subject is mended.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import gcd, lcm
from typing import Any

from draftproof.reference.exact_json import FormatError
from draftproof.reference.instances import Instance, parse
from draftproof.reference.models import MissingRow, Prefix, spell
from draftproof.reference.rational import fraction
from draftproof.reference.trees import Slot

from .cases import Case
from .catalogue import named
from .interrupt import Hung, alarm
from .invariance import invariance
from .lifts import lifted
from .plan import without_failures
from .reading import read
from .sampling import FIRST_LOOK, Budget, sample
from .subjects import Subject, SubjectError, load, loadable, subject_of
from .supervise import Send
from .verdicts import DEFAULT_TOLERANCE, Verdict, _acceptance, _exactness, _support, default_tolerance

VERDICTS = ("exactness", "support", "acceptance", "invariance")
"""Those whose failures can be shrunk."""

MOST_TRIES = 4000
"""Instances that are judged; fewer where each takes long."""

SAMPLED_TRIES = 200
"""The same for readings that may err: each spends this part of alpha."""

FIRST_SECONDS = 120.0
"""For the first, which may have a framework to import."""

TOTALS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
"""What the weights of a row may add up to, smallest first."""

SIMPLEST = ("fixed", "chain", "top_k", "greedy", "without_replacement", "with_replacement", "best_first", "replay")

Row = tuple[int, ...]
Rows = dict[Prefix, Row]


@dataclass(frozen=True)
class Shrunk:
    """The smallest failing instance found.

    ``verdict``: what is said of it.  ``nodes``: drafts in its tree, the root not counted.  ``minimal``: nothing one step smaller fails; False when
    time or tries ran out.  ``tries``: instances judged.
    """

    subject: Subject
    instance: Instance
    verdict: Verdict
    nodes: int
    minimal: bool
    tries: int
    seconds: float

    @property
    def as_json(self) -> str:
        """The content of an instance file."""
        return json.dumps(self.instance.source)

    @property
    def as_python(self) -> str:
        """A program that judges the subject on it."""
        lines = ["from draftproof.oracle import check", "from draftproof.reference.instances import parse", ""]
        subject = repr(self.subject.name) if loadable(self.subject.name) else "subject"
        lines += [f"instance = parse({dict(self.instance.source)!r})", f"print(check({subject}, [instance]))"]
        return "\n".join(lines)

    def as_dict(self, lift: str = "") -> dict[str, Any]:
        """As an element of ``shrunk`` in a report."""
        counts = {"drafts": self.nodes, "minimal": self.minimal, "tries": self.tries, "seconds": self.seconds}
        about = {"subject": self.subject.name, "verdict": self.verdict.as_dict(), "instance": dict(self.instance.source), "lift": lift}
        return {**about, **counts, "python": self.as_python}


class StillRight(ValueError):
    """There is nothing to shrink: the subject does not fail the verdict on the instance."""


def shrink(
    subject: "Subject | Callable[..., Any]",
    instance: Instance,
    verdict: Verdict | str,
    *,
    way: str | None = None,
    lift: str = "",
    tolerance: float | None = None,
    strict: bool = False,
    alpha: float = 1e-6,
    seed: int = 0,
    seconds: float = 10.0,
) -> Shrunk:
    """A minimal instance on which ``subject`` fails ``verdict`` (a Verdict, or its name), read in the same way as the failure.

    ``way``: enumerate, integrate or sample, default that of the Verdict, or the strongest that applies.  ``lift``: the lift under which it failed.
    The result is deterministic as long as ``seconds`` do not run out.  Its law is at least a tenth as wrong as the first, so that what is left is the
    fault and not the rounding of rows.  Where the reading may err, it judges every instance with fresh blocks at ``alpha`` / SAMPLED_TRIES: that
    the result fails is wrong with probability at most ``alpha``.  No verdict given before is changed by it.

    Raises StillRight when the subject does not fail there (again, where it is sampled).
    """
    subject, start = subject_of(subject), time.monotonic()
    if isinstance(verdict, Verdict):
        way = way or (verdict.way if verdict.way in ("enumerate", "integrate", "sample") else None)
        verdict = verdict.verdict
    judging = _Judging(subject, verdict, way, lift, tolerance, strict, alpha / SAMPLED_TRIES, seed, start + FIRST_SECONDS)
    best = judging.failure(instance)
    if best is None:
        how = (f" read by {way}" if way else "") + (f": {judging.trouble}" if judging.trouble else "")
        raise StillRight(f"{subject.name} does not fail the verdict {verdict} on {instance.name}{how}")
    judging.hold(best)
    judging.deadline = time.monotonic() + seconds
    most = SAMPLED_TRIES if judging.may_err else MOST_TRIES
    form, tried, minimal = _form(instance), set[str](), False
    while not minimal and judging.tries < most and time.monotonic() < judging.deadline:
        for smaller in _steps(form):
            key = repr(smaller)
            if key in tried or _size(smaller) >= _size(form):
                continue
            if judging.tries >= most or time.monotonic() > judging.deadline:
                break
            tried.add(key)
            if (found := judging.failure(_parsed(smaller, instance.name))) is not None:
                form, best = smaller, found
                break
        else:
            minimal = True
    smallest = _parsed(form, instance.name) or instance
    return Shrunk(subject, smallest, best, _nodes(smallest.topology), minimal, judging.tries, time.monotonic() - start)


class _Judging:
    """One verdict on one instance after the other."""

    def __init__(
        self,
        subject: Subject,
        verdict: str,
        way: str | None,
        lift: str,
        tolerance: float | None,
        strict: bool,
        alpha: float,
        seed: int,
        deadline: float,
    ):
        self.subject, self.verdict, self.way, self.lift, self.strict = subject, verdict, way, lift, strict
        self.tolerance, self.alpha, self.seed, self.deadline = tolerance, alpha, seed, deadline
        self.blocks, self.tries, self.trouble = Budget.blocks, 0, ""

    @property
    def may_err(self) -> bool:
        return self.way == "sample" or self.verdict == "invariance"

    def failure(self, instance: Instance | None) -> Verdict | None:
        """The verdict, when it is nonconform."""
        if instance is None:
            return None
        self.tries += 1
        try:
            with alarm(max(self.deadline - time.monotonic(), 1e-3)):
                case = lifted(self.subject, instance, self.lift) if self.lift else Case(self.subject, instance)
                found = {verdict.verdict: verdict for verdict in self._judged(case)}.get(self.verdict)
        except Hung:
            self.trouble = "did not come back in time"
            return None
        except Exception as error:  # it does not suit the subject, which may raise anything
            self.trouble = str(error)
            return None
        self.trouble = ""
        return found if found is not None and found.outcome == "nonconform" else None

    def _judged(self, case: Case) -> Sequence[Verdict]:
        seed = self.seed + self.tries
        if self.verdict == "invariance":
            return [invariance(case, True, self.alpha, seed, self.deadline)]
        if self.way == "sample":
            return sample(case, Budget(self.alpha, self.deadline, self.blocks), 0.0, seed)[1]
        reading = without_failures(read(case, self.way, self.deadline))
        limit = Fraction(default_tolerance(reading) if self.tolerance is None else self.tolerance)
        if self.verdict == "support":
            return [_support(case, reading, self.strict)]
        return [_exactness(case, reading, limit, self.strict) if self.verdict == "exactness" else _acceptance(case, reading, limit)]

    def hold(self, first: Verdict) -> None:
        """Ask of all others that they are read like the first, no less than a tenth as wrong, and seen in four times as many blocks."""
        if self.way is None and first.way != "bracket":
            self.way = first.way
        if self.way == "sample":
            self.blocks = max(FIRST_LOOK, 4 * int(first.effort.split()[0]))
        elif self.verdict == "exactness" and first.number is not None:
            tolerance = DEFAULT_TOLERANCE[first.way] if self.tolerance is None else self.tolerance
            self.tolerance = max(tolerance, first.number / 10)


@dataclass(frozen=True)
class _Form:
    """An instance with its weights as integers without a common factor; ``drafting`` as in the file."""

    vocabulary: int
    target: Rows
    draft: Rows
    drafting: Mapping[str, Any]

    @property
    def paths(self) -> list[Prefix]:
        """Those of a fixed tree."""
        return [_tokens(path) for path in self.drafting["tree"]]

    def drafted(self, **changes: Any) -> "_Form":
        return replace(self, drafting={**self.drafting, **changes})


def _form(instance: Instance) -> _Form:
    source = instance.source
    draft = {} if instance.scheme_name == "fixed" else source["draft"]
    # what is read exactly here is what ``parse`` made of every row
    rows = parse({**source, "target": draft, "draft": {}, "drafting": {"scheme": "fixed", "tree": []}}).target if draft else None
    return _Form(
        instance.vocabulary,
        {_tokens(key): _whole([fraction(instance.target(_tokens(key))[token]) for token in range(instance.vocabulary)]) for key in source["target"]},
        {_tokens(key): _whole([fraction(rows(_tokens(key))[token]) for token in range(instance.vocabulary)]) for key in draft} if rows else {},
        source["drafting"],
    )


def _parsed(form: _Form, name: str) -> Instance | None:
    source: dict[str, Any] = {"vocabulary": form.vocabulary, "target": {spell(prefix): list(row) for prefix, row in form.target.items()}}
    if form.draft:
        source["draft"] = {spell(prefix): list(row) for prefix, row in form.draft.items()}
    try:
        return parse({**source, "drafting": dict(form.drafting)}, f"{name}, shrunk")
    except (FormatError, MissingRow):
        return None


def _size(form: _Form) -> tuple[int, ...]:
    """What is to become small, most important first."""
    drafting, rows = form.drafting, [*form.target.values(), *form.draft.values()]
    if "tree" in drafting:
        nodes, depth = len(drafting["tree"]), max(map(len, form.paths), default=0)
    elif "children" in drafting:
        nodes, depth = _places(drafting["children"]), len(drafting["children"])
    else:
        nodes, depth = drafting["nodes"], drafting["depth"]
    zeros = sum(row.count(0) for row in rows)
    return form.vocabulary, nodes, depth, SIMPLEST.index(drafting["scheme"]), len(rows), zeros, len(set(rows)), sum(map(sum, rows))


def _places(children: Sequence[int]) -> int:
    total, width = 0, 1
    for count in children:
        width *= count
        total += width
    return total


def _nodes(slot: Slot) -> int:
    return sum(1 + _nodes(below) for below in slot)


def _steps(form: _Form) -> Iterator[_Form]:
    """Instances one step away, the larger steps first; not all of them smaller, nor all of them instances."""
    size = form.vocabulary
    for smaller in (*_drafting(form), *_levels(form)):
        yield _needed(smaller)
    for token in reversed(range(size)):
        yield _renamed(form, [None if other == token else other - (other > token) for other in range(size)])
    for kept, token in combinations(range(size), 2):
        yield _renamed(form, [kept if other == token else other - (other > token) for other in range(size)])
    models = [rows for rows in (form.target, form.draft) if rows]
    for total in TOTALS:
        yield _with_rows(form, lambda row: _rounded(row, total))  # noqa: B023 (called at once)
    for rows in models:
        for row in dict.fromkeys(rows.values()):
            yield _replaced(form, rows, dict.fromkeys(rows, row))
    for rows in models:
        for prefix, row in rows.items():
            for other in (*_simpler(row), *dict.fromkeys(rows.values())):
                yield _replaced(form, rows, {**rows, prefix: other})
        for row in dict.fromkeys(rows.values()):  # equal rows together, which stay equal
            for other in _simpler(row):
                yield _replaced(form, rows, {prefix: other if one == row else one for prefix, one in rows.items()})


def _drafting(form: _Form) -> Iterator[_Form]:
    """Simpler ways to draft."""
    drafting, scheme = form.drafting, form.drafting["scheme"]
    if scheme == "fixed":
        return
    if scheme in ("top_k", "best_first") and (instance := _parsed(form, "")) is not None:
        yield replace(form, draft={}, drafting={"scheme": "fixed", "tree": [spell(path) for path in _listed(instance, (), instance.topology)]})
    levels = drafting["children"] if "children" in drafting else [2] * drafting["depth"]
    for children in dict.fromkeys([tuple(levels), (1,) * len(levels), (2,), (1,)]):
        for other in SIMPLEST[1:6]:
            yield replace(form, drafting={"scheme": other, "children": list(children)})
    for token in range(form.vocabulary):
        yield replace(form, draft={}, drafting={"scheme": "fixed", "tree": [str(token)]})


def _listed(instance: Instance, path: Prefix, slot: Slot) -> Iterator[Prefix]:
    """The nodes of a tree that is the same at every draw."""
    elders: Prefix = ()
    for below in slot:
        law = instance.scheme(slot, path, elders)
        if law is None:
            return
        token = next(iter(law))
        elders += (token,)
        yield (*path, token)
        yield from _listed(instance, (*path, token), below)


def _levels(form: _Form) -> Iterator[_Form]:
    """Fewer levels, siblings and branches."""
    drafting = form.drafting
    if "children" in drafting:
        children = drafting["children"]
        for level in range(len(children)):
            yield form.drafted(children=children[:level] + children[level + 1 :])
        for level, count in enumerate(children):
            yield form.drafted(children=[*children[:level], count - 1, *children[level + 1 :]])
    elif "nodes" in drafting:
        yield form.drafted(depth=drafting["depth"] - 1)
        yield form.drafted(nodes=drafting["nodes"] - 1)
    else:
        for path in form.paths:
            yield form.drafted(tree=[spell(other) for other in form.paths if other[: len(path)] != path])
    for token in range(form.vocabulary):  # begin one token later
        below = replace(form, target=_below(form.target, token), draft=_below(form.draft, token))
        if "children" in drafting:
            yield below.drafted(children=drafting["children"][1:])
        elif "nodes" in drafting:
            yield below.drafted(depth=drafting["depth"] - 1)
        else:
            yield below.drafted(tree=[spell(path[1:]) for path in form.paths if path[0] == token and len(path) > 1])


def _below(rows: Rows, token: int) -> Rows:
    return {prefix[1:]: row for prefix, row in rows.items() if prefix and prefix[0] == token}


def _needed(form: _Form) -> _Form:
    """Without the rows that are longer than the tree is deep."""
    if "tree" in form.drafting:
        depth = max(map(len, form.paths), default=0)
    else:
        depth = form.drafting["depth"] if "depth" in form.drafting else len(form.drafting["children"])
    target = {prefix: row for prefix, row in form.target.items() if len(prefix) <= depth}
    return replace(form, target=target, draft={prefix: row for prefix, row in form.draft.items() if len(prefix) < depth})


def _renamed(form: _Form, names: Sequence[int | None]) -> _Form:
    """Tokens renamed; those with the same name are merged, those without one are dropped, whatever was below them too."""
    size = 1 + max((name for name in names if name is not None), default=-1)

    def path(old: Prefix) -> Prefix | None:
        new = [names[token] for token in old]
        return None if None in new else tuple(token for token in new if token is not None)

    def model(rows: Rows) -> Rows:
        kept: Rows = {}
        for prefix, row in rows.items():
            if (new := path(prefix)) is not None and new not in kept:
                kept[new] = _lowest([sum(weight for weight, name in zip(row, names, strict=True) if name == token) for token in range(size)])
        return kept

    renamed = replace(form, vocabulary=size, target=model(form.target), draft=model(form.draft))
    if "tree" in form.drafting:
        paths = dict.fromkeys(new for old in form.paths if (new := path(old)) is not None)
        return _needed(renamed.drafted(tree=[spell(one) for one in paths]))
    return renamed


def _with_rows(form: _Form, change: Callable[[Row], Row]) -> _Form:
    target, draft = ({prefix: change(row) for prefix, row in rows.items()} for rows in (form.target, form.draft))
    return replace(form, target=target, draft=draft)


def _replaced(form: _Form, rows: Rows, new: Rows) -> _Form:
    return replace(form, target=new) if rows is form.target else replace(form, draft=new)


def _simpler(row: Row) -> Iterator[Row]:
    yield from (_rounded(row, total) for total in TOTALS if total < sum(row))
    for token, weight in enumerate(row):
        if not weight:
            yield (*row[:token], 1, *row[token + 1 :])


def _rounded(row: Row, total: int) -> Row:
    """Weights that add up to ``total``, or nearly: each rounded, those that are not zero to at least 1."""
    return _lowest([max(1, round(Fraction(weight * total, sum(row)))) if weight else 0 for weight in row])


def _whole(row: Sequence[Fraction]) -> Row:
    scale = lcm(*(weight.denominator for weight in row))
    return _lowest([int(weight * scale) for weight in row])


def _lowest(row: Sequence[int]) -> Row:
    common = gcd(*row) or 1
    return tuple(weight // common for weight in row)


def _tokens(spelled: str) -> Prefix:
    return tuple(map(int, spelled.split()))


def shrink_task(send: Send, spec: str, source: Mapping[str, Any] | None, failed: Verdict, **settings: Any) -> None:
    """Shrink what ``draftproof check`` found, in a worker: sends ("shrunk", (text, ``Shrunk.as_dict``)) or ("kept", why not).

    ``source``: the instance where it is not one of the catalogue.
    """
    name, _, lift = failed.instance.partition(" lifted by ")
    try:
        instance = named(name) if source is None else parse(source, name=name)
        subjects = [one for one in load(spec) if one.name == failed.subject]
        found = shrink(subjects[0], instance, failed, lift=lift, **settings)
        send(("shrunk", (described(found, lift), found.as_dict(lift))))
    except (SubjectError, FormatError, StillRight) as error:
        send(("kept", f"not shrunk: {error}"))


def described(found: Shrunk, lift: str = "") -> str:
    """What the command line shows: how small it is, what is wrong there, and the instance twice, to be pasted."""
    rest = "nothing one step smaller fails" if found.minimal else "time or tries ran out"
    drafts = f"{found.nodes} draft{'s' * (found.nodes != 1)}"
    under = f" lifted by {lift}" if lift else ""
    return "\n".join(
        [
            f"shrunk   {found.subject.name}   {found.verdict.verdict}: V = {found.instance.vocabulary}, {drafts}{under}"
            f"   ({found.tries} instances judged by {found.verdict.way} in {found.seconds:.1f} s; {rest})",
            f"  {found.verdict.message}",
            "",
            f"a file for draftproof law FILE --subject {found.subject.name}",
            found.as_json,
            "",
            "the same as a program",
            found.as_python,
        ]
    )
