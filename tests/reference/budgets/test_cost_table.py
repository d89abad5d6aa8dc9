import pytest

from draftproof.reference.budgets import RoundCost
from draftproof.reference.budgets.cost_table import CostTable
from draftproof.reference.rational import rational


def total(table: CostTable, context: int, nodes: int) -> str:
    return str(table.at(context)(nodes))


def test_interpolation_and_extrapolation() -> None:
    table = CostTable("1/2", {1000: [10, 11], 2000: [20, 24, 30]})
    assert total(table, 1000, 1) == "23/2" and total(table, 2000, 2) == "61/2", "exact at measured lengths"
    assert total(table, 1500, 1) == "18", "half way: (11 + 24) / 2 + 1/2"
    assert total(table, 1500, 2) == "43/2", "the shorter table goes on with its last slope: (12 + 30) / 2 + 1/2"
    assert total(table, 1500, 3) == "25", "and so does their mixture"
    assert total(table, 3000, 1) == "75/2", "beyond: 24 + (24 - 11) + 1/2, where clamping would say 49/2"
    assert total(table, 500, 0) == "11/2", "below: 10 - 5 + 1/2"
    assert table.at(1500).draft == rational("1/2"), "the drafter is paid once"


def test_one_context_length() -> None:
    table = CostTable(1, {512: [2, 3]})
    assert total(table, 0, 1) == total(table, 9999, 1) == "4"


def test_three_lengths_use_the_two_nearest() -> None:
    table = CostTable(1, {0: [0], 10: [10], 20: [40]})
    assert [total(table, context, 0) for context in (0, 5, 10, 15, 20, 30)] == ["1", "6", "11", "26", "41", "71"]


def test_convexity_survives_between_lengths_but_maybe_not_outside() -> None:
    table = CostTable(1, {0: [5, 6, 8], 10: [9, 10, 11]})
    assert table.at(5).convex_up_to(2) and not table.at(30).convex_up_to(2)


def test_errors() -> None:
    with pytest.raises(ValueError, match="at least one context length"):
        CostTable(1, {})
    with pytest.raises(ValueError, match="at least one entry"):
        CostTable(1, {0: []})
    with pytest.raises(ValueError, match="not positive"):
        CostTable(1, {1000: [10], 2000: [30]}).at(100)(0)


MEASURED = {1000: [10, 11], 2000: [20, 24, 30]}


class Clamped(CostTable):
    """Planted: contexts outside the grid are charged as its ends."""

    def at(self, context: int) -> RoundCost:
        return super().at(min(max(context, 1000), 2000))


class Nearest(CostTable):
    """Planted: no interpolation."""

    def at(self, context: int) -> RoundCost:
        return super().at(1000 if context < 1500 else 2000)


class TwiceDrafted(CostTable):
    """Planted: each of the two tables brings its drafter along."""

    def at(self, context: int) -> RoundCost:
        cost = super().at(context)
        return cost if context in MEASURED else RoundCost(2 * cost.draft, cost.verify)


class FlatBeyond(CostTable):
    """Planted: beyond the table the last entry goes on, not the last slope."""

    def at(self, context: int) -> RoundCost:
        cost = super().at(context)
        return RoundCost(cost.draft, [*cost.verify, *[cost.verify[-1]] * 8])


@pytest.mark.parametrize(
    ("planted", "context", "nodes"), [(Clamped, 3000, 1), (Clamped, 500, 0), (Nearest, 1500, 1), (TwiceDrafted, 1500, 1), (FlatBeyond, 1000, 3)]
)
def test_planted_faults_differ(planted: type[CostTable], context: int, nodes: int) -> None:
    right = {(3000, 1): "75/2", (500, 0): "11/2", (1500, 1): "18", (1000, 3): "27/2"}[context, nodes]
    assert total(CostTable("1/2", MEASURED), context, nodes) == right != total(planted("1/2", MEASURED), context, nodes)
