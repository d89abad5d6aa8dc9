import numpy as np
import pytest

from draftproof.oracle.subjects import SubjectError
from draftproof.oracle.toy_target import after, law_of_seen, views


def test_a_right_pass_sees_what_the_model_after_the_text_sees() -> None:
    """Context 2 1, then the root 0 and its children 1 and 2, of which the second has a child."""
    tokens, positions = np.array([[2, 1, 0, 1, 2, 1]]), np.array([[0, 1, 2, 3, 3, 4]])
    mask = np.zeros((1, 6, 6), dtype=bool)
    for query, seen in enumerate([[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 4, 5]]):
        mask[0, query, seen] = True
    model = after((2, 1, 0), 3)
    found = [law_of_seen(one, 3) for one in views(tokens, positions, mask)[0]]
    assert found[2:] == [model(()), model((1,)), model((2,)), model((2, 1))]


def test_other_views_have_other_laws() -> None:
    """A truncated text, a sibling seen, a position off by one: each is another key."""
    right = ((0, 1), (1, 0), (2, 2))
    for wrong in (right[:2], ((0, 1), (0, 2), (1, 0), (2, 2)), ((0, 1), (2, 0), (3, 2))):
        assert law_of_seen(wrong, 5) != law_of_seen(right, 5)


@pytest.mark.parametrize(
    ("positions", "mask", "said"),
    [
        (np.zeros((1, 3), int), np.ones((1, 2, 2), bool), "shapes"),
        (np.zeros((1, 2), int), np.ones((1, 2, 2)), "not bool"),
        (np.zeros((1, 2), int), np.zeros((1, 2, 2), bool), "token 0 does not see itself"),
    ],
)
def test_nonsense(positions: np.ndarray, mask: np.ndarray, said: str) -> None:
    with pytest.raises(SubjectError, match=said):
        views(np.zeros((1, 2), int), positions, mask)
