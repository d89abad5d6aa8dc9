"""Our own training losses as subjects: ``draftproof check draftproof.oracle.adapters.training:exit_loss``."""

import importlib
from collections.abc import Callable
from typing import Any

from ..objectives import objective


def _ours(name: str, **settings: Any) -> Callable[..., Any]:
    def loss(logits: Any, tokens: Any, parents: Any, valid: Any, target: Any) -> Any:
        return getattr(importlib.import_module("draftproof.gpu_impl.training"), name)(logits, tokens, parents, valid, target, **settings)

    return loss


def _named(place: str, call: Callable[..., Any], **declares: Any) -> Any:
    return objective(name=f"{__name__}:{place}", **declares)(call)


exit_loss = _named("exit_loss", _ours("tree_loss"))
exit_loss_float32 = _named("exit_loss_float32", _ours("tree_loss"), dtype="float32")
exit_loss_served = _named("exit_loss_served", _ours("tree_loss", temperature=0.6), temperature=0.6)
prefix_loss = _named("prefix_loss", _ours("tree_loss", weighting="prefix"), objective="prefix")
depth_loss = _named("depth_loss", _ours("tree_loss", weighting="depth"), objective="depth")
on_tree_distillation = _named("on_tree_distillation", _ours("on_tree_distillation"), objective="distillation")
swap_ranking = _named("swap_ranking", _ours("swap_ranking", tau=0.5), objective="swaps", tau=0.5)
smoothed_coverage = _named("smoothed_coverage", _ours("smoothed_coverage", tau=0.5), objective="coverage", tau=0.5)
