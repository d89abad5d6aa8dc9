"""The lift ``captured`` against a stand-in for CUDA graphs: it records the operations of a call, and a replay runs those very operations again."""

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_flatten  # noqa: E402

from draftproof.oracle import check  # noqa: E402
from draftproof.oracle.catalogue import find  # noqa: E402
from draftproof.oracle.faults.batches import TAKES_UNIFORMS  # noqa: E402
from draftproof.oracle.lifts import captured  # noqa: E402
from draftproof.oracle.subjects import chain, subject_of  # noqa: E402


class Graph(TorchDispatchMode):
    """Like a CUDA graph, a replay uses the memory of the capture: the same tensors come in, and results go where they went."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[Any] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        self.operations.append((function, args, kwargs or {}, result))
        return result

    def replay(self) -> None:
        for function, args, kwargs, result in self.operations:
            again = function(*args, **kwargs)
            for old, new in zip(tree_flatten(result)[0], tree_flatten(again)[0], strict=True):
                if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


@pytest.fixture(autouse=True)
def graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SimpleNamespace(wait_stream=lambda other: None)
    for name, stand_in in {
        "Stream": lambda: stream,
        "current_stream": lambda: stream,
        "stream": lambda _: nullcontext(),
        "CUDAGraph": Graph,
        "graph": lambda graph: graph,
    }.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)


def answer(drafts: Any, declared: Any, target: Any, uniforms: Any) -> tuple[Any, Any]:
    """Token level, without a branch on the data: column i + 1 tests draft i and column 0 draws the bonus token."""
    batch, depth = drafts.shape
    wanted = target[:, :-1].gather(2, drafts[..., None])[..., 0]
    offered = declared.gather(2, drafts[..., None])[..., 0]
    accepted = (uniforms[:, 1:] * offered < wanted).long().cumprod(1).sum(1)
    last = accepted[:, None, None].expand(batch, 1, target.shape[2])
    owed = target.gather(1, last)[:, 0] - torch.cat([declared, torch.zeros_like(target[:, :1])], 1).gather(1, last)[:, 0]
    cdf = owed.clamp(min=0).cumsum(1)
    bonus = (cdf <= uniforms[:, :1] * cdf[:, -1:]).sum(1)
    blocks = torch.cat([drafts, torch.zeros_like(drafts[:, :1])], 1).scatter(1, accepted[:, None], bonus[:, None])
    return torch.where(torch.arange(depth + 1) <= accepted[:, None], blocks, -1), accepted


TORCH: dict[str, Any] = {**TAKES_UNIFORMS, "framework": "torch", "device": "cpu"}


@chain(**TORCH)
def right(drafts: Any, declared: Any, target: Any, uniforms: Any) -> tuple[Any, Any]:
    return answer(drafts, declared, target, uniforms)


@chain(**TORCH)
def made_on_the_host(drafts: Any, declared: Any, target: Any, uniforms: Any) -> tuple[Any, Any]:
    """Sends the uniforms through Python's numbers, which a capture freezes."""
    return answer(drafts, declared, target, torch.tensor(uniforms.tolist(), dtype=uniforms.dtype))  # fault: uniforms


def judged(function: Callable[..., Any]) -> str:
    return check(captured(subject_of(function)), [find("chain-one-draft"), find("chain-rows-by-position")]).outcome


def test_a_capturable_verifier_conforms_when_its_graph_is_replayed() -> None:
    assert judged(right) == "conform"


def test_numbers_that_the_capture_froze_are_caught() -> None:
    assert check(subject_of(made_on_the_host), [find("chain-one-draft")]).outcome == "conform"
    assert judged(made_on_the_host) == "nonconform"
