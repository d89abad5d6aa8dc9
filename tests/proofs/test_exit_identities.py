"""Exit-weighted path scores, and trees that no swap improves (``path_identity``, ``swap_iff_coverage``), by enumeration."""

import random
from itertools import combinations, product

from draftproof.reference.blocks import tree_law
from draftproof.reference.drafting import fixed
from draftproof.reference.exits import exit_law, reach
from draftproof.reference.laws import ONE, ZERO
from draftproof.reference.models import Model, Prefix, random_model
from draftproof.reference.rational import Rational, rational

TOKENS, DEPTH = 2, 3
PREFIXES = [prefix for depth in range(1, DEPTH + 1) for prefix in product(range(TOKENS), repeat=depth)]
Tree = frozenset[Prefix]


def is_tree(paths: Tree) -> bool:
    return all(len(path) == 1 or path[:-1] in paths for path in paths)


def masses(model: Model) -> dict[Prefix, Rational]:
    """Probability of every prefix."""
    found: dict[Prefix, Rational] = {(): ONE}
    for prefix in PREFIXES:
        found[prefix] = found[prefix[:-1]] * model(prefix[:-1])[prefix[-1]]
    return found


def cover(paths: Tree, mass: dict[Prefix, Rational]) -> Rational:
    return sum((mass[path] for path in paths), ZERO)


def a_swap_pays(paths: Tree, mass: dict[Prefix, Rational]) -> bool:
    """Whether some leaf weighs less than some node that could take its place (not one below it)."""
    leaves = [path for path in paths if not any((*path, token) in paths for token in range(TOKENS))]
    frontier = [path for path in PREFIXES if path not in paths and (len(path) == 1 or path[:-1] in paths)]
    return any(mass[new] > mass[leaf] for leaf in leaves for new in frontier if new[:-1] != leaf)


def test_path_identity() -> None:
    for seed in range(20):
        rng = random.Random(seed)
        target = random_model(seed, TOKENS, 0.3)
        paths = [prefix for prefix in PREFIXES if rng.random() < 0.7]
        tree_paths = [path for path in paths if all(path[:depth] in paths for depth in range(1, len(path)))]
        tree = next(iter(tree_law(*fixed(tree_paths))))
        score = {path: rational(rng.randint(-5, 5)) for path in tree_paths}
        whole = exit_law(target, tree).expectation(lambda node, score=score: sum((score[node.path[: d + 1]] for d in range(len(node.path))), ZERO))
        edges = sum((mass * score[node.path] for node, mass in reach(target, tree).items() if node.path), ZERO)
        assert whole == edges


def test_swap_optimal_is_coverage_optimal() -> None:
    differ = 0
    for seed in range(6):
        mass = masses(random_model(seed, TOKENS, 0.2))
        for size in (1, 3, 4, 5):
            trees = [tree for chosen in combinations(PREFIXES, size) if is_tree(tree := frozenset(chosen))]
            best = max(cover(tree, mass) for tree in trees)
            for tree in trees:
                assert (cover(tree, mass) == best) == (not a_swap_pays(tree, mass))
                differ += cover(tree, mass) < best
    assert differ > 50
