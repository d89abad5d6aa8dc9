import random
from typing import Any

import pytest
import torch

from draftproof.gpu_impl import check_tree, predraw_follow

from .instances import pad, random_tree, repeat


def tree(deterministic: bool = False) -> dict[str, Any]:
    call = repeat(random_tree(random.Random(1), torch.float32, 5, 4, deterministic), 3)
    return pad({k: None if x is None else x.clone() for k, x in call.items()}, 7, junk=float("nan"))


@pytest.mark.parametrize("deterministic", [False, True])
def test_sound_trees_pass(deterministic: bool) -> None:
    check_tree(**tree(deterministic))


@pytest.mark.parametrize(
    ("field", "node", "value", "fault"),
    [
        ("valid", 0, False, "node 0: the root is not valid"),
        ("parents", 3, 3, "node 3: the parent does not come before its child"),
        ("parents", 2, -1, "node 2: the parent does not come before its child"),
        ("tokens", 4, 4, "node 4: the token is outside 0..3"),
        ("tokens", 1, -1, "node 1: the token is outside 0..3"),
        ("target", 0, float("nan"), "node 0: the target row is not a probability law"),
        ("target", 4, 1.0, "node 4: the target row is not a probability law"),
        ("target", 4, 0.0, "node 4: the target row is not a probability law"),
        ("declared", 1, float("inf"), "node 1: the declared row is not a probability law"),
        ("declared", 2, None, "node 2: the declared row gives the drafted token no mass"),
    ],
)
def test_fault_is_named(field: str, node: int, value: float | None, fault: str) -> None:
    call = tree()
    if value is None:
        call[field][1, node] = torch.eye(4)[(call["tokens"][1, node] + 1) % 4]
    else:
        call[field][1, node] = value
    with pytest.raises(ValueError, match=f"batch row 1, {fault}"):
        check_tree(**call)


def test_padding_as_a_parent() -> None:
    call = tree()
    call["valid"][2, 1] = False
    child = min(i for i in range(2, 5) if call["parents"][2, i] == 1)
    with pytest.raises(ValueError, match=f"batch row 2, node {child}: the parent is padding"):
        check_tree(**call)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"tokens": torch.zeros(3, 0, dtype=torch.int64)}, ValueError, "tokens must be"),
        ({"parents": torch.zeros(3, 6, dtype=torch.int64)}, ValueError, "parents must be"),
        ({"parents": torch.zeros(3, 7, dtype=torch.int32)}, TypeError, "parents must be torch.int64"),
        ({"valid": torch.ones(3, 7)}, TypeError, "valid must be torch.bool"),
        ({"target": torch.ones(3, 6, 4)}, ValueError, "target must be"),
        ({"target": torch.ones(3, 7, 4, dtype=torch.int64)}, TypeError, "target must be float64"),
        ({"declared": torch.ones(3, 7, 5)}, ValueError, "declared must be"),
        ({"declared": torch.ones(3, 7, 4, device="meta")}, ValueError, "declared is on meta"),
    ],
)
def test_shapes(change: dict[str, Any], error: type[Exception], message: str) -> None:
    for check in (check_tree, predraw_follow):
        with pytest.raises(error, match=message):
            check(**(tree() | change))
