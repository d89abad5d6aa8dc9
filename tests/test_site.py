"""The site: what is put into its pages is there, links have the right shape, warnings end the build, and nothing is fetched when it is read."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

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
        assert not re.search(r"<!-- (\w+\.md|kinds)", made), page.name
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
