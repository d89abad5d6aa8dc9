"""Lifts: a small instance at real sizes keeps its exact answer, so a law over five tokens tests a kernel for 151,936.

``draftproof check SUBJECT --lift scattered`` judges the subject on lifted instances as on any other.  What is handed over is large; the law that is
read back is that of the small instance, or of one whose exact law follows from it.  Lifts joined by ``+`` are applied one after the other.
"""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from draftproof.reference.exact_json import among
from draftproof.reference.instances import Instance
from draftproof.reference.laws import Law
from draftproof.reference.models import Prefix
from draftproof.reference.trees import Slot

from .cases import Case
from .embeddings import MOST_NUMBERS, Embedding, Step, crowded, filled, padded, permuted, scattered, split, wider, with_gaps
from .subjects import Subject, SubjectError

FULL = 151_936
"""A vocabulary of a real model (Qwen)."""

BEYOND = 1 << 31
"""Offsets that a signed 32-bit integer does not hold."""

HOSTS = ("chain-rows-by-position", "chain-block", "tree-siblings", "tree-two-levels-greedy", "tree-top-two")
FEW_HOSTS = ("chain-one-draft", "tree-greedy", "tree-fixed-kids")
"""Instances that are lifted unless others are given; the second to full vocabularies."""


class NotSuited(SubjectError):
    """A lift that cannot be put to a subject; says why."""


@dataclass(frozen=True)
class Lift:
    """One lift.

    ``about``: what it does, in a line.  ``instance``, ``subject``: what becomes of either.  ``steps``: what is done to every batch, given the
    lifted subject and the vocabulary.  ``offset``, ``share``: as in ``Rounding``.  ``refuses``: why it cannot be put to a subject, or "".
    ``hosts``: instances it is put to unless others are given.  ``large``: left out of "all", for what it costs.
    """

    name: str
    about: str
    instance: Callable[[Instance], Instance] = lambda instance: instance
    subject: Callable[[Subject], Subject] = lambda subject: subject
    steps: Callable[[Subject, int], tuple[Step, ...]] = lambda subject, vocabulary: ()
    offset: float = 0.0
    share: Callable[[Subject, int], int] = lambda subject, vocabulary: 1
    refuses: Callable[[Subject], str] = lambda subject: ""
    hosts: tuple[str, ...] = HOSTS
    large: bool = False


def named(name: str) -> list[Lift]:
    """The lifts called ``name`` in order, several joined by ``+``.  Raises ValueError with the known names."""
    known = {lift.name: lift for lift in LIFTS}
    if unknown := [part for part in name.split("+") if part not in known]:
        raise ValueError(f"no lift {unknown[0]!r}{among(unknown[0], known)}")
    return [known[part] for part in name.split("+")]


def refusal(subject: Subject, name: str) -> str:
    """Why a lift cannot be put to a subject, or ""."""
    return next((f"{lift.name}: {reason}" for lift in named(name) if (reason := lift.refuses(subject))), "")


def hosts_of(name: str) -> tuple[str, ...]:
    """The instances that a lift is put to unless others are given."""
    return FEW_HOSTS if any(lift.hosts == FEW_HOSTS for lift in named(name)) else HOSTS


def lifted(subject: Subject, instance: Instance, name: str) -> Case:
    """The case of ``instance`` lifted by ``name``.  Raises NotSuited with the reason, ValueError for an unknown name."""
    lifts, vocabulary = named(name), instance.vocabulary
    if reason := refusal(subject, name):
        raise NotSuited(reason)
    for lift in lifts:
        instance, subject = lift.instance(instance), lift.subject(subject)
    steps = sum((lift.steps(subject, vocabulary) for lift in lifts), ())
    return Case(
        subject,
        replace(instance, name=f"{instance.name} lifted by {name}"),
        Embedding(steps, MOST_NUMBERS << 8 if any(lift.large for lift in lifts) else MOST_NUMBERS, hosts_of(name) == FEW_HOSTS),
        offset=sum(lift.offset for lift in lifts),
        share=reduce(lambda product, lift: product * lift.share(subject, vocabulary), lifts, 1),
    )


def _batched(subject: Subject) -> str:
    if not subject.batched:
        return "it takes one row at a time"
    return "" if subject.rows_per_draft == 1 else "its rows share their draft trees"


def _of_trees(subject: Subject) -> str:
    return "" if subject.shape == "tree" else "it takes chains, which have no padding"


def _has(dtype: str) -> Callable[[Subject], str]:
    return lambda subject: "numpy has no bfloat16" if subject.framework == "numpy" and dtype == "bfloat16" else ""


def _of_logits(subject: Subject) -> str:
    return "" if subject.rows == "logits" else f"its rows are {subject.rows}, which an offset would make wrong"


# Instances


def deep(levels: int) -> Callable[[Instance], Instance]:
    """``levels`` deterministic levels before the first: target and draft certain of the same token."""

    def lift(instance: Instance) -> Instance:
        path = tuple((3 * level + 1) % instance.vocabulary for level in range(levels))

        def target(prefix: Prefix) -> Law[int]:
            return instance.target(prefix[levels:]) if len(prefix) >= levels else Law.point(path[len(prefix)])

        def scheme(slot: Slot, prefix: Prefix, elders: tuple[int, ...]) -> Law[int] | None:
            if len(prefix) >= levels:
                return instance.scheme(slot, prefix[levels:], elders)
            return None if elders else Law.point(path[len(prefix)])

        topology = instance.topology
        for _ in path:
            topology = (topology,)
        return replace(instance, target=target, scheme=scheme, topology=topology)

    return lift


def processed(process: Callable[[Law[int]], Law[int]], target: bool, draft: bool) -> Callable[[Instance], Instance]:
    """A processor on the rows of the target, the draft or both.  What was sampled is declared, so every combination is lossless."""

    def lift(instance: Instance) -> Instance:
        def drafted(slot: Slot, prefix: Prefix, elders: tuple[int, ...]) -> Law[int] | None:
            law = instance.scheme(slot, prefix, elders)
            return None if law is None else process(law)

        return replace(
            instance,
            target=(lambda prefix: process(instance.target(prefix))) if target else instance.target,
            scheme=drafted if draft else instance.scheme,
        )

    return lift


def cold(law: Law[int]) -> Law[int]:
    """Temperature 0.6, to the nearest float64."""
    return Law((token, float(weight) ** (1 / 0.6)) for token, weight in law.items())


def best_two(law: Law[int]) -> Law[int]:
    """Top-k with k = 2; ties go to the smaller token."""
    return Law(sorted(law.items(), key=lambda item: (-item[1], item[0]))[:2])


# Subjects


def with_dtype(dtype: str) -> Callable[[Subject], Subject]:
    return lambda subject: replace(subject, dtype=dtype)


def in_strides(subject: Subject) -> Subject:
    """Hands the rows over as they are, but not contiguous."""

    def call(*arguments: Any, **randomness: Any) -> Any:
        return subject.call(*(strided(value) if value is not None and value.ndim == 3 else value for value in arguments), **randomness)

    return replace(subject, call=call)


def strided(rows: Any) -> Any:
    """The same rows [B, N, V], not contiguous: every other column of a buffer wider than they are, NaN between and after them."""
    shape = (*rows.shape[:2], 2 * rows.shape[2] + 7)
    wide = rows.new_full(shape, np.nan) if hasattr(rows, "new_full") else np.full(shape, np.nan, rows.dtype)
    view = wide[:, :, : 2 * rows.shape[2] : 2]
    view[...] = rows
    return view


def dirty(subject: Subject) -> Subject:
    """Passes ``out=(blocks, accepted)`` full of what another call may have left there."""

    def call(*arguments: Any, **randomness: Any) -> Any:
        ids, rows = arguments[0], arguments[1 if subject.shape == "tree" else 0]
        width = ids.shape[1] + (subject.shape == "chain")
        blocks, accepted = (
            ids.new_zeros(shape) if hasattr(ids, "new_zeros") else np.zeros(shape, np.int64) for shape in ((len(rows), width), (len(rows),))
        )
        return subject.call(*arguments, out=(blocks, accepted), **randomness)

    return replace(subject, call=call)


def _takes_out(subject: Subject) -> str:
    try:
        parameters = inspect.signature(subject.call).parameters
    except (TypeError, ValueError):
        return "its signature cannot be read"
    return "" if "out" in parameters else "it has no parameter out=(blocks [B, D+1], accepted [B]) for its answer"


def _on_cuda(subject: Subject) -> str:
    if subject.framework != "torch" or not subject.device.startswith("cuda"):
        return f"its device is {subject.device!r}, and only CUDA has graphs"
    return "" if subject.randomness == "uniforms" else "a graph replays its random numbers, so they have to be passed as uniforms"


def captured(subject: Subject) -> Subject:
    """Calls a CUDA graph that was captured on other rows: one dummy replay, then one of the batch upside down, then the one that counts."""

    def call(*arguments: Any, **randomness: Any) -> Any:
        import torch

        given = [*arguments, *randomness.values()]
        static = [None if value is None else value.flip(0).clone() for value in given]

        def run() -> Any:
            return subject.call(*static[: len(arguments)], **dict(zip(randomness, static[len(arguments) :], strict=True)))

        side: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            run()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            answer = run()
        graph.replay()
        for turned in (True, False):
            for buffer, value in zip(static, given, strict=True):
                if buffer is not None:
                    buffer.copy_(value.flip(0) if turned else value)
            graph.replay()
        return tuple(part.clone() for part in answer)

    return replace(subject, call=call)


def behind_many(subject: Subject) -> Subject:
    """Puts so many copies of the first row before the batch that B N V exceeds 2^31, and drops their answers.

    Raises NotSuited when the memory for it is not there.
    """

    def call(*arguments: Any, **randomness: Any) -> Any:
        rows = arguments[3 if subject.shape == "tree" else 2]
        numbers = int(np.prod(rows.shape[1:]))
        copies = BEYOND // numbers + 1
        bytes_each = rows.element_size() if hasattr(rows, "element_size") else rows.itemsize
        tables = sum(value is not None and value.ndim == 3 for value in arguments)
        needed, there = 3 * tables * copies * numbers * bytes_each, _memory(rows)
        if needed > there:
            raise NotSuited(f"needs {needed / 1e9:.0f} GB for B N V > {BEYOND}, and {there / 1e9:.0f} GB are free")

        def behind(value: Any) -> Any:
            if value is None or not hasattr(value, "shape"):
                return value
            if hasattr(value, "new_full"):
                import torch

                return torch.cat([value[:1].expand(copies, *value.shape[1:]), value])
            return np.concatenate([np.broadcast_to(value[:1], (copies, *value.shape[1:])), value])

        blocks, accepted = subject.call(*map(behind, arguments), **{name: behind(value) for name, value in randomness.items()})
        return blocks[copies:], accepted[copies:]

    return replace(subject, call=call)


def _memory(rows: Any) -> int:
    """Free bytes where ``rows`` are."""
    if getattr(rows, "is_cuda", False):
        import torch

        return int(torch.cuda.mem_get_info(rows.device)[0])
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _shares(subject: Subject, vocabulary: int) -> int:
    """Tokens that each token is split into: a power of two, so that dividing by it is exact; few where float16 has no smaller numbers."""
    most = min(FULL // vocabulary, 64 if subject.dtype == "float16" else FULL)
    return 1 << (most.bit_length() - 1)


def _scattered(size: int) -> Callable[[Subject, int], tuple[Step, ...]]:
    return lambda subject, vocabulary: (scattered(size),)


def _filled(nodes: int) -> Callable[[Subject, int], tuple[Step, ...]]:
    return lambda subject, vocabulary: (with_gaps, filled(nodes))


def _split(subject: Subject, vocabulary: int) -> tuple[Step, ...]:
    return (split(FULL, _shares(subject, vocabulary)),)


def _among_others(subject: Subject, vocabulary: int) -> tuple[Step, ...]:
    padding = (padded(5),) if subject.shape == "tree" else ()
    return (wider(3), *padding, crowded(9), permuted)


LIFTS: tuple[Lift, ...] = (
    Lift("scattered", f"tokens scattered over a vocabulary of {FULL:,}", steps=_scattered(FULL), hosts=FEW_HOSTS),
    Lift("split", f"each token split into thousands that share its mass, a vocabulary of {FULL:,}", steps=_split, share=_shares, hosts=FEW_HOSTS),
    *(
        Lift(f"vocabulary-{size}", f"tokens scattered over a vocabulary of {size:,}, one beside a multiple of a tile", steps=_scattered(size))
        for size in (33, 1023, 1025)
    ),
    Lift("batch", "among unrelated, ragged, permuted rows, in wider buffers", steps=_among_others, refuses=_batched),
    Lift("padded", "36 more nodes that are not valid, their rows and tokens those of others", steps=lambda *_: (padded(36),), refuses=_of_trees),
    Lift("strided", "rows that are not contiguous, NaN between them", subject=in_strides),
    *(Lift(dtype, f"rows in {dtype}", subject=with_dtype(dtype), refuses=_has(dtype)) for dtype in ("float16", "bfloat16", "float32", "float64")),
    Lift("cold", "temperature 0.6 on target and draft rows", instance=processed(cold, target=True, draft=True)),
    Lift("cold-target", "temperature 0.6 on target rows only", instance=processed(cold, target=True, draft=False)),
    Lift("cold-draft", "temperature 0.6 on draft rows only", instance=processed(cold, target=False, draft=True)),
    Lift("top-2", "top-k with k = 2 on target and draft rows", instance=processed(best_two, target=True, draft=True)),
    Lift("top-2-target", "top-k with k = 2 on target rows only", instance=processed(best_two, target=True, draft=False)),
    Lift("top-2-draft", "top-k with k = 2 on draft rows only", instance=processed(best_two, target=False, draft=True)),
    Lift("deep", "17 deterministic levels before the first", instance=deep(17)),
    *(
        Lift(f"nodes-{nodes}", f"trees of {nodes} nodes, all but a few of which the target cannot emit", steps=_filled(nodes))
        for nodes in (33, 65, 129, 257)
    ),
    *(
        Lift(f"logits-{name}", f"{offset:+g} on every logit", offset=offset, refuses=_of_logits)
        for name, offset in (("plus-80", 80.0), ("minus-80", -80.0), ("plus-3e4", 3e4), ("minus-3e4", -3e4))
    ),
    Lift("dirty", "an output buffer with another call's answer in it", subject=dirty, refuses=_takes_out),
    Lift("captured", "a CUDA graph: one dummy and two real replays", subject=captured, refuses=_on_cuda),
    Lift("huge", "behind so many rows that B N V > 2^31", subject=behind_many, steps=_scattered(FULL), refuses=_batched, hosts=FEW_HOSTS, large=True),
)

ALL = tuple(lift.name for lift in LIFTS if not lift.large)
"""What "all" stands for."""
