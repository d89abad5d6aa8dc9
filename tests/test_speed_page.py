"""docs/speed.md shows what was recorded."""

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent


def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("speed_page", ROOT / "benchmarks" / "speed_page.py")
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_the_tables_are_those_of_the_newest_recorded_runs() -> None:
    """python benchmarks/speed_page.py writes them."""
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    speed = module()
    assert speed.filled(page) == page
    assert {found[2] for found in speed.BLOCK.finditer(page)} == set(speed.BLOCKS)


def test_a_number_that_was_not_recorded_is_found() -> None:
    """The planted fault: a table that was improved by hand."""
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    start = page.index("| traversal |")
    better = page[:start] + page[start:].replace("x |", "0x |", 1)
    assert better != page and module().filled(better) == page
