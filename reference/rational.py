"""Exact rationals: python-flint's ``fmpq`` where it is installed (the ``[exact]`` extra, several times faster), else ``fractions.Fraction``.

Both print as ``a/b`` and mix freely with ``int``, but not with each other: everything enters through :func:`rational`.
Set ``DRAFTPROOF_RATIONAL=fraction`` to use the standard library's type even where python-flint is installed.
"""

import os
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Rational = Fraction
else:
    Rational = Fraction
    if os.environ.get("DRAFTPROOF_RATIONAL", "flint") != "fraction":
        try:
            from flint import fmpq as Rational
        except ImportError:
            pass

_IS_FRACTION = Rational is Fraction


def rational(number: Any) -> Rational:
    """``number`` (int, float, "3/8", "0.375", Fraction, fmpq) as an exact rational.

    Raises ValueError for NaN, infinities and text that is not a number.
    """
    if isinstance(number, Rational):
        return number
    try:
        exact = number if isinstance(number, Fraction) else Fraction(_portable(number))
    except (ValueError, OverflowError, TypeError, ZeroDivisionError) as error:
        raise ValueError(f"{number!r} is not a finite number") from error
    return exact if _IS_FRACTION else Rational(exact.numerator, exact.denominator)


def fraction(number: Any) -> Fraction:
    """An exact rational of either type as ``fractions.Fraction``."""
    return number if isinstance(number, Fraction) else Fraction(_portable(number))


def decimal(number: Any, digits: int = 9) -> str:
    """An exact rational to so many digits, also where no float is near: 10^-400 is not printed as 0."""
    exact = fraction(number)
    try:
        near = float(exact)
    except OverflowError:
        near = inf
    if isfinite(near) and (near or not exact):
        return f"{near:.{digits}g}"
    with localcontext(prec=digits):
        return f"{(Decimal(exact.numerator) / Decimal(exact.denominator)).normalize():e}"


def _portable(number: Any) -> Any:
    """numpy scalars, fmpq and fmpz as something Fraction accepts."""
    if isinstance(number, int | float | str):
        return number
    if hasattr(number, "item"):
        return number.item()
    if hasattr(number, "numerator"):
        return Fraction(int(number.numerator), int(number.denominator))
    return number
