import math

import pytest
import torch

from draftproof.gpu_impl.sampling import inverse_cdf, read_uniforms

CPU = torch.device("cpu")


def pick(weights: list[float], *uniforms: float) -> list[int]:
    rows = torch.tensor([weights] * len(uniforms), dtype=torch.float64)
    return inverse_cdf(rows, torch.tensor(uniforms, dtype=torch.float64)).tolist()


def test_tokens_in_order_and_strictly_beyond() -> None:
    assert pick([0.25, 0.5, 0.25], 0, 0.249, 0.25, 0.749, 0.75, 0.999) == [0, 0, 1, 1, 2, 2]
    assert pick([1, 2, 1], 0, 0.249, 0.25, 0.749, 0.75, 0.999) == [0, 0, 1, 1, 2, 2]


def test_zero_mass_is_never_drawn() -> None:
    assert pick([0, 0.5, 0, 0.5, 0], 0, 0.5, 1 - 2**-53, 1.0) == [1, 3, 3, 3]
    assert pick([0, 1e-300, 0], 0, 1 - 2**-53) == [1, 1]
    assert pick([0, 0], 0, 0.5) == [-1, -1]


def test_zero_mass_is_never_drawn_from_a_cdf_that_grows_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the rounding of a parallel prefix sum may make it."""
    cdf = torch.tensor([[0.0, 0.5, 0.5 + 2**-53, 1.0]], dtype=torch.float64)
    monkeypatch.setattr(torch.Tensor, "cumsum", lambda *_: cdf)
    assert pick([0, 0.5, 0, 0.5], 0.5) == [3]


def test_cdf_that_rounds_away_its_tail() -> None:
    assert pick([1, 2**-54, 2**-54, 0], 1 - 2**-53) == [0]
    assert pick([1, 2**-54, 2**-54, 0], 1.0) == [2]


def test_full_vocabulary_is_drawn_where_the_exact_cdf_says() -> None:
    """The middle of a token's interval draws that token, also where a float32 CDF would have no room for it."""
    vocabulary = 151_936
    weights = torch.randn(vocabulary, generator=torch.Generator().manual_seed(0)).mul(3).softmax(0).double()
    tokens = torch.randint(vocabulary, (32,), generator=torch.Generator().manual_seed(1))
    masses = weights.tolist()
    total = math.fsum(masses)
    middles = [(math.fsum(masses[:t]) + masses[t] / 2) / total for t in tokens.tolist()]
    uniforms = torch.tensor(middles, dtype=torch.float64)
    assert torch.equal(inverse_cdf(weights.expand(len(tokens), -1), uniforms), tokens)
    single = (weights.float().cumsum(0) <= (uniforms.unsqueeze(1) * total).float()).sum(1)
    assert not torch.equal(single, tokens)  # the planted fault: the same in float32


def test_uniforms() -> None:
    given = torch.rand(3, 2)
    assert torch.equal(read_uniforms(given, None, (3, 2), CPU), given.double())
    fresh = read_uniforms(None, torch.Generator().manual_seed(0), (3, 2), CPU)
    assert fresh.dtype == torch.float64 and len(set(fresh.flatten().tolist())) == 6
    with pytest.raises(ValueError, match="not both"):
        read_uniforms(given, torch.Generator(), (3, 2), CPU)
    with pytest.raises(ValueError, match=r"must be \[3, 1\]"):
        read_uniforms(given, None, (3, 1), CPU)
    with pytest.raises(TypeError, match="float32 or float64"):
        read_uniforms(given.half(), None, (3, 2), CPU)
