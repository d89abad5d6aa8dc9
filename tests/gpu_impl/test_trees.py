import random

import torch

from draftproof.gpu_impl.trees import Tree, build_tree, emit, postorder

# 0 -> 1, 2, 5; 1 -> 3; 2 -> 4, 6; 4 -> 7; node 8 is padding; the second tree is a chain of two
PARENTS = torch.tensor([[0, 0, 0, 1, 2, 0, 2, 4, 8], [0, 0, 1, 3, 4, 5, 6, 7, 8]])
VALID = torch.tensor([[1, 1, 1, 1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0, 0, 0, 0]]).bool()
TOKENS = torch.tensor([[9, 1, 2, 3, 4, 0, 6, 7, -1], [9, 1, 2, -1, -1, -1, -1, -1, -1]])


def test_structure() -> None:
    tree = build_tree(TOKENS, PARENTS, VALID, vocabulary=8)
    assert tree.sound.tolist() == [True, True]
    assert tree.depth.tolist() == [[0, 1, 1, 2, 2, 1, 2, 3, 0], [0, 1, 2, 0, 0, 0, 0, 0, 0]]
    assert tree.rank.tolist() == [[0, 0, 1, 0, 0, 2, 1, 0, 0], [0] * 9]
    assert tree.children.shape == (2, 9, 3)
    assert tree.children[0].tolist() == [
        [1, 2, 5], [3, 0, 0], [4, 6, 0], [0, 0, 0], [7, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]
    ]
    assert [list(zip(b.tolist(), i.tolist(), strict=True)) for b, i in tree.levels] == [
        [(0, 0), (1, 0)], [(0, 1), (0, 2), (1, 1)], [(0, 4)]
    ]
    assert tree.tokens.tolist() == [[0, 1, 2, 3, 4, 0, 6, 7, 0], [0, 1, 2, 0, 0, 0, 0, 0, 0]]


def test_root_that_is_not_valid() -> None:
    tree = build_tree(TOKENS, PARENTS, torch.zeros_like(VALID), vocabulary=8)
    assert tree.sound.tolist() == [False, False]


def test_postorder() -> None:
    order = postorder(build_tree(TOKENS, PARENTS, VALID, vocabulary=8))
    assert sorted(range(8), key=order[0].tolist().__getitem__) == [3, 1, 7, 4, 6, 2, 5, 0]
    assert sorted(range(3), key=order[1].tolist().__getitem__) == [2, 1, 0]


def recursive_postorder(parents: list[int], node: int = 0) -> list[int]:
    below = [i for i in range(1, len(parents)) if parents[i] == node]
    return [v for child in below for v in recursive_postorder(parents, child)] + [node]


def random_trees(count: int, nodes: int) -> Tree:
    rng = random.Random(0)
    parents = torch.tensor([[0] + [rng.randrange(max(0, i - 6), i) for i in range(1, nodes)] for _ in range(count)])
    return build_tree(torch.zeros_like(parents), parents, torch.ones_like(parents).bool(), vocabulary=1)


def test_random_trees_agree_with_recursion() -> None:
    tree = random_trees(count=20, nodes=40)
    order = postorder(tree)
    for b, parents in enumerate(tree.parents.tolist()):
        assert order[b].argsort().tolist() == recursive_postorder(parents)
        for i in range(1, 40):
            assert tree.depth[b, i] == tree.depth[b, parents[i]] + 1
            assert tree.children[b, parents[i], tree.rank[b, i]] == i
    levels = [set(zip(b.tolist(), i.tolist(), strict=True)) for b, i in tree.levels]
    internal = {(b, p) for b, row in enumerate(tree.parents.tolist()) for p in row}
    assert set().union(*levels) == internal and sum(map(len, levels)) == len(internal)
    assert all(tree.depth[b, i] == d for d, level in enumerate(levels) for b, i in level)


def test_deepest_tree() -> None:
    for nodes in (1, 2, 3, 64, 65):
        parents = torch.arange(-1, nodes - 1).clamp(min=0).unsqueeze(0)
        tree = build_tree(torch.zeros_like(parents), parents, torch.ones_like(parents).bool(), vocabulary=1)
        assert tree.depth[0].tolist() == list(range(nodes)) and len(tree.levels) == nodes - 1


def test_emit() -> None:
    tree = build_tree(TOKENS, PARENTS, VALID, vocabulary=8)
    blocks, accepted = emit(tree, torch.tensor([7, 0]), torch.tensor([5, 6]), torch.tensor([True, True]))
    assert blocks.tolist() == [[2, 4, 7, 5], [6, -1, -1, -1]] and accepted.tolist() == [3, 0]
    blocks, accepted = emit(tree, torch.tensor([6, 2]), torch.tensor([5, 6]), torch.tensor([True, False]))
    assert blocks.tolist() == [[2, 6, 5, -1], [-1, -1, -1, -1]] and accepted.tolist() == [2, -1]


def test_trees_of_one_topology_are_what_they_are_beside_another() -> None:
    """What they share is derived once; a last tree of another topology makes every tree derive its own."""
    rng = random.Random(1)
    parents = torch.tensor([0] + [rng.randrange(max(0, i - 4), i) for i in range(1, 12)]).repeat(4, 1)
    tokens = torch.randint(5, parents.shape, generator=torch.Generator().manual_seed(0))
    valid = torch.arange(12).lt(11).repeat(4, 1)
    tokens[1, 3] = 7  # beyond the vocabulary: the node has no edge, so that topologies differ, too
    for broken in (False, True):
        rows = slice(0, 4) if broken else slice(2, 4)
        alike = build_tree(tokens[rows], parents[rows], valid[rows], 5)
        other = build_tree(*(torch.cat([part[rows], part[:1].roll(1, 1)]) for part in (tokens, parents, valid)), 5)
        assert (alike.alike, other.alike) == (not broken, False)
        size = len(alike.sound)
        for name in ("tokens", "parents", "depth", "rank", "sound"):
            assert getattr(alike, name).equal(getattr(other, name)[:size]), name
        width = alike.children.shape[2]
        assert alike.children.equal(other.children[:size, :, :width]) and not other.children[:size, :, width:].any()
        assert postorder(alike).equal(postorder(other)[:size])
        for (b, i), (every, node) in zip(alike.levels, other.levels, strict=False):
            mine = every < size
            assert set(zip(b.tolist(), i.tolist(), strict=True)) == set(zip(every[mine].tolist(), node[mine].tolist(), strict=True))
