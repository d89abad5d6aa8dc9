import random
from types import SimpleNamespace
from typing import Any

import pytest

from draftproof.reference.budgets import RoundCost
from draftproof.reference.budgets.convex_fit import FitError, convex_fit


def test_fits_noise_exactly_convex() -> None:
    rng = random.Random(12)
    sizes = list(range(0, 60))
    true = [40 + 0.01 * n + 0.3 * max(0, n - 30) for n in sizes]
    fitted = convex_fit(sizes, [value + rng.gauss(0, 0.5) for value in true])
    assert len(fitted) == 60 and RoundCost(1, fitted).convex_up_to(59)
    assert max(abs(float(fit) - value) for fit, value in zip(fitted, true, strict=True)) < 1
    assert all(left <= right for left, right in zip(fitted, fitted[1:], strict=False))


def test_convex_data_is_kept() -> None:
    fitted = convex_fit([0, 1, 2, 3], [1e-6, 1e-6, 2e-6, 4e-6])
    assert [round(float(value) * 1e6, 3) for value in fitted] == [1, 1, 2, 4]


def test_a_sparse_grid_is_fitted_by_slopes() -> None:
    """1, 1.5, 1.75, 2 at 1, 2, 4, 8 nodes has second differences of one sign in the index and slopes of the other: it is concave in n."""
    fitted = convex_fit([1, 2, 4, 8], [1.0, 2.0, 3.0, 4.0])
    assert len(fitted) == 9 and RoundCost(1, fitted).convex_up_to(8)
    slope = float(fitted[8] - fitted[4]) / 4
    assert 0.3 < slope < 0.5, "the best convex answer to concave data is a line"


def test_small_inputs() -> None:
    assert [round(float(value), 6) for value in convex_fit([0], [3.0])] == [3]
    assert [round(float(value), 6) for value in convex_fit([0, 1], [3.0, 1.0])] == [2, 2], "latency does not fall"
    assert [round(float(value), 6) for value in convex_fit([2], [3.0])] == [3, 3, 3], "flat below the first size"


NAN = float("nan")


@pytest.mark.parametrize(
    ("sizes", "latencies"),
    [([], []), ([1, 1], [1, 2]), ([0, 1], [1]), ([-1], [1]), ([0], [NAN]), ([0, NAN], [1, 2]), ([0, 0.5], [1, 2])],
)
def test_nonsense_is_refused(sizes: list[Any], latencies: list[float]) -> None:
    with pytest.raises(ValueError):
        convex_fit(sizes, latencies)


def test_a_failed_fit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import cvxpy

    with pytest.raises(FitError, match="convex fit failed"):
        convex_fit([0, 1, 2], [1.0, 2.0, 3.0], solver="NO_SUCH_SOLVER")

    def stopped(self: Any, **_: Any) -> None:
        self._status = "user_limit"
        self._solver_stats = SimpleNamespace()

    monkeypatch.setattr(cvxpy.Problem, "solve", stopped)
    with pytest.raises(FitError, match="user_limit"):
        convex_fit([0, 1, 2], [1.0, 5.0, 3.0])


def test_second_differences_by_index_would_pass_a_concave_table() -> None:
    """Planted: slopes per index, as if the grid were 1, 2, 3, ...; on 1, 2, 4, 8 they rise while the slopes per node fall."""
    sizes, latencies = [1, 2, 4, 8], [1.0, 2.0, 3.0, 4.0]
    by_index = [latencies[i + 1] - latencies[i] for i in range(3)]
    by_node = [step / (sizes[i + 1] - sizes[i]) for i, step in enumerate(by_index)]
    assert by_index == sorted(by_index) and by_node == [1, 0.5, 0.25]
    assert [round(float(value), 6) for value in convex_fit(sizes, latencies)][1:] != latencies, "ours does change it"
