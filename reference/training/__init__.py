"""Exit-guided training of a drafter (ExitTrain, arXiv 2610.11750): what each objective credits, and its gradient, exactly.

The drafter has one row of probabilities a position (DFlash): q_1..q_H, the same for all nodes of a depth; s(v) is the sum of log q_d(v_d) along v.
The tree is built from those rows, the target is run over it once, and a loss -sum k_d(a) log q_d(a) is minimised; k is the **credit**.

Read in this order: ``credit``, ``weightings`` (the paper's objective and its relatives, token loss, on-tree distillation), ``identities`` (what they
add up to), ``swaps`` (swap-gain ranking), ``smoothed`` (smoothed coverage), ``lock_in`` (how the exit objective alone can cover less).
"""

from .building import built, tree_of
from .credit import Context, Credit, credit_ratio, gradient, total
from .smoothed import smoothed_coverage
from .swaps import swap_gains, swap_optimal, swap_ranking
from .weightings import WEIGHTINGS, distillation, token_credit, tree_credit

__all__ = [
    "WEIGHTINGS",
    "Context",
    "Credit",
    "built",
    "credit_ratio",
    "distillation",
    "gradient",
    "smoothed_coverage",
    "swap_gains",
    "swap_optimal",
    "swap_ranking",
    "token_credit",
    "total",
    "tree_credit",
    "tree_of",
]
