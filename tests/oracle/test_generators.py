"""The generator verdict: what spoils a lossless verifier over several rounds is caught, exactly; what does not, is not."""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from draftproof.oracle.engine import Engine, Toy, toys
from draftproof.oracle.faults.drafts import BUILDS, LEGAL, dead_slots_kept, shared_list
from draftproof.oracle.faults.generators import LONG, PENALISED, PENALISED_RIGHT, REPLAY, STATE, pick, plain, same_tape_every_round
from draftproof.oracle.faults.programs import FAULTY, SOUND, top_down
from draftproof.oracle.faults.rounds import CHAIN, PAIRS, Rules, exact, generator
from draftproof.oracle.generators import Generator, generator_of
from draftproof.oracle.judge_generator import check_generator
from draftproof.oracle.subjects import SubjectError
from draftproof.reference.growth import total_variation
from draftproof.reference.rational import fraction
from draftproof.reference.rounds import after, target_law, toy_model

TOY = Toy("toy", 3, toy_model(14, 3), toy_model(114, 3), (0,), 2)


def outcomes(rules: Rules, toy: Toy, **settings: Any) -> dict[str, str]:
    report = check_generator(generator("rules", rules), [toy], **settings)
    assert not report.errors, report.errors
    return {verdict.verdict: verdict.outcome for verdict in report.verdicts}


def measured(rules: Rules, toy: Toy) -> float:
    """The total variation that the oracle reads off the running generator."""
    report = check_generator(generator("rules", rules), [toy], way="enumerate")
    assert not report.errors, report.errors
    number = next(verdict.number for verdict in report.verdicts if verdict.verdict == "exactness")
    assert number is not None
    return number


def enumerated(rules: Rules, toy: Toy) -> float:
    """The same, of the planted rule in exact arithmetic."""
    return float(fraction(exact(toy, rules).total_variation(target_law(after(toy.target, toy.prompt), toy.length, toy.eos))))


def assert_rejected(rules: Rules, toy: Toy) -> None:
    """Rejected, with the total variation that exact enumeration of the planted rule gives."""
    deviation = measured(rules, toy)
    assert deviation == pytest.approx(enumerated(rules, toy), abs=1e-12)
    assert deviation > 0.002


SOME_BUILDS = ("siblings_sorted_by_draft", "sibling_kept_by_own_token", "pool_masked_in_place", "top_k_declared_q", "forced_token_declared_q")
SOME_LEGAL = ("count_by_elder_token", "stale_but_declared", "elder_subtree_by_younger_token", "live_tree_smaller")
LARGE = ("oversampled", "grown_on_own_tokens")  # on the chain: their branches are many


def sampled(names: dict[str, Any], some: tuple[str, ...]) -> list[Any]:
    return [pytest.param(name, marks=() if name in some else pytest.mark.slow) for name in names]


@pytest.mark.parametrize("verify", SOUND)
@pytest.mark.parametrize("build", sampled(BUILDS, SOME_BUILDS))
def test_planted_draft_is_rejected_with_its_exact_total_variation(build: str, verify: str) -> None:
    rules = Rules(BUILDS[build], SOUND[verify], CHAIN if build in LARGE else PAIRS)
    assert_rejected(rules, TOY)


@pytest.mark.parametrize("verify", SOUND)
@pytest.mark.parametrize("build", sampled(LEGAL, SOME_LEGAL))
def test_draft_that_only_looks_wrong_is_not_flagged(build: str, verify: str) -> None:
    assert set(outcomes(Rules(LEGAL[build], SOUND[verify]), TOY, way="enumerate").values()) == {"conform"}


FOUR = Toy("four", 4, toy_model(11, 4), toy_model(111, 4), (0,), 2)


@pytest.mark.parametrize("name", FAULTY)
def test_planted_verifier_is_rejected_with_its_exact_total_variation(name: str) -> None:
    rules = Rules(REPLAY, FAULTY[name])
    rules, toy = (replace(rules, topology=((), ())), FOUR) if name == "residual_not_renormalised" else (rules, TOY)
    assert_rejected(rules, toy)


def test_dead_slot_that_updates_the_residual_is_rejected() -> None:
    rules = Rules(dead_slots_kept, SOUND["recursive_rejection"])
    assert_rejected(rules, TOY)


def test_shared_lists_are_lossless_for_recursive_rejection_only() -> None:
    position_only = replace(TOY, draft=lambda prefix: toy_model(114, 3)((0,) * len(prefix)))
    assert set(outcomes(Rules(shared_list, SOUND["recursive_rejection"]), position_only, way="enumerate").values()) == {"conform"}
    assert_rejected(Rules(shared_list, SOUND["traversal"]), position_only)


def test_processor_evaluated_with_the_root_history_is_rejected() -> None:
    assert measured(PENALISED_RIGHT, PENALISED) < 1e-12
    assert_rejected(STATE["penalty_of_root_history"][1], PENALISED)


@pytest.mark.parametrize("name", STATE)
def test_state_fault_is_rejected(name: str) -> None:
    toy = PENALISED if name == "penalty_of_root_history" else LONG
    assert outcomes(STATE[name][1], toy, way="enumerate")["exactness"] == "nonconform"


def test_one_round_does_not_see_a_state_fault() -> None:
    """Why generators are judged over rounds: the same fault on a task that ends with the first round."""
    for name in ("bonus_state_not_committed", "nothing_committed"):
        assert outcomes(replace(STATE[name][1], topology=()), replace(LONG, length=1), way="enumerate")["exactness"] == "conform"


def test_one_tape_for_all_rounds_is_rejected() -> None:
    report = check_generator(same_tape_every_round, [replace(LONG, length=3)], way="enumerate")
    assert [verdict.outcome for verdict in report.verdicts] == ["conform", "nonconform", "conform", "conform"], report


@pytest.mark.parametrize("toy", toys(), ids=lambda toy: toy.name)
def test_lossless_generator_conforms_on_every_task(toy: Toy) -> None:
    assert set(outcomes(Rules(REPLAY, top_down(), CHAIN), toy).values()) == {"conform"}


def test_sampling_catches_what_it_can_and_passes_the_rest() -> None:
    settings: dict[str, Any] = {"way": "sample", "time_limit": 2, "tolerance": 0.1}
    assert outcomes(STATE["bonus_state_not_committed"][1], LONG, **settings)["exactness"] == "nonconform"
    assert outcomes(Rules(REPLAY, top_down(), CHAIN), LONG, **settings)["exactness"] != "nonconform"


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (lambda engine: plain(engine, pick), []),
        (lambda engine: plain(engine, pick, length=engine.length - 1), ["ending"]),
        (lambda engine: plain(engine, pick, length=engine.length + 1), ["ending"]),
        (lambda engine: plain(engine, pick, eos=None), ["ending"]),
        (lambda engine: [], ["exactness", "ending"]),
        (lambda engine: plain(engine, lambda row: 1), ["support", "exactness"]),
    ],
    ids=["right", "short", "over the cap", "goes on after eos", "nothing", "impossible"],
)
def test_ending_and_support(call: Callable[[Engine], list[int]], wrong: list[str]) -> None:
    stops = toys()[2]
    report = check_generator(Generator(call, "plain"), [replace(stops, length=2)])
    assert not report.errors, report.errors
    assert [verdict.verdict for verdict in report.verdicts if verdict.outcome == "nonconform"] == wrong, report


def test_generator_argument_is_scripted() -> None:
    def drawn(engine: Engine, generator: Any) -> list[int]:
        return plain(engine, lambda row: int(generator.choice(len(row), p=row)))

    report = check_generator(generator_of(drawn, randomness="generator"), way="enumerate")
    assert report.outcome == "conform", report


@pytest.mark.parametrize("answer", [7, [0, 9], ["a"]])
def test_nonsense_is_an_error(answer: Any) -> None:
    report = check_generator(Generator(lambda engine: answer, "nonsense"), [LONG])
    assert report.outcome == "error" and len(report.errors) == 1


def test_unknown_declaration_is_an_error() -> None:
    with pytest.raises(SubjectError):
        generator_of(lambda engine: [], colour="red")


def test_read_by_integrate_is_refused() -> None:
    assert check_generator(same_tape_every_round, [LONG], way="integrate").outcome == "error"


def test_growth_of_the_exact_law_agrees() -> None:
    """The number the verdict prints is the growth identity's total variation of the exact output law."""
    rules = Rules(BUILDS["siblings_sorted_by_draft"], SOUND["recursive_rejection"])
    law = exact(TOY, rules)
    assert total_variation(law, after(TOY.target, TOY.prompt)) == law.total_variation(target_law(after(TOY.target, TOY.prompt), 2))


MINE = '''
from draftproof.oracle.generators import generator

@generator
def stale(engine):
    import random
    emitted, root = [], engine.prompt[-1]
    while len(emitted) < engine.length and (not emitted or emitted[-1] != engine.eos):
        row = engine.target([root], [0])[0]
        u, root, total = random.random(), 0, row[0]
        while root + 1 < len(row) and u >= total:
            root += 1
            total += row[root]
        emitted.append(root)
    return emitted
'''


def test_decorated_generator_goes_through_check_by_name(tmp_path: Path) -> None:
    import draftproof

    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    report = draftproof.check(f"{tmp_path / 'mine.py'}:stale")
    assert report.outcome == "nonconform"
    assert "the next token should be" in str(report) and "ending" in str(report)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda engine: engine.keep([99]), "node 99 cannot be kept: the last pass scored 0 nodes"),
        (lambda engine: (engine.target([0], [0]), engine.keep([-1])), "node -1 cannot be kept: the last pass scored 1 nodes"),
        (lambda engine: (engine.target([0], [0]), engine.keep([0]), engine.keep([0])), "the last pass scored 0 nodes, and keeping ends it"),
        (lambda engine: engine.target([], []), "0 tokens and 0 parents"),
        (lambda engine: engine.target([0], [0, 0]), "1 tokens and 2 parents"),
        (lambda engine: engine.target([0, 9], [0, 0]), "9 is not a token below 3"),
        (lambda engine: engine.target([0, 1], [0, 1]), "node 1 has parent 1: parents come before their children"),
        (lambda engine: engine.draft([3]), "3 is not a token below 3"),
        (lambda engine: [0.5], "not a sequence of integers"),
        (lambda engine: "00", "not a sequence of integers"),
        (lambda engine: [None], "not a sequence of integers"),
        (lambda engine: [float("nan")], "not a sequence of integers"),
        (lambda engine: np.zeros((1, 2), dtype=int), "not a sequence of integers"),
        (lambda engine: [10**30], "tokens must be below 3"),
        (lambda engine: [-1], "tokens must be below 3"),
    ],
)
def test_nonsense_is_an_error_that_says_what(call: Any, said: str) -> None:
    (failure,) = check_generator(Generator(call, "nonsense"), [TOY]).errors
    assert said in failure.message


def test_a_generator_that_never_ends_is_too_long() -> None:
    verdicts = {verdict.verdict: verdict for verdict in check_generator(Generator(lambda engine: repeat(0), "endless"), [TOY]).verdicts}
    assert verdicts["ending"].outcome == "nonconform" and "the cap is 2 tokens" in verdicts["ending"].message


def test_a_generator_that_hangs_is_an_error() -> None:
    report = check_generator(Generator(lambda engine: time.sleep(60), "stuck"), [TOY, LONG], time_limit=0.3)
    assert [failure.instance for failure in report.errors] == ["toy"] and "did not come back" in report.errors[0].message


def test_sampling_has_time_of_its_own_where_enumeration_ran_out_of_it() -> None:
    def slow(engine: Any) -> list[int]:
        time.sleep(0.1)
        return [random.choices(range(3), engine.target([0], [0])[0])[0] for _ in range(3)]

    verdicts = check_generator(Generator(slow, "slow"), [replace(TOY, length=3)], time_limit=6.0).verdicts
    assert {verdict.way for verdict in verdicts} == {"sample", "rerun"} and not verdicts[0].effort.startswith("0 generations")
