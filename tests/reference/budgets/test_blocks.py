import random
from fractions import Fraction

from draftproof.reference.budgets import RoundCost, throughput
from draftproof.reference.budgets.blocks import block_greedy, bucket_ends, staircase, tile_ends
from draftproof.reference.rational import Rational, rational

from .draws import random_gains


def tiles(rng: random.Random, nodes: int, width: int, jumps: list[int]) -> RoundCost:
    """n + 1 query tokens in tiles of ``width``; ``jumps[i]`` is what tile i + 1 adds."""
    base = rng.randint(1, 6)
    levels = [base + sum(jumps[:tile]) for tile in range(len(jumps) + 1)]
    return RoundCost(Fraction(rng.randint(1, 6), 2), [levels[n // width] for n in range(nodes + 1)])


def test_block_greedy_always_reaches_the_maximum() -> None:
    """Equal tiles, non-decreasing jumps, 3000 instances, the cap inside a tile in most; the smallest maximiser, since masses are positive."""
    rng = random.Random(7)
    inside = 0
    for _ in range(3000):
        gains = random_gains(rng)
        nodes, width = len(gains), rng.randint(1, 5)
        jumps = sorted(rng.randint(0, 9) for _ in range(nodes // width + 1))
        cost, ends = tiles(rng, nodes, width, jumps), tile_ends(width, nodes)
        curve = throughput(gains, cost)
        assert staircase(cost, ends)
        assert block_greedy(gains, cost, ends) == curve.index(max(curve))
        inside += (nodes + 1) % width != 0
    assert inside > 1000


def test_decreasing_jumps_mislead_it() -> None:
    """Tiles of two query tokens, jumps 5, 0, 0, 0: the second tile does not pay, the others pay for it."""
    gains, cost, ends = [rational("9/10")] * 9, RoundCost(1, [1, 1, 6, 6, 6, 6, 6, 6, 6, 6]), tile_ends(2, 9)
    curve = throughput(gains, cost)
    assert block_greedy(gains, cost, ends) == 1 and curve.index(max(curve)) == 9 and curve[1] < curve[9]
    assert not staircase(cost, ends), "and it can be seen beforehand"


def test_jumps_in_any_order_are_often_wrong() -> None:
    rng, wrong = random.Random(12), 0
    for _ in range(3000):
        gains = random_gains(rng)
        nodes, width = len(gains), rng.randint(1, 4)
        cost, ends = tiles(rng, nodes, width, [rng.randint(0, 9) for _ in range(nodes // width + 1)]), tile_ends(width, nodes)
        curve = throughput(gains, cost)
        if curve[block_greedy(gains, cost, ends)] < max(curve):
            wrong += 1
            assert not staircase(cost, ends)
    print(f"block greedy with jumps in any order: wrong on {wrong} of 3000")
    assert wrong > 30


def test_the_cap_is_a_candidate() -> None:
    """Three nodes in tiles of three tokens: full tiles stop at n = 2, the cap pays."""
    gains, cost = [rational(1)] * 3, RoundCost(1, [1, 1, 1, "1.1"])
    assert tile_ends(3, 3) == [2, 3]
    assert block_greedy(gains, cost, tile_ends(3, 3)) == 3
    assert block_greedy(gains, cost, [2]) == 2, "what leaving the cap out would answer"


def test_graph_buckets() -> None:
    """Captured graphs of 1, 2, 4, 8 query tokens: a pass costs what its padded graph costs, so graphs are filled."""
    sizes = [1, 2, 4, 8]
    prices = {1: 10, 2: 11, 4: 13, 8: 17}
    verify = [prices[next(size for size in sizes if size >= n + 1)] for n in range(8)]
    cost, ends = RoundCost(2, verify), bucket_ends(sizes, 7)
    assert ends == [0, 1, 3, 7] and staircase(cost, ends)
    rng = random.Random(8)
    for _ in range(300):
        gains: list[Rational] = (random_gains(rng) * 7)[:7]
        gains.sort(reverse=True)
        curve = throughput(gains, cost)
        assert block_greedy(gains, cost, ends) == curve.index(max(curve))


def test_one_tile() -> None:
    assert tile_ends(64, 10) == [10] and tile_ends(1, 2) == [0, 1, 2] and tile_ends(2, 0) == [0] and bucket_ends([16], 3) == [3]
    assert block_greedy([rational(1)] * 3, RoundCost(1, [1]), [3]) == 3
