"""A budget problem as a picture: throughput against tree size, and the tree of the best size."""

from itertools import accumulate
from math import exp, log

from draftproof.reference.budgets import caddtree, smallest_maximiser, throughput
from draftproof.reference.models import spell

from .budget_file import BudgetProblem
from .drawing import Curve, Drawing, TreeNode, chart, stacked, tree

MOST_DRAWN = 80
"""Nodes of a tree that are drawn; the rest is counted in the title."""


def draw(problem: BudgetProblem) -> Drawing:
    """The curve, with the greedy and the best choice marked, above the best tree."""
    added = problem.gains()
    curve = throughput(added, problem.cost)
    greedy, best = caddtree(added, problem.cost), smallest_maximiser(curve)
    marks = [(best, float(curve[best]), f"best: {best} nodes" if best != greedy else f"best, and where greedy stops: {best} nodes")]
    if greedy != best:
        marks.append((greedy, float(curve[greedy]), f"greedy stops: {greedy}"))
    points = [(n, float(rate)) for n, rate in enumerate(curve)]
    tokens = list(accumulate(map(float, added), initial=1.0))
    above = chart("Expected tokens per unit of time", [Curve("throughput", points, "a", marks=marks)], "draft nodes", "tokens / time", height=300)
    middle = chart("Expected tokens per round", [Curve("1 + coverage", list(enumerate(tokens)), "c")], "draft nodes", "tokens", height=220)
    return stacked("Budget of a draft tree", [above, middle, _tree(problem, best)])


def _tree(problem: BudgetProblem, nodes: int) -> Drawing:
    paths = problem.tree(nodes)
    shown = [(), *paths[:MOST_DRAWN]]
    masses = [1.0, *(exp(sum(log(float(problem.marginals[d][t])) for d, t in enumerate(path))) for path in shown[1:])]
    index = {path: place for place, path in enumerate(shown)}
    drawn = [TreeNode(None, "", "ink", "root: the last token chosen")]
    for path, weight in zip(shown[1:], masses[1:], strict=True):
        drawn.append(TreeNode(index[path[:-1]], str(path[-1]), "a", f"{spell(path)}: mass {weight:.4g}"))
    more = f", the first {MOST_DRAWN} shown" if len(paths) > MOST_DRAWN else ""
    return tree(f"The best tree: {len(paths)} nodes{more}", drawn)
