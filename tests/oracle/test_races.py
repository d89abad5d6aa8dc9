"""Races read by enumerate: their laws, what is refused, and a faulty race that is seen."""

import random
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import torch

import draftproof
from draftproof.oracle.readings import races
from draftproof.oracle.readings import shared as shared_noise
from draftproof.oracle.readings.enumerate import Refused, enumerate_law

P = torch.tensor([0.5, 0.25, 0.125, 0.125, 0.0])
WEIGHTS = P.tolist()[:4]
LAW = {token: Fraction(weight) for token, weight in enumerate(WEIGHTS)}


def exponential(dtype: torch.dtype = torch.float32) -> int:
    return int((P.to(dtype) / torch.empty(5, dtype=dtype).exponential_()).argmax(-1))


def first_to_come() -> int:
    return int((torch.empty(2, 4).exponential_(2.0) / P[:4]).min(1).indices[1])


def gumbel() -> int:
    return int((P.log() - (-torch.rand(5).log()).log()).argmax())


def gumbel_of_torch() -> int:
    return int((P[:4].log() + torch.distributions.Gumbel(torch.zeros(4), torch.ones(4)).sample()).max(0, keepdim=True)[1])


def written_row_by_row() -> int:
    """Noise goes into rows of a buffer, once more into the second."""
    noise = torch.empty(2, 5)
    noise[0].exponential_()
    noise[1].exponential_()
    noise[1].exponential_()
    return int((P / noise).argmax(1)[1])


def numpys() -> int:
    return int((np.array(WEIGHTS) / np.random.default_rng().exponential(size=4)).argmax())


def numpys_gumbel() -> int:
    return int(np.argmax(np.log(WEIGHTS) + np.random.gumbel(size=4)))


def alike_before_likelier() -> int:
    """Two that are alike meet first, and one of no mass last."""
    with np.errstate(divide="ignore"):
        return 3 - int((np.random.default_rng().exponential(size=5) / [*reversed(WEIGHTS), 0.0]).argmin())


def by_scale() -> int:
    return int(np.argmin(np.random.default_rng().exponential(1 / np.array(WEIGHTS))))


def by_uniforms() -> int:
    return int((np.log(np.random.default_rng().random(4)) / WEIGHTS).argmax())


def pythons() -> int:
    return max(range(4), key=lambda token: WEIGHTS[token] / random.expovariate(1.0))


def pythons_first() -> int:
    return min(range(4), key=lambda token: random.Random().expovariate(WEIGHTS[token]))


def distance(found: dict[Hashable, Fraction], wanted: dict[Hashable, Fraction]) -> float:
    return float(sum(abs(found.get(key, Fraction(0)) - wanted.get(key, Fraction(0))) for key in {*found, *wanted}) / 2)


@pytest.mark.parametrize(
    "race",
    [
        exponential,
        first_to_come,
        gumbel,
        gumbel_of_torch,
        written_row_by_row,
        numpys,
        numpys_gumbel,
        alike_before_likelier,
        by_scale,
        by_uniforms,
        pythons,
        pythons_first,
    ],
)
def test_the_winner_has_the_law_of_the_weights(race: Callable[[], Hashable]) -> None:
    read = enumerate_law(race)
    assert not read.failures and 0 < read.slack < 1e-6 and distance(read.law, dict(LAW)) <= read.slack + 1e-9


def test_float64_is_read_finely() -> None:
    read = enumerate_law(lambda: exponential(torch.float64))
    assert read.slack < 1e-6 and distance(read.law, dict(LAW)) < 1e-9


def test_a_clamp_that_keeps_noise_from_zero_changes_nothing() -> None:
    read = enumerate_law(lambda: int((P / torch.empty(5).exponential_().clamp(min=1e-10)).argmax()))
    assert distance(read.law, dict(LAW)) <= read.slack + 1e-9


def test_places_are_successive_draws_without_replacement() -> None:
    def race() -> tuple[int, ...]:
        return tuple((P.log() - (-torch.rand(5).log()).log()).topk(3).indices.tolist())

    wanted = dict[Hashable, Fraction]()
    for order in permutations(range(4), 3):
        left, mass = Fraction(1), Fraction(1)
        for token in order:
            mass, left = mass * LAW[token] / left, left - LAW[token]
        wanted[order] = mass
    read = enumerate_law(race)
    assert distance(read.law, wanted) <= read.slack + 1e-8 < 3e-6


def test_a_race_among_numbers_that_are_known() -> None:
    def race(loser: float) -> int:
        noise = torch.empty(3).exponential_()
        noise[0] = loser
        return int(noise.argmin())

    assert enumerate_law(lambda: race(float("inf"))).law == {1: Fraction(1, 2), 2: Fraction(1, 2)}
    with pytest.raises(Refused, match="known and may win"):
        enumerate_law(lambda: race(0.5))


def test_two_races_of_their_own_noise_are_independent() -> None:
    def race() -> tuple[int, int]:
        noise = torch.empty(2, 5).exponential_()
        return tuple((P / noise).argmax(1).tolist())  # type: ignore[return-value]

    read = enumerate_law(race)
    assert distance(read.law, {(a, b): LAW[a] * LAW[b] for a in LAW for b in LAW}) < 1e-6


def shared() -> tuple[int, int]:
    noise = torch.empty(5).exponential_()
    return int((P / noise).argmax()), int((P.flip(0) / noise).argmax())


def looked_at_again() -> bool:
    noise = torch.empty(3).exponential_()
    return bool(noise[noise.argmin()] < 1)


def looked_at_before() -> int:
    noise = torch.rand(3)
    return int(noise.argmin()) if noise[0] < 0.5 else 0


def losers_compared() -> tuple[int, ...]:
    noise = [random.random() for _ in range(3)]
    return tuple(sorted(range(3), key=noise.__getitem__))


def decides_which() -> int:
    noise = torch.empty(5).exponential_()
    one, other = (torch.stack([P, P.flip(0)]) / noise).argmax(-1).tolist()
    return int(other) if one == 0 else int(one)


def second_only_after_the_first() -> int:
    noise = torch.empty(5).exponential_()
    return int((P / noise).argmax()) or int((P.flip(0) / noise).argmax())


def weighed_by_the_first() -> int:
    noise = torch.empty(4).exponential_()
    first = int((P[:4] / noise).argmax())
    return int((P[:4].roll(first) / noise).argmax())


def together_by_chance() -> tuple[int, ...]:
    """One of two, or both."""
    noise = torch.empty(5).exponential_()
    won = (torch.stack([P, P.flip(0)]) / noise).argmax(-1).tolist()
    return tuple(won[: 1 + int(torch.rand(()) < 0.25)])


def champion_before_another_race() -> int:
    """The winner's level comes into play, then those race again which it beat."""
    noise = [random.random() for _ in range(3)]
    (winner,) = races.order(noise, True, 1)  # type: ignore[arg-type]  # numbers that are not known yet
    beaten = [number for place, number in enumerate(noise) if place != winner]
    return 3 if noise[winner] < random.random() else races.order(beaten, True, 1)[0]  # type: ignore[arg-type]


def places_before_a_race() -> int:
    noise = torch.empty(4).exponential_()
    (P[:4] / noise).topk(2)
    return int((P[:4].flip(0) / noise).argmax())


@pytest.mark.parametrize(
    ("race", "reason"),
    [
        (shared, "both of which matter.*kind C"),
        (decides_which, "both of which matter.*kind C"),
        (second_only_after_the_first, "both of which matter.*kind C"),
        (weighed_by_the_first, "both of which matter.*kind C"),
        (together_by_chance, "both of which matter.*kind C"),
        (champion_before_another_race, "raced before.*kind C"),
        (places_before_a_race, "raced before.*kind C"),
        (looked_at_again, "noise of a race once more.*kind C"),
        (looked_at_before, "compared before.*kind C"),
        (losers_compared, "raced"),
        (lambda: int((P * torch.empty(5).exponential_()).argmax()), "depend on its level"),
        (lambda: int((P + torch.empty(5).exponential_() / 2).argmin()), "depend on its level"),
        (lambda: int((P.bfloat16() / torch.empty(5, dtype=torch.bfloat16).exponential_()).argmax()), "depend on its level"),
        (lambda: int((P / torch.empty(5).exponential_().clamp(min=0.01)).argmax()), "depend on its level"),
        (lambda: int((torch.ones(3) / torch.empty(3).exponential_().clamp(min=0.003)).argmax()), "depend on its level"),
        (lambda: int((P / torch.empty(5).exponential_().clamp(max=2.0)).argmax()), "depend on its level"),
        (lambda: int((torch.rand(()) * torch.ones(2)).argmax()), "made of the same one"),
        (lambda: bool(torch.rand(3).max() > 0.5), "needs the value"),
    ],
)
def test_refused(race: Callable[[], Hashable], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        enumerate_law(race)


THREE = torch.tensor([0.5, 0.25, 0.25])
ROWS = torch.stack([THREE, THREE.flip(0), torch.tensor([0.75, 0.0, 0.25])])


def one_of_three() -> int:
    """Three races over one row of noise; a coin of its own says which winner is told."""
    winners, coin = (ROWS / torch.empty(3).exponential_()).argmax(-1).tolist(), torch.rand(())
    return int(winners[0] if coin < 0.5 else 10 + winners[1] if coin < 0.75 else 20 + winners[2])


def two_rows() -> tuple[int, int]:
    """Two rows of noise, two races over each; which winner of the second row is told depends on that of the first."""
    winners = (ROWS[:2] / torch.empty(2, 1, 3).exponential_()).argmax(-1)
    first = int(winners[0, int(torch.rand(()) < 0.5)])
    return first, int(winners[1, first % 2])


def test_of_races_over_the_same_noise_one_may_matter() -> None:
    rows = ROWS.tolist()
    read = enumerate_law(one_of_three)
    parts = zip((0, 10, 20), (0.5, 0.25, 0.25), rows, strict=True)
    wanted = {at + token: Fraction(part * mass) for at, part, row in parts for token, mass in enumerate(row)}
    assert 0 < read.slack < 2e-6 and distance(read.law, dict(wanted)) <= read.slack + 1e-8
    read = enumerate_law(two_rows)
    law = {(a, b): Fraction((rows[0][a] + rows[1][a]) / 2 * rows[a % 2][b]) for a in range(3) for b in range(3)}
    assert distance(read.law, dict(law)) <= read.slack + 1e-8 < 1e-5


def test_what_is_verified_of_shared_noise_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Winners of one row of noise are not independent: the law of both together would be wrong."""

    def twice() -> bool:
        noise = torch.empty(3).exponential_()
        return int((THREE / noise).argmax()) == int((2 * THREE / noise).argmax())

    with pytest.raises(Refused, match="both of which matter"):
        enumerate_law(twice)
    monkeypatch.setattr(shared_noise, "_matters", lambda table, place: False)
    with pytest.raises(Refused, match="not controlled"):  # the replay sees it as well: no noise lets both win where one cannot
        enumerate_law(twice)


def verifier(noise_of: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., object]:
    """A token-level chain verifier that recovers a token as engines do: the largest of p_i / E_i."""

    @draftproof.chain(family="token", batched=False)
    def verify(drafts: torch.Tensor, declared: torch.Tensor, target: torch.Tensor) -> object:
        block, length = list[int](), drafts.shape[1]
        for position in range(length):
            token = int(drafts[0, position])
            ratio = target[0, position, token] / declared[0, position, token]
            if torch.rand(()) >= ratio:
                weights = (target[0, position] - declared[0, position]).clamp(min=0)
                break
            block.append(token)
        else:
            weights = target[0, length]
        bonus = int((weights / noise_of(weights)).argmax())
        return torch.tensor([[*block, bonus] + [-1] * (length - len(block))]), torch.tensor([len(block)])

    return verify


def test_a_verifier_that_races_is_read_exactly() -> None:
    report = draftproof.check(verifier(lambda weights: torch.empty_like(weights).exponential_()), ["chain-one-draft"])
    read = {verdict.verdict: verdict for verdict in report.verdicts}
    assert report.outcome == "conform", report
    assert read["exactness"].way == "enumerate" and "races" in read["exactness"].effort


def test_a_race_at_twice_the_temperature_is_seen() -> None:
    report = draftproof.check(verifier(lambda weights: torch.empty_like(weights).exponential_() ** 0.5), ["chain-one-draft"], way="enumerate")
    assert report.outcome == "error" and "torch pow" in str(report)  # not monotone for all that is known of pow
    wrong = draftproof.check(verifier(lambda weights: torch.empty_like(weights).exponential_().sqrt()), ["chain-one-draft"])
    assert {(v.way, v.outcome) for v in wrong.verdicts if v.verdict == "exactness"} == {("enumerate", "nonconform")}


def on_one_row_of_noise(change: str = "") -> Callable[..., object]:
    """As vLLM does: a token is recovered at every position, all by one row of noise, and the first rejection emits its own."""

    @draftproof.chain(family="token", batched=False)
    def verify(drafts: torch.Tensor, declared: torch.Tensor, target: torch.Tensor) -> object:
        length, vocabulary = drafts.shape[1], target.shape[2]
        laws = torch.nn.functional.one_hot(drafts, vocabulary).to(target.dtype) if declared is None else declared
        noise = torch.empty(1, 1, vocabulary, dtype=target.dtype).exponential_()
        owed = target[:, :-1] if change == "residual is the target" else (target[:, :-1] - laws).clamp(min=0)
        rows = torch.cat([owed, target[:, -1:]], 1)
        recovered = (rows / noise).argmax(-1)[0].tolist()
        coins, block = torch.rand(length, dtype=target.dtype), list[int]()
        for position, token in enumerate(drafts[0].tolist()):
            if coins[position] * laws[0, position, token] >= target[0, position, token]:
                break
            block.append(token)
        bonus = recovered[len(block)]
        if change == "two of them emitted" and not block:
            block, bonus = [bonus], recovered[-1]
        return torch.tensor([[*block, bonus] + [-1] * (length - len(block))]), torch.tensor([len(block)])

    return verify


def test_one_row_of_noise_for_all_positions_is_read_exactly() -> None:
    report = draftproof.check(on_one_row_of_noise(), ["chain-rows-by-position", "chain-two-residual-tokens", "chain-ngram"])
    read = [verdict for verdict in report.verdicts if verdict.verdict == "exactness"]
    assert report.outcome == "conform" and {(one.way, one.limit) for one in read} == {("enumerate", 2e-5)}, report
    assert all("races to" in one.effort and (one.number or 0) < 1e-5 for one in read)


def test_faults_on_one_row_of_noise() -> None:
    report = draftproof.check(on_one_row_of_noise("residual is the target"), ["chain-two-residual-tokens"])
    assert {(v.way, v.outcome) for v in report.verdicts if v.verdict == "exactness"} == {("enumerate", "nonconform")}, report
    report = draftproof.check(on_one_row_of_noise("two of them emitted"), ["chain-two-residual-tokens"], way="enumerate")
    assert report.outcome == "error" and "both of which matter; noise that decides twice is kind C" in str(report)
