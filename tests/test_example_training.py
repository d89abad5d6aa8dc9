"""The training example: its parts are right, its page says what its results say, and it runs."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples"))

from training import experiment, page  # noqa: E402
from training.language import END, VOCABULARY, Language  # noqa: E402
from training.models import Drafter, Target  # noqa: E402

from draftproof.gpu_impl.ddtree import ddtree  # noqa: E402

torch.set_num_threads(1)


def test_language() -> None:
    """The same text for the same seeds, of words and ends."""
    text = Language(3).text(200, random.Random(1))
    assert text == Language(3).text(200, random.Random(1)) != Language(4).text(200, random.Random(1))
    assert len(text) == 200 and END in text and max(text) < VOCABULARY


def test_tree_pass_is_the_target_after_each_path() -> None:
    """Row i of one pass over the tree is what the target says when it reads the context and the path of node i as plain text; and an untrained pair
    is enough to tell a wrong mask or position, which change rows by more than rounding."""
    torch.manual_seed(0)
    target = Target(VOCABULARY).requires_grad_(False)
    texts = experiment.write(target, Language(0), 3, 0)
    drafter = Drafter(target, experiment.DEPTHS)
    text, place = torch.tensor([0, 2, 1]), torch.tensor([8, 20, 33])
    with torch.no_grad():
        logits = experiment.draft(drafter, texts, text, place)
        trees = ddtree(logits, experiment.NODES)
        rows = experiment.score(target, texts, text, place, trees)
    assert logits.shape == (3, experiment.DEPTHS, VOCABULARY)
    assert (experiment.labels(texts, text, place)[1] == texts.tokens[2, 21:27]).all()
    for request in range(3):
        paths: dict[int, list[int]] = {0: []}
        for node in range(1, experiment.NODES + 1):
            paths[node] = [*paths[int(trees.parents[request, node])], int(trees.tokens[request, node])]
        for node in (0, 5, 16):
            plain = torch.cat((texts.tokens[text[request], : place[request] + 1], torch.tensor(paths[node], dtype=torch.int64)))
            assert (target.read(plain[None])[0][0, -1] - rows[request, node]).abs().max() < 1e-5
    shifted = experiment.score(target, texts, text, place - 1, trees)
    assert (shifted - rows).abs().max() > 1e-2


def test_written_texts_have_the_features_of_a_plain_pass() -> None:
    """Texts are written token by token from keys and values; what is kept is from one pass."""
    torch.manual_seed(0)
    target = Target(VOCABULARY).requires_grad_(False)
    texts = experiment.write(target, Language(0), 2, 0)
    assert texts.tokens.shape == (2, experiment.LENGTH)
    assert torch.equal(texts.features, target.read(texts.tokens)[1])


def test_intervals_and_table() -> None:
    """Three seeds by hand: differences 1, 2, 3 have mean 2 and half-width 4.303 / sqrt(3)."""
    middle, low, high = page.interval([1.0, 2.0, 3.0])
    assert middle == 2 and high - middle == pytest.approx(4.3027 / 3**0.5, abs=1e-3) and low + high == pytest.approx(4)


def test_page_says_what_the_results_say() -> None:
    """The table between the marks is the one that the committed results give, over at least five seeds."""
    runs = json.loads((ROOT / "docs" / "training" / "results.json").read_text())
    written = (ROOT / "docs" / "training.md").read_text()
    table = written.partition("<!-- results -->\n")[2].partition("\n<!-- end -->")[0]
    assert len(runs) >= 5 and table == page.table(runs)
    assert set(runs[0]["curves"]) == set(experiment.OBJECTIVES)


def test_writing_the_page(tmp_path: Path) -> None:
    """Figures, results and table; another page's words stay."""
    names = [*page.STYLES, "exit alone"]
    point = {"block length": 2.0, "greedy block length": 2.5, "root exit": 0.1, "token loss": 3.0}
    runs = []
    for seed in range(3):
        ends = {name: {"step": 9.0, **point, "block length": 2.0 + 0.1 * seed + place} for place, name in enumerate(names)}
        runs.append({"seed": seed, "curves": {name: [{"step": 0.0, **point}, ends[name]] for name in names}})
    (tmp_path / "training.md").write_text("before\n<!-- results -->\nold\n<!-- end -->\nafter\n")
    page.write(runs, tmp_path / "training")
    text = (tmp_path / "training.md").read_text()
    assert text.startswith("before\n") and text.endswith("<!-- end -->\nafter\n") and "old" not in text and "| exit | 3.100 | +1.000" in text
    assert {path.name for path in (tmp_path / "training").iterdir()} == {"results.json", "curves.svg", "differences.svg"}


@pytest.mark.slow
def test_example_runs() -> None:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "train.py"), "--steps", "10"], capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "token" in ran.stdout and "credit ratio" in ran.stdout
