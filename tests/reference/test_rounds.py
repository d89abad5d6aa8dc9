"""Generation in rounds has the target's law over any number of tokens, for every verifier, with a cap and with an end-of-sequence token."""

import random
from collections import Counter

import pytest

from draftproof.reference import drafting
from draftproof.reference.blocks import Block
from draftproof.reference.chance import simulate
from draftproof.reference.laws import Law
from draftproof.reference.models import Prefix
from draftproof.reference.planning import best_first, freeze, plan
from draftproof.reference.replay import replay
from draftproof.reference.rounds import Drafting, after, generate, generation_law, round_law, target_law, toy_model, truncated
from draftproof.reference.trees import Scheme, Slot
from draftproof.reference.verifiers import FAMILIES, family

DRAFT, TARGET = toy_model(1, 3, zeros=1), toy_model(2, 3, zeros=1)


def replayed(context: Prefix) -> tuple[Slot, Scheme]:
    draft = after(DRAFT, context)
    return freeze(plan(draft, 3, 2)), replay(draft, 3)


def greedy(context: Prefix) -> tuple[Slot, Scheme]:
    return ((), ()), drafting.greedy(after(DRAFT, context))


def independent(context: Prefix) -> tuple[Slot, Scheme]:
    return ((), ()), drafting.with_replacement(after(DRAFT, context))


def deterministic(context: Prefix) -> tuple[Slot, Scheme]:
    return best_first(after(DRAFT, context), 3, 2)


MADE_FOR: dict[str, Drafting] = {"greedy_transport": greedy, "univer": greedy, "univer_lookahead": greedy, "k_seq": independent}


@pytest.mark.parametrize("eos", [None, 2])
@pytest.mark.parametrize("verifier", FAMILIES)
def test_first_tokens_have_the_targets_law(verifier: str, eos: int | None) -> None:
    for draft in (MADE_FOR.get(verifier, replayed), *((deterministic,) if verifier != "k_seq" else ())):
        law = generation_law(round_law(family(verifier), TARGET, draft), 4, eos)
        assert law == target_law(TARGET, 4, eos)


def test_a_round_that_is_not_lossless_shows() -> None:
    def stops_early(context: Prefix) -> Law[Block]:
        return after(DRAFT, context)(()).map(lambda token: (token,))

    assert generation_law(stops_early, 3) != target_law(TARGET, 3)


def test_state_that_is_stale_shows_in_the_second_round_only() -> None:
    """A round whose context misses the last token emitted: the toy model's rows are a hash of the whole prefix."""

    def stale(context: Prefix) -> Law[Block]:
        return TARGET(context[:-1]).map(lambda token: (token,))

    assert generation_law(stale, 1) == target_law(TARGET, 1)
    assert generation_law(stale, 2) != target_law(TARGET, 2)


def test_truncation() -> None:
    assert truncated((0, 1, 2, 1, 2), 4, None) == (0, 1, 2, 1)
    assert truncated((0, 1, 2, 1, 2), 4, 2) == (0, 1, 2)
    assert truncated((2, 1), 4, 2) == (2,)
    law = target_law(TARGET, 4, 2)
    assert all(len(tokens) == 4 or tokens[-1] == 2 for tokens in law)
    assert all(2 not in tokens[:-1] for tokens in law)


def test_one_run_samples_the_same_law() -> None:
    law, count = target_law(TARGET, 2), 1000
    rule = family("recursive_rejection")
    seen: Counter[Prefix] = simulate(lambda chance: generate(rule, TARGET, replayed, 2, chance), random.Random(3), count)
    assert set(seen) <= set(law)
    assert sum(abs(seen[tokens] / count - float(mass)) for tokens, mass in law.items()) / 2 < 0.1


def test_toy_rows_are_exact_in_floats_and_differ_everywhere() -> None:
    rows = [TARGET(prefix) for prefix in ((), (0,), (1,), (0, 1), (1, 0))]
    assert len(set(rows)) == len(rows)
    assert all(float(mass) * 64 == int(float(mass) * 64) for row in rows for _, mass in row.items())
