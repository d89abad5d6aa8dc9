"""Small statements proved by solvers, for every p and q at once: a second opinion on the theorems, within a few tokens."""
