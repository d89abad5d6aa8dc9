"""Exact rationals: whatever comes in, and the same laws with either type."""

import json
import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.reference.rational import Rational, decimal, fraction, rational


@pytest.mark.parametrize(
    ("number", "exact"),
    [
        (3, Fraction(3)),
        (-7, Fraction(-7)),
        (0.1, Fraction(0.1)),
        ("0.1", Fraction(1, 10)),
        ("3/8", Fraction(3, 8)),
        ("-6/4", Fraction(-3, 2)),
        ("1e-3", Fraction(1, 1000)),
        (Fraction(22, 7), Fraction(22, 7)),
        (Decimal("0.25"), Fraction(1, 4)),
        (np.float32(0.1), Fraction(float(np.float32(0.1)))),
        (np.float64(0.1), Fraction(0.1)),
        (np.int64(-3), Fraction(-3)),
        (2**-1074, Fraction(1, 2**1074)),
        (10**400, Fraction(10**400)),
    ],
)
def test_every_kind_of_number(number: Any, exact: Fraction) -> None:
    value = rational(number)
    assert isinstance(value, Rational)
    assert fraction(value) == exact
    assert str(value) == str(exact)
    assert rational(value) is value


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), "nan", "1/0", "x", "", None, 1j, np.float32("nan"), [1]])
def test_what_is_not_a_finite_number_is_named(number: Any) -> None:
    with pytest.raises(ValueError, match="is not a finite number") as error:
        rational(number)
    assert repr(number) in str(error.value)


@given(st.fractions(), st.fractions())
def test_arithmetic_order_and_hash_are_those_of_fractions(a: Fraction, b: Fraction) -> None:
    x, y = rational(a), rational(b)
    assert (fraction(x + y), fraction(x - y), fraction(x * y)) == (a + b, a - b, a * b)
    assert ((x < y), (x == y), min(x, y) == x) == (a < b, a == b, min(a, b) == a)
    assert hash(x) == hash(rational(str(a)))
    assert a == 0 or fraction(y / x) == b / a


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_taken_bit_for_bit(number: float) -> None:
    assert fraction(rational(number)) == Fraction(number)
    assert fraction(number) == Fraction(number)


LAWS = """
import json, sys
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.rational import Rational
sys.path.insert(0, sys.argv[1])
from tests.reference.instances import ANY_SCHEME, SCHEMES, random_cases
found = []
for scheme in SCHEMES:
    for case in random_cases(scheme, 3, start=500):
        for name in ANY_SCHEME:
            law = case.law(name)
            blocks = sorted((list(block), str(probability)) for block, probability in law.items())
            found.append([name, scheme, blocks, str(expected_length(law)), str(total_variation(law, case.target))])
print(json.dumps([Rational.__module__, found]))
"""


def laws_with(kind: str, root: str) -> list[Any]:
    environment = {**os.environ, "DRAFTPROOF_RATIONAL": kind}
    run = subprocess.run([sys.executable, "-c", LAWS, root], capture_output=True, text=True, check=True, env=environment)
    found: list[Any] = json.loads(run.stdout)
    return found


def test_both_types_give_the_same_laws(pytestconfig: pytest.Config) -> None:
    module, standard = laws_with("fraction", str(pytestconfig.rootpath))
    assert module == "fractions"
    other, fast = laws_with("flint", str(pytestconfig.rootpath))  # the standard library's once more where python-flint is not installed
    assert other in ("flint", "flint.types.fmpq", "fractions")
    assert fast == standard
    assert {law[4] for law in fast} == {"0"}


def test_decimals_of_numbers_that_no_float_is_near() -> None:
    assert [decimal(number) for number in (0, 1, "1/3", -7, "0.1", 10**20)] == ["0", "1", "0.333333333", "-7", "0.1", "1e+20"]
    assert decimal(Fraction(10) ** 400 / 3) == "3.33333333e+399" and decimal(-1 / Fraction(10) ** 400, 3) == "-1e-400"
