"""Faults that show over several rounds: state, random numbers carried on, endings."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from draftproof.reference.laws import Law
from draftproof.reference.models import Prefix
from draftproof.reference.rounds import toy_model

from ..engine import Engine, Toy
from ..generators import Generator
from .drafts import LEGAL
from .programs import FAULTY, Coins, top_down
from .rounds import CHAIN, Rules, generate

REPLAY = LEGAL["replayed_without_replacement"]
LONG = Toy("rounds-two-tokens", 2, toy_model(1, 2), toy_model(2, 2), (1,), 4)
STOPS = Toy("rounds-eos", 3, toy_model(29, 3, zeros=2), toy_model(129, 3, zeros=2), (1,), 2, eos=2)
PENALISED = Toy("rounds-penalised", 3, lambda prefix: penalised(prefix, prefix[-1]), toy_model(114, 3), (0,), 2)
OPPOSED = Toy("rounds-opposed", 4, lambda prefix: Law.row([45, 25, 20, 10]), lambda prefix: Law.row([10, 20, 15, 55]), (0,), 2)
TOYS: Mapping[str, Toy] = {toy.name: toy for toy in (LONG, replace(LONG, name="rounds-three", length=3), STOPS, PENALISED, OPPOSED)}


def penalised(history: Prefix, last: int) -> Law[int]:
    """A repetition penalty on top of a bigram model."""
    base = toy_model(21, 3)((last,))
    return Law((token, weight / (1 + history.count(token))) for token, weight in base.items())


class TapeCoins(Coins):
    """Uniforms kept, and read again from the beginning."""

    def __init__(self, uniforms: list[float]) -> None:
        self.uniforms, self.read = uniforms, 0

    def uniform(self) -> float:
        if self.read == len(self.uniforms):
            self.uniforms.append(random.random())
        self.read += 1
        return self.uniforms[self.read - 1]


PENALISED_RIGHT = Rules(REPLAY, top_down(), CHAIN, score=lambda committed, path: penalised((*committed, *path), (*committed, *path)[-1]))

STATE: Mapping[str, tuple[str, Rules]] = {
    "bonus_state_not_committed": (
        "Does not keep the state of the root, which is the last bonus token.",
        Rules(REPLAY, top_down(), CHAIN, keep=lambda path, nodes: path[1:]),
    ),
    "path_committed_backwards": (
        "Keeps the accepted path in the wrong order.",
        Rules(REPLAY, top_down(), CHAIN, keep=lambda path, nodes: [0, *path[:0:-1]]),
    ),
    "path_committed_before_root": (
        "Keeps the accepted path before the root.",
        Rules(REPLAY, top_down(), CHAIN, keep=lambda path, nodes: [*path[1:], 0]),
    ),
    "nothing_committed": ("Keeps no state at all.", Rules(REPLAY, top_down(), CHAIN, keep=lambda path, nodes: [])),
    "rejected_nodes_kept": (
        "Keeps the state of rejected drafts.",
        Rules(REPLAY, top_down(), CHAIN, keep=lambda path, nodes: list(range(nodes))),
    ),
    "rolled_back_too_far": (
        "Drops the state of the last accepted draft.",
        Rules(REPLAY, top_down(), CHAIN, keep=lambda path, nodes: path[:-1] or path),
    ),
    "planned_ids_scored": (
        "Has the planned tokens scored, not the drafted ones.",
        Rules(REPLAY, FAULTY["rows_of_planned_ids"], CHAIN),
    ),
    "bonus_dropped": ("Emits the accepted drafts without the bonus token.", Rules(REPLAY, top_down(), CHAIN, emits_bonus=False)),
    "penalty_of_root_history": (
        "Applies a repetition penalty with the history at the root to every node.",
        replace(PENALISED_RIGHT, score=lambda committed, path: penalised(committed, (*committed, *path)[-1])),
    ),
}


def by_rules(name: str) -> Generator:
    what, rules = STATE[name]

    def call(engine: Engine) -> list[int]:
        return generate(engine, rules)

    call.__doc__ = what
    return Generator(call, f"{__name__}:{name}")


def _same_tape_every_round(engine: Engine) -> list[int]:
    """Reads the same random numbers in every round, as a captured graph with a frozen offset does."""
    uniforms: list[float] = []
    return generate(engine, Rules(REPLAY, top_down(), CHAIN, coins=lambda: TapeCoins(uniforms)))


def _shared_noise(engine: Engine, generator: np.random.Generator) -> list[int]:
    """Draws the residual token with the Gumbel noise that drew the rejected draft."""
    emitted, root = list[int](), engine.prompt[-1]

    def race(weights: np.ndarray, noise: np.ndarray) -> int:
        with np.errstate(divide="ignore"):
            return int((np.log(weights) + noise).argmax())

    while len(emitted) < engine.length:
        noise = generator.gumbel(size=engine.vocabulary)
        q = np.array(engine.draft((root,)))
        x = race(q, noise)
        p, after = (np.array(row) for row in engine.target([root, x], [0, 0]))
        if generator.random() * q[x] < p[x]:
            root = race(after, generator.gumbel(size=engine.vocabulary))
            engine.keep([0, 1])
            emitted += [x, root]
        else:
            root = race(np.maximum(p - q, 0.0), noise)  # fault: noise of its own
            engine.keep([0])
            emitted.append(root)
    return emitted[: engine.length]


def plain(engine: Engine, draw: Callable[[list[float]], int], length: int | None = None, eos: int | None = -1) -> list[int]:
    """Token by token, no drafts."""
    emitted: list[int] = []
    root = engine.prompt[-1]
    while len(emitted) < (engine.length if length is None else length) and (not emitted or emitted[-1] != (engine.eos if eos == -1 else eos)):
        row = engine.target([root], [0])[0]
        engine.keep([0])
        root = draw(row)
        emitted.append(root)
    return emitted


def pick(row: list[float]) -> int:
    u, total = random.random(), 0.0
    for token, mass in enumerate(row):
        total += mass
        if u < total:
            return token
    raise AssertionError


def _one_token_short(engine: Engine) -> list[int]:
    """Stops one token before the cap."""
    return plain(engine, pick, length=engine.length - 1)


def _over_the_cap(engine: Engine) -> list[int]:
    """Emits one token more than the cap allows."""
    return plain(engine, pick, length=engine.length + 1)


def _goes_on_after_eos(engine: Engine) -> list[int]:
    """Emits on after the token that ends the sequence."""
    return plain(engine, pick, eos=None)


def _emits_nothing(engine: Engine) -> list[int]:
    """Counts the prompt against the cap and emits nothing."""
    return []


same_tape_every_round = Generator(_same_tape_every_round, f"{__name__}:same_tape_every_round")
shared_noise = Generator(_shared_noise, f"{__name__}:shared_noise", randomness="generator")
one_token_short = Generator(_one_token_short, f"{__name__}:one_token_short")
over_the_cap = Generator(_over_the_cap, f"{__name__}:over_the_cap")
goes_on_after_eos = Generator(_goes_on_after_eos, f"{__name__}:goes_on_after_eos")
emits_nothing = Generator(_emits_nothing, f"{__name__}:emits_nothing")
