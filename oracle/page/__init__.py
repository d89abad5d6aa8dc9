"""The report as one HTML page that needs nothing else: no network, no fonts, its style and script inside and named by hash."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from draftproof import __version__

from . import comparisons, findings, machine, subjects, summary
from .elements import Html, tag
from .results import Results

HERE = Path(__file__).parent


def page(results: Results) -> str:
    """The whole document.  Encode it as UTF-8; nothing in it may be changed afterwards, line ends included, or the hashes no longer hold."""
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"draftproof {__version__}"),
        tag("link", rel="icon", href="data:,"),
        tag("title", summary.title(results)),
        tag("style", Html(style)),
    )
    judged = [subjects.controls(results), findings.section(results), subjects.section(results)]
    sections = [*judged, *comparisons.sections(results), machine.section(results)]
    body = tag(
        "body",
        tag("a", "Skip to the results", href="#results", class_="skip"),
        summary.header(results),
        tag("main", *filter(None, sections), id="results", tabindex="-1"),
        tag("footer", tag("p", f"Written by draftproof {__version__}. What it says, and how sure it is: docs/report.md, Reading a report.")),
        tag("script", Html(script)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _hash(content: str) -> str:
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()
