import torch

from draftproof.gpu_impl.laws import excess, read_declared, read_law

NAN = float("nan")


def test_rows_are_upcast_and_normalised() -> None:
    rows = torch.tensor([[[1, 1, 2], [0.1, 0.2, 0.7]]], dtype=torch.bfloat16)
    law, sound = read_law(rows, torch.tensor([0, 0]), torch.tensor([1, 0]))
    exact = rows[0].double()
    assert law.dtype == torch.float64 and sound.all()
    assert torch.equal(law, torch.stack((exact[1] / exact[1].sum(), exact[0] / 4)))


def test_rows_of_one_token() -> None:
    law, sound = read_law(torch.tensor([[[0.5]], [[0.0]]]), torch.arange(2), torch.zeros(2, dtype=torch.int64))
    assert law[0].tolist() == [1] and sound.tolist() == [True, False]


def test_rows_that_are_no_laws() -> None:
    rows = torch.tensor([[[0.5, NAN], [1.5, -0.5], [0.0, 0.0], [float("inf"), 0.0], [0.0, 1.0]]])
    index = torch.arange(5)
    assert read_law(rows, torch.zeros_like(index), index)[1].tolist() == [False] * 4 + [True]


def test_nothing_declared_is_a_point_mass() -> None:
    law, sound = read_declared(None, torch.tensor([[0, 2]]), torch.tensor([0]), torch.tensor([1]), 3)
    assert law.tolist() == [[0, 0, 1]] and sound.tolist() == [True]


def test_excess() -> None:
    f, r = torch.tensor([[0.5, 0.25, 0.25]]).double(), torch.tensor([[0.25, 0.75, 0.0]]).double()
    residual, total = excess(f, r)
    assert residual.tolist() == [[0.5, 0, 0.5]] and total.tolist() == [0.5]
    residual, total = excess(f, r, mass=0.75)
    assert residual.tolist() == [[0.4, 0, 0.6]] and total.tolist() == [0.3125]
    residual, total = excess(f, f)
    assert torch.equal(residual, f) and total.tolist() == [0]
