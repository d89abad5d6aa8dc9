"""Which trees recursive rejection and traversal may be given: any that grow without looking at a slot's own token."""

import random
from collections.abc import Callable

import pytest

from draftproof.reference.blocks import block_law, block_law_on_tree, tree_law
from draftproof.reference.chance import Chance, law_of
from draftproof.reference.drafting import ranked, with_replacement, without_replacement
from draftproof.reference.growth import total_variation, violations
from draftproof.reference.laws import Law
from draftproof.reference.models import Model, Prefix, marginal, random_law, random_model, table
from draftproof.reference.rational import rational
from draftproof.reference.trees import Node, Scheme, Slot, Tokens, level_order, uniform_topology
from draftproof.reference.verifiers import family

from . import brute, faults
from .instances import plain, random_topology, rows

READERS = ("recursive_rejection", "traversal")


def law_on_trees(verifier: str, target: Model, trees: Law[Node]) -> Law[tuple[int, ...]]:
    return faults.averaged(family(verifier), target, trees)


# The leaf lemma.


def arbitrary_tree(rng: random.Random, slot: Slot, path: Prefix = (), declared: Law[int] | None = None) -> Node:
    """Any tokens with any declared laws that allow them: no scheme ever drew this tree."""
    below = []
    for child in slot:
        law = random_law(rng, 3, zeros=0.2)
        below.append(arbitrary_tree(rng, child, (*path, rng.choice(list(law))), law))
    return Node(path, declared, tuple(below))


def with_child(node: Node, place: int, child: Law[int], token: int, last: bool) -> Node:
    """A leaf added to the node of this rank in level order, as its last or its first child."""
    parent = level_order(node)[place]

    def copy(at: Node) -> Node:
        below = tuple(copy(old) for old in at.below)
        if at is parent:
            leaf = Node((*at.path, token), child)
            below = (*below, leaf) if last else (leaf, *below)
        return Node(at.path, at.declared, below)

    return copy(node)


@pytest.mark.parametrize("verifier", READERS)
def test_leaf_lemma(verifier: str) -> None:
    """A fresh last child, drawn from its declared law, never changes the completed law; a fresh first child often does."""
    first_changes = 0
    for seed in range(40):
        rng = random.Random(seed)
        target = random_model(seed, 3, zeros=0.2)
        tree = arbitrary_tree(rng, random_topology(rng, rng.randint(1, 4)))
        place, law = rng.randrange(len(level_order(tree))), random_law(rng, 3, zeros=0.2)
        length = max(len(node.path) for node in level_order(tree)) + 2

        def completed(grown: Law[Node], length: int = length, target: Model = target) -> dict[Prefix, object]:
            blocks = plain(law_on_trees(verifier, target, grown))
            return {string: mass for string, mass in brute.completed(rows(target), blocks, 3, length).items() if mass}

        before = completed(Law.point(tree))
        assert completed(law.map(lambda token, t=tree, v=place, r=law: with_child(t, v, r, token, last=True))) == before
        first_changes += completed(law.map(lambda token, t=tree, v=place, r=law: with_child(t, v, r, token, last=False))) != before
    assert first_changes > 5


# Predictable builds.


def elders_decide(draft: Model) -> Scheme:
    """Another sibling is drawn only while the youngest elder is token 0 (or there is none)."""

    def declared(slot: Slot, prefix: Prefix, elders: Tokens) -> Law[int] | None:
        if len(elders) == len(slot) or any(elders):
            return None
        return draft(prefix)

    return declared


def mixed_laws(draft: Model) -> Scheme:
    """A ranked token, then a sample off it, then any token at all, uniformly off the elders."""

    def declared(slot: Slot, prefix: Prefix, elders: Tokens) -> Law[int] | None:
        if len(elders) == len(slot):
            return None
        if not elders:
            return Law.point(ranked(draft(prefix))[0])
        return draft(prefix).without(elders) or Law.row([1, 1, 1]).without(elders)

    return declared


def stale(draft: Model) -> Scheme:
    """Sampled and declared from the row of the root, wherever it is."""
    return lambda slot, prefix, elders: draft(()).without(elders) if len(elders) < len(slot) else None


@pytest.mark.parametrize("verifier", READERS)
@pytest.mark.parametrize("make", [elders_decide, mixed_laws, stale])
def test_predictable_builds_are_lossless(verifier: str, make: Callable[[Model], Scheme]) -> None:
    for seed in range(25):
        target, draft = random_model(seed, 3, zeros=0.2), random_model(-1 - seed, 3, zeros=0.2)
        law = block_law(family(verifier), target, ((), ((),), ()), make(draft))
        assert total_variation(law, target) == 0


@pytest.mark.parametrize("verifier", READERS)
def test_bigger_subtree_for_the_likelier_sibling(verifier: str) -> None:
    """Decided when both siblings are drawn and before their children are: lossless."""
    for seed in range(25):
        target, draft = random_model(seed, 3), random_model(-1 - seed, 3)

        def build(chance: Chance, draft: Model = draft) -> Node:
            law = draft(())
            x = chance.draw(law)
            rest = law.without([x])
            assert rest is not None
            y = chance.draw(rest)
            likelier = x if law[x] >= law[y] else y
            below = {z: (Node((z, chance.draw(draft((z,)))), draft((z,))),) if z == likelier else () for z in (x, y)}
            return Node((), None, (Node((x,), law, below[x]), Node((y,), rest, below[y])))

        assert total_variation(law_on_trees(verifier, target, law_of(build)), target) == 0


@pytest.mark.parametrize("verifier", READERS)
def test_number_of_siblings_decided_by_the_last_one_drawn(verifier: str) -> None:
    """One slot, admitted only if its own token is 0: p = (7/10, 3/10) becomes (17/20, 3/20)."""
    q, p = Law.row([1, 1]), marginal([Law.row([7, 3])] * 2)

    def build(chance: Chance) -> Node:
        token = chance.draw(q)
        return Node((), None, (Node((0,), q),) if token == 0 else ())

    law = law_on_trees(verifier, p, law_of(build))
    found = next(violations(law, p))
    assert (found.prefix, found.token, str(found.emitted)) == ((), 0, "17/20")


@pytest.mark.parametrize(("declared", "emitted"), [(Law.row([2, 1]), "2/3"), (Law.row([8, 1]), None)])
def test_best_of_two_draws(declared: Law[int], emitted: str | None) -> None:
    """Two draws from q = (2/3, 1/3), the likelier one submitted: its law is (8/9, 1/9), and lossless only when it is declared."""
    p = marginal([Law.row([1, 1])] * 2)

    def build(chance: Chance) -> Node:
        q = Law.row([2, 1])
        return Node((), None, (Node((min(chance.draw(q), chance.draw(q)),), declared),))

    law = law_on_trees("recursive_rejection", p, law_of(build))
    assert total_variation(law, p) == (0 if emitted is None else rational("1/6"))
    assert emitted is None or str(next(violations(law, p)).emitted) == emitted


def own_token_tree(chance: Chance) -> Node:
    """Two slots, best-first on path scores that include the slot's own token: a child 0 of token 0 beats its sibling 1, a child 1 does not."""
    q1, q2 = Law.row([7, 3]), Law.row([2, 1])
    first = chance.draw(q1)
    sibling = Node((1 - first,), Law.point(1 - first))
    if first == 0 and chance.draw(q2) == 0:
        return Node((), None, (Node((0,), q1, (Node((0, 0), q2),)),))
    return Node((), None, (Node((first,), q1), sibling))


def pre_token_tree(chance: Chance) -> Node:
    """The same growth with a score that is known before the draw: the parent's path times the mass its elder siblings left."""
    q1, q2 = Law.row([7, 3]), Law.row([2, 1])
    first = chance.draw(q1)
    if q1[first] >= 1 - q1[first]:  # a child scores q1(first), the sibling what is left
        return Node((), None, (Node((first,), q1, (Node((first, chance.draw(q2)), q2),)),))
    return Node((), None, (Node((first,), q1), Node((1 - first,), Law.point(1 - first))))


def test_topology_that_looks_at_its_own_token() -> None:
    """The smallest tree case: after token 0, token 0 comes with probability 4/9 instead of 1/3."""
    p = table({(): Law.row([1, 1]), (0,): Law.row([1, 2]), (1,): Law.row([3, 1]), (0, 0): Law.row([1, 1])})
    trees = law_of(own_token_tree)
    law = law_on_trees("recursive_rejection", p, trees)
    assert total_variation(law, p) == rational("1/18")
    found = next(violations(law, p))
    assert (found.prefix, found.token, str(found.emitted), str(found.should_be)) == ((0,), 0, "4/9", "1/3")
    assert total_variation(law_on_trees("traversal", p, trees), p) == rational("11/90")
    assert total_variation(law_on_trees("predraw_follow", p, trees), p) == 0
    assert total_variation(law_on_trees("tree_exit", p, trees), p) == 0
    full = random_model(0, 2)
    for verifier in READERS:
        assert total_variation(law_on_trees(verifier, full, law_of(pre_token_tree)), full) == 0


def test_siblings_verified_in_another_order_than_drawn() -> None:
    """Sorted by q and declared as if drawn in that order: 11/60; each with the law it was really drawn from, 1/12; in draw order 0."""
    p, q = marginal([Law.row([1, 2, 3])] * 2), marginal([Law.row([3, 2, 1])])
    trees = tree_law(((), ()), without_replacement(q))
    by_q = trees.map(lambda tree: faults.reordered(tree, lambda node: -q(())[node.token]))
    redrawn = by_q.map(lambda tree: faults.redeclared(tree, lambda prefix, elders: q(prefix).without(elders) or q(prefix)))
    variations = [total_variation(law_on_trees("recursive_rejection", p, law), p) for law in (trees, by_q, redrawn)]
    assert list(map(str, variations)) == ["0", "1/12", "11/60"]


def test_independent_siblings_may_be_verified_in_any_order() -> None:
    """A control that must pass: with replacement, an order that does not look at the tokens is as good as any other."""
    for seed in range(15):
        p, q = random_model(seed, 3), random_model(-1 - seed, 3)
        trees = tree_law(((), ((),)), with_replacement(q))
        backwards = trees.map(lambda tree: Node((), None, tree.below[::-1]))
        assert total_variation(law_on_trees("recursive_rejection", p, backwards), p) == 0


def test_one_list_for_all_nodes_of_a_depth() -> None:
    """A marginal drafter may share its draws between the nodes of a depth under recursive rejection, not under traversal."""
    wrong = 0
    for seed in range(15):
        p, q = random_model(seed, 3), marginal([random_law(random.Random(seed), 3), random_law(random.Random(-1 - seed), 3)])

        def build(chance: Chance, q: Model = q) -> Node:
            x = chance.draw(q(()))
            rest = q(()).without([x])
            assert rest is not None
            y, shared = chance.draw(rest), chance.draw(q((0,)))
            return Node((), None, tuple(Node((z,), law, (Node((z, shared), q((0,))),)) for z, law in ((x, q(())), (y, rest))))

        trees = law_of(build)
        law = law_on_trees("recursive_rejection", p, trees)
        assert total_variation(law, p) == 0
        assert law == block_law(family("recursive_rejection"), p, uniform_topology((2, 1)), without_replacement(q))
        wrong += total_variation(law_on_trees("traversal", p, trees), p) > 0
    assert wrong > 5


def test_token_outside_its_declared_law_is_refused() -> None:
    """No draw has declared probability 0, so a tree with such a token is a mistake and not a law."""
    p = marginal([Law.row([3, 1, 3, 3])] * 2)
    for verifier in READERS:
        with pytest.raises(ZeroDivisionError):
            block_law_on_tree(family(verifier), p, Node((), None, (Node((2,), Law.row([1, 1, 0, 0])),)))
