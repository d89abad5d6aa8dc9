"""What a user installs: one wheel however it is built, nothing of ours outside `draftproof`, and a cheap import."""
import configparser
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("packaging")  # one worker, so that each wheel is built once

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("reference", "oracle", "proofs", "gpu_impl")
PACKAGED = ("src", *ROOMS, "pyproject.toml", "README.md", "LICENSE", ".gitignore")
HEAVY = {"cvxpy", "numpy", "scipy", "sympy", "torch", "transformers"}


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command} failed\n{done.stdout}{done.stderr}"
    return done.stdout


def build(source: Path, out: Path, *options: str) -> dict[str, bytes]:
    """Build into `out`; the files of the wheel by name. Without options: an sdist, and the wheel from that sdist."""
    run(sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", out, source)
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def layout_faults(wheel: dict[str, bytes], modules: Iterable[str]) -> set[str]:
    """What is wrong with a wheel that should hold `modules` (slash paths) and keep to the folder `draftproof`."""
    faults = {f"stray {name}" for name in wheel if not name.startswith(("draftproof/", "draftproof-"))}
    faults |= {f"product {name}" for name in wheel if name.endswith((".pyc", ".vo"))}
    wanted = {"draftproof/__init__.py", "draftproof/py.typed", *(f"draftproof/{room}/__init__.py" for room in ROOMS)}
    for name, content in wheel.items():
        if name.endswith("/entry_points.txt"):
            scripts = configparser.ConfigParser()
            scripts.read_string(content.decode())
            targets = [target for group in scripts.values() for target in group.values()]
            wanted |= {target.split(":")[0].replace(".", "/") + ".py" for target in targets}
    return faults | {f"missing {name}" for name in {*wanted, *modules} - wheel.keys()}


def checkout_modules() -> set[str]:
    sources = {file.relative_to(ROOT / "src") for file in (ROOT / "src").rglob("*.py")}
    files = [file for room in ROOMS for kind in ("*.py", "*.css", "*.js", "*.schema.json") for file in (ROOT / room).rglob(kind)]
    rooms = {Path("draftproof", file.relative_to(ROOT)) for file in files}
    return {file.as_posix() for file in sources | rooms}


@pytest.fixture(scope="module")
def from_checkout(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    out = tmp_path_factory.mktemp("checkout")
    contents = build(ROOT, out, "--wheel")
    return next(out.glob("*.whl")), contents


def test_wheel_layout(from_checkout: tuple[Path, dict[str, bytes]]) -> None:
    wheel = from_checkout[1]
    assert layout_faults(wheel, checkout_modules()) == set()
    top = {name.split("/")[0] for name in wheel}
    assert len(top) == 2 and {name.split("-")[0] for name in top} == {"draftproof"}


def test_wheel_from_sdist_is_the_same(from_checkout: tuple[Path, dict[str, bytes]], tmp_path: Path) -> None:
    assert build(ROOT, tmp_path) == from_checkout[1]


def test_wheel_from_git_is_the_same(from_checkout: tuple[Path, dict[str, bytes]], tmp_path: Path) -> None:
    git = ("git", "-C", str(ROOT))
    if not (ROOT / ".git").exists() or subprocess.run([*git, "rev-parse", "-q", "--verify", "HEAD"]).returncode:
        pytest.skip("no commit to clone")
    if run(*git, "status", "--porcelain", "--", *PACKAGED):
        pytest.skip("packaged files with uncommitted changes: the clone is expected to differ")
    run("git", "clone", "-q", ROOT, tmp_path / "clone")
    assert build(tmp_path / "clone", tmp_path / "out", "--wheel").keys() == from_checkout[1].keys()


def test_installed_wheel_imports_by_our_name_only(
    from_checkout: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", tmp_path, from_checkout[0])
    program = f"""
import importlib, importlib.util, sys
sys.path = [{str(tmp_path)!r}, *sys.path, {sysconfig.get_paths()["purelib"]!r}]
for room in {ROOMS!r}:
    print(importlib.import_module("draftproof." + room).__file__, importlib.util.find_spec(room))
"""  # -S: without the editable install of this checkout, which .pth files bring; -I: without the current folder
    lines = run(sys.executable, "-S", "-I", "-c", program).splitlines()
    assert lines == [f"{tmp_path / 'draftproof' / room / '__init__.py'} None" for room in ROOMS]


def skeleton(folder: Path) -> Path:
    """The smallest tree that this project's configuration builds."""
    for name in ("pyproject.toml", "README.md", "LICENSE", "src/draftproof/__init__.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for room in ROOMS:
        (folder / room).mkdir()
        (folder / room / "__init__.py").touch()
    for name in ("py.typed", "cli.py", "pytest_plugin.py"):
        (folder / "src/draftproof" / name).touch()
    return folder


def test_planted_packaging_faults_are_found(tmp_path: Path) -> None:
    tree = skeleton(tmp_path / "tree")
    config = (tree / "pyproject.toml").read_text()
    (tree / "pyproject.toml").write_text(config.replace('"oracle" = "draftproof/oracle"\n', ""))
    (tree / "src/draftproof/cli.py").unlink()
    (tree / "src/draftproof/leftover.vo").touch()
    faults = layout_faults(build(tree, tmp_path / "out", "--wheel"), {"draftproof/reference/laws.py"})
    assert faults == {
        "stray oracle/__init__.py",
        "product draftproof/leftover.vo",
        "missing draftproof/oracle/__init__.py",
        "missing draftproof/cli.py",
        "missing draftproof/reference/laws.py",
    }


def heavy_modules(statement: str) -> set[str]:
    return HEAVY & set(run(sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)").split())


def test_import_is_cheap() -> None:
    assert heavy_modules("import draftproof") == set()


def test_planted_heavy_import_is_found() -> None:
    assert heavy_modules("import draftproof, numpy") == {"numpy"}
