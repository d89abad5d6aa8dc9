"""What is fast: batched PyTorch verifiers of draft trees, one code for CPU and CUDA.

Every verifier has the same call, ``(tokens, parents, valid, target, declared=None, *, uniforms=None, generator=None)``,
and returns ``(blocks, accepted)``; ``trees`` says what a tree looks like, each verifier which uniform decides what.

Arithmetic is float64 whatever the dtype of the rows: float16, bfloat16 and float32 probabilities convert exactly, each
row read is divided by its own sum, and only rows that the rule needs are read.  The verifiers check shapes, dtypes and
devices; what costs a look at the numbers is in ``check_tree``.  A tree that cannot be verified (malformed, or a row
that was read holds a NaN, a negative or no mass) comes back as a block of -1 and -1 accepted tokens, and leaves its
neighbours in the batch alone.
"""
from .checks import check_tree
from .greedy_transport import greedy_transport
from .k_seq import k_seq
from .predraw_follow import predraw_follow
from .recursive_rejection import recursive_rejection
from .traversal import traversal
from .tree_exit import tree_exit
from .univer import univer

__all__ = [
    "check_tree",
    "greedy_transport",
    "k_seq",
    "predraw_follow",
    "recursive_rejection",
    "traversal",
    "tree_exit",
    "univer",
]
