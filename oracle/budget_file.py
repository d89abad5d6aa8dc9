"""Budget files: marginals, a cost table and a cap, as JSON that says everything exactly.

``{"marginals": [[5, 3, 2], ["1/4", "3/4"]], "cost": {"draft": "1", "verify": ["1", "3", "3", "3"]}, "nodes": 3}``

A row of marginals lists non-negative weights, normalised exactly; row i is the draft's law at depth i + 1; a short row leaves zeros out.
``verify[n]`` is C_v(n), the latency of n + 1 query tokens, continued with its last slope; ``draft`` is C_d, in the same unit.  ``name`` and
``note`` are for people.  Rows that had to be normalised, and a table that had to be continued, are said in the answer's notes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftproof.reference.budgets import RoundCost, caddtree, gains, smallest_maximiser, throughput
from draftproof.reference.budgets.best_first import ddtree
from draftproof.reference.budgets.throughput import one_peak
from draftproof.reference.exact_json import FormatError, as_object, known_keys, number, read, shown
from draftproof.reference.laws import ZERO, Law
from draftproof.reference.models import Prefix, marginal
from draftproof.reference.rational import Rational, decimal, rational

MAX_NODES = 4096


class BudgetFileError(FormatError):
    """A budget file that cannot be used, with what is wrong and where."""


@dataclass(frozen=True)
class BudgetProblem:
    """Marginals, one law per depth; the cost of a round; the largest number of draft nodes; what was done to the numbers given, in words."""

    marginals: tuple[Law[int], ...]
    cost: RoundCost
    nodes: int
    notes: tuple[str, ...] = ()

    def gains(self) -> list[Rational]:
        return gains(marginal(self.marginals), len(self.marginals), self.nodes)

    def tree(self, nodes: int) -> list[Prefix]:
        return ddtree(marginal(self.marginals), len(self.marginals), nodes)

    def answer(self) -> dict[str, Any]:
        """What ``draftproof budget --json`` prints."""
        added = self.gains()
        curve = throughput(added, self.cost)
        greedy, optimum = caddtree(added, self.cost), smallest_maximiser(curve)
        return {
            "curve": [str(rate) for rate in curve],
            "greedy": greedy,
            "optimum": optimum,
            "unimodal": one_peak(curve),
            "convex": self.cost.convex_up_to(len(added)),
            "loss": str(1 - curve[greedy] / curve[optimum]),
            **({"notes": list(self.notes)} if self.notes else {}),
        }


def load(path: str | Path) -> BudgetProblem:
    """Read a budget file.  Raises BudgetFileError when it is not one, naming the file and the entry."""
    try:
        return parse(read(path))
    except FormatError as error:
        raise BudgetFileError(f"{path}: {error}") from None


def parse(source: Any) -> BudgetProblem:
    """A problem from the JSON object.  Raises BudgetFileError naming the offending entry."""
    try:
        return _parsed(source)
    except FormatError as error:
        raise BudgetFileError(str(error)) from None


def _parsed(source: Any) -> BudgetProblem:
    fields = as_object(source, "a budget file")
    known_keys(fields, ("marginals", "cost", "nodes", "name", "note"), "a budget file")
    rows = fields.get("marginals")
    if not isinstance(rows, list):
        raise FormatError(f'"marginals" must be a list of rows, one per depth, not {shown(rows)}')
    nodes = fields.get("nodes")
    if not isinstance(nodes, int) or isinstance(nodes, bool) or not 0 <= nodes <= MAX_NODES:
        raise FormatError(f'"nodes" must be an integer from 0 to {MAX_NODES}, not {shown(nodes)}')
    laws, cost = tuple(_law(row, depth) for depth, row in enumerate(rows, 1)), _cost(fields.get("cost"), nodes)
    return BudgetProblem(laws, cost, nodes, tuple(_notes(rows, cost, nodes)))


def _notes(rows: list[list[Any]], cost: RoundCost, nodes: int) -> Iterator[str]:
    for depth, row in enumerate(rows, 1):
        total = sum((rational(str(weight)) for weight in row), ZERO)
        if total != 1:
            yield f'row {depth} of "marginals" adds up to {decimal(total)}, and is divided by that'
    known = len(cost.verify) - 1
    if known < nodes:
        how = "the last step is repeated" if known else "every size is taken to cost the same"
        yield f'"verify" of "cost" ends at {known} nodes of {nodes}: {how}'


def _law(row: Any, depth: int) -> Law[int]:
    where = f'row {depth} of "marginals"'
    if not isinstance(row, list) or not row:
        raise FormatError(f"{where} must be a list of weights, not {shown(row)}")
    try:
        return Law.row([number(weight, f"weight of {token}") for token, weight in enumerate(row)])
    except ValueError as error:
        raise FormatError(f"{where}: {error}") from None


def _cost(source: Any, nodes: int) -> RoundCost:
    fields = as_object(source, '"cost"')
    known_keys(fields, ("draft", "verify"), '"cost"')
    table = fields.get("verify")
    if not isinstance(table, list):
        raise FormatError(f'"verify" of "cost" must be a list, the latency of 1, 2, ... query tokens, not {shown(table)}')
    draft = number(fields.get("draft"), '"draft" of "cost"')
    entries = [number(entry, f'entry {n} of "verify" of "cost"') for n, entry in enumerate(table)]
    try:
        cost = RoundCost(draft, entries)
        for n in range(nodes + 1):
            cost(n)
    except ValueError as error:
        raise FormatError(f'"cost": {error}') from None
    return cost
