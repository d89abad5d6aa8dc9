"""Tree drafting as it goes wrong, and as it looks wrong without being so: each build once, in the words of the reference.

A build draws a populated tree from a draft model, a frozen topology and a chance.  The same build is read exactly (``law_of``), put to the oracle
as a drafter, and run by a generator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draftproof.reference import drafting
from draftproof.reference.chance import Chance
from draftproof.reference.drafters import at_temperature
from draftproof.reference.laws import Law
from draftproof.reference.models import Model, Prefix
from draftproof.reference.rational import rational
from draftproof.reference.replay import deduplicated, replay
from draftproof.reference.shared_lists import populate_shared
from draftproof.reference.trees import Node, Scheme, Slot, level_order, populate


@dataclass(frozen=True)
class Setting:
    """What a build is given: models over ``vocabulary`` tokens and a frozen topology of depth two."""

    vocabulary: int
    draft: Model
    target: Model
    topology: Slot


Build = Callable[[Setting, Chance], Node]
BUILDS: dict[str, Build] = {}
LEGAL: dict[str, Build] = {}
SHARED = ("shared_list",)  # legal for recursive rejection only


def faulty(build: Build) -> Build:
    BUILDS[build.__name__] = build
    return build


def legal(build: Build) -> Build:
    LEGAL[build.__name__] = build
    return build


def filled(setting: Setting, chance: Chance, laws: Callable[[Prefix, tuple[int, ...]], tuple[Law[int], Law[int]] | None]) -> Node:
    """Fill the topology by ``laws(path, elders)`` -> (law drawn from, law declared)."""

    def fill(slot: Slot, path: Prefix, declared: Law[int] | None) -> Node:
        drawn: list[tuple[int, Law[int]]] = []
        for _ in slot:
            both = laws(path, tuple(token for token, _ in drawn))
            if both is None:
                break
            drawn.append((chance.draw(both[0]), both[1]))
        return Node(path, declared, tuple(fill(child, (*path, token), law) for child, (token, law) in zip(slot, drawn, strict=False)))

    return fill(setting.topology, (), None)


def without(law: Law[int], elders: Sequence[int]) -> Law[int]:
    rest = law.without(elders)
    assert rest is not None
    return rest


def by_scheme(scheme: Callable[[Model], Scheme]) -> Build:
    return lambda setting, chance: populate(setting.topology, scheme(setting.draft), chance)


def rebuilt(tree: Node, chosen: Callable[[Node], Sequence[Node]]) -> Node:
    return Node(tree.path, tree.declared, tuple(rebuilt(child, chosen) for child in chosen(tree)))


# --- faults of section 4 and 9 that show in the draft -------------------------------------------------------------------------------------------


@faulty
def grown_on_own_tokens(setting: Setting, chance: Chance) -> Node:
    """4.1, fault 1: best-first growth whose score includes the slot's own sampled token."""
    return _grown(setting, chance, own_token=True)


@legal
def grown_before_the_draw(setting: Setting, chance: Chance) -> Node:
    """The same growth with a score known before the draw: parent's path score x mass left by the elder siblings."""
    return _grown(setting, chance, own_token=False)


def slots(slot: Slot) -> int:
    return sum(1 + slots(child) for child in slot)


def _grown(setting: Setting, chance: Chance, own_token: bool) -> Node:
    draft, depth = setting.draft, 2
    score: dict[Prefix, Any] = {(): rational(1)}
    children: dict[Prefix, list[tuple[int, Law[int]]]] = {(): []}
    frontier: list[tuple[Any, Prefix, int | None, Law[int]]] = []  # score, parent, token when drawn already, declared

    def offer(parent: Prefix) -> None:
        law = draft(parent).without([token for token, _ in children[parent]])
        if law is None:
            return
        left = sum(draft(parent)[token] for token in law)
        token = chance.draw(law) if own_token else None
        value = score[parent] * (draft(parent)[token] if token is not None else left)
        frontier.append((value, parent, token, law))

    offer(())
    for _ in range(slots(setting.topology)):
        if not frontier:
            break
        best = max(frontier, key=lambda entry: (entry[0], [-x for x in entry[1]]))
        frontier.remove(best)
        _, parent, token, law = best
        token = chance.draw(law) if token is None else token
        children[parent].append((token, law))
        path = (*parent, token)
        children[path], score[path] = [], score[parent] * draft(parent)[token]
        offer(parent)
        if len(path) < depth:
            offer(path)

    def node(path: Prefix, declared: Law[int] | None) -> Node:
        return Node(path, declared, tuple(node((*path, token), law) for token, law in children[path]))

    return node((), None)


@faulty
def sibling_kept_by_own_token(setting: Setting, chance: Chance) -> Node:
    """Fault 2: the noise that plans also replays: whether a last sibling is submitted depends on its own token."""
    tree = by_scheme(drafting.without_replacement)(setting, chance)
    return rebuilt(tree, lambda node: [child for rank, child in enumerate(node.below) if rank + 1 < len(node.below) or child.token != 0])


@faulty
def pruned_by_target(setting: Setting, chance: Chance) -> Node:
    """Fault 19: a slot is cut when the target finds its own token unlikely."""
    tree = by_scheme(drafting.without_replacement)(setting, chance)
    return rebuilt(tree, lambda node: [child for child in node.below if setting.target(node.path)[child.token] * 4 > 1])


@faulty
def siblings_sorted_by_draft(setting: Setting, chance: Chance) -> Node:
    """4.3, fault 3: siblings are verified in the order of q, not of their draws."""
    tree = by_scheme(drafting.without_replacement)(setting, chance)
    return rebuilt(tree, lambda node: sorted(node.below, key=lambda child: (-setting.draft(node.path)[child.token], child.token)))


@faulty
def siblings_sorted_by_id(setting: Setting, chance: Chance) -> Node:
    """Fault 3: siblings in the order of their token ids."""
    tree = by_scheme(drafting.without_replacement)(setting, chance)
    return rebuilt(tree, lambda node: sorted(node.below, key=lambda child: child.token))


@faulty
def siblings_reversed(setting: Setting, chance: Chance) -> Node:
    """Fault 3: siblings in reverse order."""
    tree = by_scheme(drafting.without_replacement)(setting, chance)
    return rebuilt(tree, lambda node: node.below[::-1])


@faulty
def oversampled(setting: Setting, chance: Chance) -> Node:
    """4.2: two draws, the likelier one is submitted, q is declared."""

    def likelier(path: Prefix, elders: tuple[int, ...]) -> tuple[Law[int], Law[int]]:
        law = without(setting.draft(path), elders)
        first, second = chance.draw(law), chance.draw(law)
        return Law.point(max(first, second, key=lambda token: (law[token], -token))), law

    return filled(setting, chance, likelier)


@faulty
def fixed_sibling_verified_before(setting: Setting, chance: Chance) -> Node:
    """A fixed sibling is admitted when the sampled one is another token, and verified before it."""
    return _with_fixed_sibling(setting, chance, before=True)


@legal
def fixed_sibling_verified_after(setting: Setting, chance: Chance) -> Node:
    """The same, verified after the sampled sibling."""
    return _with_fixed_sibling(setting, chance, before=False)


def _with_fixed_sibling(setting: Setting, chance: Chance, before: bool) -> Node:
    def fill(slot: Slot, path: Prefix, declared: Law[int] | None) -> Node:
        if not slot:
            return Node(path, declared)
        law = setting.draft(path)
        sampled, best = chance.draw(law), drafting.ranked(law)[0]
        drawn = [(sampled, law)]
        if len(slot) > 1 and sampled != best:
            drawn.insert(0 if before else 1, (best, Law.point(best)))
        return Node(path, declared, tuple(fill(child, (*path, token), law) for child, (token, law) in zip(slot, drawn, strict=False)))

    return fill(setting.topology, (), None)


@faulty
def drawn_without_declared_with(setting: Setting, chance: Chance) -> Node:
    """Fault 7: drawn without replacement, declared q."""
    return filled(setting, chance, lambda path, elders: (without(setting.draft(path), elders), setting.draft(path)))


@faulty
def drawn_with_declared_without(setting: Setting, chance: Chance) -> Node:
    """Fault 7: drawn with replacement, declared q off the elders (the elders' distinct tokens)."""

    def laws(path: Prefix, elders: tuple[int, ...]) -> tuple[Law[int], Law[int]]:
        law = setting.draft(path)
        return law, law.without(elders) or law

    return filled(setting, chance, laws)


@faulty
def temperatures_differ(setting: Setting, chance: Chance) -> Node:
    """Fault 8: drawn at temperature 1, declared at 1/2."""

    def laws(path: Prefix, elders: tuple[int, ...]) -> tuple[Law[int], Law[int]]:
        law = without(setting.draft(path), elders)
        return law, at_temperature(law, 2)

    return filled(setting, chance, laws)


@faulty
def declared_of_planned_parent(setting: Setting, chance: Chance) -> Node:
    """Fault 9: tokens from the actual parent's row, declared law from the planned parent's."""
    return filled(setting, chance, lambda path, elders: (without(setting.draft(path), elders), without(setting.draft(_planned(path)), elders)))


@legal
def stale_but_declared(setting: Setting, chance: Chance) -> Node:
    """Sampled and declared from the planned parent's row: weaker, and legal."""

    def laws(path: Prefix, elders: tuple[int, ...]) -> tuple[Law[int], Law[int]]:
        law = without(setting.draft(_planned(path)), elders)
        return law, law

    return filled(setting, chance, laws)


def _planned(path: Prefix) -> Prefix:
    return tuple(0 for _ in path)


@faulty
def head_state_shared(setting: Setting, chance: Chance) -> Node:
    """Fault 9: one recurrent state for the whole batch of branches, stepped by every node; drawn from it, declared from the branch's own."""
    seen: list[int] = []

    def laws(path: Prefix, elders: tuple[int, ...]) -> tuple[Law[int], Law[int]]:
        wrong = without(setting.draft((*path[:-1], seen[-1]) if path and seen else path), elders)
        law = without(setting.draft(path), elders)
        return (wrong if path else law), law

    def fill(slot: Slot, path: Prefix, declared: Law[int] | None) -> Node:
        drawn: list[tuple[int, Law[int]]] = []
        for _ in slot:
            law, claimed = laws(path, tuple(token for token, _ in drawn))
            drawn.append((chance.draw(law), claimed))
            seen.append(drawn[-1][0])
        return Node(path, declared, tuple(fill(child, (*path, token), law) for child, (token, law) in zip(slot, drawn, strict=False)))

    return fill(setting.topology, (), None)


@faulty
def pool_masked_in_place(setting: Setting, chance: Chance) -> Node:
    """Fault 11: the draft row of a depth is masked in place while sampling and shared by its nodes; declared fresh."""
    return _pooled(setting, chance, declare_pool=False)


@legal
def pool_masked_and_declared(setting: Setting, chance: Chance) -> Node:
    """The same pool, declared as it was when the token was drawn."""
    return _pooled(setting, chance, declare_pool=True)


def _pooled(setting: Setting, chance: Chance, declare_pool: bool) -> Node:
    tried: dict[int, list[int]] = {}

    def laws(path: Prefix, elders: tuple[int, ...]) -> tuple[Law[int], Law[int]] | None:
        law = setting.draft(path)
        pool, fresh = law.without(tried.setdefault(len(path), [])), law.without(elders)
        if pool is None or fresh is None:
            return None
        token = chance.draw(pool)
        tried[len(path)].append(token)
        return Law.point(token), pool if declare_pool else fresh

    return filled(setting, chance, laws)


@faulty
def duplicates_dropped_declared_q(setting: Setting, chance: Chance) -> Node:
    """Fault 13: drawn with replacement, duplicates dropped, the others still declared q."""
    tree = by_scheme(drafting.with_replacement)(setting, chance)

    def first_of_each(node: Node) -> list[Node]:
        return [child for rank, child in enumerate(node.below) if child.token not in [elder.token for elder in node.below[:rank]]]

    return rebuilt(tree, first_of_each)


@legal
def duplicates_merged(setting: Setting, chance: Chance) -> Node:
    """Duplicates merged recursively and declared as drawn without replacement."""
    return deduplicated(by_scheme(drafting.with_replacement)(setting, chance), setting.draft)


@faulty
def top_k_declared_q(setting: Setting, chance: Chance) -> Node:
    """Fault 16: the most probable tokens, deterministic, declared q."""
    return filled(setting, chance, lambda path, elders: (Law.point(drafting.ranked(setting.draft(path))[len(elders)]), setting.draft(path)))


@faulty
def top_k_declared_off_elders(setting: Setting, chance: Chance) -> Node:
    """Fault 16: the same, declared q off the elders."""

    def laws(path: Prefix, elders: tuple[int, ...]) -> tuple[Law[int], Law[int]]:
        return Law.point(drafting.ranked(setting.draft(path))[len(elders)]), without(setting.draft(path), elders)

    return filled(setting, chance, laws)


@faulty
def exhausted_row_uniform_over_all(setting: Setting, chance: Chance) -> Node:
    """Fault 21: an exhausted row becomes uniform over the whole vocabulary, tried tokens included; declared uniform over the untried."""
    return filled(setting, chance, lambda path, elders: _exhausted(setting, path, elders, everything=True))


@legal
def exhausted_row_uniform_over_untried(setting: Setting, chance: Chance) -> Node:
    """The exhaustion rule as it should be."""
    return filled(setting, chance, lambda path, elders: _exhausted(setting, path, elders, everything=False))


def _exhausted(setting: Setting, path: Prefix, elders: tuple[int, ...], everything: bool) -> tuple[Law[int], Law[int]] | None:
    peaked = Law.point(drafting.ranked(setting.draft(path))[0])
    law = peaked.without(elders)
    if law is not None:
        return law, law
    untried = Law((token, 1) for token in range(setting.vocabulary) if token not in elders)
    return (Law((token, 1) for token in range(setting.vocabulary)) if everything else untried), untried


@faulty
def stale_slot_submitted(setting: Setting, chance: Chance) -> Node:
    """Fault 14: a slot that was dropped keeps the token of an earlier round, and q."""
    support = without(setting.draft(()), [0]) if len(setting.draft(())) > 1 else setting.draft(())

    def laws(path: Prefix, elders: tuple[int, ...]) -> tuple[Law[int], Law[int]]:
        live = Law.point(drafting.ranked(support)[0])
        return (live, live) if not elders else (Law.point(0), setting.draft(path))

    return filled(setting, chance, laws)


@faulty
def forced_token_declared_q(setting: Setting, chance: Chance) -> Node:
    """6c, fault 15: an exhausted row is filled with a token that it gives no mass, and still declared."""

    def laws(path: Prefix, elders: tuple[int, ...]) -> tuple[Law[int], Law[int]]:
        law = Law.point(drafting.ranked(setting.draft(path))[0])
        rest = law.without(elders)
        return (Law.point(min(token for token in range(setting.vocabulary) if token not in elders)), law) if rest is None else (rest, rest)

    return filled(setting, chance, laws)


# --- what must not be flagged -------------------------------------------------------------------------------------------------------------------


@legal
def replayed_without_replacement(setting: Setting, chance: Chance) -> Node:
    """Tsubame as it is."""
    return by_scheme(lambda draft: replay(draft, setting.vocabulary))(setting, chance)


@legal
def replayed_with_replacement(setting: Setting, chance: Chance) -> Node:
    """Replay with replacement: duplicates are drafted and declared as they are."""
    return by_scheme(lambda draft: replay(draft, setting.vocabulary, "with_replacement"))(setting, chance)


@legal
def shape_from_an_independent_draw(setting: Setting, chance: Chance) -> Node:
    """The topology itself is random, drawn independently of the tokens."""
    topology: Slot = setting.topology if chance.flip(rational(1) / 3) else setting.topology[:1]
    return populate(topology, drafting.without_replacement(setting.draft), chance)


@legal
def count_by_elder_token(setting: Setting, chance: Chance) -> Node:
    """How many siblings there are depends on an elder sibling's token."""

    def laws(path: Prefix, elders: tuple[int, ...]) -> tuple[Law[int], Law[int]] | None:
        law = setting.draft(path).without(elders)
        return None if law is None or elders[:1] == (0,) else (law, law)

    return filled(setting, chance, laws)


@legal
def elder_subtree_by_younger_token(setting: Setting, chance: Chance) -> Node:
    """How large an elder sibling's subtree is depends on the youngest sibling's token; siblings are drawn before their children."""
    return _by_siblings(setting, chance, lambda tokens, slots, law: [slot if tokens[-1] == 0 else () for slot in slots])


@legal
def larger_subtree_to_likelier_token(setting: Setting, chance: Chance) -> Node:
    """Subtrees are matched to the siblings by their draft probability, after they were drawn and before their children are."""

    def matched(tokens: list[int], slots: list[Slot], law: Law[int]) -> list[Slot]:
        largest = sorted(slots, key=lambda slot: -len(slot))
        order = sorted(range(len(tokens)), key=lambda rank: -law[tokens[rank]])
        return [largest[order.index(rank)] for rank in range(len(tokens))]

    return _by_siblings(setting, chance, matched)


def _by_siblings(setting: Setting, chance: Chance, match: Callable[[list[int], list[Slot], Law[int]], list[Slot]]) -> Node:
    def fill(slot: Slot, path: Prefix, declared: Law[int] | None) -> Node:
        drawn: list[tuple[int, Law[int]]] = []
        for _ in slot:
            law = without(setting.draft(path), [token for token, _ in drawn])
            drawn.append((chance.draw(law), law))
        tokens = [token for token, _ in drawn]
        slots = match(tokens, list(slot), setting.draft(path)) if slot else []
        return Node(path, declared, tuple(fill(child, (*path, token), law) for child, (token, law) in zip(slots, drawn, strict=True)))

    return fill(setting.topology, (), None)


@legal
def independent_siblings_reversed(setting: Setting, chance: Chance) -> Node:
    """Independent siblings may be visited in any order that does not look at their tokens."""
    tree = by_scheme(drafting.with_replacement)(setting, chance)
    return rebuilt(tree, lambda node: node.below[::-1])


@legal
def top_k_declared_one_hot(setting: Setting, chance: Chance) -> Node:
    """The most probable tokens, deterministic, declared as point masses."""
    return by_scheme(drafting.top_k)(setting, chance)


@legal
def best_fixed_rest_sampled(setting: Setting, chance: Chance) -> Node:
    """The best tokens fixed, the last sibling sampled off them."""
    return by_scheme(drafting.greedy)(setting, chance)


@legal
def live_tree_smaller(setting: Setting, chance: Chance) -> Node:
    """Slots beyond the support are dropped with their subtrees."""

    def laws(path: Prefix, elders: tuple[int, ...]) -> tuple[Law[int], Law[int]] | None:
        law = without(setting.draft(path), [drafting.ranked(setting.draft(path))[-1]]).without(elders)
        return None if law is None else (law, law)

    return filled(setting, chance, laws)


@legal
def other_plan_temperature(setting: Setting, chance: Chance) -> Node:
    """Planned at another temperature than replayed: the topology is what it is."""
    return populate(setting.topology[::-1], replay(setting.draft, setting.vocabulary), chance)


def dead_slots_kept(setting: Setting, chance: Chance) -> Node:
    """Fault 14: a dropped slot has no token, and still its declared law: a verifier that does not skip it updates the residual."""

    def fill(slot: Slot, path: Prefix, declared: Law[int] | None) -> Node:
        if not slot:
            return Node(path, declared)
        best = drafting.ranked(setting.draft(path))[0]
        live = fill(slot[0], (*path, best), Law.point(best))
        return Node(path, declared, (live, *(Node((*path, -1), setting.draft(path)) for _ in slot[1:])))

    return fill(setting.topology, (), None)


def shared_list(setting: Setting, chance: Chance) -> Node:
    """One list per depth for all nodes: legal for recursive rejection, fault 12 for any rule that looks at more than one node of a depth."""
    rows = [setting.draft((0,) * depth) for depth in range(2)]
    return populate_shared(setting.topology, rows, chance)


def arrays(tree: Node, vocabulary: int, width: int) -> tuple[np.ndarray, ...]:
    """A tree as a drafter returns it, a batch of one; nodes in level order."""
    nodes = level_order(tree)
    index = {id(node): position for position, node in enumerate(nodes)}
    tokens, parents = np.zeros((1, width), dtype=np.int64), np.arange(width)[None].copy()
    valid, declared = np.zeros((1, width), dtype=bool), np.full((1, width, vocabulary), 1 / vocabulary)
    for position, node in enumerate(nodes):
        valid[0, position] = True
        for child in node.children():
            at = index[id(child)]
            tokens[0, at], parents[0, at] = child.token, position
            assert child.declared is not None
            declared[0, at] = [float(child.declared[token]) for token in range(vocabulary)]
    return tokens, parents, valid, declared
