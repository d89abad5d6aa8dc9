"""A budget problem as a picture: throughput against tree size, and the tree of the best size."""

from itertools import accumulate

from draftproof.reference.budgets import caddtree, smallest_maximiser, throughput
from draftproof.reference.budgets.truncation import mass
from draftproof.reference.models import spell
from draftproof.reference.rational import decimal, rational

from .budget_file import BudgetProblem
from .drawing import Curve, Drawing, DrawingError, TreeNode, chart, stacked, tree

SMALLEST, LARGEST = rational("1e-200"), rational("1e200")
"""Between them a throughput can be drawn."""

MOST_DRAWN = 80
"""Nodes of a tree that are drawn; the rest is counted in the title."""


def draw(problem: BudgetProblem) -> Drawing:
    """The curve, with the greedy and the best choice marked, above the best tree.

    Raises DrawingError where the throughput is a number that floats cannot hold.
    """
    added = problem.gains()
    curve = throughput(added, problem.cost)
    if not all(SMALLEST < rate < LARGEST for rate in curve):
        raise DrawingError(f"throughput runs from {decimal(min(curve))} to {decimal(max(curve))}: choose another unit of time")
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
    index = {path: place for place, path in enumerate(shown)}
    drawn = [TreeNode(None, "", "ink", "root: the last token chosen")]
    for path in shown[1:]:
        drawn.append(TreeNode(index[path[:-1]], str(path[-1]), "a", f"{spell(path)}: mass {decimal(mass(problem.marginals, path), 4)}"))
    more = f", the first {MOST_DRAWN} shown" if len(paths) > MOST_DRAWN else ""
    return tree(f"The best tree: {len(paths)} nodes{more}", drawn)
