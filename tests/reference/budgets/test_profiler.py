import pytest

from draftproof.reference.budgets.profiler import profile


def test_profile_gives_query_tokens_and_takes_the_median() -> None:
    now = [0.0]
    calls: list[int] = []

    def run(tokens: int) -> None:
        calls.append(tokens)
        now[0] += tokens if len(calls) % 4 else 1000.0  # one outlier in four

    assert profile(run, [0, 3], warmups=1, repeats=3, clock=lambda: now[0]) == [1.0, 4.0]
    assert calls == [1] * 4 + [4] * 4, "n nodes are n + 1 query tokens"


def test_errors_pass_and_nonsense_is_refused() -> None:
    def broken(tokens: int) -> None:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        profile(broken, [1])
    with pytest.raises(ValueError):
        profile(print, [-1])
    with pytest.raises(ValueError):
        profile(print, [1], repeats=0)
