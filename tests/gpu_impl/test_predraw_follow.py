import torch

from draftproof.gpu_impl import predraw_follow


def test_every_draw_comes_from_its_own_node() -> None:
    """A node's uniform draws its token: the walk follows 0, 1 and emits what node 3 drew."""
    rows = torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    uniforms = torch.tensor([[0.499, 0.25, 0.0, 0.5]])
    blocks, accepted = predraw_follow(
        torch.tensor([[0, 0, 1, 1]]), torch.tensor([[0, 0, 0, 1]]), torch.ones(1, 4, dtype=torch.bool),
        rows.unsqueeze(0), uniforms=uniforms,
    )
    assert accepted.tolist() == [2] and blocks.tolist() == [[0, 1, 2]]


def test_descends_into_the_first_of_two_equal_siblings() -> None:
    rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    blocks, _ = predraw_follow(
        torch.zeros(1, 3, dtype=torch.int64), torch.zeros(1, 3, dtype=torch.int64), torch.ones(1, 3, dtype=torch.bool),
        rows.unsqueeze(0),
    )
    assert blocks.tolist() == [[0, 1]]
