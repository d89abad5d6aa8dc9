import pytest

from draftproof.reference.laws import ZERO, Law
from draftproof.reference.rational import fraction, rational
from draftproof.reference.training import Context, credit_ratio, gradient, total
from draftproof.reference.training.credit import added, scaled
from draftproof.reference.training.lock_in import target
from draftproof.reference.training.weightings import token_credit, tree_credit
from draftproof.reference.trees import Node

from .batches import VOCABULARY, Logits, batch, near, score, slopes


@pytest.mark.parametrize("seed", range(20))
def test_gradient_is_that_of_the_loss(seed: int) -> None:
    """Against central differences of the loss in floats; rows sum to zero exactly."""
    context = batch(seed)[0]
    credit = dict(tree_credit([context])[0])
    exact = gradient(credit, context.draft, VOCABULARY)
    assert all(sum(row, ZERO) == 0 for row in exact)

    def loss(logits: Logits) -> float:
        last = {key: score(logits, (0,) * (key[0] - 1) + (key[1],)) - score(logits, (0,) * (key[0] - 1)) for key in credit}
        return -sum(float(fraction(share)) * last[key] for key, share in credit.items())

    assert near(exact, slopes(loss, context.draft), 1e-8)


def test_credit_of_impossible_token_is_refused() -> None:
    with pytest.raises(ValueError, match="token 1 is credited at depth 2"):
        gradient({(2, 1): rational(1)}, [Law.row([1, 1]), Law.point(0)], 2)


def test_sums() -> None:
    credit = added([((0, 1), rational("1/2")), ((1,), rational("1/4")), ((), rational(9))])
    assert credit == {(2, 1): rational("1/2"), (1, 1): rational("1/4")}, "the root's has no logarithm"
    whole = added([((0, 1), rational("1/2")), ((0,), rational("1/4"))], whole_path=True)
    assert whole == {(1, 0): rational("3/4"), (2, 1): rational("1/2")}
    assert total(whole) == rational("5/4") and total(whole, 1) == rational("3/4")
    assert scaled(whole, rational(2))[2, 1] == 1


def test_draft_mass_of_a_path() -> None:
    context = Context(target, [Law.row([1, 3]), Law.row([1, 1])], Node(()))
    assert context.mass((1, 0)) == rational("3/8") and context.mass(()) == 1


def test_credit_ratio() -> None:
    """lambda (1 - w(root)) / |T| against a mean of 1."""
    tree = [{(1, 0): rational("1/64") * rational("95/100")}]
    assert credit_ratio(tree, token_credit([[0, 1], [1, None]]), rational("1/10")) == rational("95/64000")
    with pytest.raises(ValueError, match="credits nothing"):
        credit_ratio(tree, [{}], rational(1))
