"""The package object itself: its lazily loaded names, its version, and a checkout on a system without links."""
import importlib
import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import draftproof

ROOT = Path(__file__).resolve().parents[1]


def test_public_names_are_those_of_their_modules() -> None:
    for name, module in draftproof._EXPORTS.items():
        assert getattr(draftproof, name) is getattr(importlib.import_module(module), name)
        assert name in dir(draftproof)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'draftproof' has no attribute 'chek'"):
        draftproof.chek  # noqa: B018


def test_version_is_the_installed_one() -> None:
    assert draftproof.__version__ == importlib.metadata.version("draftproof")


@pytest.mark.parametrize("leftover", [True, False], ids=["link-as-text", "no-link"])
def test_checkout_without_links(tmp_path: Path, leftover: bool) -> None:
    """Where git cannot make links it writes a text file in place of each; the rooms are found all the same."""
    package = tmp_path / "src" / "draftproof"
    package.mkdir(parents=True)
    shutil.copy(ROOT / "src/draftproof/__init__.py", package)
    (tmp_path / "oracle").mkdir()
    (tmp_path / "oracle" / "__init__.py").touch()
    if leftover:
        (package / "oracle").write_text("../../oracle")
    search = f"import sys; sys.path.insert(0, {str(tmp_path / 'src')!r})"
    program = f"{search}; import draftproof.oracle; print(draftproof.oracle.__file__)"
    found = subprocess.run([sys.executable, "-S", "-I", "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(tmp_path / "oracle" / "__init__.py")
