"""`vcdebug completion`: every shell completes every command and option."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.cli.transcripts import call
from vcdebug.cli.commands import COMMANDS
from vcdebug.cli.commands.completion import complete_for_kubectl

Capture = pytest.CaptureFixture[str]

COMPLETE = """
COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _vcdebug; echo "${COMPREPLY[@]}"
"""


def completed(words: str) -> list[str]:
    """The completions that bash offers for the last word."""
    bash = shutil.which("bash")
    assert bash is not None
    script = call(["completion", "bash"])[1] + COMPLETE % words
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands_and_their_options() -> None:
    assert ["capture"] == completed("vcdebug cap")
    assert ["--rbac", "--redact", "--release"] == sorted(completed("vcdebug capture --r"))


def test_bash_completes_snapshots_releases_and_the_plugin_of_kubectl() -> None:
    assert ["reclaim-across-queues", "reclaim-in-one-dimension"] == completed("vcdebug explain reclaim-")
    assert [] == completed("vcdebug capture reclaim-")
    assert "v1.15.1" in completed("vcdebug run x --release v1.15")
    assert ["capture"] == completed("kubectl-vcdebug cap")
    assert ["pyproject.toml"] == completed("vcdebug explain pyproj")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["cap"], ["capture"]),
        (["capture", "--rb"], ["--rbac"]),
        (["explain", "reclaim-a"], ["reclaim-across-queues"]),
        (["run", "x", "--release", "v1.14.4"], ["v1.14.4"]),
        (["nothing", "x"], []),
    ],
)
def test_kubectl_completion_prints_the_possible_words(words: list[str], expected: list[str], capsys: Capture) -> None:
    assert 0 == complete_for_kubectl(words)
    assert [*expected, ":0"] == capsys.readouterr().out.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_known_to_every_shell(shell: str) -> None:
    code, out, _ = call(["completion", shell])
    assert 0 == code
    assert [] == [name for name in COMMANDS if name not in out]


def test_another_shell_is_an_error() -> None:
    assert 1 == call(["completion", "csh"])[0]
