from collections import Counter

import torch

from draftproof.gpu_impl import tree_exit


def grid(steps: int) -> torch.Tensor:
    """All pairs of midpoints of `steps` equal intervals."""
    middle = (torch.arange(steps, dtype=torch.float64) + 0.5) / steps
    return torch.cartesian_prod(middle, middle)


def test_worked_example_cell_by_cell() -> None:
    """Tree {0, 00, 1}: all thresholds are multiples of 1/200, so a 200 x 200 grid of uniforms counts it exactly."""
    uniforms = grid(200)
    rows = torch.tensor([[0.7, 0.3], [0.6, 0.4], [0.25, 0.75], [0.5, 0.5]], dtype=torch.float64)
    blocks, accepted = tree_exit(
        torch.tensor([[0, 0, 0, 1]]).expand(len(uniforms), 4),
        torch.tensor([[0, 0, 1, 0]]).expand(len(uniforms), 4),
        torch.ones(len(uniforms), 4, dtype=torch.bool),
        rows.expand(len(uniforms), 4, 2),
        uniforms=uniforms,
    )
    counts = Counter(map(tuple, blocks.tolist()))
    law = {(0, 1, -1): 0.28, (1, 0, -1): 0.15, (1, 1, -1): 0.15, (0, 0, 0): 0.105, (0, 0, 1): 0.315}
    assert counts == {block: round(40_000 * mass) for block, mass in law.items()}
    assert accepted.double().mean().item() == 1.42  # the coverage of the tree


def test_children_that_cover_the_support_leave_no_exit() -> None:
    """An exit mass by subtraction is positive here, neither float32 nor float64 would help; and u = 0 would draw it."""
    row = torch.tensor([0.34, 0.12, 0.29, 0.08, 0.17, 0.0])
    law = row.double() / row.double().sum()
    assert 1 - row[:5].sum() > 0 and 1 - law[:5].sum() > 0  # the planted fault
    uniforms = torch.tensor([[u, w] for u in (0.0, 0.5, 1 - 2**-53) for w in (0.0, 2**-60, 0.5, 1 - 2**-53)]).double()
    blocks, accepted = tree_exit(
        torch.tensor([[0, 0, 1, 2, 3, 4]]).expand(12, 6),
        torch.zeros(12, 6, dtype=torch.int64),
        torch.ones(12, 6, dtype=torch.bool),
        row.expand(12, 6, 6),
        uniforms=uniforms,
    )
    assert (accepted == 1).all() and (blocks < 5).all()


def test_repeated_sibling_is_never_accepted_twice() -> None:
    """Two siblings with token 0: the eldest gets the mass 1/2, the exit at the root keeps its 1/2."""
    uniforms = grid(8)
    blocks, _ = tree_exit(
        torch.zeros(64, 3, dtype=torch.int64),
        torch.zeros(64, 3, dtype=torch.int64),
        torch.ones(64, 3, dtype=torch.bool),
        torch.tensor([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]).expand(64, 3, 2),
        uniforms=uniforms,
    )
    assert Counter(map(tuple, blocks.tolist())) == {(1, -1): 32, (0, 1): 32}
