"""Distinct rows of an array of tokens: sorting rows as rows takes longer than most subjects take to emit them."""

import numpy as np

MOST = 1 << 62


def distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(the distinct rows [m, W] in lexicographic order, which of them each row is [n], how often each occurs [m]).

    ``rows`` [n, W]: integers of at least -1.
    """
    codes, size = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        base = int(column.max(initial=-1)) + 2
        if size * base > MOST:
            codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
            size = int(codes.max()) + 1
        codes, size = codes * base + column + 1, size * base
    if size <= 4 * len(rows):
        counts = np.bincount(codes, minlength=size)
        present = np.flatnonzero(counts)
        number = np.zeros(size, dtype=np.int64)
        number[present] = np.arange(len(present))
        first = np.zeros(size, dtype=np.int64)
        first[codes[::-1]] = np.arange(len(rows))[::-1]  # the last that is written is the first that occurs
        return rows[first[present]], number[codes], counts[present]
    _, first, inverse, counts = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    return rows[first], inverse.reshape(-1), counts
