"""The D_n identity of CaDDTree's throughput (1 + A(n)) / C(n), with symbolic coverages A and costs C."""

from typing import Any

import sympy


def d(n: int, bonus: int = 1) -> Any:
    """D(n) = (A(n+1) - A(n)) C(n) - (C(n+1) - C(n)) (1 + A(n)); ``bonus`` is the 1."""
    a, c = sympy.symbols(f"A{n} A{n + 1}"), sympy.symbols(f"C{n} C{n + 1}")
    return (a[1] - a[0]) * c[0] - (c[1] - c[0]) * (bonus + a[0])


def d_identity(bonus: int = 1) -> Any:
    """D(1) - D(0) minus what it is said to be: (second difference of A) C(1) - (second difference of C) (1 + A(1)).  Zero when the identity holds.

    ``bonus`` other than 1 plants a fault in D.
    """
    a, c = sympy.symbols("A0:3"), sympy.symbols("C0:3")
    said = (a[2] - 2 * a[1] + a[0]) * c[1] - (c[2] - 2 * c[1] + c[0]) * (1 + a[1])
    return d(1, bonus) - d(0, bonus) - said
