"""Tree builders and budget rules by name, our own among them, and the verdicts each gets."""

from collections.abc import Sequence
from typing import Any

from .budget import judge_rule
from .builders import BudgetRule, Builder, named, taker_of
from .construction import judge_builder
from .report import Report
from .subjects import SubjectError


def tree_subjects(spec: str) -> Sequence[Builder | BudgetRule]:
    """The subjects named by ``spec``: ``gpu_impl`` or one of its, or ``module:callable`` or ``path/file.py:callable`` declared with a decorator.

    Raises SubjectError when it cannot be found or is not declared.
    """
    if spec.partition(".")[0] != "gpu_impl" or ":" in spec:
        return [taker_of(named(spec), name=spec)]
    if found := [one for one in ours() if spec in ("gpu_impl", one.name)]:
        return found
    raise SubjectError(f"{spec} is not a builder or budget rule; gpu_impl has {', '.join(one.name for one in ours())}")


def judge(subject: Builder | BudgetRule, **settings: Any) -> Report:
    """The verdicts of its kind; ``settings`` are those of ``judge_builder`` and ``judge_rule``."""
    return judge_builder(subject, **settings) if isinstance(subject, Builder) else judge_rule(subject, **settings)


def ours(dtype: str = "float32", device: str = "cpu") -> Sequence[Builder | BudgetRule]:
    """The builder and the two budget rules of ``draftproof.gpu_impl``.  Raises SubjectError when torch is not installed."""
    try:
        from importlib import import_module

        build = import_module("draftproof.gpu_impl.ddtree").ddtree
        choose = import_module("draftproof.gpu_impl.caddtree").caddtree
    except ImportError as error:
        raise SubjectError(f"gpu_impl: {error}; install torch with pip install 'draftproof[gpu]'") from None
    return [
        Builder(build, "gpu_impl.ddtree", dtype=dtype, device=device),
        BudgetRule(lambda logits, draft, verify: choose(logits, draft, verify)[1], "gpu_impl.caddtree", dtype=dtype, device=device),
        BudgetRule(
            lambda logits, draft, verify: choose(logits, draft, verify, convex=False)[1],
            "gpu_impl.caddtree(convex=False)",
            dtype=dtype,
            device=device,
            any_cost=True,
        ),
    ]
