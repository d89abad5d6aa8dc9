"""The plans that Rocq is given for ``univer_transport`` are those that the rule uses, written by the committed script."""

from itertools import islice

import pytest

from draftproof.proofs import plans
from draftproof.proofs.plans import FILE, planned_instances, plans_of, text
from draftproof.reference.laws import ZERO
from draftproof.reference.transport.candidates import set_law
from draftproof.reference.trees import DrawsAt
from draftproof.reference.verifiers.univer_transport import unguided


def test_the_plans_are_those_that_the_rule_uses() -> None:
    assert FILE.read_text(encoding="utf-8") == text(planned_instances()), "write it anew: python -m draftproof.proofs.plans, then prove --build"


def test_other_optimal_plans_are_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "augmented", unguided)
    assert FILE.read_text(encoding="utf-8") != text(planned_instances())


def test_a_plan_stays_within_its_sets_and_what_is_owed() -> None:
    """What ``Golden.golden_plans_checked`` proves of the file, by the Python that wrote it."""
    for instance in islice(planned_instances(), 10, 30):
        for prefix, by_capacity in plans_of(instance).items():
            slot = instance.topology
            for _ in prefix:
                slot = slot[0]
            sets = set_law(DrawsAt(instance.scheme, slot, prefix))
            for capacity, plan in by_capacity.items():
                for members, weight in sets.items():
                    assert sum((mass for (used, _), mass in plan.items() if used == members), ZERO) <= weight
                for token, owed in instance.target(prefix).items():
                    assert sum((mass for (_, to), mass in plan.items() if to == token), ZERO) <= capacity * owed
