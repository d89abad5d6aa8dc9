from draftproof.reference.rational import rational
from draftproof.reference.training.building import tree_of
from draftproof.reference.training.lock_in import at, target
from draftproof.reference.training.swaps import swap_optimal
from draftproof.reference.training.weightings import exit_weights, prefix_weights


def test_the_exit_objective_leaves_the_best_tree() -> None:
    """From 4/5 on down to 1/2 the tree is the best one, and descent always goes on; beyond, coverage is 11/10 and descent turns round."""
    for hundredths in range(51, 100):
        now = at(f"{hundredths}/100")
        assert set(now.tree) == {(0,), (0, 0), (0, 1), (1,)} and now.coverage == rational("19/10")
        assert now.gradient[0][0] > 0, "so the logit of token 0 falls"
    for hundredths in range(1, 50):
        now = at(f"{hundredths}/100")
        assert set(now.tree) == {(1,), (1, 0), (1, 1), (0,)} and now.coverage == rational("11/10")
        assert now.gradient[0][0] < 0
    assert at("4/5").gradient[0] == [rational("1/50"), rational("-1/50")]


def test_why() -> None:
    """Both children of 0 are in the tree, so it has no weight of its own; coverage has nothing to gain."""
    root = tree_of(at("4/5").tree)
    assert (0,) not in exit_weights(target, root) and exit_weights(target, root)[1,] == rational("1/10")
    assert swap_optimal(target, root, 2, 2) and not swap_optimal(target, tree_of(at("1/5").tree), 2, 2)


def test_prefix_weights_do_not() -> None:
    """Their row rests at the target's, 9/10."""
    assert at("4/5", prefix_weights).gradient[0][0] < 0 < at("19/20", prefix_weights).gradient[0][0]
    assert at("9/10", prefix_weights).gradient[0] == [0, 0]
