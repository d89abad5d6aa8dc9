"""What mkdocs puts into the pages: sections of README and CHANGELOG, and the kinds of fault as ``draftproof explain`` knows them.

A line ``<!-- README.md: One minute -->`` becomes that section, without its heading; ``<!-- CHANGELOG.md -->`` the whole file without its title;
``<!-- kinds -->`` a section for every kind of fault, ``<!-- lifts -->`` a table of the lifts.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Called by mkdocs for every page."""
    markdown = re.sub(r"^<!-- (\w+\.md)(?:: (.+))? -->$", lambda found: included(*found.groups()), markdown, flags=re.MULTILINE)
    markdown = re.sub(r"^<!-- kinds -->$", lambda _: "\n".join(kinds()), markdown, flags=re.MULTILINE)
    return re.sub(r"^<!-- lifts -->$", lambda _: "\n".join(lifts()), markdown, flags=re.MULTILINE)


def included(name: str, heading: str | None) -> str:
    """A file of the repository, or one of its sections.  Raises ValueError where there is no such heading."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if heading is None:
        return text.partition("\n")[2]
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"{name} has no section {heading!r}")
    return found[1]


def kinds() -> Iterator[str]:
    """Markdown."""
    from draftproof.oracle.catalogue import catalogue
    from draftproof.oracle.controls import CONTROLS
    from draftproof.oracle.faults import FAULTS
    from draftproof.oracle.kinds import KINDS

    for kind in KINDS.values():
        yield f"### {kind.letter}: {kind.name}\n\n{kind.what}\n\n**How it looks.** {kind.looks}\n"
        if kind.verdicts:
            yield f"Seen by the verdict{'s' * (len(kind.verdicts) > 1)} {', '.join(f'*{verdict}*' for verdict in kind.verdicts)}.\n"
        for report in kind.reports:
            links = ", ".join(f"[{link.rpartition('/')[2]}]({link})" for link in report.links)
            yield f"- {report.repository} {links}: {report.what}"
        lossless = kind.letter == "O"
        planted = len(CONTROLS) if lossless else sum(fault.kind == kind.letter for fault in FAULTS)
        named = ", ".join(f"`{one.name}`" for one in catalogue() if kind.letter in one.source["kinds"])
        said = "lossless rules that look wrong" if lossless else "planted faults"
        yield f"\nHere: {planted} {said}; instances {named or 'none: no single round shows it, so it is looked for over several'}.\n"


def lifts() -> Iterator[str]:
    """A table in Markdown."""
    from draftproof.oracle.lifts import LIFTS

    yield "| lift | what becomes of the instance |\n|---|---|"
    for lift in LIFTS:
        yield f"| `{lift.name}` | {lift.about} |"
