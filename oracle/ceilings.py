"""The ceilings that a case is held against: what no lossless verifier exceeds, and what an optimal one has at least."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from draftproof.reference.instances import Instance, parse
from draftproof.reference.models import MissingRow
from draftproof.reference.rational import Rational

from .subjects import Subject
from .supervise import Send

if TYPE_CHECKING:
    from .cases import Case

MAX_TREES = 300
"""The whole-tree program is solved for instances of at most this many draft trees (some 0.1 s); ``draftproof ceiling`` goes further."""

CONDITIONALLY_OPTIMAL = ("univer", "univer_lookahead", "univer_transport")
"""Families that go on below a node as often as any lossless rule could, however the node was reached."""

FEW_PATHS = 14
"""Up to this many paths a solver's answer is not worth its import, of some two seconds."""


def ceiling(case: "Case") -> Rational | None:
    """A bound on E[L] of every lossless verifier, or None.

    Attained on fixed trees and sampled chains; elsewhere the certified whole-tree ceiling, or a weaker bound where there are too many trees.
    """
    if case.instance.deterministic or case.instance.is_chain:
        return case.length_bound
    found = _certified(_rows(case.subject), case.instance)
    return case.length_bound if found is None else found if case.length_bound is None else min(found, case.length_bound)


def attained(case: "Case") -> bool:
    """Whether some lossless verifier reaches ``ceiling`` (up to a solver's accuracy)."""
    return case.instance.deterministic or case.instance.is_chain or _certified(_rows(case.subject), case.instance) is not None


def floor(case: "Case") -> Rational | None:
    """The least E[L] that what the subject's author claims promises here; None where nothing is promised.

    A conditionally optimal rule is optimal on fixed trees and chains.  Elsewhere it accepts something as often as any lossless rule can.
    """
    claims, instance = case.subject.claims, case.instance
    conditionally = "conditionally_optimal" in claims
    if instance.deterministic and (conditionally or "optimal_on_fixed_trees" in claims):
        return ceiling(case)
    if instance.is_chain and (conditionally or "optimal_on_chains" in claims):
        return ceiling(case)
    return 1 + root_optimum(case) if conditionally else None


def root_optimum(case: "Case") -> Rational:
    """The largest probability with which a lossless rule can accept anything."""
    from draftproof.reference.transport.candidates import set_law
    from draftproof.reference.transport.node import optimum
    from draftproof.reference.trees import DrawsAt

    return optimum(case.target(()), set_law(DrawsAt(case.scheme, case.instance.topology, ()))).value


def _rows(subject: Subject) -> Subject:
    """All of a subject that a ceiling depends on: how it is given rows."""
    return Subject(
        _nothing, "rows", rows=subject.rows, dtype=subject.dtype, temperature=subject.temperature, top_k=subject.top_k, top_p=subject.top_p
    )


def _nothing(*_: Any) -> None:
    raise AssertionError("only its rows are looked at")


@lru_cache(maxsize=256)
def _certified(rows: Subject, instance: Instance) -> Rational | None:
    """The certified ceiling; None beyond MAX_TREES and where the solver fails."""
    from draftproof.reference.transport.exact_simplex import ceiling_of, solve_exactly
    from draftproof.reference.transport.tree import SolverFailed, TooManyTrees, problem_of

    from .cases import Case

    case = Case(rows, instance)
    try:
        problem = problem_of(case.target, instance.topology, case.scheme, MAX_TREES)
        return (solve_exactly(problem) if len(problem.edges) <= FEW_PATHS else ceiling_of(problem)).ceiling
    except (TooManyTrees, SolverFailed):
        return None


def ceiling_task(send: Send, source: dict[str, Any]) -> None:
    """The certificate of an instance's ceiling and its number of draft trees, as ("ceiling", pair); ("fatal", message) where there is none."""
    from draftproof.reference.transport.exact_simplex import ceiling_of
    from draftproof.reference.transport.record import whole_tree
    from draftproof.reference.transport.tree import SolverFailed, TooManyTrees, problem_of

    instance = parse(source)
    try:
        problem = problem_of(instance.target, instance.topology, instance.scheme)
        send(("ceiling", (whole_tree(instance, ceiling_of(problem)), len(problem.trees))))
    except (MissingRow, TooManyTrees, SolverFailed) as error:
        send(("fatal", str(error)))
