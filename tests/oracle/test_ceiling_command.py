"""``draftproof ceiling``: what it prints, the certificate it writes, and what becomes of a damaged one."""

import json
from itertools import product
from pathlib import Path

import pytest

from draftproof.cli import main

INSTANCE = {
    "vocabulary": 3,
    "target": {"": [5, 3, 2], "0": [2, 2, 6], "1": [1, 8, 1], "2": ["1/3", "1/3", "1/3"]},
    "draft": {"": [2, 3, 5]},
    "drafting": {"scheme": "without_replacement", "children": [2]},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An instance and the certificate of its ceiling."""
    folder = tmp_path_factory.mktemp("ceiling")
    (folder / "one.json").write_text(json.dumps(INSTANCE))
    assert main(["ceiling", str(folder / "one.json"), "--certificate", str(folder / "proof.json")]) == 0
    return folder / "one.json", folder / "proof.json"


def test_json(capsys: pytest.CaptureFixture[str], files: tuple[Path, Path]) -> None:
    assert main(["ceiling", str(files[0]), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"instance": str(files[0]), "ceiling": "139/70", "gap": "0", "reached": "139/70", "trees": 3}


def test_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ceiling", "chain-block"]) == 0
    wanted = "chain-block: no lossless verifier has E[L] above 203/100 = 2.03, and some lossless verifier reaches it (draft trees: 16)\n"
    assert capsys.readouterr().out == wanted


def test_a_certificate_is_checked_again(capsys: pytest.CaptureFixture[str], files: tuple[Path, Path]) -> None:
    assert main(["ceiling", "--check", str(files[1])]) == 0
    assert capsys.readouterr().out == "accepted: no lossless verifier has E[L] above 139/70, and one has at least 139/70\n"
    assert main(["ceiling", str(files[0]), "--check", str(files[1]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accepted"] is True
    assert main(["ceiling", "chain-block", "--check", str(files[1])]) == 1
    assert capsys.readouterr().out == "rejected: it is about another instance than chain-block\n"


def test_a_damaged_certificate_is_rejected_with_the_inequality(capsys: pytest.CaptureFixture[str], files: tuple[Path, Path], tmp_path: Path) -> None:
    damaged = {**json.loads(files[1].read_text()), "ceiling": "138/70"}
    (tmp_path / "bad.json").write_text(json.dumps(damaged))
    assert main(["ceiling", "--check", str(tmp_path / "bad.json")]) == 1
    assert capsys.readouterr().out == "rejected: multipliers: sum_T Q(T) max_v C(v) = 139/70 > the stated ceiling 69/35\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give an instance, or a certificate to --check"),
        (["no-such-instance"], "no-such-instance: no such file, nor is it in the catalogue; draftproof instances lists the catalogue"),
        (["chain-block", "--certificate", "nowhere/proof.json"], "no folder"),
        (["--check", "nowhere.json"], "nowhere.json: No such file or directory"),
        (["--check", "a.json", "--certificate", "b.json"], "give one of them"),
    ],
)
def test_bad_requests(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ceiling", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("children", "depth", "said"), [([2, 2], 0, "has no row"), ([1, 1, 1, 1], 3, "more than the 20000 draft trees")])
def test_what_is_out_of_reach_is_said(children: list[int], depth: int, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Rows of the target and the draft up to some depth; four drafts of twelve tokens make 20,736 trees."""
    rows = {" ".join(map(str, path)): [1] * 12 for length in range(depth + 1) for path in product(range(12), repeat=length)}
    source = {"vocabulary": 12, "target": rows, "draft": rows, "drafting": {"scheme": "with_replacement", "children": children}}
    (tmp_path / "large.json").write_text(json.dumps(source))
    assert main(["ceiling", str(tmp_path / "large.json")]) == 2
    assert f"{tmp_path / 'large.json'}: " in (error := capsys.readouterr().err) and said in error
