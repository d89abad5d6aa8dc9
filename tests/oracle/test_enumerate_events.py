"""What a run repeats of the run before is answered from its events: nothing that the program asks otherwise may go unseen."""

import copy
import math
import random
import sys
from collections.abc import Callable, Hashable
from contextlib import suppress
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import pytest
import torch

from draftproof.oracle.readings import exploring, scripted
from draftproof.oracle.readings.enumerate import Refused, enumerate_law
from draftproof.oracle.readings.exploring import Explorer
from draftproof.oracle.readings.functions import Function

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def late() -> tuple[bool, ...]:
    """The first draw is compared once more, in one branch that comes last."""
    first = random.random()
    others = tuple(random.random() < 0.5 for _ in range(4))
    return (first < 0.5, *others, first < 0.75) if not any(others) else (first < 0.5, *others)


def test_an_early_draw_compared_again_in_one_late_branch() -> None:
    read = enumerate_law(late)
    last = {outcome: mass for outcome, mass in read.law.items() if len(outcome) == 6}
    nobody = (False,) * 4
    wanted = {(True, *nobody, True): HALF / 16, (False, *nobody, True): QUARTER / 16, (False, *nobody, False): QUARTER / 16}
    assert last == wanted and read.leaves == 2 * 16 + 1 and sum(read.law.values()) == 1


def test_a_comparison_answered_as_another_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The replay sees cuts that are off: here all but the first of a function are those of the first."""
    real = Function.cut

    def wrong(self: Function, statement: Any, operand: Any, lo: int, hi: int) -> Any:
        return next(iter(self._cuts.values()), None) or real(self, statement, operand, lo, hi)

    def program() -> tuple[bool, ...]:
        first = random.random()
        return (first < 0.5, *(random.random() < 0.5 for _ in range(2)), first < 0.75)

    assert enumerate_law(program).law[False, False, False, False] == QUARTER / 4
    monkeypatch.setattr(Function, "cut", wrong)
    with pytest.raises(Refused, match="the same script gave"):
        enumerate_law(program)


CALLS = count()
KEPT: list[Any] = [1.0, torch.ones(1)]


def another_threshold() -> bool:
    """Moves from call to call, by less than changes any outcome."""
    return random.random() < 0.5 + next(CALLS) * 2.0**-50 and random.random() < 0.5


def another_operand() -> bool:
    return random.random() * (1 + next(CALLS) * 2.0**-50) < 0.5 and random.random() < 0.5


def another_order() -> bool:
    one, other = (random.random(), random.random())[:: 1 - next(CALLS) % 2 * 2]
    return one < 0.5 and other < 0.5


def a_question_less() -> bool:
    first, second = random.random(), random.random()
    return (next(CALLS) % 3 > 0 and first < 0.5 and False) or second < 0.5


def ends_early() -> bool:
    first = random.random() < 0.5
    return first if next(CALLS) % 4 == 2 else first | (random.random() < 0.5)


def other_weights() -> int:
    return int(np.random.choice(2, p=[0.5, 0.5] if next(CALLS) % 2 else [0.25, 0.75])) + int(random.random() < 0.5)


def keeps_one() -> bool:
    """What the call before drew decides in a branch of one in a million."""
    before, now = KEPT[-1], random.random()
    KEPT[-1] = now
    return (random.random() > 1 - 1e-6 and before < 0.5) or now < 0.5


def keeps_what_it_made() -> bool:
    before, now = KEPT[0], random.random() - 0.25
    KEPT[0] = now
    return (random.random() < 1e-6 and before < 0.25) or now < 0.25


def keeps_a_tensor() -> bool:
    before, now = KEPT[1], torch.rand(2)[1:]
    KEPT[1] = now
    return bool(torch.rand(()) < 1e-6 and before < 0.5) or bool(now < 0.5)


def keeps_a_copy() -> tuple[Hashable, ...]:
    """What it kept agrees, at every leaf that is replayed, with what it draws now."""
    before, now = KEPT[2], random.random()
    KEPT[2] = copy.copy(now)
    if random.random() < 1 - 2**-10:
        return now < 0.5, random.random() < 0.5
    return "rare", now < 0.5, before < 0.5


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (another_threshold, "another question"),
        (another_operand, "another question"),
        (another_order, "another question"),
        (a_question_less, "another question"),
        (ends_early, "another question"),
        (other_weights, "another question"),
        (keeps_one, "outlived the run"),
        (keeps_what_it_made, "outlived the run"),
        (keeps_a_tensor, "outlived the run"),
        (keeps_a_copy, "outlived the run"),
    ],
)
def test_refused(program: Callable[[], Hashable], reason: str) -> None:
    global CALLS, KEPT
    CALLS, KEPT = count(), [1.0, torch.ones(1), 1.0]
    with pytest.raises(Refused, match=reason):
        enumerate_law(program)


def test_numbers_that_were_kept_must_be_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the same objects as those of the next run: without the count of references nobody would know."""
    monkeypatch.setattr(exploring, "_references", lambda *_: set())
    KEPT[-1] = 1.0
    refusal = ""
    try:
        enumerate_law(keeps_one)
    except Refused as refused:
        refusal = str(refused)
    assert "outlived" not in refusal


def test_numbers_are_the_same_objects_unless_one_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    renewed, real = list[int](), Explorer._renew
    monkeypatch.setattr(Explorer, "_renew", lambda self: (renewed.append(1), real(self)))
    assert enumerate_law(late).leaves == 33 and not renewed
    kept = list[Any]()

    def keeping() -> bool:
        kept.append(random.random())
        return bool(kept[-1] < 0.5)

    assert enumerate_law(keeping).law == {True: HALF, False: HALF} and renewed


def swallows() -> bool:
    """And goes on drawing: a refusal must not end as StopIteration."""
    try:
        float(random.random())
    except Refused:
        return [random.random() < 0.5 for _ in range(20)][-1]
    return False


def test_draws_go_on_after_a_refusal() -> None:
    with pytest.raises(Refused, match="plain number"):
        enumerate_law(swallows)


class Interrupted(BaseException):
    pass


def test_draws_go_on_after_an_interruption() -> None:
    """Wherever it comes: in any line that is run for a draw, of a first reading; the next one is not harmed."""
    for line in range(60):
        left = line

        def tracer(frame: Any, event: str, _: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise Interrupted
            return tracer

        def interrupted() -> bool:
            if scripted.active is not None:
                sys.settrace(tracer)
            try:
                return [random.random() for _ in range(30)][-1] < 0.5
            finally:
                sys.settrace(None)

        try:
            enumerate_law(interrupted)
        except Interrupted:
            pass
        assert enumerate_law(lambda: random.random() < 0.5).law == {True: HALF, False: HALF}


def test_draws_go_on_after_a_recursion_error() -> None:
    def deeper() -> None:
        random.random()
        deeper()

    def program() -> bool:
        with suppress(RecursionError):
            deeper()
        return random.random() < 0.5

    with suppress(Refused):
        enumerate_law(program)
    assert enumerate_law(lambda: random.random() < 0.5).law == {True: HALF, False: HALF}


def test_more_draws_than_were_ever_made() -> None:
    """In the branches that come last."""

    def program() -> int:
        return next((place for place in range(30) if random.random() < 0.5), 30)

    assert enumerate_law(program).law == {place: Fraction(1, 2 ** min(place + 1, 30)) for place in range(31)}


def test_exceptions_of_arithmetic_are_repeated() -> None:
    def program() -> tuple[str, bool]:
        u = random.random()
        try:
            u / 0
        except ZeroDivisionError as error:
            said = str(error)
        return said, u < 0.25

    assert enumerate_law(program).law == {("float division by zero", True): QUARTER, ("float division by zero", False): 3 * QUARTER}


@pytest.mark.parametrize(
    "asked",
    [
        lambda u: int(u + math.inf),
        lambda u: math.floor(u + math.nan),
        lambda u: u < 1j,
        lambda u: u * 1j < 0,
    ],
)
def test_exceptions_of_other_questions_are_repeated(asked: Callable[[Any], Any]) -> None:
    def program() -> tuple[str, bool]:
        u, said = random.random(), ""
        try:
            asked(u)
        except (ArithmeticError, TypeError, ValueError) as error:
            said = type(error).__name__
        return said, random.random() < 0.5

    found = enumerate_law(program)
    assert list(found.law.values()) == [HALF, HALF] and all(said for said, _ in found.law)


def test_whole_numbers_that_are_no_floats() -> None:
    def program() -> tuple[bool, ...]:
        u = random.random()
        return u < 10**400, u <= -(10**400), u > 2**53 + 1, u < 0.5

    assert enumerate_law(program).law == {(True, False, False, True): HALF, (True, False, False, False): HALF}


def test_copies_are_the_number_itself() -> None:
    def program() -> tuple[bool, bool]:
        u = random.random()
        return copy.copy(u) < 0.5, copy.deepcopy([u])[0] < 0.25

    assert enumerate_law(program).law == {(True, True): QUARTER, (True, False): QUARTER, (False, False): HALF}


def test_zeros_of_either_sign_are_two_operands() -> None:
    def program() -> bool:
        u = random.random() + 0.5
        return bool(1 / (u * np.float64(0.0)) > 0) and bool(1 / (u * np.float64(-0.0)) < 0)

    with np.errstate(divide="ignore"):
        assert enumerate_law(program).law == {True: Fraction(1)}
