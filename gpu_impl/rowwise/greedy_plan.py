"""The closed-form plan of greedy drafting at one node, as ``greedy_plan`` of the batched rules; sums are made when asked for."""
from .rows import NoLaw, Row
from .trees import Tree


class Plan:
    """How much of a node's mass each child gets, ``masses``, and what is left for the bonus, ``rest``."""

    def __init__(self, tree: Tree, node: int, mass: float):
        """Reads the target row and the youngest child's declared row, of the elders' only one entry.  Raises NoLaw."""
        *elders, youngest = tree.children[node]
        self.row = self.owed = tree.target(node)
        self.scale = mass / self.row.total
        self.masses = []
        for elder in elders:
            if not tree.declares_one(elder):
                raise NoLaw
            self.masses.append(self._hand_out(tree.tokens[elder]))
        self.declared, self.token = tree.declared(youngest), tree.tokens[youngest]
        wanted = self.scale * self.owed.weight(self.token)
        offered = 1.0 if self.declared is None else self.declared.mass(self.token)
        accepts = wanted / offered if wanted < offered else float(wanted > 0)
        if elders and self.declared is not None:
            missing = self.owed.missing(self.declared, self.scale)
            share = (1 - accepts) / missing if missing > 0 else 0.0
            self.masses = [mass * share for mass in self.masses]
        self.masses.append(accepts)

    def _hand_out(self, token: int) -> float:
        mass = self.scale * self.owed.weight(token)
        self.owed = self.owed.without(token)
        return mass

    def rest(self) -> tuple[Row, float]:
        """(a p - r)_+ off the elders and its total; the target row where the total is 0, since the root is accepted anyway."""
        if self.declared is None:
            rest = self.owed.without(self.token)
            total = self.scale * rest.total
        else:
            rest, total = self.owed.excess(self.declared, self.scale)
        return (rest, total) if total > 0 else (self.row, 0.0)
