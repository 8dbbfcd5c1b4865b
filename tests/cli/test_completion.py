"""`vcdebug completion`: every shell completes commands, options, snapshots, jobs and pods."""

from __future__ import annotations

import shutil
import subprocess
import sys

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
    # The script calls the program by the word that was typed; the one in the path may be another checkout's.
    program = f'{words.split()[0]}() {{ "{sys.executable}" -m vcdebug "$@"; }}'
    script = f"{call(['completion', 'bash'])[1]}\n{program}\n{COMPLETE % words}"
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
    assert LLM_FINETUNE == completed("vcdebug explain preempt-blocked-by-gang research/llm")


LLM_FINETUNE = [f"research/llm-finetune{end}" for end in ("", "-worker-0", "-worker-1")]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["cap"], ["capture"]),
        (["capture", "--rb"], ["--rbac"]),
        (["explain", "reclaim-a"], ["reclaim-across-queues"]),
        (["run", "x", "--release", "v1.14.4"], ["v1.14.4"]),
        (["nothing", "x"], []),
        (["explain", "preempt-blocked-by-gang", "research/llm-finetune"], LLM_FINETUNE),
        (
            ["explain", "preempt-blocked-by-gang", "--prove", "research/speech-asr-worker-2"],
            ["research/speech-asr-worker-2"],
        ),
        (["report", "preempt-blocked-by-gang", "--job", "research/llm-finetune"], LLM_FINETUNE),
        (["why", "no/such/snapshot", "research/l"], []),
        (["ask", "evi"], ["evicted"]),
        (["ask", "evicted", "ev"], []),
        (["learn", "preempt-works"], ["preempt-works"]),
        (["completion", "z"], ["zsh"]),
    ],
)
def test_kubectl_completion_prints_the_possible_words(words: list[str], expected: list[str], capsys: Capture) -> None:
    assert 0 == complete_for_kubectl(words)
    assert [*expected, ":0"] == capsys.readouterr().out.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_asks_for_the_words_after_the_command(shell: str) -> None:
    code, out, _ = call(["completion", shell])
    assert 0 == code
    assert f"completion {shell.replace('zsh', 'bash')} -- " in out
    assert [*COMMANDS] == call(["completion", shell, "--", ""])[1].split()


def test_another_shell_is_an_error() -> None:
    assert 1 == call(["completion", "csh"])[0]
