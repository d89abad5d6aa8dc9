import pytest

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
