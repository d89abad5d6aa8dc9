"""Draft trees of a node budget, and the budget itself: what to draft, and how much, in exact arithmetic.

Read in this order: ``best_first`` (DDTree), ``optimum`` and ``truncation`` (why it is right), ``cost``, ``throughput`` (what is maximised and when it
has one peak), ``stopping`` (CaDDTree, and rules for costs that are not convex), ``blocks``, ``convexify``, ``long_run``; then where costs come
from: ``cost_table``, ``convex_fit``, ``profiler``.

Convention: a tree of n nodes has n nodes **besides the root**; its verify pass has n + 1 query tokens and C_v(n) is the latency of that pass.
"""

from .best_first import best_first, coverage, ddtree, gains, top_prefixes
from .cost import RoundCost
from .stopping import caddtree, full_scan, safe_stop
from .throughput import smallest_maximiser, throughput

__all__ = [
    "RoundCost",
    "best_first",
    "caddtree",
    "coverage",
    "ddtree",
    "full_scan",
    "gains",
    "safe_stop",
    "smallest_maximiser",
    "throughput",
    "top_prefixes",
]
