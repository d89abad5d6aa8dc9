"""A generator made of a build and a verifier, on a engine's model; and the exact law of what it emits."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.reference.chance import law_of
from draftproof.reference.laws import ZERO, Law, mixture
from draftproof.reference.models import Model, Prefix
from draftproof.reference.rounds import after, generation_law
from draftproof.reference.trees import Node, Slot, level_order
from draftproof.reference.verifiers.descent import Verifier

from ..engine import Engine, Toy
from ..generators import Generator
from .drafts import Build, Setting
from .programs import Coins, law

CHAIN: Slot = (((),),)
PAIRS: Slot = (((),), ((),))  # two siblings, a child below each


@dataclass(frozen=True)
class Rules:
    """How a generator works; each field away from its default is a fault.

    ``keep``: (accepted path as node numbers, root first; number of nodes) -> nodes kept.  ``score``: (committed tokens, path) -> target row used in
    place of the engine's.  ``coins``: a new source of decisions, asked for at every round.
    """

    build: Build
    verify: Verifier
    topology: Slot = PAIRS
    keep: Callable[[Sequence[int], int], Sequence[int]] = lambda path, nodes: path
    score: Callable[[Prefix, Prefix], Law[int]] | None = None
    coins: Callable[[], Any] = Coins
    emits_bonus: bool = True
    stops: bool = True


def generate(engine: Engine, rules: Rules) -> list[int]:
    """Rounds of draft, score, verify, keep.  The last token is drawn without a draft."""
    emitted: list[int] = []
    root = engine.prompt[-1]
    coins = rules.coins
    while len(emitted) < engine.length and (not rules.stops or not emitted or emitted[-1] != engine.eos):
        chance = coins()

        def draft(path: Prefix, root: int = root) -> Law[int]:
            return law(tuple(engine.draft((root, *path))))

        def target(path: Prefix, root: int = root) -> Law[int]:
            return law(tuple(engine.target((root, *path), [0, *range(len(path))])[-1]))

        topology = rules.topology if engine.length - len(emitted) > 1 else ()
        tree = rules.build(Setting(engine.vocabulary, draft, target, topology), chance)
        nodes = level_order(tree)
        index = {id(child): position for position, child in enumerate(nodes)}
        parents = [0] * len(nodes)
        for node in nodes:
            for child in node.children():
                parents[index[id(child)]] = index[id(node)]
        rows = engine.target([root, *(node.token for node in nodes[1:])], parents)
        scored = {node.path: law(tuple(row)) for node, row in zip(nodes, rows, strict=True)}
        if rules.score is not None:
            committed = (*engine.prompt, *emitted)
            scored = {path: rules.score(committed, path) for path in scored}
        answer = rules.verify(lambda path: scored[path] if path in scored else target(path), tree, chance)  # noqa: B023 (called at once)
        bonus = chance.draw(answer.bonus)
        path, at = [0], index[id(answer.node)]
        while at:
            path.insert(1, at)
            at = parents[at]
        engine.target([root, *(node.token for node in nodes[1:])], parents)  # a plant may have scored other trees meanwhile
        engine.keep(rules.keep(path, len(nodes)))
        emitted += [*answer.node.path, bonus] if rules.emits_bonus else answer.node.path or [bonus]
        root = bonus
        if rules.stops and engine.eos in emitted:
            emitted = emitted[: emitted.index(engine.eos) + 1]
    return emitted[: engine.length]


def generator(name: str, rules: Rules) -> Generator:
    return Generator(lambda engine: generate(engine, rules), name)


def block_law(rules: Rules, setting: Setting, committed: Prefix = ()) -> Law[Prefix]:
    """Exact law of the block of one round, over the draws of the build and the coins of the verifier."""
    trees = law_of(lambda chance: rules.build(setting, chance))
    score = rules.score
    target: Model = setting.target if score is None else lambda path: score(committed, path)
    return mixture((mass, on_tree(rules.verify, target, tree)) for tree, mass in trees.items())


def on_tree(verify: Verifier, target: Model, tree: Node) -> Law[Prefix]:
    weights: defaultdict[Prefix, Any] = defaultdict(lambda: ZERO)
    for answer, mass in law_of(lambda chance: verify(target, tree, chance)).items():
        for token, share in answer.bonus.items():
            weights[(*answer.node.path, token)] += mass * share
    return Law(weights)


def exact(toy: Toy, rules: Rules) -> Law[Prefix]:
    """Exact law of what ``generate`` emits on ``toy`` by these builds, verifiers and scores, whatever state is kept being the right one."""

    def round_at(context: Prefix) -> Law[Prefix]:
        committed = toy.prompt + context
        topology = rules.topology if toy.length - len(context) > 1 else ()
        return block_law(rules, Setting(toy.vocabulary, after(toy.draft, committed), after(toy.target, committed), topology), committed)

    return generation_law(round_at, toy.length, toy.eos)
