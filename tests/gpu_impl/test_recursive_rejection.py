import torch

from draftproof.gpu_impl import recursive_rejection


def one_draft(p: list[float], q: list[float], token: int, uniforms: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    batch = len(uniforms)
    return recursive_rejection(
        torch.tensor([[0, token]]).expand(batch, 2),
        torch.zeros(batch, 2, dtype=torch.int64),
        torch.ones(batch, 2, dtype=torch.bool),
        torch.tensor(p).expand(batch, 2, len(p)),
        torch.tensor(q).expand(batch, 2, len(q)),
        uniforms=uniforms,
    )


def test_uniform_on_the_threshold_rejects() -> None:
    """p(0) / q(0) = 1/2 and the bonus after rejection is certain to be 1."""
    uniforms = torch.tensor([[0.3, 0.5 - 2**-53], [0.3, 0.5]], dtype=torch.float64)
    blocks, accepted = one_draft([0.25, 0.75], [0.5, 0.5], 0, uniforms)
    assert accepted.tolist() == [1, 0] and blocks.tolist() == [[0, 1], [1, -1]]


def test_impossible_draft_is_rejected_even_by_a_uniform_of_zero() -> None:
    blocks, accepted = one_draft([0.0, 1.0], [0.5, 0.5], 0, torch.zeros(1, 2))
    assert accepted.tolist() == [0] and blocks.tolist() == [[1, -1]]


def test_draft_outside_its_declared_law_is_accepted_when_the_target_allows_it() -> None:
    uniforms = torch.tensor([[0.0, 1 - 2**-24]])
    assert one_draft([0.25, 0.75], [0.0, 1.0], 0, uniforms)[1].tolist() == [1]
    assert one_draft([0.0, 1.0], [0.0, 1.0], 0, uniforms)[0].tolist() == [[1, -1]]
