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

COMPLETE = {
    "bash": """
COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _vcdebug; echo "${COMPREPLY[@]}"
""",
    # The shell's part, which has a terminal in earnest: what begins like the last word.
    "zsh": """
_files() { ls; }; compadd() { print -l -- ${(M)_vcdebug_words:#$PREFIX*}; }
words=(%s); CURRENT=${#words}; PREFIX="${words[CURRENT]}"; _vcdebug
""",
    "fish": 'complete -C "%s"',
}


SHELLS = [shell for shell in COMPLETE if shutil.which(shell)]


def completed(words: str, shell: str = "bash") -> list[str]:
    """The completions that the shell offers for the last word."""
    # The script calls the program by the word that was typed; the one in the path may be another checkout's.
    arguments = "$argv; end" if shell == "fish" else '"$@"; }'
    opening = f"function {words.split()[0]}; " if shell == "fish" else f"{words.split()[0]}() {{ "
    program = f'{opening}"{sys.executable}" -m vcdebug {arguments}'
    begin = "compdef() { :; }\n" if shell == "zsh" else ""
    script = f"{begin}{call(['completion', shell])[1]}\n{program}\n{COMPLETE[shell] % words}"
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_complete_commands_options_and_jobs(shell: str) -> None:
    assert ["capture"] == completed("vcdebug cap", shell)
    assert ["--rbac", "--redact", "--release"] == sorted(completed("vcdebug capture --r", shell))
    assert LLM_FINETUNE == completed("vcdebug explain preempt-blocked-by-gang research/llm", shell)


@pytest.mark.parametrize("shell", SHELLS)
def test_file_names_are_offered_where_a_snapshot_fits_not_among_jobs(shell: str) -> None:
    no_word = "" if shell == "fish" else "''"
    assert "pyproject.toml" in completed("vcdebug explain pyproj", shell)
    jobs = completed(f"vcdebug explain preempt-blocked-by-gang {no_word}", shell)
    assert ("research/llm-finetune" in jobs, "pyproject.toml" in jobs) == (True, False)


def test_the_words_of_one_place_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    again = "vcdebug() { echo asked-again; }; COMP_WORDS[COMP_CWORD]=research/llm; _vcdebug; echo ${COMPREPLY[@]}"
    monkeypatch.setitem(COMPLETE, "bash", f"{COMPLETE['bash']}{again}")
    assert LLM_FINETUNE == completed("vcdebug explain preempt-blocked-by-gang nothing")


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
    assert f"completion {shell} -- " in out
    assert [*COMMANDS] == call(["completion", shell, "--", ""])[1].split()


def test_another_shell_is_an_error() -> None:
    assert 1 == call(["completion", "csh"])[0]
