"""No verify call waits for the device: it runs on tensors without contents, where all that asks for a number raises.

Fake tensors know shape and dtype alone.  What a GPU would have to be waited for (a number, a branch on one, a shape that depends on one,
a copy to the host) cannot be had of them, so a call that returns can be captured in a CUDA graph too: what it launches and allocates
depends on shapes only.  Kernels are not run here; that is what ``test_kernels`` is for.
"""

import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from draftproof import gpu_impl
from draftproof.gpu_impl import LogitRows
from draftproof.gpu_impl.kernels import use

NAMES = ["predraw_follow", "tree_exit", "recursive_rejection", "traversal", "univer", "greedy_transport", "k_seq"]
every_verifier = pytest.mark.parametrize("name", NAMES)
HOST = ["item", "tolist", "cpu", "numpy", "__bool__", "__int__", "__float__", "__index__"]


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("it waits for the device")


@pytest.fixture(autouse=True)
def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels launched."""
    interpreter, found = importlib.import_module("triton.runtime.interpreter"), []
    monkeypatch.setattr(interpreter.GridExecutor, "__call__", lambda self, *_, **__: found.append(self.fn.__name__))
    monkeypatch.setattr(use, "INTERPRETED", True)
    monkeypatch.setattr(torch, "tensor", refuse)  # numbers of the host have to get there, too
    for name in HOST:
        monkeypatch.setattr(Tensor, name, refuse)
    return found


def call(name: str, kind: str, drafted: bool, uniforms: bool, nodes: int = 6) -> tuple[Tensor, Tensor]:
    """A call on a batch of 3 trees over 5,000 tokens."""
    with FakeTensorMode():
        tokens, parents = torch.zeros(3, nodes, dtype=torch.int64), torch.zeros(3, nodes, dtype=torch.int64)
        rows: list[Any] = [torch.empty(3, nodes, 5000, dtype=torch.bfloat16) for _ in range(2)]
        if kind == "logits":
            rows = [LogitRows(tensor, temperature=0.7) for tensor in rows]
        given = torch.empty(3, 2 if name == "tree_exit" else nodes, dtype=torch.float64) if uniforms else None
        verify = getattr(gpu_impl, name)
        return verify(tokens, parents, torch.ones(3, nodes, dtype=torch.bool), rows[0], rows[1] if drafted else None, uniforms=given)  # type: ignore[no-any-return]


@every_verifier
@pytest.mark.parametrize("drafted", [True, False])
@pytest.mark.parametrize("kind", ["logits", "probabilities"])
def test_no_wait(name: str, kind: str, drafted: bool, launches: list[str]) -> None:
    for uniforms in (True, False):
        for nodes in (6, 1):
            blocks, accepted = call(name, kind, drafted, uniforms, nodes)
            assert blocks.shape == (3, nodes) and accepted.shape == (3,)
    assert len(launches) == 4 and len(set(launches)) == 1


def plain_rule(verify: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees whose depth and width a loop has to know."""
    monkeypatch.setattr(importlib.import_module(verify.__module__), "has_kernels", lambda *_: False)


def after(fault: Callable[[Tensor, Tensor], Any]) -> Callable[[Any, pytest.MonkeyPatch], None]:
    """Done with what the kernel wrote."""

    def plant(verify: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        module = importlib.import_module(f"draftproof.gpu_impl.kernels.{verify.__name__}")
        original = module.launch
        monkeypatch.setattr(module, "launch", lambda *call, **more: (fault(*original(*call, **more)), original(*call, **more))[1])

    return plant


FAULTS = {
    "the plain rule": plain_rule,
    "a number": after(lambda blocks, accepted: int(accepted.max())),
    "a branch": after(lambda blocks, accepted: 1 if (accepted < 0).any() else 0),
    "all numbers": after(lambda blocks, accepted: accepted.tolist()),
    "a comparison": after(torch.equal),
    "a copy": after(lambda blocks, accepted: blocks.cpu()),
    "a mask": after(lambda blocks, accepted: blocks[accepted > 0]),
    "places": after(lambda blocks, accepted: accepted.nonzero()),
    "repeats": after(lambda blocks, accepted: blocks.repeat_interleave(accepted, 0)),
    "a constant": after(lambda blocks, accepted: torch.tensor([1, 2])),
    "a loop": after(lambda blocks, accepted: range(accepted.max())),  # type: ignore[call-overload]
}


@pytest.mark.parametrize("kind", FAULTS)
def test_wait_is_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call("traversal", "logits", True, True)
    FAULTS[kind](gpu_impl.traversal, monkeypatch)
    with pytest.raises((AssertionError, torch._subclasses.fake_tensor.DataDependentOutputException,
                        torch._subclasses.fake_tensor.DynamicOutputShapeException)):
        call("traversal", "logits", True, True)


@every_verifier
def test_plain_rules_wait(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_rule(getattr(gpu_impl, name), monkeypatch)
    with pytest.raises((AssertionError, torch._subclasses.fake_tensor.DataDependentOutputException)):
        call(name, "probabilities", False, True)
