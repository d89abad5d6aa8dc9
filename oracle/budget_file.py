"""Budget files: marginals, a cost table and a cap, as JSON that says everything exactly.

``{"marginals": [[5, 3, 2], ["1/4", "3/4"]], "cost": {"draft": "1", "verify": ["1", "3", "3", "3"]}, "nodes": 3}``

A row of marginals lists non-negative weights, normalised exactly; row i is the draft's law at depth i + 1.  ``verify[n]`` is C_v(n), the latency of
n + 1 query tokens, continued with its last slope; ``draft`` is C_d, in the same unit.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from draftproof.reference.budgets import RoundCost, caddtree, gains, smallest_maximiser, throughput
from draftproof.reference.budgets.best_first import ddtree
from draftproof.reference.budgets.throughput import one_peak
from draftproof.reference.laws import Law
from draftproof.reference.models import Prefix, marginal
from draftproof.reference.rational import Rational

MAX_NODES = 4096

_NUMBER = re.compile(r"[+-]?([0-9]{1,200}(/[0-9]{1,200})?|([0-9]{1,50}\.?[0-9]{0,50}|\.[0-9]{1,50})([eE][+-]?[0-9]{1,3})?)")  # no bombs


class BudgetFileError(ValueError):
    """A budget file that cannot be used, with what is wrong and where."""


@dataclass(frozen=True)
class BudgetProblem:
    """Marginals, one law per depth; the cost of a round; the largest number of draft nodes."""

    marginals: tuple[Law[int], ...]
    cost: RoundCost
    nodes: int

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
        }


def load(path: str | Path) -> BudgetProblem:
    """Read a budget file.  Raises BudgetFileError when it is not one, naming the file and the entry."""
    try:
        source = json.loads(Path(path).read_text(encoding="utf-8"), parse_float=str, parse_constant=str)  # "0.1" stays 1/10
    except OSError as error:
        raise BudgetFileError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise BudgetFileError(f"{path}: not JSON: {error}") from None
    try:
        return parse(source)
    except BudgetFileError as error:
        raise BudgetFileError(f"{path}: {error}") from None


def parse(source: Any) -> BudgetProblem:
    """A problem from the JSON object.  Raises BudgetFileError naming the offending entry."""
    fields = _object(source, "a budget file")
    rows = fields.get("marginals")
    if not isinstance(rows, list):
        raise BudgetFileError('"marginals" must be a list of rows, one per depth')
    nodes = fields.get("nodes")
    if not isinstance(nodes, int) or isinstance(nodes, bool) or not 0 <= nodes <= MAX_NODES:
        raise BudgetFileError(f'"nodes" must be an integer from 0 to {MAX_NODES}, not {nodes!r}')
    return BudgetProblem(tuple(_law(row, depth) for depth, row in enumerate(rows, 1)), _cost(fields.get("cost"), nodes), nodes)


def _law(row: Any, depth: int) -> Law[int]:
    where = f'row {depth} of "marginals"'
    if not isinstance(row, list) or not row:
        raise BudgetFileError(f"{where} must be a list of weights, not {row!r}")
    try:
        return Law.row([_number(weight, where) for weight in row])
    except BudgetFileError:
        raise
    except ValueError as error:
        raise BudgetFileError(f"{where}: {error}") from None


def _cost(source: Any, nodes: int) -> RoundCost:
    fields = _object(source, '"cost"')
    table = fields.get("verify")
    if not isinstance(table, list):
        raise BudgetFileError('"verify" of "cost" must be a list: the latency of 1, 2, ... query tokens')
    try:
        cost = RoundCost(_number(fields.get("draft"), '"draft" of "cost"'), [_number(entry, '"verify" of "cost"') for entry in table])
        for n in range(nodes + 1):
            cost(n)
    except BudgetFileError:
        raise
    except ValueError as error:
        raise BudgetFileError(f'"cost": {error}') from None
    return cost


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BudgetFileError(f"{what} must be a JSON object, not {value!r:.60}")
    return value


def _number(value: Any, where: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float | str) or not _NUMBER.fullmatch(str(value)):
        raise BudgetFileError(f"{where} has {value!r:.60}, which is not a number")
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise BudgetFileError(f"{where} has {value!r:.60}, which is not a number") from None
