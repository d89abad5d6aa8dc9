"""The verdicts *budget* (is this the best number of draft nodes?) and *unimodality* (may a rule stop at the first node that does not pay?)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from draftproof.reference.budgets import RoundCost, caddtree, gains, smallest_maximiser, throughput
from draftproof.reference.budgets.throughput import discriminants, one_peak
from draftproof.reference.models import marginal
from draftproof.reference.rational import Rational, decimal, fraction, rational

from .builders import BudgetRule, Overwrote, choose, taker_of
from .items import Item, Observe, Plan, Record
from .marginal_instances import MarginalInstance, Variant, named_instance, variants
from .report import Report
from .verdicts import Verdict

TOLERANCE = 1e-6
"""Share of the throughput that a choice may lose: float32 gains cannot tell nearer sizes apart."""

LONGEST_ROW = 1 << 16
"""Tokens of a row of marginals that are written down as an example."""


@dataclass(frozen=True)
class BudgetInstance:
    """Marginals, a cost table (draft and verify, exact), and why.  The cap on nodes is the table's end."""

    name: str
    note: str
    marginals: MarginalInstance
    draft: Any
    verify: Sequence[Any]

    @property
    def cost(self) -> RoundCost:
        return RoundCost(self.draft, self.verify)


def judge_rule(
    subject: "BudgetRule | Callable[..., Any]",
    instances: Iterable[BudgetInstance] | None = None,
    tolerance: float = TOLERANCE,
    *,
    time_limit: float = 120.0,
    observe: Observe | None = None,
    record: Record | None = None,
) -> Report:
    """Judge a budget rule on ``instances`` (default all): a verdict *budget* on each, or an error where it could not be called.

    ``time_limit``: seconds per instance.  ``observe`` and ``record`` follow the run, as in ``check``.
    """
    one = taker_of(subject, BudgetRule)
    assert isinstance(one, BudgetRule)

    def verdicts(instance: BudgetInstance) -> list[Verdict]:
        return [budget(one, instance, tolerance)]

    items = [Item(one.name, each.name, partial(verdicts, each)) for each in (budget_instances() if instances is None else instances)]
    return Plan(items, {"tolerance": tolerance, "time_limit": time_limit}, time_limit).run(observe, record)


def budget(subject: BudgetRule, instance: BudgetInstance, tolerance: float = TOLERANCE) -> Verdict:
    """The verdict on one instance: the chosen size against the smallest maximiser for the subject's own cost table, or else the instance's."""
    cost = instance.cost if subject.cost is None else RoundCost(*subject.cost)
    shown = variants(subject, instance.marginals)
    draft, verify = float(fraction(cost.draft)), [float(fraction(entry)) for entry in cost.verify]
    exact = RoundCost(draft, verify)  # the law of the bits handed over holds for costs too
    worst, notes = Fraction(0), list[str]()

    def verdict(outcome: str, number: Fraction, message: str) -> Verdict:
        return Verdict(subject.name, instance.name, "budget", outcome, "compare", float(number), tolerance, message, notes=tuple(notes))

    try:
        sizes = choose(subject, np.stack([one.values for one in shown]), draft, verify)
    except Overwrote as fault:
        return verdict("nonconform", Fraction(0), str(fault))
    for chosen, one in zip(sizes, shown, strict=True):
        curve = _curve(one, exact, len(verify) - 1)
        best = smallest_maximiser(curve)
        if not 0 <= chosen < len(curve):
            message = f"{one.name}it chooses {chosen} nodes where 0 to {len(curve) - 1} are possible"
            return verdict("nonconform", Fraction(1), message)
        loss = fraction(1 - curve[chosen] / curve[best])
        said = f"{one.name}it chooses {chosen} nodes where {best} are best"
        if loss > tolerance:
            if not subject.any_cost and not exact.convex_up_to(len(curve) - 1):
                notes.append(f"{said} and loses {float(loss):.1%}, on a cost that is not convex, for which it makes no claim")
                continue
            return verdict("nonconform", loss, f"{said}: {float(loss):.2%} of the throughput is lost")
        if instance.marginals.exact and chosen != best:
            return verdict("nonconform", loss, f"{said}: both are maximal, and the smaller is wanted")
        worst = max(worst, loss)
    return verdict("conform", worst, "the smallest maximiser" if not notes else "as good as its claims")


def _curve(shown: Variant, cost: RoundCost, nodes: int) -> list[Rational]:
    return throughput(gains(marginal(shown.laws), len(shown.laws), nodes), cost)


def unimodality(name: str, added: Sequence[Rational], cost: RoundCost) -> Verdict:
    """Whether the throughput rises, is flat at its maximum only, and falls, so that the first node that does not pay is the place to stop.

    conform: the cost is convex and the certificate holds, discriminants that never increase.  Where the cost is not convex the message says
    where; nonconform: the curve of these gains has more than one peak; inconclusive: it has one, but other gains may not, and the message
    shows some for which greedy loses where there are (``details["witness"]`` holds marginals that have them, unless their rows are very long).
    """
    curve, nodes = throughput(added, cost), len(added)
    greedy, best = caddtree(added, cost), smallest_maximiser(curve)
    loss, unimodal = 1 - curve[greedy] / curve[best], one_peak(curve)
    details = {"convex": cost.convex_up_to(nodes), "unimodal": unimodal, "greedy": greedy, "optimum": best, "loss": str(loss)}
    dent = cost.first_dent(nodes)
    if dent is None:
        certificate = discriminants(added, cost)
        holds = unimodal and greedy == best and all(left >= right for left, right in zip(certificate, certificate[1:], strict=False))
        message = "the cost is convex: one peak, and D(n) never increases" if holds else "the cost is convex, yet the theorem fails: report this"
        return _unimodality(name, "conform" if holds else "nonconform", loss, message, details)
    said = f"the cost is not convex: node {dent} costs {_short(cost.step(dent - 1))} more and node {dent + 1} only {_short(cost.step(dent))}"
    if loss:
        said += f"; greedy stops at {greedy} nodes where {best} are best, and loses {_short(loss)} ({float(loss):.1%})"
    else:
        said += "; this curve has one peak" if unimodal else "; this curve has more than one peak, and greedy finds the highest"
        if (witness := losing_gains(cost, nodes)) is not None:
            said += f", but it would lose {_short(_loss(witness, cost))} if {len(witness)} nodes added {_short(witness[0])} each"
            if 1 / witness[0] <= LONGEST_ROW:
                details["witness"] = {"marginals": equal_marginals(witness[0], len(witness)), "nodes": len(witness)}
    return _unimodality(name, "inconclusive" if unimodal else "nonconform", loss, said, details)


def losing_gains(cost: RoundCost, nodes: int) -> list[Rational] | None:
    """Equal gains for which greedy loses under a cost that is not convex; None where there are none of this kind.

    Where node n + 1 costs more than node n + 2, gains that make node n + 1 just not pay make node n + 2 pay.
    """
    for n in range(nodes - 1):
        step, rest = cost.step(n), cost(n) - n * cost.step(n)
        if cost.step(n + 1) < step and 0 < step <= rest:
            for count in range(n + 2, nodes + 1):
                if _loss([step / rest] * count, cost):
                    return [step / rest] * count
    return None


def equal_marginals(gain: Rational, nodes: int) -> list[list[str]]:
    """Marginals whose ``nodes`` heaviest prefixes all have mass ``gain``, at most 1: some tokens at depth 1, certain ones below."""
    mass = fraction(gain)
    side = mass.denominator // mass.numerator
    rest = 1 - side * mass
    first = [str(mass)] * side + ([str(rest)] if rest else [])
    return [first, *(["1"] + ["0"] * (len(first) - 1) for _ in range(-(-nodes // side) - 1))]


def _loss(added: Sequence[Rational], cost: RoundCost) -> Rational:
    curve = throughput(added, cost)
    return 1 - curve[caddtree(added, cost)] / max(curve)


def _short(number: Rational) -> str:
    text = str(number)
    return text if len(text) <= 12 else decimal(number, 6)


def _unimodality(name: str, outcome: str, loss: Rational, message: str, details: dict[str, Any]) -> Verdict:
    return Verdict("cost", name, "unimodality", outcome, "exact", float(fraction(loss)), 0.0, message, details=details)


def budget_instances() -> tuple[BudgetInstance, ...]:
    """Costs of every shape over marginals of the construction catalogue; each made for a kind of fault."""
    many, deep, pair = named_instance("many"), named_instance("deep"), named_instance("two-depths")
    sure = MarginalInstance("sure", "every token certain: gains of exactly 1", [[0, 1], [1, 0], [0, 1], [1, 0]], exact=True)
    kinked = [34 + rational(n) / 3000 + max(0, n - 40) * rational("1/15") for n in range(101)]
    tiles = [30 + 4 * (n // 16) for n in range(101)]
    return (
        BudgetInstance("plateau", "exact ties from 0 to 4: the smallest", sure, 1, [0, 1, 2, 3, 4]),
        BudgetInstance("plateau-late", "rises to 2, then flat: the smallest maximum", sure, 2, [1, 1, 1, 2, 3]),
        BudgetInstance("root-only", "the first node does not pay", pair, 1, [1, 9, 17, 25]),
        BudgetInstance("cap", "free nodes: as many as allowed", pair, 1, [2, 2, 2, 2, 2]),
        BudgetInstance("few-prefixes", "free nodes: as many as there are", sure, 1, [2] * 9),
        BudgetInstance("negative-slope", "a bigger tree is cheaper at first", pair, 1, [5, 4, 4, 6, 9, 14]),
        BudgetInstance("bonus", "without the bonus token one would draft more", pair, 1, [2, 3, 4, 5, 6, 7, 8, 9]),
        BudgetInstance("drafter-counts", "a dear drafter: without its cost, or with it twice, another size is best", many, 20, _growing(60)),
        BudgetInstance("query-tokens", "a kink: shifted by one query token, the choice is one off", pair, 4, [10, 10, 10, 14, 18, 22, 26]),
        BudgetInstance("kinked", "the shape of published fits, in milliseconds: flat, then steep", many, "6.5", kinked),
        BudgetInstance("kinked-confident", "the same with a confident draft: little more than the chain", deep, "6.5", kinked[:65]),
        BudgetInstance("steady", "every node costs the same: gains of 16 bits stop elsewhere", many, 6, [30 + rational(n) / 16 for n in range(101)]),
        BudgetInstance("cliff", "C_v = 1, 3, 3, 3: greedy stops at once, three nodes are best", named_instance("peaked"), 1, [1, 3, 3, 3]),
        BudgetInstance("tiles", "a staircase of 16 query tokens", many, "6.5", tiles),
        BudgetInstance("broken", "a NaN row at depth 2: no node below it pays", named_instance("broken-later"), 1, [1] * 9),
        BudgetInstance("broken-first", "a NaN row at depth 1: nothing to draft", named_instance("broken-first"), 1, [1] * 9),
        BudgetInstance("impossible", "free nodes, but only those of positive mass", named_instance("impossible"), 1, [1] * 30),
    )


def _growing(nodes: int) -> list[Rational]:
    """Steps that grow a little all the time, so that every change of the terms moves the best size."""
    return [10 + rational(n) / 4 + rational(n * n) / 100 for n in range(nodes + 1)]
