"""How much any lossless verifier could accept: optimal transport at one node, ceilings of whole trees, and certificates for both.

Read in this order: ``candidates`` (the law of a node's candidate set), ``node`` (one node, at any capacity), ``sorted_ratio`` (the same at full
vocabulary), ``tree`` (all draft trees of an instance), ``node_bound`` and ``exact_simplex`` (its exact solution), ``certificate`` (what checks all
of it).  cvxpy is imported where it is used.
"""
