"""A planning score of our own (it is in no paper): the probability that replay reaches a slot and accepts it, if the target were ``belief``.

Path scores over-branch for sampled trees: draw 2 is looked at after draw 1 was rejected, and covers only what draw 1 could not.  For draft =
target the first draw is always accepted, so every second sibling is wasted, whatever its path score.
"""

from .chance import Chance, law_of
from .drafting import ranked, without_replacement
from .laws import ONE
from .models import Model, Prefix
from .rational import Rational
from .trees import LazyNode
from .verifiers.descent import Stop
from .verifiers.recursive_rejection import recursive_rejection


def acceptances(draft: Model, belief: Model, path: Prefix) -> list[Rational]:
    """Pr(draw j without replacement passes recursive rejection after its elders failed) at ``path``, for j up to the support of the draft row.

    They need not fall with j.  Every order of the draws is listed, so this is for small vocabularies.
    """
    width = len(draft(path))

    def accepted_rank(chance: Chance) -> int:
        root = LazyNode(((),) * width, path, without_replacement(draft), chance)
        answer = recursive_rejection(belief, root, chance)
        return width if isinstance(answer, Stop) else [child.token for child in root.children()].index(answer.token)

    law = law_of(accepted_rank)
    return [law[rank] for rank in range(width)]


def plan_by_acceptance(draft: Model, belief: Model, nodes: int, depth: int) -> list[Prefix]:
    """Planned paths, best first by the product of acceptances along the path; ties to the lexicographically smallest tuple of ranks.

    Conditional laws are taken along planned tokens (rank j plans with the j-th most probable token), as in ``planning.plan``.
    """
    taken: list[Prefix] = []
    frontier: list[tuple[Rational, tuple[int, ...], Prefix]] = []  # -score of the slot, ranks, path of the parent

    def offer(ranks: tuple[int, ...], parent: Prefix, reach: Rational) -> None:
        factors = acceptances(draft, belief, parent)
        if ranks[-1] < len(factors):
            frontier.append((-reach * factors[ranks[-1]], ranks, parent))

    reach_of: dict[Prefix, Rational] = {(): ONE}
    if depth > 0:
        offer((0,), (), ONE)
    while frontier and len(taken) < nodes:
        frontier.remove(best := min(frontier))
        score, ranks, parent = best
        path = (*parent, ranked(draft(parent))[ranks[-1]])
        taken.append(path)
        reach_of[path] = -score
        offer((*ranks[:-1], ranks[-1] + 1), parent, reach_of[parent])
        if len(path) < depth:
            offer((*ranks, 0), path, -score)
    return taken
