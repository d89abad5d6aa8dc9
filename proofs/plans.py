"""The optimal plans of ``univer_transport`` on the golden instances, as data for the Rocq development (``rocq/Golden_plans.v``).

A maximum flow is not unique, and which one is found is the solver's business; so the golden vectors take the plans as they come.  Rocq trusts none:
it checks each for feasibility, and for optimality against every cut, before it computes a block law with them (``Golden.golden_plans_checked``).

    python -m draftproof.proofs.plans     writes the file anew; needed when the instances or the solver's choice change
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from draftproof.reference.blocks import block_law
from draftproof.reference.chance import Chance
from draftproof.reference.instances import Instance
from draftproof.reference.models import Model
from draftproof.reference.rational import Rational
from draftproof.reference.transport.candidates import draws_of
from draftproof.reference.transport.node import Plan
from draftproof.reference.trees import DraftNode
from draftproof.reference.verifiers import Accepted, Family, ascend
from draftproof.reference.verifiers.univer_transport import augmented, visit

from .golden import VECTORS, read

T = TypeVar("T")

FILE = VECTORS.parent / "Golden_plans.v"

HEAD = """\
(* Written by `python -m draftproof.proofs.plans`: the plans of univer_transport on the golden instances, an instance after   *)
(* the other: at a prefix, for a capacity, the mass that candidate set S sends to token y.  Data, not trusted: Golden.v       *)
(* checks that each is feasible and optimal.                                                                                  *)
From Coq Require Import ZArith QArith.
From mathcomp Require Import all_ssreflect.
Local Open Scope nat_scope.
Definition plan := (Q * seq (seq nat * nat * Q))%type.
Definition at_ (n d : Z) (l : seq (seq nat * nat * Q)) : plan := (Qmake n (Z.to_pos d), l).
Definition to_ (S : seq nat) (y : nat) (n d : Z) : seq nat * nat * Q := (S, y, Qmake n (Z.to_pos d)).
Arguments at_ (_ _)%Z_scope _.
Arguments to_ _ _ (_ _)%Z_scope.
"""

Plans = dict[tuple[int, ...], dict[Rational, Plan]]


def plans_of(instance: Instance) -> Plans:
    """Prefix -> capacity -> the plan that the rule uses there."""
    found: Plans = {}

    def recording(
        target: Model, node: DraftNode, capacity: Rational, chance: Chance, below: Callable[[DraftNode, Rational], T | None]
    ) -> Accepted | T | None:
        children: tuple[DraftNode, ...] = tuple(node.children())
        if children:
            found.setdefault(node.path, {})[capacity] = augmented(target(node.path), draws_of(children), capacity)
        return visit(target, node, capacity, chance, below)

    block_law(Family("recording", ascend(recording), visit=recording), instance.target, instance.topology, instance.scheme)
    return found


def text(instances: Iterable[Instance]) -> str:
    """The contents of the file."""
    return HEAD + "Definition golden_plans : seq (seq (seq nat * seq plan)) := [::\n" + ";\n".join(map(_of_instance, instances)) + "\n].\n"


def _of_instance(instance: Instance) -> str:
    nodes = [
        f"    ({_list(prefix)}, {_list(f'at_ {_number(capacity)} {_list(_of_plan(plan))}' for capacity, plan in sorted(plans.items()) if plan)})"
        for prefix, plans in sorted(plans_of(instance).items())
        if any(plans.values())
    ]
    return "  [::\n" + ";\n".join(nodes) + "]"


def _of_plan(plan: Plan) -> list[str]:
    entries = sorted((sorted(members), token, mass) for (members, token), mass in plan.items())
    return [f"to_ {_list(members)} {token} {_number(mass)}" for members, token, mass in entries]


def _number(value: Rational) -> str:
    return f"{value.numerator} {value.denominator}"


def _list(items: Iterable[object]) -> str:
    return "[:: " + "; ".join(map(str, items)) + "]"


def planned_instances() -> list[Instance]:
    """``Golden.drafted_cases``: what the vectors of ``traversal`` are about, fixed trees left out."""
    return [vector.instance for vector in read() if vector.verifier == "traversal" and vector.instance.scheme_name != "fixed"]


def main() -> None:
    """Write the file anew."""
    FILE.write_text(text(planned_instances()), encoding="utf-8")


if __name__ == "__main__":
    main()
