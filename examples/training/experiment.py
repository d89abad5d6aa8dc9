"""One seed of the experiment: a language, a target that learns it, a drafter trained on the target's texts, copies of it trained on by objective."""

import copy
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from draftproof.gpu_impl import training
from draftproof.gpu_impl.ddtree import DraftTrees, ddtree
from draftproof.gpu_impl.tree_mask import tree_mask

from .language import VOCABULARY, Language
from .models import Drafter, Past, Target

LENGTH, DEPTHS, NODES, BATCH, FIRST = 40, 6, 16, 32, 8
Loss = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Objective:
    """token loss (``token``: its factor) + lambda ``tree``.

    lambda None: at every step such that the norm of the tree's gradient in the logits is ``norm`` times that of the token loss's.

    ``weighting``: the node weights of ``tree``, where it has some, to log the credit ratio.
    """

    tree: Loss | None = None
    weight: float | None = None
    token: float = 1.0
    weighting: str | None = None
    norm: float = 1.0


def weighted(weighting: str, weight: float | None = None, token: float = 1.0, norm: float = 1.0) -> Objective:
    return Objective(partial(training.tree_loss, weighting=weighting), weight, token, weighting, norm)


OBJECTIVES: Mapping[str, Objective] = {
    "token": Objective(),
    "exit, lambda 0.1": weighted("exit", 0.1),
    "exit, norm 1/4": weighted("exit", norm=0.25),
    "exit": weighted("exit"),
    "prefix, norm 1/4": weighted("prefix", norm=0.25),
    "prefix": weighted("prefix"),
    "A distillation": Objective(training.on_tree_distillation),
    "B swaps": Objective(partial(training.swap_ranking, candidates=64)),
    "exit alone": weighted("exit", token=0.0),
}


@dataclass(frozen=True)
class Texts:
    """Texts [S, T] that the target wrote, with its features and its keys and values, computed once: it is frozen."""

    tokens: Tensor
    features: Tensor
    past: Past


def learn(language: Language, steps: int, seed: int) -> tuple[Target, float]:
    """A target trained on the language, and its last loss in nats a token."""
    rng = random.Random(f"text {seed}")
    text = torch.tensor([language.text(LENGTH + 1, rng) for _ in range(3000)])
    target, loss = Target(VOCABULARY), torch.zeros(())
    optimiser = torch.optim.AdamW(target.parameters(), lr=3e-3, weight_decay=0.01)
    for step in range(steps):
        batch = text[torch.randint(len(text), (32,))]
        loss = torch.nn.functional.cross_entropy(target.read(batch[:, :-1])[0].flatten(0, 1), batch[:, 1:].flatten())
        _step(optimiser, loss, 3e-3 * (1 - step / steps))
    return target.requires_grad_(False), float(loss.detach())


@torch.no_grad()
def write(target: Target, language: Language, count: int, seed: int) -> Texts:
    """Texts that the target goes on with, at temperature 1, after the first tokens of a sentence."""
    rng = random.Random(f"prompts {seed}")
    tokens = torch.tensor([language.text(4, rng) for _ in range(count)])
    logits, _, past = target.read(tokens)
    while True:
        tokens = torch.cat((tokens, torch.multinomial(logits[:, -1].softmax(1), 1)), 1)
        length = tokens.shape[1]
        if length == LENGTH:
            break
        seen = torch.ones(count, 1, length, dtype=torch.bool)
        logits, _, new = target(tokens[:, -1:], torch.full((count, 1), length - 1), seen, past)
        past = [(torch.cat((old[0], more[0]), 2), torch.cat((old[1], more[1]), 2)) for old, more in zip(past, new, strict=True)]
    _, features, past = target.read(tokens)
    return Texts(tokens, features, past)


def contexts(texts: Texts, count: int) -> tuple[Tensor, Tensor]:
    """Random places: which text, and where its anchor stands; DEPTHS tokens come after."""
    return torch.randint(len(texts.tokens), (count,)), torch.randint(FIRST, LENGTH - DEPTHS, (count,))


def draft(drafter: Drafter, texts: Texts, text: Tensor, place: Tensor) -> Tensor:
    logits: Tensor = drafter(texts.features[text], texts.tokens[text, place], place)
    return logits


def labels(texts: Texts, text: Tensor, place: Tensor) -> Tensor:
    return texts.tokens[text.unsqueeze(1), place.unsqueeze(1) + 1 + torch.arange(DEPTHS)]


@torch.no_grad()
def score(target: Target, texts: Texts, text: Tensor, place: Tensor, trees: DraftTrees) -> Tensor:
    """The target's logits [B, N, V] after every node: one pass over the tree, each node seeing the whole context and its ancestors."""
    past = [(keys[text], values[text]) for keys, values in texts.past]
    tokens = trees.tokens.clone()
    tokens[:, 0] = texts.tokens[text, place]
    known = (torch.arange(LENGTH) < place.unsqueeze(1)).unsqueeze(1).expand(-1, tokens.shape[1], -1)
    mask = torch.cat((known, tree_mask(trees.parents, trees.depth)), 2)
    logits: Tensor = target(tokens, place.unsqueeze(1) + trees.depth, mask, past)[0]
    return logits


@dataclass
class Seed:
    """What all objectives of a seed share."""

    seed: int
    target_steps: int = 400
    draft_steps: int = 400

    def __post_init__(self) -> None:
        torch.manual_seed(self.seed)
        language = Language(self.seed)
        self.target, self.target_loss = learn(language, self.target_steps, self.seed)
        self.texts = write(self.target, language, 768, self.seed)
        self.held_out = write(self.target, language, 256, self.seed + 1000)
        self.places = contexts(self.held_out, 384)
        self.drafter = Drafter(self.target, DEPTHS)
        optimiser = torch.optim.AdamW(self.drafter.parameters(), lr=3e-3)
        for step in range(self.draft_steps):
            where = contexts(self.texts, BATCH)
            loss = training.token_loss(draft(self.drafter, self.texts, *where), labels(self.texts, *where))
            _step(optimiser, loss, 3e-3 * (1 - 0.75 * step / self.draft_steps))

    @torch.no_grad()
    def measured(self, drafter: Drafter) -> dict[str, float]:
        """On held-out places: 1 + coverage, which is exactly E[L] of an optimal verifier, served at temperature 1 and greedily; token loss."""
        logits = draft(drafter, self.held_out, *self.places)
        trees = ddtree(logits, NODES)
        target = score(self.target, self.held_out, *self.places, trees)
        given = {name: training.node_weights(*trees[:3], target, weighting=name) for name in ("exit", "prefix")}
        greedy = training.node_weights(*trees[:3], target, weighting="prefix", temperature=0)
        return {
            "block length": 1 + float(given["prefix"].weights.sum(1).mean()),
            "greedy block length": 1 + float(greedy.weights.sum(1).mean()),
            "root exit": 1 - float(given["exit"].weights.sum(1).mean()),
            "token loss": float(training.token_loss(logits, labels(self.held_out, *self.places))),
        }

    def trained(self, objective: Objective, steps: int, every: int) -> list[dict[str, float]]:
        """The drafter trained on from where it is, measured at step 0 and every so many; all objectives see the same places."""
        drafter = copy.deepcopy(self.drafter)
        optimiser = torch.optim.AdamW(drafter.parameters(), lr=5e-4)
        torch.manual_seed(self.seed + 2000)
        curve = [{"step": 0.0, **self.measured(drafter)}]
        sums: dict[str, float] = {}
        for step in range(1, steps + 1):
            for name, value in self._update(drafter, optimiser, objective, 5e-4 * (1 - 0.9 * step / steps)).items():
                sums[name] = sums.get(name, 0.0) + value / every
            if step % every == 0:
                curve.append({"step": float(step), **self.measured(drafter), **sums})
                sums = {}
        return curve

    def _update(self, drafter: Drafter, optimiser: torch.optim.Optimizer, objective: Objective, rate: float) -> dict[str, float]:
        where = contexts(self.texts, BATCH)
        logits = draft(drafter, self.texts, *where)
        free = logits.detach().requires_grad_()
        token = torch.autograd.grad(training.token_loss(free, labels(self.texts, *where)), free)[0]
        slope, logged = objective.token * token, dict[str, float]()
        if objective.tree is not None:
            trees = ddtree(free.detach(), NODES)
            target = score(self.target, self.texts, *where, trees)
            loss = objective.tree(free, *trees[:3], target)
            tree = torch.autograd.grad(loss, free)[0]
            weight = objective.weight if objective.weight is not None else objective.norm * float(token.norm() / tree.norm().clamp(min=1e-12))
            slope = slope + weight * tree
            logged = {"lambda": weight, "tree loss": float(loss.detach()), "norm ratio": weight * float(tree.norm() / token.norm())}
            if objective.weighting:
                given = training.node_weights(*trees[:3], target, weighting=objective.weighting)
                logged["credit ratio"] = weight * float(given.weights.sum()) / max(given.nodes, 1)
        optimiser.param_groups[0]["lr"] = rate
        optimiser.zero_grad()
        logits.backward(slope)  # type: ignore[no-untyped-call]
        optimiser.step()
        return logged


def _step(optimiser: torch.optim.Optimizer, loss: Tensor, rate: float) -> None:
    optimiser.param_groups[0]["lr"] = rate
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
