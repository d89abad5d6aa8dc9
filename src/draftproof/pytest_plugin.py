"""The pytest side of ``draftproof.conformance``.  Every pytest run of whoever has draftproof installed imports this file: keep it light."""

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from draftproof.suite import Conformance


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "file of conformance tests that are known to fail: a test id (or a pattern with *) a line, then optionally '# reason'"
    parser.getgroup("draftproof").addoption("--draftproof-xfails", metavar="FILE", help=text)
    parser.addini("draftproof_xfails", text)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    judged: Conformance | None = getattr(metafunc.function, "__draftproof_conformance__", None)
    if judged is None:
        return
    from draftproof.suite import SUBJECT, cases

    given: Sequence[tuple[str, str]] = ()
    marks = metafunc.definition.own_markers
    if any(mark.name == "parametrize" for mark in marks):  # pytest would give up the file
        marks[:] = [mark for mark in marks if mark.name != "parametrize"]
        given = [("parametrize does not go with conformance, which makes tests itself: write a function for each verifier", SUBJECT)]
    together = metafunc.config.pluginmanager.hasplugin("xdist")  # which alone knows the mark
    found = []
    for instance, verdict in given or cases(judged):
        name = verdict if verdict == SUBJECT else f"{instance}-{verdict}"
        group = [pytest.mark.xdist_group(f"{metafunc.definition.nodeid}-{instance}")] if together else []
        found.append(pytest.param(instance, verdict, id=name, marks=group))
    metafunc.parametrize(("draftproof_instance", "draftproof_verdict"), found)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if hasattr(getattr(item, "function", None), "__draftproof_conformance__")]
    name = config.getoption("--draftproof-xfails") or config.getini("draftproof_xfails")
    if not ours or not name:
        return
    entries = _entries(config, str(name))
    used = set[str]()
    for item in ours:
        for pattern, reason in entries.items():
            if fnmatchcase(item.nodeid, pattern) or fnmatchcase(item.name, pattern):
                used.add(pattern)
                item.add_marker(pytest.mark.xfail(reason=reason or f"listed in {name}", strict=True))
    for pattern in sorted(set(entries) - used):
        listed, ids = pattern.replace("[[]", "["), [one for item in ours for one in (item.nodeid, item.name)]
        close = get_close_matches(listed, ids, 1)
        meant = f"; did you mean {close[0]}?" if close else ""
        config.issue_config_time_warning(pytest.PytestWarning(f"{name} lists {listed}, which is no conformance test here{meant}"), stacklevel=2)


def _entries(config: pytest.Config, name: str) -> dict[str, str]:
    """Pattern -> reason, of every line of the file that says something.  Brackets in an id stand for themselves."""
    path = Path(name) if Path(name).is_file() else config.rootpath / name
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise pytest.UsageError(f"--draftproof-xfails: cannot read {name}: {getattr(error, 'strerror', None) or error}") from None
    found: dict[str, str] = {}
    for line in lines:
        pattern, _, reason = line.partition("#")
        if pattern.strip():
            found[pattern.strip().replace("[", "[[]")] = reason.strip()
    return found

