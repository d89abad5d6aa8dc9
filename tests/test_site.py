"""The site: what is put into its pages is there, links have the right shape, warnings end the build, and nothing is fetched when it is read."""

import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from .oracle.browser import chromium, url_of

ROOT = Path(__file__).parents[1]
GITHUB = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+|https://github\.com/[\w.-]+/[\w.-]+/(commit/[0-9a-f]+|blob/main/[\w./-]+)")


def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_hooks", ROOT / "docs" / "hooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_sections_of_readme_stand_where_a_page_asks_for_them() -> None:
    asked = 0
    for page in (ROOT / "docs").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        made = hooks().on_page_markdown(text, None, None, None)
        asked += made != text
        assert not re.search(r"<!-- (\w+\.md|kinds|lifts)", made), page.name
    assert asked >= 5
    with pytest.raises(ValueError, match="README.md has no section 'Two minutes'"):
        hooks().included("README.md", "Two minutes")


def test_links_to_reports_have_the_right_shape() -> None:
    from draftproof.oracle.kinds import KINDS

    page = "\n".join(hooks().kinds())
    assert all(f"### {kind.letter}: {kind.name}\n" in page for kind in KINDS.values())
    written = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    links = re.findall(r"\]\((https?://github[^)]*)\)", page + written)
    assert len(links) > 80
    assert [link for link in links if not GITHUB.fullmatch(link)] == []
    assert not GITHUB.fullmatch("https://github.com/vllm-project/vllm/issues/") and not GITHUB.fullmatch("https://github.com/vllm/pull/12")


WAYS = {"bracket": "bracket", "enumerate": "enumerate", "enumerate, with races": "races", "integrate": "integrate", "sample": "sample"}
"""Rows of the pages' tables, and what the tolerance of each is called."""


def tolerances(page: str) -> dict[str, str]:
    """Of the table of ways of reading: its first column, and its last."""
    rows = re.findall(r"^\| ([\w, ]+) \|.*\| ([\w.-]+) \|$", page, re.MULTILINE)
    return {WAYS[way]: figure for way, figure in rows if way in WAYS}


def test_the_tolerances_on_the_pages_are_those_of_the_code() -> None:
    from draftproof.oracle.precision import Settings
    from draftproof.oracle.reading import DELTA, FINE, FRESH
    from draftproof.oracle.verdicts import DEFAULT_TOLERANCE

    page = (ROOT / "docs" / "readings.md").read_text(encoding="utf-8")
    assert {way: float(figure) for way, figure in tolerances(page).items()} == DEFAULT_TOLERANCE
    assert {way: float(figure) for way, figure in tolerances(page.replace("| 2e-2 |", "| 1e-2 |")).items()} != DEFAULT_TOLERANCE
    assert math.log(1 / DELTA) / FRESH == pytest.approx(1.4e-5, abs=5e-7) and "leaves 1.4e-5" in page
    assert float(FINE) == DEFAULT_TOLERANCE["bracket"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for way, said in {
        "enumerate": "total variation of at most 1e-6, 2e-5 where noise races",
        "integrate": "the law to about 1e-5; conform is at most 2e-5",
        "sample": "on the total variation of at most 2e-2",
    }.items():
        assert re.search(rf"^\| {way} \|.*{re.escape(said)}", readme, re.MULTILINE), way
    assert DEFAULT_TOLERANCE["bracket"] == Settings().tolerance  # what precision holds a law against


def test_every_extra_and_every_lift_is_on_its_page() -> None:
    from draftproof.oracle.lifts import LIFTS

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    installing = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", installing, re.MULTILINE)[: len(extras)] == list(extras)
    lifts = hooks().on_page_markdown((ROOT / "docs" / "lifts.md").read_text(encoding="utf-8"), None, None, None)
    assert re.findall(r"^\| `([\w-]+)` \| .+ \|$", lifts, re.MULTILINE) == [lift.name for lift in LIFTS]


def test_every_verdict_is_in_the_glossary() -> None:
    from draftproof.oracle.kinds import KINDS
    from draftproof.oracle.report import KINDS as VERDICTS

    listed = re.findall(r"^\| ([\w ]+) \|", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("## Verdicts")[2], re.MULTILINE)
    known = {*VERDICTS, *(verdict for kind in KINDS.values() for verdict in kind.verdicts)} - {"error"}  # an outcome
    assert known - set(listed) == set() and len(known) >= 9


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """``make docs`` on the pages in ``folder``, into its site."""
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(folder / "mkdocs.yml")]
    return subprocess.run(words, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})


@pytest.mark.slow
def test_it_builds_and_reads_without_a_network_and_a_broken_link_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    for name in ("docs", "src", "reference", "oracle", "proofs", "gpu_impl", "mkdocs.yml", "README.md", "CHANGELOG.md"):
        source = ROOT / name
        shutil.copytree(source, tmp_path / name, symlinks=True) if source.is_dir() else shutil.copy(source, tmp_path / name)
    done = build(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list((tmp_path / "out" / "site").rglob("*.html"))
    fetched = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^>]*>")
    assert len(pages) > 10 and [found for page in pages for found in fetched.findall(page.read_text(encoding="utf-8"))] == []
    assert fetched.search('<script src="https://unpkg.com/iframe-worker/shim"></script>')
    tour = tmp_path / "docs" / "index.md"
    tour.write_text(tour.read_text(encoding="utf-8") + "\n[nowhere](nowhere.md)\n", encoding="utf-8")
    done = build(tmp_path)
    assert done.returncode != 0 and "nowhere.md" in done.stderr


WIDER = """
const boxes = [...document.querySelectorAll("pre > code")].map(box => box.clientWidth)
return Math.max(document.documentElement.scrollWidth, ...boxes) - innerWidth
"""
"""By how many pixels the page, or a box that long lines scroll in, is wider than the screen."""


@pytest.mark.slow
def test_on_a_phone_tables_and_code_scroll_in_their_boxes(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    pages, wide = sorted((tmp_path / "site").glob("*.html")), tmp_path / "site" / "wide.html"
    loose = "<style>.md-typeset__scrollwrap, .md-main, .md-container { overflow: visible }</style></head>"
    wide.write_text((tmp_path / "site" / "speed.html").read_text(encoding="utf-8").replace("</head>", loose), encoding="utf-8")
    with chromium() as page:
        for width in (360, 1280):
            for one in pages:
                page.open(url_of(one), width=width)
                assert page.run(WIDER) <= 0, (one.name, width)
        page.open(url_of(wide), width=360)
        assert page.run(WIDER) > 0
