"""Where replay of a frozen topology beats the deterministic tree and the sampled chain, and where it does not; all numbers exact.

    python examples/replay.py [--instances 40] [--nodes 4] [--seed 0]

First the worked example, all seven methods on three nodes; then random marginal drafters of five kinds over three tokens and three positions: mean
accepted draft tokens per method, and how often replay with traversal is longest.  "sharper" and "flatter" drafts are powers of the target's rows.
"""

import argparse
import random
from collections.abc import Callable
from fractions import Fraction

from draftproof.reference.blocks import block_law
from draftproof.reference.drafters import at_temperature
from draftproof.reference.drafting import chain
from draftproof.reference.growth import expected_length
from draftproof.reference.laws import Law, mixture
from draftproof.reference.models import Model, marginal, random_law
from draftproof.reference.planning import best_first, freeze, plan
from draftproof.reference.rational import fraction, rational
from draftproof.reference.replay import replay
from draftproof.reference.slot_acceptance import plan_by_acceptance
from draftproof.reference.trees import uniform_topology
from draftproof.reference.verifiers import family

DEPTH, VOCABULARY = 3, 3
Method = Callable[[Model, Model, int], Fraction]


def accepted(verifier: str, target: Model, topology: object, scheme: object) -> Fraction:
    return fraction(expected_length(block_law(family(verifier), target, topology, scheme))) - 1  # type: ignore[arg-type]


def deterministic(target: Model, draft: Model, nodes: int) -> Fraction:
    return accepted("predraw_follow", target, *best_first(draft, nodes, DEPTH))


def sampled_chain(verifier: str) -> Method:
    return lambda target, draft, nodes: accepted(verifier, target, uniform_topology((1,) * min(nodes, DEPTH)), chain(draft))


def replayed(verifier: str, sampler: str = "without_replacement") -> Method:
    def method(target: Model, draft: Model, nodes: int) -> Fraction:
        return accepted(verifier, target, freeze(plan(draft, nodes, DEPTH)), replay(draft, VOCABULARY, sampler))

    return method


def replayed_by_acceptance(target: Model, draft: Model, nodes: int) -> Fraction:
    """Planned by our own score for a target believed to lie between the draft and uniform."""
    even = Law.row([1] * VOCABULARY)
    belief: Model = lambda prefix: mixture([(rational("2/3"), draft(prefix)), (rational("1/3"), even)])  # noqa: E731
    return accepted("traversal", target, freeze(plan_by_acceptance(draft, belief, nodes, DEPTH)), replay(draft, VOCABULARY))


METHODS: dict[str, Method] = {
    "deterministic tree": deterministic,
    "chain, token level": sampled_chain("recursive_rejection"),
    "chain, block": sampled_chain("traversal"),
    "replay, recursive rejection": replayed("recursive_rejection"),
    "replay, traversal": replayed("traversal"),
    "with replacement, recursive": replayed("recursive_rejection", "with_replacement"),
    "with replacement, traversal": replayed("traversal", "with_replacement"),
    "our plan, traversal": replayed_by_acceptance,
}


def example() -> None:
    target = marginal([Law.row([1, 3, 1]), Law.row([3, 6, 1]), Law.row([3, 1, 6]), Law.row([1, 1, 1])])
    draft = marginal([Law.row([1, 3, 6]), Law.row([2, 3, 5]), Law.row([5, 3, 2])])
    print("worked example, three nodes: mean accepted draft tokens")
    for name, method in METHODS.items():
        mean = method(target, draft, 3)
        print(f"  {name:<30} {str(mean):>12} = {float(mean):.3f}")


def rows(kind: str, rng: random.Random) -> tuple[list[Law[int]], list[Law[int]]]:
    """(target rows, draft rows), one a position."""
    target = [random_law(rng, VOCABULARY) for _ in range(DEPTH + 1)]
    if kind == "equal":
        draft = target[:DEPTH]
    elif kind == "sharper than the target":
        draft = [at_temperature(law, 2) for law in target[:DEPTH]]
    elif kind == "flatter than the target":
        draft, target = target[:DEPTH], [at_temperature(law, 2) for law in target]
    elif kind == "near the target":
        draft = [mixture([(rational("3/4"), law), (rational("1/4"), random_law(rng, VOCABULARY))]) for law in target[:DEPTH]]
    else:
        draft = [random_law(rng, VOCABULARY) for _ in range(DEPTH)]
    return target, draft


def table(instances: int, nodes: int, seed: int) -> None:
    kinds = ("equal", "near the target", "sharper than the target", "flatter than the target", "unrelated")
    for kind in kinds:
        rng = random.Random(f"{seed}:{kind}")
        means = dict.fromkeys(METHODS, Fraction(0))
        beats = {"deterministic tree": 0, "chain, block": 0, "our plan, traversal": 0}
        for _ in range(instances):
            target, draft = (marginal(part) for part in rows(kind, rng))
            found = {name: method(target, draft, nodes) for name, method in METHODS.items()}
            for name, mean in found.items():
                means[name] += mean / instances
            for name in beats:
                beats[name] += found["replay, traversal"] > found[name]
        print(f"\ndraft {kind}: {instances} instances, {nodes} nodes")
        for name, mean in means.items():
            note = f"   replay with traversal is longer on {beats[name]} of {instances}" if name in beats else ""
            print(f"  {name:<30} {float(mean):8.4f}{note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=40)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    example()
    table(options.instances, options.nodes, options.seed)


if __name__ == "__main__":
    main()
