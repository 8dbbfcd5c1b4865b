"""No command writes control characters of a snapshot, a file or the command line to a terminal."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.cli.once import share_bundled
from tests.hostile import HOSTILE, JOB, obeyed, write_hostile
from tests.own_faults import own_faults_in
from vcdebug.cli.main import main
from vcdebug.views.panels import PANEL_VIEWS

OURS: Final = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[0-9]*[AKG]|\r(?=\x1b)")
"""Sequences that rich itself writes: colours, and the progress line on stderr."""
QUESTIONS: Final = (
    *("evicted S research/llm-finetune-worker-0", "holders S research/odd-1", "holders S queue/research", "next S"),
    *("node S research/llm-finetune-worker-0", "refused S research/llm-finetune-worker-1", "victim S research/x"),
    *("when S research/odd-2", "when S research/llm-finetune"),
)
COMMANDS: Final = (
    *("run S", "run S --seed 3", "run S --cycles 2", "explain S", "explain S --prove", f"explain S {JOB}"),
    *(f"explain S research/odd-{number}" for number in range(5)),
    *(f"ask {question}" for question in QUESTIONS),
    *("inspect S", "inspect S --against DUMP", "diff S preempt-blocked-by-gang", "diff preempt-works S"),
    *("report S", "odds S --runs 2", "expect EXPECT", "submit S MANIFEST", "script S SCRIPT", "check LOG S"),
    *("redact S redacted.tar.gz --force", "cache list", "explain FOLDER"),
    *("explain S X", "run X", "run S --set X", "run S --release X", "ask X S", "X", "run S --conf X", "diff S X"),
    *("script S X", "check X S", "expect X", "submit S X", "open S --theme X", "report S -o X.md", "run S --trace X/X"),
)


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a hostile snapshot and hostile files."""
    folder = tmp_path_factory.mktemp("hostile")
    write_hostile(folder / "cluster")
    lines = [f"panel {name}\nbreak {name}" for name in PANEL_VIEWS]
    moves = [
        "goto 40",
        f"note {HOSTILE}",
        "bookmark",
        "bookmarks",
        "where",
        "log 5",
        "waiting",
        "overview",
        "fits",
        "end",
    ]
    script = [line for text in (*lines, *moves) for line in text.split("\n") if not line.startswith(("break", "end"))]
    (folder / "script").write_text("\n".join(script), encoding="utf-8")
    (folder / "log").write_text(f"I1101 09:30:00.000000       1 scheduler.go:1] {HOSTILE}\n" * 3, encoding="utf-8")
    (folder / "dump").write_text(f"Dump of nodes info:\n{HOSTILE}\n", encoding="utf-8")
    expected = {"snapshot": "cluster", "name": HOSTILE, "jobs": {JOB: HOSTILE, HOSTILE: "placed"}}
    (folder / "expect").write_text(json.dumps([expected]), encoding="utf-8")
    pods = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "labels": {"a": HOSTILE}},
        "spec": {HOSTILE: 1},
    }
    (folder / "manifest").write_text(json.dumps(pods), encoding="utf-8")
    return folder


def words(command: str, folder: Path) -> list[str]:
    """The words of a command, with the capital placeholders replaced by files."""
    names = {
        "S": "cluster",
        "EXPECT": "expect",
        "MANIFEST": "manifest",
        "SCRIPT": "script",
        "LOG": "log",
        "DUMP": "dump",
    }
    found = [
        str(folder / names[word]) if word in names else word.replace("X", HOSTILE) for word in shlex.split(command)
    ]
    return [str(folder) if word == "FOLDER" else word for word in found]


def written(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: type[io.StringIO]) -> str:
    """Everything that a command writes to stdout and stderr."""
    out, err = kind(), io.StringIO() if "--json" in command or "--trace" in command else kind()
    share_bundled(monkeypatch, folder / "cluster")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    main(words(command, folder))
    return out.getvalue() + err.getvalue()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_gets_the_printable_form(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = written(command, folder, monkeypatch, io.StringIO)
    assert ([], set()) == (own_faults_in(text), obeyed(text))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_gets_the_printable_form(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = written(command, folder, monkeypatch, Terminal)
    assert set() == obeyed(OURS.sub("", text))


@pytest.mark.parametrize("command", ["explain S", "run S", "inspect S", "explain S research/odd-3", "report S"])
def test_hidden_characters_are_shown(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "␛]0;PWNED␇" in written(command, folder, monkeypatch, io.StringIO)


@pytest.mark.parametrize("command", ["run S --trace -", "run S --json", "explain S --json", "inspect S --json"])
def test_json_on_a_terminal_means_what_it_means_in_a_pipe(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, piped = (written(command, folder, monkeypatch, kind) for kind in (Terminal, io.StringIO))
    lines = [shown.split("\n"), piped.split("\n")] if "trace" in command else [[shown], [piped]]
    first, second = ([_read(line) for line in one if line] for one in lines)
    assert (set(), first) == (obeyed(shown), second)


def _read(line: str) -> object:
    """The parsed JSON line without its seconds."""
    found = json.loads(line)
    return {name: value for name, value in found.items() if name != "seconds"} if isinstance(found, dict) else found


@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_a_report_holds_the_printable_form(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(f"report S --output {name} --force", folder, monkeypatch, io.StringIO)
    text = (folder / name).read_text(encoding="utf-8")
    assert ("␛]0;PWNED␇" in text, set()) == (True, obeyed(text))
