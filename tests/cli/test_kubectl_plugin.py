"""The launcher of the krew archive: it unpacks the wheels for the Python that it finds, once."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).parents[2] / "deploy" / "kubectl-vcdebug"
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"
MAIN = "import compiled, sys\nprint(compiled.TAG, *sys.argv[1:])\n"


def make_wheel(folder: Path, name: str, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(f"{path.replace('_dot_', '/')}.py", text)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """An unpacked archive with wheels for this Python and for one that does not exist, and krew's link to it."""
    home = tmp_path / "store"
    (home / "bin").mkdir(parents=True)
    launcher = home / "bin" / "kubectl-vcdebug"
    launcher.write_bytes(LAUNCHER.read_bytes())
    launcher.chmod(0o755)
    make_wheel(home / "wheels" / "any", "vcdebug", vcdebug_dot___init__="", vcdebug_dot___main__=MAIN)
    for tag in (TAG, "cp399"):
        make_wheel(home / "wheels" / tag, "compiled", compiled=f"TAG = '{tag}'")
    link = tmp_path / "kubectl-vcdebug"
    link.symlink_to(launcher)
    return link


def run(plugin: Path, python: str) -> tuple[int, str, str]:
    environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"} | {"VCDEBUG_PYTHON": python}
    arguments = [str(plugin), "explain", "a job"]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_the_wheels_of_the_python_that_is_found_are_unpacked_once(plugin: Path, tmp_path: Path) -> None:
    assert (0, f"{TAG} explain a job", "") == run(plugin, sys.executable)
    library = tmp_path / "store" / "lib"
    assert [TAG] == [path.name for path in library.iterdir()]
    (library / TAG / "compiled.py").write_text("TAG = 'kept'", encoding="utf-8")
    assert (0, "kept explain a job", "") == run(plugin, sys.executable)
    assert {"bin", "lib", "wheels"} == {path.name for path in (tmp_path / "store").iterdir()}


def test_a_python_without_wheels_is_passed_over_and_none_at_all_is_said(plugin: Path) -> None:
    assert 0 == run(plugin, f"no-such-python {sys.executable}")[0]
    code, out, err = run(plugin, "no-such-python")
    assert (1, "") == (code, out)
    assert err.startswith("kubectl vcdebug: there is no Python of a supported version (3.")
    assert "VCDEBUG_PYTHON" in err
