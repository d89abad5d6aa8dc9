"""The verifiers once more: exact rationals, one tree, one node at a time, straight from their definitions.

A verifier here asks a chance object to pick by a *coordinate* of the uniform tape, so that running every branch tells
which box of tapes leads to which block.  Nothing is shared with the implementation under test.
"""
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Law = list[Fraction]
Block = tuple[int, ...]
Box = dict[int, tuple[Fraction, Fraction]]  # coordinate -> half-open interval of its uniform


@dataclass
class ExactTree:
    """Nodes in index order, the root first; rows need not be normalised.  declared=None: deterministic drafts."""

    tokens: list[int]
    parents: list[int]
    target: list[Law]
    declared: list[Law] | None = None

    def p(self, node: int) -> Law:
        return normalise(self.target[node])

    def r(self, node: int) -> Law:
        if self.declared is None:
            return [Fraction(t == self.tokens[node]) for t in range(len(self.target[0]))]
        return normalise(self.declared[node])

    def children(self, node: int) -> list[int]:
        return [i for i in range(1, len(self.tokens)) if self.parents[i] == node]

    def path(self, node: int) -> Block:
        return () if node == 0 else (*self.path(self.parents[node]), self.tokens[node])


@dataclass
class Chance:
    """Follows a script of picks, then always the first possible one; records the box and what else was possible."""

    script: Sequence[int] = ()
    box: Box = field(default_factory=dict)
    options: list[list[int]] = field(default_factory=list)
    picks: list[int] = field(default_factory=list)

    def draw(self, coordinate: int, weights: Sequence[Fraction]) -> int:
        assert coordinate not in self.box, "one uniform decides one thing"
        assert sum(weights) == 1
        options = [i for i, w in enumerate(weights) if w > 0]
        pick = self.script[len(self.picks)] if len(self.picks) < len(self.script) else options[0]
        below = sum(weights[:pick], Fraction(0))
        self.box[coordinate] = below, below + weights[pick]
        self.options.append(options)
        self.picks.append(pick)
        return pick

    def flip(self, coordinate: int, probability: Fraction) -> bool:
        return self.draw(coordinate, [probability, 1 - probability]) == 0


Program = Callable[[ExactTree, Chance], Block]


def branches(program: Program, tree: ExactTree) -> Iterator[tuple[Block, Box]]:
    """Every block with every box of tapes that leads to it; the boxes partition the unit cube."""
    script: list[int] | None = []
    while script is not None:
        chance = Chance(script)
        block = program(tree, chance)
        yield block, chance.box
        script = None
        for i in reversed(range(len(chance.picks))):
            later = [option for option in chance.options[i] if option > chance.picks[i]]
            if later:
                script = [*chance.picks[:i], later[0]]
                break


def volume(box: Box) -> Fraction:
    product = Fraction(1)
    for low, high in box.values():
        product *= high - low
    return product


def law(program: Program, tree: ExactTree) -> dict[Block, Fraction]:
    total: dict[Block, Fraction] = {}
    for block, box in branches(program, tree):
        total[block] = total.get(block, Fraction(0)) + volume(box)
    return total


def normalise(row: Law) -> Law:
    return [x / sum(row) for x in row]


def positive_part(mass: Fraction, f: Law, r: Law) -> Law:
    return [max(mass * x - y, Fraction(0)) for x, y in zip(f, r, strict=True)]


def keep_probability(wanted: Fraction, offered: Fraction) -> Fraction:
    return Fraction(wanted > 0) if offered == 0 else min(Fraction(1), wanted / offered)


def predraw_follow(tree: ExactTree, chance: Chance) -> Block:
    node = 0
    while True:
        y = chance.draw(node, tree.p(node))
        same = [child for child in tree.children(node) if tree.tokens[child] == y]
        if not same:
            return (*tree.path(node), y)
        node = same[0]


def tree_exit(tree: ExactTree, chance: Chance) -> Block:
    def rest(node: int) -> Law:
        covered = {tree.tokens[child] for child in tree.children(node)}
        return [Fraction(0) if t in covered else x for t, x in enumerate(tree.p(node))]

    def reach(node: int) -> Fraction:
        if node == 0:
            return Fraction(1)
        parent, token = tree.parents[node], tree.tokens[node]
        if any(tree.tokens[s] == token for s in tree.children(parent) if s < node):
            return Fraction(0)
        return reach(parent) * tree.p(parent)[token]

    node = chance.draw(1, [reach(v) * sum(rest(v)) for v in range(len(tree.tokens))])
    return (*tree.path(node), chance.draw(0, normalise(rest(node))))


def recursive_rejection(tree: ExactTree, chance: Chance) -> Block:
    node = 0
    while True:
        f = tree.p(node)
        for child in tree.children(node):
            x, r = tree.tokens[child], tree.r(child)
            if chance.flip(child, keep_probability(f[x], r[x])):
                node = child
                break
            f = normalise(positive_part(Fraction(1), f, r))
        else:
            return (*tree.path(node), chance.draw(0, f))


def traversal(tree: ExactTree, chance: Chance) -> Block:
    def visit(node: int, a: Fraction) -> Block | None:
        f = tree.p(node)
        for child in tree.children(node):
            x, r = tree.tokens[child], tree.r(child)
            block = visit(child, keep_probability(a * f[x], r[x]))
            if block is not None:
                return block
            left = positive_part(a, f, r)
            m = sum(left, Fraction(0))
            if m == 0:
                a = m
                break
            f, a = normalise(left), m / (m + 1 - a)
        if node == 0 or chance.flip(node, a):
            return (*tree.path(node), chance.draw(0, f))
        return None

    block = visit(0, Fraction(1))
    assert block is not None
    return block


def greedy_plan(tree: ExactTree, node: int, a: Fraction) -> tuple[list[Fraction], Law]:
    """The mass of every child of a node visited with mass a, elders certain and the youngest drawn, and what is owed to other tokens."""
    *elders, youngest = tree.children(node)
    owed = [a * x for x in tree.p(node)]
    masses = []
    for elder in elders:
        x = tree.tokens[elder]
        assert tree.r(elder)[x] == 1
        masses.append(owed[x])
        owed[x] = Fraction(0)
    y, r = tree.tokens[youngest], tree.r(youngest)
    accepts = keep_probability(owed[y], r[y])
    missing = sum(positive_part(Fraction(1), r, owed), Fraction(0))
    masses = [mass * (1 - accepts) / missing if missing else Fraction(0) for mass in masses]
    return [*masses, accepts], positive_part(Fraction(1), owed, r)


def greedy_transport(tree: ExactTree, chance: Chance) -> Block:
    node = 0
    while children := tree.children(node):
        masses, rest = greedy_plan(tree, node, Fraction(1))
        left = Fraction(1)
        for child, mass in zip(children, masses, strict=True):
            if chance.flip(child, mass / left):
                node = child
                break
            left -= mass
        else:
            return (*tree.path(node), chance.draw(0, normalise(rest)))
    return (*tree.path(node), chance.draw(0, tree.p(node)))


def univer(tree: ExactTree, chance: Chance) -> Block:
    def visit(node: int, a: Fraction) -> Block | None:
        children = tree.children(node)
        masses, rest = greedy_plan(tree, node, a) if children else ([], [a * x for x in tree.p(node)])
        left = Fraction(1)
        for child, mass in zip(children, masses, strict=True):
            block = visit(child, mass / left) if mass else None
            if block is not None:
                return block
            left -= mass
            if left == 0:
                return None
        s = sum(rest, Fraction(0))
        if node == 0 or (s > 0 and chance.flip(node, s / (s + 1 - a))):
            return (*tree.path(node), chance.draw(0, normalise(rest)))
        return None

    block = visit(0, Fraction(1))
    assert block is not None
    return block


def k_seq(tree: ExactTree, chance: Chance) -> Block:
    node = 0
    while children := tree.children(node):
        p, q, k = tree.p(node), tree.r(children[0]), len(children)

        def beta(rho: Fraction, p: Law = p, q: Law = q) -> Fraction:
            return sum((min(y, x / rho) for x, y in zip(p, q, strict=True)), Fraction(0))

        low, high = 2**40, k * 2**40
        while low < high:
            rho = Fraction((low + high) // 2, 2**40)
            enough = 1 - (1 - beta(rho)) ** k <= rho * beta(rho)
            low, high = (low, (low + high) // 2) if enough else ((low + high) // 2 + 1, high)
        rho = Fraction(low, 2**40)
        for child in children:
            x = tree.tokens[child]
            if chance.flip(child, keep_probability(p[x], rho * q[x])):
                node = child
                break
        else:
            gain = sum(((1 - beta(rho)) ** j for j in range(k)), Fraction(0))
            return (*tree.path(node), chance.draw(0, normalise([x - gain * min(y, x / rho) for x, y in zip(p, q, strict=True)])))
    return (*tree.path(node), chance.draw(0, tree.p(node)))
