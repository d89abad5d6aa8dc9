"""The closed-form plan of greedy drafting at one node, as ``greedy_plan`` of the batched rules says it."""
from .rows import NoLaw, Row, share
from .trees import Tree


def greedy_masses(tree: Tree, node: int, mass: float) -> tuple[list[float], float]:
    """How much of the node's mass each child gets; the most that the rest can hold: the mass less what the children's own tokens take.

    Reads the target row, the youngest child's declared row and, of the elders', one entry each.  Raises NoLaw.
    """
    *elders, youngest = tree.children[node]
    if not elders:
        wanted, offered = mass * tree.target_mass(youngest), tree.offer(youngest)
        return [share(wanted, offered)], mass - min(wanted, offered)
    if not all(tree.declares_one(elder) for elder in elders):
        raise NoLaw
    target, declared = tree.target(node), tree.declared(youngest)
    owed = [mass * target.mass(tree.tokens[elder]) for elder in elders]
    seen = [tree.tokens[elder] for elder in elders]
    owed = [0.0 if token in seen[:rank] else mass for rank, (token, mass) in enumerate(zip(seen, owed, strict=True))]
    token = tree.tokens[youngest]
    wanted = 0.0 if token in seen else mass * target.mass(token)
    offered = 1.0 if declared is None else declared.mass(token)
    accepts = share(wanted, offered)
    left = mass - sum(owed) - min(wanted, offered)
    if declared is not None:
        missing = target.missing(declared, mass / target.total, seen)
        part = (1 - accepts) / missing if missing > 0 else 0.0
        owed = [mass * part for mass in owed]
    return [*owed, accepts], left


def greedy_rest(tree: Tree, node: int, mass: float) -> tuple[Row, float]:
    """(a p - r)_+ off the elders and its total, p at a leaf; p and 0 where nothing is left, since the root is accepted anyway."""
    target = tree.target(node)
    if not tree.children[node]:
        return target, mass
    tokens, declared = [tree.tokens[child] for child in tree.children[node]], tree.declared(tree.children[node][-1])
    if declared is None:
        rest = target.without(tokens)
        total = mass * rest.total / target.total
    else:
        rest, total = target.excess(declared, mass / target.total, tokens[:-1])
    return (rest, total) if total > 0 else (target, 0.0)
