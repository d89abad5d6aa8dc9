"""Distinct rows are those that numpy finds by sorting rows."""

import numpy as np
import pytest

from draftproof.oracle.distinct import distinct_rows


@pytest.mark.parametrize("seed", range(30))
def test_as_numpy_finds_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-1, int(rng.choice([1, 3, 40, 151_936])), size=(int(rng.integers(1, 400)), int(rng.integers(1, 20))))
    rows = rows[rng.integers(0, len(rows), size=len(rows))]  # many twice
    wanted = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    for got, want in zip(distinct_rows(rows), wanted, strict=True):
        assert np.array_equal(got, want.reshape(got.shape))


def test_no_rows() -> None:
    distinct, inverse, counts = distinct_rows(np.zeros((0, 3), dtype=np.int64))
    assert distinct.shape == (0, 3) and not len(inverse) and not len(counts)


def test_codes_that_would_overflow_are_ranked_first() -> None:
    """Without it, rows that differ in the first columns only would be one."""
    rows = np.full((4, 8), 151_935)
    rows[1, 0] = rows[2, 1] = 3
    assert distinct_rows(rows)[2].tolist() == [1, 1, 2]
