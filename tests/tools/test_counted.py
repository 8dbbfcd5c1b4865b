"""`make` counts the packages that pip installs: a progress line on a terminal, otherwise only errors."""

import os
import pty
import re
import subprocess
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

ROOT = Path(__file__).parents[2]
SAID = (
    "Obtaining file:///here",
    "Collecting numpy>=2.0 (from -c constraints.txt (line 40))",
    "Requirement already satisfied: rich>=14 in .venv/lib",
    "Requirement already satisfied: rich>=14 in .venv/lib (from textual)",
    "Collecting yarl==1.2",
    "Installing collected packages: numpy, yarl",
)


def pip_that(ends: int) -> list[str]:
    """A command that runs counted.sh with a fake pip, which prints SAID and exits with this status."""
    said = " ".join(f"'{line}'" for line in SAID)
    pip = ["sh", "-c", f"printf '%s\\n' {said}; exit {ends}"]
    return ["sh", str(ROOT / "deploy" / "counted.sh"), "3", *pip]


def on_a_terminal(command: list[str]) -> tuple[int, str]:
    child, terminal = pty.fork()
    if not child:
        os.execvp(command[0], command)
    shown = b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:  # the other end of the terminal is closed
        pass
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


def test_a_terminal_shows_how_many_packages_pip_has_looked_at() -> None:
    code, shown = on_a_terminal(pip_that(0))
    steps = [step for step in shown.replace("\x1b[K", "").split("\r") if step.strip()]
    assert code == 0
    assert steps[:3] == ["installing 1 of 3: numpy", "installing 2 of 3: rich", "installing 3 of 3: yarl"]
    assert "half a minute" in steps[3]
    assert "Obtaining" not in shown


def test_error_output_is_shown_in_full() -> None:
    code, shown = on_a_terminal(pip_that(3))
    assert code == 3
    assert all(line in shown for line in SAID)


def test_in_a_pipe_nothing_is_counted() -> None:
    done = subprocess.run(pip_that(4), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert "installing" not in done.stderr


def needed(names: list[str]) -> set[str]:
    """The packages and their installed dependencies."""
    found: set[str] = set()
    while names:
        name = re.split(r"[^A-Za-z0-9._-]", names.pop())[0].lower().replace("_", "-")
        if name not in found:
            try:
                names += [one for one in requires(name) or () if "extra ==" not in one]
            except PackageNotFoundError:
                continue
            found.add(name)
    return found


def test_the_numbers_are_about_right() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    build, run = (int(number) for number in re.findall(r"counted.sh (\d+)", makefile))
    assert abs(build - len(needed(["pip", "hatchling", "editables"]))) <= 2
    assert abs(run - len(needed(["vcdebug"]) - {"vcdebug"})) <= 4
