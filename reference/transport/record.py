"""Certificates as JSON objects: what ``certificate`` checks.  Numbers are exact, "a/b"; paths and sets are tokens separated by one space."""

from typing import Any

from ..instances import Instance
from ..laws import Law
from ..models import spell
from ..rational import Rational
from .candidates import TokenSet
from .exact_simplex import Ceiling
from .node import Optimum


def whole_tree(instance: Instance, found: Ceiling) -> dict[str, Any]:
    """The ceiling of an instance, together with the instance."""
    return {
        "kind": "whole tree",
        "instance": {**instance.source, "name": instance.name},
        "ceiling": str(found.ceiling),
        "reached": str(found.reached),
        "gap": str(found.gap),
        "multipliers": {spell(path): str(value) for path, value in found.multipliers.items() if value},
        "acceptance": [
            {"tree": [spell(path) for path in sorted(paths) if path], "accepted": {spell(path): str(mass) for path, mass in masses.items() if mass}}
            for paths, masses in found.acceptance.items()
        ],
    }


def one_node(p: Law[int], sets: Law[TokenSet], capacity: Rational, found: Optimum) -> dict[str, Any]:
    """The optimum of one node, together with its problem."""
    return {
        "kind": "one node",
        "target": {str(token): str(weight) for token, weight in p.items()},
        "capacity": str(capacity),
        "sets": {spell(tuple(sorted(members))): str(weight) for members, weight in sets.items()},
        "optimum": str(found.value),
        "plan": [{"set": spell(tuple(sorted(members))), "token": token, "mass": str(mass)} for (members, token), mass in found.plan.items()],
        "cut": sorted(found.tokens),
    }
