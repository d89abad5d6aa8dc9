"""What the runs say: results as JSON, paired differences with intervals, figures, and the table of docs/training.md."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from draftproof.oracle.drawing import Curve, Drawing, chart, stacked, ticks

Run = Mapping[str, Any]
STYLES = {"token": ("ink", False), "exit": ("b", False), "prefix": ("a", False), "A distillation": ("c", True), "B swaps": ("c", False)}
LEVEL = 0.95


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """(mean, low, high) of a t interval over seeds."""
    from scipy.stats import t

    half = float(t.ppf((1 + LEVEL) / 2, len(values) - 1)) * stdev(values) / len(values) ** 0.5
    return mean(values), mean(values) - half, mean(values) + half


def last(run: Run, name: str, what: str) -> float:
    return float(run["curves"][name][-1][what])


def against_token(runs: Sequence[Run], name: str, what: str) -> tuple[float, float, float]:
    """The difference to the token loss at the last step, paired by seed: same language, target, drafter and places."""
    return interval([last(run, name, what) - last(run, "token", what) for run in runs])


def table(runs: Sequence[Run]) -> str:
    """The results in Markdown."""
    rows = [
        "| objective | block length | against token loss only | seeds longer | greedily served | held-out token loss | lambda | credit ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    names = list(runs[0]["curves"])
    for name in names:
        middle, low, high = against_token(runs, name, "block length")
        greedy, *ends = against_token(runs, name, "greedy block length")
        longer = sum(last(run, name, "block length") > last(run, "token", "block length") for run in runs)
        other = name != "token"
        rows.append(
            f"| {name} | {mean(last(run, name, 'block length') for run in runs):.3f} "
            f"| {f'{middle:+.3f} [{low:+.3f}, {high:+.3f}]' if other else ''} "
            f"| {f'{longer} of {len(runs)}' if other else ''} "
            f"| {f'{greedy:+.3f} [{ends[0]:+.3f}, {ends[1]:+.3f}]' if other else ''} "
            f"| {mean(last(run, name, 'token loss') for run in runs):.3f} "
            f"| {_logged(runs, name, 'lambda')} | {_logged(runs, name, 'credit ratio')} |"
        )
    return "\n".join(rows)


def _logged(runs: Sequence[Run], name: str, what: str) -> str:
    values = [point[what] for run in runs for point in run["curves"][name] if what in point]
    return f"{mean(values):.2g}" if values else ""


def gains(runs: Sequence[Run], what: str, title: str, up: str) -> Drawing:
    """The change since the common start, mean and interval over seeds."""
    curves = []
    for place, (name, (colour, dashed)) in enumerate(STYLES.items()):
        steps = [point["step"] for point in runs[0]["curves"][name]]
        found = [interval([run["curves"][name][k][what] - run["curves"][name][0][what] for run in runs]) for k in range(1, len(steps))]
        shifted = [step + 2.0 * (place - 2) for step in steps[1:]]  # side by side, so that the bars can be told apart
        points = [(0.0, 0.0), *((x, y) for x, (y, _, _) in zip(shifted, found, strict=True))]
        bars = [(x, low, high) for x, (_, low, high) in zip(shifted, found, strict=True)]
        curves.append(Curve(name, points, colour, dashed, bars=bars))
    return chart(title, curves, "step", up, width=720, height=340)


def forest(runs: Sequence[Run], what: str, title: str) -> Drawing:
    """Every objective's difference to the token loss at the last step, with its interval and the seeds as hollow dots."""
    names = [name for name in runs[0]["curves"] if name != "token"]
    found = {name: against_token(runs, name, what) for name in names}
    seeds = {name: [last(run, name, what) - last(run, "token", what) for run in runs] for name in names}
    every = [0.0, *(end for ends in found.values() for end in ends), *(one for values in seeds.values() for one in values)]
    axis, page = ticks(min(every), max(every)), Drawing(720, 70 + 26 * len(names), title)
    bottom = 40 + 26 * len(names)
    x: Callable[[float], float] = lambda value: 170 + (value - axis[0]) / (axis[-1] - axis[0]) * 520  # noqa: E731
    page.text(20, 20, title, size=14)
    for value in axis:
        page.line([(x(value), 34), (x(value), bottom)], "ink" if value == 0 else "faint")
        page.text(x(value), bottom + 18, f"{value:+g}" if value else "0", "middle")
    for row, name in enumerate(names):
        y, (middle, low, high) = 48 + 26 * row, found[name]
        page.text(160, y + 4, name, "end")
        page.line([(x(low), y), (x(high), y)], "a", 2)
        for value in seeds[name]:
            page.dot(x(value), y, 2.5, "b", hollow=True)
        page.dot(x(middle), y, 4, "a", note=f"{name}: {middle:+.3f} [{low:+.3f}, {high:+.3f}]")
    return page


def write(runs: Sequence[Run], folder: Path) -> None:
    """results.json, two figures, and the table in the page beside the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = [{key: value for key, value in run.items() if key != "seconds"} for run in runs]
    rounded = json.loads(json.dumps(kept), parse_float=lambda text: round(float(text), 5))
    (folder / "results.json").write_text("[\n" + ",\n".join(json.dumps(run) for run in rounded) + "\n]\n")
    seeds = f"{len(runs)} seeds, {LEVEL:.0%} intervals"
    curves = stacked(
        "Training curves",
        [
            gains(rounded, "block length", f"Block length E[L] = 1 + coverage ({seeds})", "since step 0"),
            gains(rounded, "token loss", "Held-out token loss, nats", "since step 0"),
            gains(rounded, "root exit", "Paths that leave at the root, w(root)", "since step 0"),
        ],
    )
    (folder / "curves.svg").write_text(curves.svg())
    differences = forest(rounded, "block length", f"Block length against token loss only, at the last step ({seeds})")
    (folder / "differences.svg").write_text(differences.svg())
    page = folder.with_suffix(".md")
    if page.exists():
        before, _, rest = page.read_text().partition("<!-- results -->\n")
        page.write_text(f"{before}<!-- results -->\n{table(rounded)}\n<!-- end -->{rest.partition('<!-- end -->')[2]}")
    print(table(rounded))
