"""The law of a draw at full vocabulary, computed from the rounded CDF that the draw uses, not by sampling: within 1e-6 of the exact law.

What is computed describes the sampler: its intervals are checked against real draws.  Exact laws are in long double, from
the bits of the rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from draftproof.gpu_impl import LogitRows
from draftproof.gpu_impl.rowwise import rows
from draftproof.gpu_impl.rowwise.rows import Row, read

VOCABULARY = 151_936
BOUND = 1e-6
Law = NDArray[Any]


def logits(seed: int, scale: float = 3.0) -> Tensor:
    return scale * torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(seed))


def exact_softmax(values: Tensor, temperature: float = 1.0) -> Law:
    wide = values.double().numpy().astype(np.longdouble) / temperature
    weights = np.exp(wide - wide.max())
    return np.asarray(weights / weights.sum())


def exact_law(weights: Tensor) -> Law:
    wide = weights.double().numpy().astype(np.longdouble)
    return np.asarray(wide / wide.sum())


def implied_law(row: Row) -> Law:
    """Of ``Row.draw``: a block has the uniforms between two block sums, a token those between two sums in the block, the last one the rest."""
    cdf = row.blocks.cumsum()
    masses = []
    for block, end in enumerate(cdf):
        start = cdf[block - 1] if block else 0.0
        inside = rows._block(row.weights, block, row.taken)
        ends = np.minimum(start + inside.cumsum(), end)
        if inside.any():
            ends[inside.nonzero()[0][-1] :] = end
        masses.append(np.diff(ends, prepend=start))
    return np.asarray(np.concatenate(masses) / cdf[-1])


def single_level_float32(row: Row) -> Law:
    """The planted fault: one float32 CDF over the whole vocabulary."""
    cdf = row.weights.float().cumsum(0)
    return np.asarray(np.diff((cdf / cdf[-1]).double().numpy(), prepend=0.0))


def off(law: Law, exact: Law) -> float:
    return float(np.abs(law - exact).sum() / 2)


def of_probabilities() -> tuple[Row, Law]:
    weights = logits(0).softmax(0)
    return read(weights.view(1, 1, -1), 0, 0), exact_law(weights)


def of_bfloat16_probabilities() -> tuple[Row, Law]:
    weights = logits(1).softmax(0).bfloat16()
    return read(weights.view(1, 1, -1), 0, 0), exact_law(weights)


def of_logits(dtype: torch.dtype, temperature: float, offset: float = 0.0) -> Callable[[], tuple[Row, Law]]:
    def make() -> tuple[Row, Law]:
        given = (logits(2) + offset).to(dtype)
        return read(LogitRows(given.view(1, 1, -1), temperature=temperature), 0, 0), exact_softmax(given, temperature)

    return make


def of_a_residual() -> tuple[Row, Law]:
    """Target and draft of one distribution with noise, both from logits: the law as it counts, times the mass that is rejected."""
    target, draft = logits(3), logits(3) + 0.3 * logits(4, 1.0)
    p = read(LogitRows(target.view(1, 1, -1)), 0, 0)
    row, total = p.excess(read(LogitRows(draft.view(1, 1, -1)), 0, 0), 1 / p.total)
    rest = np.maximum(exact_softmax(target) - exact_softmax(draft), 0)
    assert 0.02 < total < 0.2 and abs(total - float(rest.sum())) < 1e-7
    return row, np.asarray(rest / rest.sum())


def of_a_row_off_its_children() -> tuple[Row, Law]:
    given = logits(5)
    gone = given.topk(7).indices.tolist()
    exact = exact_softmax(given)
    exact[gone] = 0
    return read(LogitRows(given.view(1, 1, -1)), 0, 0).without(gone), np.asarray(exact / exact.sum())


ROWS: dict[str, Callable[[], tuple[Row, Law]]] = {
    "float32 probabilities": of_probabilities,
    "bfloat16 probabilities": of_bfloat16_probabilities,
    "float32 logits": of_logits(torch.float32, 1.0),
    "bfloat16 logits, temperature": of_logits(torch.bfloat16, 0.7),
    "float32 logits, far from zero": of_logits(torch.float32, 0.7, 80.0),
    "residual": of_a_residual,
    "off its children": of_a_row_off_its_children,
}


@pytest.mark.parametrize("kind", ROWS)
def test_implied_law(kind: str) -> None:
    row, exact = ROWS[kind]()
    found, planted = off(implied_law(row), exact), off(single_level_float32(row) if not row.taken else exact * 0, exact)
    print(f"{kind}: {found:.1e}, planted {planted:.1e}")
    assert found < BOUND and planted > 100 * BOUND


def test_residual_of_rows_taken_to_sum_to_one_is_not() -> None:
    """The planted fault: torch's float32 softmax of a row this long misses 1 by 1e-5, and a residual shows it."""
    p = read(LogitRows(logits(3).view(1, 1, -1)), 0, 0)
    assert abs(p.total - 1) > 1e-6
    q = read(LogitRows((logits(3) + 0.3 * logits(4, 1.0)).view(1, 1, -1)), 0, 0)
    assert abs(p.excess(q, 1.0)[1] - float(np.maximum(exact_softmax(logits(3)) - exact_softmax(logits(3) + 0.3 * logits(4, 1.0)), 0).sum())) > BOUND


@pytest.mark.parametrize("kind", ["float32 probabilities", "residual", "off its children"])
def test_draws_fall_where_the_implied_law_says(kind: str) -> None:
    row, _ = ROWS[kind]()
    ends = implied_law(row).cumsum()
    uniforms = torch.rand(1500, dtype=torch.float64, generator=torch.Generator().manual_seed(6)).numpy()
    tokens = np.array([row.draw(uniform) for uniform in uniforms])
    below = np.where(tokens > 0, ends[tokens - 1], 0.0)
    assert (below - 1e-12 <= uniforms).all() and (uniforms < ends[tokens] + 1e-12).all()
    assert (implied_law(row)[tokens] > 0).all()
