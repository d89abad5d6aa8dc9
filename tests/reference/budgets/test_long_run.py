import random
from itertools import product

from hypothesis import given

from draftproof.reference.budgets import RoundCost, caddtree, full_scan
from draftproof.reference.budgets.long_run import Round, best_size, long_run, priced_stop, rate
from draftproof.reference.rational import Rational, rational

from .draws import any_cost, convex_cost, random_gains, round_pair


def test_long_run_is_the_best_of_all_choices() -> None:
    rng = random.Random(10)
    better = 0
    for _ in range(200):
        kinds = []
        for _ in range(2):
            gains = random_gains(rng, most=6)
            kinds.append(Round(rng.randint(1, 4), gains, rng.choice([convex_cost, any_cost])(rng, len(gains))))
        reached, sizes = long_run(kinds)
        assert reached == rate(kinds, sizes) == max(rate(kinds, n) for n in product(*(range(len(kind.gains) + 1) for kind in kinds)))
        better += reached > rate(kinds, [full_scan(kind.gains, kind.cost) for kind in kinds])
    assert better > 20, "each round's own optimum is often not the long run's"


def test_one_kind_of_round_is_the_ordinary_problem() -> None:
    rng = random.Random(11)
    for _ in range(200):
        gains = random_gains(rng)
        cost = convex_cost(rng, len(gains))
        reached, sizes = long_run([Round(1, gains, cost)])
        assert sizes == [caddtree(gains, cost)] and reached == rate([Round(1, gains, cost)], sizes)


def test_confident_rounds_get_more_and_doubtful_ones_less() -> None:
    cost = RoundCost(2, [2 + n for n in range(9)])
    sure, unsure = Round(1, [rational("9/10")] * 8, cost), Round(1, [rational("2/5") / (n + 1) for n in range(8)], cost)
    _, sizes = long_run([sure, unsure])
    own = [caddtree(kind.gains, cost) for kind in (sure, unsure)]
    assert sizes[0] >= own[0] and sizes[1] < own[1]


@given(round_pair())
def test_priced_stop_is_exact_for_convex_costs(pair: tuple[list[Rational], RoundCost]) -> None:
    kind = Round(1, *pair)
    for price in ("0", "1/7", "1/3", "2"):
        assert priced_stop(kind, rational(price)) == best_size(kind, rational(price))
