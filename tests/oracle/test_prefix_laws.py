"""The law at each prefix, beside the target's: agrees with the growth identity, and keeps what matters."""

import pytest

from draftproof.oracle import check
from draftproof.oracle.catalogue import find
from draftproof.oracle.faults import chains
from draftproof.oracle.prefix_laws import MOST_PREFIXES, MOST_TOKENS, prefix_laws
from draftproof.reference.growth import violations
from draftproof.reference.laws import Law
from draftproof.reference.models import Prefix, spell
from draftproof.reference.rational import rational


def half(prefix: Prefix) -> Law[int]:
    return Law.row([1, 1])


def test_by_hand() -> None:
    """Blocks 0 (1/2), 1 0 (1/2): right at the root; after 1 it should be a coin and is always 0."""
    found = prefix_laws({(0,): rational("1/2"), (1, 0): rational("1/2")}, half)
    assert found == [
        {"prefix": "", "reached": 1.0, "off": 0.0, "tokens": [[0, 0.5, 0.5], [1, 0.5, 0.5]]},
        {"prefix": "1", "reached": 0.5, "off": 0.25, "tokens": [[0, 0.5, 1.0], [1, 0.5, 0.0]]},
    ]


def test_missing_mass_shows_at_the_root() -> None:
    (root,) = prefix_laws({(0,): rational("1/4")}, half)
    assert root["reached"] == 1.0 and root["off"] == pytest.approx(0.375) and root["tokens"] == [[0, 0.5, 0.25], [1, 0.5, 0.0]]


def test_many_prefixes_and_tokens() -> None:
    """The worst are kept, and the telling one; other tokens are added up."""
    wide = Law.row([1] * 40)
    blocks = {(token, 0): rational("1/40") for token in range(40)}
    found = prefix_laws(blocks, lambda prefix: wide, keep=())
    assert len(found) == MOST_PREFIXES and found[0]["prefix"] == "" and [one["prefix"] for one in found[1:]] == [spell((n,)) for n in range(11)]
    for one in found:
        assert len(one["tokens"]) == MOST_TOKENS + 1 and one["tokens"][-1][0] is None
        assert sum(should for _, should, _ in one["tokens"]) == pytest.approx(1) == sum(emitted for _, _, emitted in one["tokens"])
    assert found[1]["tokens"][0] == [0, 1 / 40, 1.0]


def test_verdicts_carry_it_where_they_are_nonconform() -> None:
    report = check(chains.residual_is_target, [find("chain-one-draft")])
    told = {verdict.verdict: verdict for verdict in report.verdicts}
    (root, *_) = told["exactness"].details["prefix_laws"]
    assert root["prefix"] == "" and root["tokens"][0] == [0, 0.5, pytest.approx(0.35)] and root["off"] == pytest.approx(0.15)
    assert "prefix_laws" not in told["support"].details and "prefix_laws" not in told["acceptance"].details
    sampled = check(chains.residual_is_target, [find("chain-one-draft")], way="sample")
    (exactness,) = (verdict for verdict in sampled.verdicts if verdict.verdict == "exactness")
    assert exactness.details["prefix_laws"][0]["tokens"][0] == [0, 0.5, pytest.approx(0.35, abs=0.05)]


def test_a_prefix_is_off_exactly_where_an_equality_is_broken() -> None:
    blocks = {(0, 0): rational("1/8"), (0, 1): rational("3/8"), (1,): rational("1/2")}
    broken = {spell(violation.prefix) for violation in violations(blocks, half)}
    assert {one["prefix"] for one in prefix_laws(blocks, half) if one["off"]} == broken == {"0"}
