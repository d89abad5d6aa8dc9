"""The verifiers one tree and one row at a time: for long rows on a CPU, where a row at a time stays in the cache.

Each rule is a page, as in the reference: it reads rows when it needs them, and touches of a row as little as it can.  The
batched rules beside this folder say the same with tensors; they are for many short rows, and for other devices.
"""
from .run import long_rows, verify

__all__ = ["long_rows", "verify"]
