"""A generator made of a build and a verifier, on a session's model; and the exact law of what it emits."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache

from draftproof.oracle.generators import Generator
from draftproof.oracle.sessions import Session, Toy
from draftproof.reference.chance import law_of
from draftproof.reference.laws import ZERO, Law, mixture
from draftproof.reference.models import Model, Prefix
from draftproof.reference.rounds import Round, after, generation_law, target_law
from draftproof.reference.trees import Node, Slot, level_order
from draftproof.reference.verifiers.descent import Verifier

from .replay_plants import Build, Coins, Setting

PAIRS: Slot = (((),), ((),))  # two siblings, a child below each


@lru_cache(maxsize=1 << 16)
def law(row: tuple[float, ...]) -> Law[int]:
    return Law.row(row)


def model_of(session: Session, root: int) -> tuple[Model, Model]:
    """(draft, target) of the session as models of the tokens after the root."""

    def draft(path: Prefix) -> Law[int]:
        return law(tuple(session.draft((root, *path))))

    def target(path: Prefix) -> Law[int]:
        return law(tuple(session.target((root, *path), [0, *range(len(path))])[-1]))

    return draft, target


def generate(session: Session, build: Build, verify: Verifier, keep: Callable[[Sequence[int]], Sequence[int]] = list) -> list[int]:
    """Rounds of draft, score, verify, keep.  ``keep`` turns the node numbers of the accepted path, root first, into those that are kept."""
    emitted: list[int] = []
    root = session.prompt[-1]
    while len(emitted) < session.length and (not emitted or emitted[-1] != session.eos):
        draft, target = model_of(session, root)
        topology = PAIRS if session.length - len(emitted) > 1 else ()
        tree = build(Setting(session.vocabulary, draft, target, topology), Coins())
        nodes = level_order(tree)
        index = {id(node): position for position, node in enumerate(nodes)}
        parents = [0] * len(nodes)
        for position, node in enumerate(nodes):
            for child in node.children():
                parents[index[id(child)]] = position
        rows = session.target([root, *(node.token for node in nodes[1:])], parents)
        scored = {node.path: law(tuple(row)) for node, row in zip(nodes, rows, strict=True)}
        answer = verify(lambda path: scored[path] if path in scored else target(path), tree, Coins())
        bonus = Coins().draw(answer.bonus)
        kept, at = [], index[id(answer.node)]
        while at:
            kept.append(at)
            at = parents[at]
        session.target([root, *(node.token for node in nodes[1:])], parents)  # the plants above may have scored paths of their own
        session.keep(keep([0, *reversed(kept)]))
        emitted += [*answer.node.path, bonus]
        root = bonus
        if session.eos in emitted:
            emitted = emitted[: emitted.index(session.eos) + 1]
    return emitted[: session.length]


def generator(name: str, build: Build, verify: Verifier, keep: Callable[[Sequence[int]], Sequence[int]] = list) -> Generator:
    return Generator(lambda session: generate(session, build, verify, keep), name)


def block_law(build: Build, verify: Verifier, setting: Setting) -> Law[Prefix]:
    """Exact law of the block of one round, over the draws of the build and the coins of the verifier."""
    trees = law_of(lambda chance: build(setting, chance))
    return mixture((mass, on_tree(verify, setting.target, tree)) for tree, mass in trees.items())


def on_tree(verify: Verifier, target: Model, tree: Node) -> Law[Prefix]:
    weights: defaultdict[Prefix, object] = defaultdict(lambda: ZERO)
    for answer, mass in law_of(lambda chance: verify(target, tree, chance)).items():
        for token, share in answer.bonus.items():
            weights[(*answer.node.path, token)] += mass * share
    return Law(weights)


def exact(toy: Toy, build: Build, verify: Verifier) -> tuple[Law[Prefix], Law[Prefix]]:
    """Exact law of what ``generate`` emits on ``toy``, and the target's."""

    def round_at(context: Prefix) -> Law[Prefix]:
        draft, target = after(toy.draft, toy.prompt + context), after(toy.target, toy.prompt + context)
        return block_law(build, verify, Setting(toy.vocabulary, draft, target, PAIRS if toy.length - len(context) > 1 else ()))

    return emitted_law(toy, round_at), target_law(after(toy.target, toy.prompt), toy.length, toy.eos)


def emitted_law(toy: Toy, round_at: Round) -> Law[Prefix]:
    return generation_law(round_at, toy.length, toy.eos)
