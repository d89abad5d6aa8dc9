"""The page as a reader has it: opened in headless Chromium, clicked through, measured and photographed."""

import functools
import http.server
import io
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from .browser import BROWSER, DRIVER, Page, chromium, url_of
from .test_page import hostile_page, large_page, ordinary_page

pytestmark = pytest.mark.xdist_group("browser")  # one worker, one browser

DOCS = Path(__file__).parents[2] / "docs"

CONTRAST = """
const level = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
const luminance = ([r, g, b]) => 0.2126 * level(r) + 0.7152 * level(g) + 0.0722 * level(b);
const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = numbers(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
const low = new Set();
let measured = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("script, title, desc, .unseen, text[aria-hidden]")) continue;
  const style = getComputedStyle(element);
  const text = numbers(element.closest("svg") ? style.fill : style.color);
  const [one, other] = [luminance(text), luminance(ground(element))].sort((a, b) => b - a);
  measured += 1;
  if ((one + 0.05) / (other + 0.05) < 4.5) low.add(`${element.tagName} ${element.className} ${walker.currentNode.data.slice(0, 40)}`);
}
return [measured, [...low]];
"""

WIDE = """
return [document.documentElement.scrollWidth - innerWidth,
        [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility() && !one.closest(".scroll")
          && one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML.slice(0, 80))];
"""

GROUNDS = {"light": (255, 255, 255), "dark": (13, 17, 23)}

OPEN = "document.querySelectorAll('details').forEach((part) => { part.open = true; });"


@pytest.fixture(scope="module")
def window() -> Iterator[Page]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("no Chromium with its driver here; continuous integration installs it")
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for name, document in (("page", ordinary_page()), ("hostile", hostile_page()), ("large", large_page())):
        (folder / f"{name}.html").write_bytes(document.encode())
    return folder


def visible(window: Page, selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility()).map((one) => one.id || one.innerText)"
    return list(window.run(script, selector))


def test_it_asks_the_network_for_nothing_and_complains_of_nothing(window: Page, files: Path) -> None:
    """From a file and from a server, where a browser would ask for an icon too."""
    asked = list[str]()

    class Server(http.server.SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=files)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        served = f"http://127.0.0.1:{server.server_port}/page.html"
        for url in (url_of(files / "page.html"), served, url_of(files / "large.html")):
            window.open(url)
            window.run(OPEN)
            assert window.complaints() == []
            assert [one for one in window.requests() if not one.startswith("data:")] == [url]
        server.shutdown()
    assert asked == ["/page.html"]


def test_a_script_that_is_not_ours_does_not_run(window: Page, files: Path) -> None:
    """Were something to slip through, the policy would still hold; and a planted change of ours is refused as well."""
    document = (files / "page.html").read_text(encoding="utf-8")
    for number, (old, new) in enumerate([("<footer>", "<script>window.broken = 1</script><footer>"), ('"use strict";', "window.broken = 1;")]):
        planted = files / f"planted-{number}.html"
        planted.write_text(document.replace(old, new, 1), encoding="utf-8")
        window.open(url_of(planted))
        assert window.run("return window.broken") is None
        assert any("Content Security Policy" in line for line in window.complaints())


def test_hostile_texts_are_shown_and_nothing_else(window: Page, files: Path) -> None:
    window.open(url_of(files / "hostile.html"), 360)
    window.run(OPEN)
    assert window.complaints() == [] and window.run("return window.broken") is None
    counts = window.run("return ['script', 'img', 'iframe', 'style'].map((tag) => document.querySelectorAll(tag).length)")
    assert counts == [1, 0, 0, 1]
    assert window.run(WIDE) == [0, []]
    window.resize(1200)
    assert window.run(WIDE) == [0, []]
    assert window.run("return document.querySelectorAll('main h2').length") == 4


def test_no_table_is_clipped_on_a_desktop(window: Page, files: Path) -> None:
    """Badges stand in the last column, where a table that is too wide for its box would cut them."""
    window.open(url_of(files / "page.html"), 1280)
    window.run(OPEN)
    clipped = "return [...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
    assert window.run(clipped) == []
    window.run("document.querySelectorAll('figure th, figure td').forEach(one => { one.style.paddingRight = '40px'; })")
    assert window.run(clipped) != [], "this test sees what is clipped"


def test_nothing_is_wider_than_the_screen(window: Page, files: Path) -> None:
    window.open(url_of(files / "page.html"), 360)
    assert window.run(WIDE) == [0, []]
    window.run(OPEN)
    for width in (360, 768, 1200):
        window.resize(width)
        assert window.run(WIDE) == [0, []]
    window.run("document.querySelector('main').style.width = '2000px'")
    assert window.run(WIDE)[0] > 0, "this test sees what is too wide"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(window: Page, files: Path, scheme: str) -> None:
    """Every text against what it stands on: at least 4.5 : 1 (WCAG 2.2, 1.4.3), in the reader's scheme and in the one chosen by hand."""
    window.open(url_of(files / "page.html"), scheme=scheme)
    window.run(OPEN)
    for chosen in ("auto", "light", "dark"):
        window.run("document.querySelector(`#theme [data-theme=${arguments[0]}]`).click()", chosen)
        measured, low = window.run(CONTRAST)
        assert measured > 300 and low == [], chosen
        ground = GROUNDS[scheme if chosen == "auto" else chosen]
        assert window.run("return getComputedStyle(document.documentElement).backgroundColor") == f"rgb{ground}"
    window.run("document.querySelector('.what').style.color = '#777'")
    assert window.run(CONTRAST)[1] != [], "this test sees what is too faint"
    window.run("localStorage.clear()")


def test_filter(window: Page, files: Path) -> None:
    window.open(url_of(files / "page.html"))
    subjects, articles = "table.subjects tbody tr", "article[data-outcome]"
    assert len(visible(window, subjects)) == 4 and len(visible(window, articles)) == 3
    window.driver.find_element("css selector", "#filter input[value=nonconform] + span").click()
    assert len(visible(window, subjects)) == len(visible(window, articles)) == 1
    assert window.run("return document.getElementById('shown').innerText") == "1 of 4 subjects shown"
    window.driver.find_element("css selector", "#filter input[value=conform] + span").click()
    assert len(visible(window, subjects)) == 1 and visible(window, "#wrong") == [], "no heading above nothing"
    window.driver.find_element("css selector", "#filter input[value=all] + span").click()
    window.driver.find_element("css selector", "#filter input[type=search]").send_keys("CRASH")
    assert len(visible(window, subjects)) == 1 and "engine:crash" in visible(window, subjects)[0]
    assert window.complaints() == []


def test_keyboard(window: Page, files: Path) -> None:
    """Tab reaches everything in reading order, with a visible focus; arrows choose, Enter opens."""
    window.open(url_of(files / "page.html"), 360)
    focus = """const at = document.activeElement, style = getComputedStyle(at.matches("input[type=radio]") ? at.nextElementSibling : at);
               return [at.tagName, at.value || at.innerText.slice(0, 20), style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2]"""
    window.press("TAB")
    assert window.run(focus) == ["A", "Skip to the results", True]
    seen = list[list[object]]()
    for _ in range(200):
        window.press("TAB")
        seen.append(window.run(focus))
        if seen[-1][0] in ("BODY", "HTML") or seen[-1] == ["A", "Skip to the results", True]:
            break
    stops = [one for one in seen if one[0] not in ("BODY", "HTML")]
    assert all(visible for _, _, visible in stops), stops
    assert [name for _, name, _ in stops[:4]] == ["Auto", "Light", "Dark", "all"]
    assert {"BUTTON", "INPUT", "SUMMARY", "PRE", "A"} <= {tag for tag, _, _ in stops}

    window.open(url_of(files / "page.html"))
    for _ in range(3):
        window.press("TAB")
    window.press("SPACE")
    assert window.run("return document.documentElement.dataset.theme") == "light"
    window.press("TAB"), window.press("TAB"), window.press("ARROW_RIGHT")
    assert window.run("return document.getElementById('filter').elements.outcome.value") == "error"
    assert len(visible(window, "table.subjects tbody tr")) == 1
    window.run("[...document.querySelectorAll('main details:not([open]) > summary')].find((one) => one.checkVisibility()).focus()")
    window.press("ENTER")
    assert window.run("return document.activeElement.parentElement.open") is True
    window.run("localStorage.clear()")


def test_theme_is_kept(window: Page, files: Path) -> None:
    window.open(url_of(files / "page.html"))
    window.driver.find_element("css selector", "#theme [data-theme=dark]").click()
    window.driver.get(url_of(files / "page.html"))
    assert window.run("return document.documentElement.dataset.theme") == "dark"
    assert window.run("return document.querySelector('#theme [data-theme=dark]').getAttribute('aria-pressed')") == "true"
    window.run("localStorage.clear()")


def test_links_open_what_they_lead_to_and_code_can_be_copied(window: Page, files: Path) -> None:
    window.open(url_of(files / "page.html"))
    window.driver.find_element("css selector", "table.subjects a").click()
    name = window.run("return location.hash.slice(1)")
    assert window.run("return new Promise((done) => setTimeout(() => done(document.getElementById(arguments[0]).open), 50, ...arguments))", name)
    window.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    window.driver.find_element("css selector", ".facts .copy").click()
    said = window.run("return new Promise((done) => setTimeout(() => done(document.querySelector('.facts .copy').innerText), 100))")
    assert said in ("Copied", "Selected")
    assert window.complaints() == []


def test_motion(window: Page, files: Path) -> None:
    """None for those who want none."""
    script = """const style = (selector) => getComputedStyle(document.querySelector(selector));
                return [style("html").scrollBehavior, style(".skip").transitionDuration]"""
    window.open(url_of(files / "page.html"), motion="reduce")
    assert window.run(script) == ["auto", "0s"]
    window.open(url_of(files / "page.html"), motion="no-preference")
    assert window.run(script) == ["smooth", "0.15s"]


def test_landmarks_and_names(window: Page, files: Path) -> None:
    """What a screen reader is told, by Chromium's own accessibility tree."""
    window.open(url_of(files / "page.html"))
    nodes = window.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    told = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")]
    roles = [role for role, _ in told]
    assert {"banner", "main", "contentinfo", "search", "table", "rowheader", "columnheader"} <= set(roles)
    assert [name for role, name in told if role == "region"][:2] == ["What is wrong", "Subjects and verdicts"]
    images = [name for role, name in told if role in ("image", "img")]
    assert "The next token at the root" in images and any(name.startswith("Where the target leaves the draft tree of ") for name in images)
    nameless = {role for role, name in told if not name}
    assert not nameless & {"button", "link", "radio", "searchbox", "image", "img", "heading", "table", "region", "search"}
    assert window.run("return [...document.querySelectorAll('[role=group]')].every((one) => one.getAttribute('aria-label'))")


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1200, "light")])
def test_screenshots(window: Page, files: Path, tmp_path: Path, width: int, scheme: str) -> None:
    window.open(url_of(files / "page.html"), width, scheme=scheme)
    picture = Image.open(io.BytesIO(window.screenshot())).convert("RGB")
    assert picture.width == width and picture.height > 900
    colours = picture.getcolors(1 << 24) or []
    most = max(colours)[1]
    assert most == GROUNDS[scheme] and len(colours) > 50


def test_pictures_of_the_docs() -> None:
    """Small, each shown and described."""
    text = (DOCS / "report.md").read_text(encoding="utf-8")
    pictures = list((DOCS / "report").glob("*.png"))
    assert len(pictures) == 8 and all(f"report/{one.name}" in text and one.stat().st_size < 150_000 for one in pictures)


@pytest.mark.slow
def test_pictures_of_the_docs_are_made_by_their_command(window: Page, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(DOCS / "report" / "screenshots.py"), str(tmp_path)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert {one.name for one in tmp_path.glob("*.png")} == {one.name for one in (DOCS / "report").glob("*.png")}
