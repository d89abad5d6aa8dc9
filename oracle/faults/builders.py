"""A small best-first tree builder and budget rule in numpy, with every construction and budget fault planted on request."""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..builders import Builder

Trees = tuple[np.ndarray, np.ndarray, np.ndarray]


def bfloat16(values: np.ndarray) -> np.ndarray:
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def log_probabilities(logits: np.ndarray, width: int, fault: str) -> np.ndarray:
    """[L, V] float64, normalised over the vocabulary unless the fault says otherwise."""
    rows = logits.astype(np.float64)
    if fault == "logits not normalised":
        return rows
    seen = np.sort(rows, axis=1)[:, -width:] if fault == "normaliser over the top K" else rows
    top = seen.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = rows - top - np.log(np.exp(seen - top).sum(axis=1, keepdims=True))
        return bfloat16(scores).astype(np.float64) if fault == "log-softmax in bfloat16" else scores


def grow(logits: np.ndarray, nodes: int, fault: str = "") -> Trees:
    """One tree from logits [L, V]."""
    depths, vocabulary = logits.shape
    width = min(nodes, vocabulary)
    if fault == "four tokens a depth only":
        width = min(width, 4)
    if fault == "raises at K = V" and width == vocabulary:
        raise ValueError(f"kth(={vocabulary}) out of bounds ({vocabulary})")
    scores = log_probabilities(logits, width, fault)
    if fault != "NaN goes on":
        broken = np.isnan(scores).any(axis=1)
        depths = int(broken.argmax()) if broken.any() else depths
    if fault == "prefers low token ids":
        scores = scores - 0.05 * np.arange(vocabulary)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :width]
    ranked = np.take_along_axis(scores, order, axis=1)
    limit = {"counts the root in the budget": nodes - 1, "one node too many": nodes + 1}.get(fault, nodes)

    def total(score: float) -> float:
        if fault == "scores accumulated in bfloat16":
            return float(bfloat16(np.array(score)))
        if fault == "masses multiplied in float16":  # in linear space: underflows
            with np.errstate(divide="ignore"):
                return float(np.log(np.float16(np.exp(score))))
        return score

    def row_of(depth: int) -> np.ndarray:
        row: np.ndarray = ranked[min(depth + 1, depths - 1) if fault == "row of the depth below" else depth]
        return row

    tokens, parents, level = [0], [0], [0]
    frontier: list[tuple[float, tuple[int, ...], int, float]] = []

    def offer(ranks: tuple[int, ...], parent: int, score: float) -> None:
        kept = total(score)
        heappush(frontier, (kept if fault == "lightest first" else -kept, ranks, parent, kept))

    if width and depths:
        offer((0,), 0, row_of(0)[0])
    while frontier and len(tokens) <= limit:
        _, ranks, parent, score = heappop(frontier)
        if not score > -np.inf and fault not in ("fills up with impossible nodes", "NaN goes on"):
            break
        depth, rank, node = len(ranks) - 1, ranks[-1], len(tokens)
        tokens.append(int(order[depth][rank]))
        parents.append(parent)
        level.append(len(ranks))
        row = row_of(depth)
        if rank + 1 < width:
            with np.errstate(invalid="ignore"):
                step = row[rank + 1] if fault == "sibling keeps the old token's score" else row[rank + 1] - row[rank]
            under = node if fault == "sibling below the node itself" and len(ranks) < depths else parent
            offer((*ranks[:-1], rank + 1), under, score + step)
        if depth + 1 < depths:
            children = [min(1, width - 1)] if fault == "children start at the second token" else [0]
            if fault == "offers every child and every sibling":
                children = list(range(width))
            for child in children:
                offer((*ranks, child), node, score + row_of(depth + 1)[child])
    return rearranged(np.array(tokens), np.array(parents), np.array(level), nodes, fault)


def rearranged(tokens: np.ndarray, parents: np.ndarray, level: np.ndarray, nodes: int, fault: str) -> Trees:
    count = len(tokens)
    order = np.arange(count)
    if fault == "breadth first":
        order = np.argsort(level, kind="stable")
    elif fault == "children before parents" and count > 2:
        order = np.concatenate([[0], np.arange(count - 1, 0, -1)])
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    tokens, parents = tokens[order], place[parents[order]]
    if fault == "ids of a shard":
        tokens = tokens % 2
    room = max(nodes, count - 1) + 1
    valid = np.arange(room) < count
    if fault == "padding is valid":
        valid[:] = True
    padded_tokens, padded_parents = np.zeros(room, dtype=np.int64), np.arange(room)
    padded_tokens[:count], padded_parents[:count] = tokens, parents
    if fault == "padding is valid":
        padded_parents[count:] = 0
    return padded_tokens, padded_parents, valid


def sorted_prefixes(logits: np.ndarray, nodes: int) -> Trees:
    """All prefixes sorted by mass, longest first among equals: no tree where a probability is 1."""
    scores = log_probabilities(logits, 1, "")
    paths: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    for path, score in paths:
        if len(path) < len(scores) and len(paths) < 5000:
            paths += [((*path, token), score + step) for token, step in enumerate(scores[len(path)]) if step > -np.inf]
    best = sorted(paths[1:], key=lambda entry: (-entry[1], -len(entry[0])))[:nodes]
    index = {(): 0} | {path: place for place, (path, _) in enumerate(best, 1)}
    tokens = np.array([0] + [path[-1] for path, _ in best])
    parents = np.array([0] + [index.get(path[:-1], 0) for path, _ in best])
    return tokens, parents, np.ones(len(tokens), dtype=bool)


def chain_first(logits: np.ndarray, nodes: int) -> Trees:
    """The whole chain of best tokens, then the rest as siblings of its nodes: plausible, not optimal."""
    scores = log_probabilities(logits, 1, "")
    best = scores.argmax(axis=1)
    tokens, parents = [0], [0]
    for depth in range(min(nodes, len(scores))):
        tokens.append(int(best[depth]))
        parents.append(depth)
    for depth in range(len(scores)):
        for token in np.argsort(-scores[depth])[1:]:
            if len(tokens) <= nodes and scores[depth][token] > -np.inf and depth < len(tokens):
                tokens.append(int(token))
                parents.append(depth)
    return np.array(tokens), np.array(parents), np.ones(len(tokens), dtype=bool)


def mask_of(parents: np.ndarray, valid: np.ndarray, fault: str = "") -> np.ndarray:
    count = len(parents)
    mask = np.zeros((count, count), dtype=bool)
    for node in range(count):
        mask[node, node] = True
        if valid[node] and node:
            mask[node] |= mask[parents[node]]
            if fault == "sees its elder sibling":
                elders = [other for other in range(1, node) if parents[other] == parents[node]]
                mask[node, elders[-1:]] = True
            elif fault == "does not see the root":
                mask[node, 0] = False
    if fault == "columns of the last round":
        mask[1:, -1] = True
    return mask


def depth_of(parents: np.ndarray, valid: np.ndarray) -> np.ndarray:
    depth = np.zeros(len(parents), dtype=np.int64)
    for node in range(1, len(parents)):
        depth[node] = depth[parents[node]] + 1 if valid[node] else 0
    return depth


def chosen_size(logits: np.ndarray, draft: float, verify: np.ndarray, fault: str = "") -> int:
    """The size at the first node that does not pay, for one row of logits [L, V]."""
    gains = masses(logits, len(verify) - 1)
    if fault == "goes on where NaN is":
        gains += [np.nan] * (len(verify) - 1 - len(gains))
    fixed = {"forgets the drafter": 0.0, "counts the drafter twice": 2 * draft, "drafter in other units": draft / 1000}.get(fault, draft)
    cost = fixed + charged(np.asarray(verify, dtype=np.float64), fault)
    formats: dict[str, Callable[..., Any]] = {"gains added in bfloat16": bfloat16, "gains added in float16": np.float16}
    narrow = formats.get(fault, np.float64)
    tokens = [narrow(0.0 if fault == "forgets the bonus token" else 1.0)]
    for gain in gains:
        tokens.append(narrow(tokens[-1] + narrow(gain)))
    with np.errstate(divide="ignore"):
        rates = [float(narrow(some / time)) for some, time in zip(tokens, cost, strict=False)]
    return decided(rates, fault)


def masses(logits: np.ndarray, nodes: int) -> list[float]:
    tokens, parents, valid = grow(logits, nodes)
    depth, scores = depth_of(parents, valid), log_probabilities(logits, 1, "")
    mass = np.ones(len(tokens))
    for node in np.flatnonzero(valid)[1:]:
        mass[node] = mass[parents[node]] * np.exp(scores[depth[node] - 1][tokens[node]])
    return list(mass[valid][1:])


def charged(verify: np.ndarray, fault: str) -> np.ndarray:
    """The verify costs as the rule reads them: ``verify[n]`` is that of n + 1 query tokens."""
    last = verify[-1:] + (verify[-1:] - verify[-2:-1])
    if fault == "charges n nodes as n query tokens":
        return np.concatenate([verify[:1], verify[:-1]])
    if fault == "charges n nodes as n + 2 query tokens":
        return np.concatenate([verify[1:], last])
    if fault == "the first node is free":
        return np.concatenate([verify[:1], verify[:1], verify[2:]])
    if fault == "ignores the verify cost":
        return np.full_like(verify, verify[0])
    return verify


def decided(rates: list[float], fault: str) -> int:
    best = 0
    for n, (rate, following) in enumerate(zip(rates, rates[1:], strict=False)):
        if fault == "goes on where NaN is":
            stop = following <= rate
        elif fault == "goes on at equality":
            stop = not following >= rate
        elif fault == "runs to the cap":
            stop = False
        elif fault == "stops at the first small gain":
            stop = not following > 1.02 * rate
        elif fault == "scans all":
            stop = False
            if not following > max(rates[: n + 1]):
                continue
        else:
            stop = not following > rate
        if stop:
            break
        best = n + 1
    return best - 1 if fault == "drops the node that was accepted last" and best else best


WRONG: Mapping[str, tuple[str, str]] = {
    "logits not normalised": ("A", "two-depths"),
    "normaliser over the top K": ("A", "tail"),
    "log-softmax in bfloat16": ("G", "close"),
    "prefers low token ids": ("E", "two-depths"),
    "four tokens a depth only": ("L", "uniform"),
    "scores accumulated in bfloat16": ("G", "many"),
    "masses multiplied in float16": ("G", "faint"),
    "row of the depth below": ("F", "two-depths"),
    "lightest first": ("F", "two-depths"),
    "sibling keeps the old token's score": ("F", "two-depths"),
    "sibling below the node itself": ("F", "two-depths"),
    "children start at the second token": ("F", "two-depths"),
    "offers every child and every sibling": ("F", "two-depths"),
    "counts the root in the budget": ("L", "two-depths"),
    "one node too many": ("F", "two-depths"),
    "fills up with impossible nodes": ("F", "certain"),
    "NaN goes on": ("G", "certain"),
    "breadth first": ("F", "two-depths"),
    "children before parents": ("F", "two-depths"),
    "ids of a shard": ("F", "two-depths"),
    "padding is valid": ("H", "one-depth"),
}
"""Faults of ``grow``: kind, and an instance that shows it."""


def builder_with(fault: str) -> Builder:
    def build(logits: np.ndarray, nodes: int) -> Trees:
        return grow(logits, nodes, fault)

    build.__doc__ = f"{fault[:1].upper()}{fault[1:]}."
    return Builder(build, f"builder {fault}", framework="numpy", batched=False)
