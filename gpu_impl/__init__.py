"""What is fast: batched PyTorch builders and verifiers of draft trees, one code for CPU and CUDA.

``ddtree`` and ``caddtree`` build trees from draft logits, ``replay`` fills their slots with draws, ``tree_mask`` says who
attends to whom, ``tsubame`` is a whole round of it.  ``drafters``, ``beam`` and ``replay`` hold what belongs to them.

Every verifier has the same call, ``(tokens, parents, valid, target, declared=None, *, uniforms=None, generator=None)``,
and returns ``(blocks, accepted)``; ``trees`` says what a tree looks like, each verifier which uniform decides what.

Rows are probabilities [B, N, V], or ``LogitRows``: logits with temperature, top-k, top-p and min-p, applied to the rows that
are read.  On a CPU, rows of 4,096 tokens or more are taken one at a time (``rowwise``), as far as the walk goes; other rows
in batches.  Sums and differences are float64 whatever the dtype of the rows: float16, bfloat16 and float32 probabilities
convert exactly, each row read is divided by its own sum (long rows of logits become float32 probabilities first).  The
verifiers check shapes, dtypes and devices; what costs a look at the numbers is in ``check_tree``.  A tree that cannot be
verified (malformed, or a row that was read holds a NaN, a negative or no mass) comes back as a block of -1 and -1 accepted
tokens, and leaves its neighbours in the batch alone.  Which rows are read is up to the rule and the draws.
"""
from .caddtree import caddtree
from .checks import check_tree
from .ddtree import ddtree
from .greedy_transport import greedy_transport
from .k_seq import k_seq
from .logit_rows import LogitRows
from .predraw_follow import predraw_follow
from .recursive_rejection import recursive_rejection
from .replay import replay
from .traversal import traversal
from .tree_exit import tree_exit
from .tree_mask import tree_mask
from .tsubame import tsubame
from .univer import univer

__all__ = [
    "LogitRows",
    "caddtree",
    "check_tree",
    "ddtree",
    "greedy_transport",
    "k_seq",
    "predraw_follow",
    "recursive_rejection",
    "replay",
    "traversal",
    "tree_exit",
    "tree_mask",
    "tsubame",
    "univer",
]
