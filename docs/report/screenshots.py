"""Makes the pictures of docs/report.md: a mistake is judged, its report is written, opened in headless Chromium and photographed.

``python docs/report/screenshots.py [FOLDER]`` (default: this folder).  Needs Chromium with its driver, selenium and pillow.
"""

import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from tests.oracle.browser import Page, chromium, url_of  # noqa: E402  (needs the path above)

WHEN = 1_760_000_000
"""When the example was judged, so that pictures change with the page only."""

BUDGET = {
    "marginals": [["1/2", "1/3", "1/6"], ["3/5", "1/5", "1/5"], ["1/2", "1/4", "1/4"]],
    "cost": {"draft": "1", "verify": ["2", "2", "2", "3", "3", "3", "3"]},
    "nodes": 6,
}

PICTURES = (
    # name, width, colour scheme, first element shown, most pixels of height
    ("desktop-light", 1200, "light", "body", 1480),
    ("desktop-dark", 1200, "dark", "body", 1480),
    ("phone-light", 360, "light", "body", 1500),
    ("phone-dark", 360, "dark", "body", 1500),
    ("subjects", 1200, "light", "[aria-labelledby=subjects]", 1300),
    ("league-and-budget", 1200, "dark", "[aria-labelledby=league]", 1500),
    ("acceptance", 1200, "light", "[aria-labelledby=acceptance]", 1100),
    ("phone-subjects", 360, "dark", "[aria-labelledby=subjects]", 1500),
)


def draftproof(*arguments: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-m", "draftproof.cli", *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode > 1:
        raise SystemExit(done.stderr)
    return done.stdout


def written(folder: Path) -> Path:
    """README's two subjects, the first with README's mistake, a league and a budget; the page about them."""
    for language, content in re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        if language == "python" and (name := re.match(r"# (mine|walk)\.py\n", content)):
            (folder / f"{name[1]}.py").write_text(content.replace("residual = [max(a - b, 0) for a, b in zip(p, q)]", "residual = p"))
    for name in ("mine.py:verify", "walk.py:walk"):
        draftproof("check", name, "--shrink", "--json", f"{name[:4]}.json", folder=folder)
    (folder / "problem.json").write_text(json.dumps(BUDGET))
    (folder / "league.json").write_text(draftproof("league", "tree-siblings", "--json", folder=folder))
    (folder / "budget.json").write_text(draftproof("budget", "problem.json", "--json", folder=folder))
    files = ["mine.json", "walk.json", "league.json", "budget.json"]
    for name in files:
        read: Any = json.loads((folder / name).read_text())
        if "environment" in read:
            read["environment"] |= {"platform": "Linux-6.1-x86_64-with-glibc2.36"}  # an example, not this machine
            (folder / name).write_text(json.dumps(read))
        os.utime(folder / name, (WHEN, WHEN))
    draftproof("report", *files, "--html", "report.html", folder=folder)
    return folder / "report.html"


def photograph(window: Page, page: Path, width: int, scheme: str, first: str, most: int) -> bytes:
    """A PNG of few colours, from the element ``first`` down."""
    window.open(url_of(page), width, scheme=scheme)
    if first != "body":
        window.run("document.querySelectorAll('main > section > details').forEach((part, place) => { part.open = place === 0; })")
        window.run("document.querySelector('[aria-labelledby=acceptance] > details:last-of-type').open = true")
    top = window.run("return Math.floor(document.querySelector(arguments[0]).getBoundingClientRect().top + scrollY)", first)
    whole = Image.open(io.BytesIO(window.screenshot(top + most))).convert("RGB")
    part = whole.crop((0, top, whole.width, whole.height)).quantize(112, dither=Image.Dither.NONE)
    out = io.BytesIO()
    part.save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    with tempfile.TemporaryDirectory() as folder, chromium() as window:
        page = written(Path(folder))
        for name, *how in PICTURES:
            (out / f"{name}.png").write_bytes(photograph(window, page, *how))


if __name__ == "__main__":
    main()
