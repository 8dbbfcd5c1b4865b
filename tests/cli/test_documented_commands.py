"""Every code block of README.md, CONTRIBUTING.md and docs/ is run, read, or marked as output."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.architecture.source_tree import ROOT
from tests.cli.commands_page import PAGE, page
from tests.cli.documented import DOCUMENTS, LANGUAGES, OTHER_PROGRAMS, Documented, blocks, commands
from tests.cli.once import share_answers, share_bundled
from tests.cli.transcripts import call
from vcdebug.cli.commands import load_commands
from vcdebug.cli.main import CommandParser
from vcdebug.debugger.commands import list_verbs
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.saved_files import save_snapshot

FIXTURES = ROOT / "fixtures"
EXAMPLE = "preempt-blocked-by-gang"
PLACEHOLDERS = {
    r"\b(team/train|ml/train)\b|\bJOB\b": "research/llm-finetune",
    r"\bteam/etl\b": "research/speech-asr",
    r"-n (1000|20)\b": "-n 3 -j 1",
    r"--goto N\b": "--goto 1",
    r"(?=--prove$)": "--budget 1 -j 1 ",
}
"""Replacements that make documented commands run on the example: names of jobs, numbers, fewer runs."""
WRITTEN = {
    "FILE": "{}",
    "commands.txt": "break victim\ncontinue\n",
    "expectations.yaml": "- {snapshot: preempt-works, jobs: {assistants/chat-api: {placed: true}}}",
    "job.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {schedulerName: volcano, containers: []}}",
}
"""The files that documented commands use, with their text."""
PENDING = r" (explain|ask) preempt-blocked-by-gang research/llm-finetune(?!.* --set)"
"""Commands about a Pending job, which exit with status 2."""
ALL_PENDING = ("README.md", "docs/snapshots.md")
"""Documents whose commands all explain a Pending job."""
SILENT = (*ALL_PENDING, "docs/tutorial.md")
"""Documents whose commands print nothing on stderr, not even a notice."""
WITH_COMMANDS = [document for document in DOCUMENTS if any(one.words[0] == "vcdebug" for one in commands(document))]


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the files that the documents name."""
    share_bundled(monkeypatch)
    share_answers(monkeypatch)
    # On one core a command starts no processes; test_executors and test_diff look at those.
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FIXTURES / EXAMPLE, tmp_path / "SNAPSHOT")
    for name in (EXAMPLE, "preempt-works"):
        shutil.copytree(FIXTURES / name, tmp_path / "FOLDER" / name)
    for name in ("cluster.tar.gz", "incident.tar.gz"):
        save_snapshot(load_snapshot(tmp_path / "SNAPSHOT"), tmp_path / name)
    for name, text in WRITTEN.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_each_code_block_has_a_known_language() -> None:
    fences = {document: [block.language for block in blocks(document)] for document in DOCUMENTS}
    assert [] == [(document, one) for document, found in fences.items() for one in found if one not in LANGUAGES]
    counted = {name: len(re.findall(r"^ *```", (ROOT / name).read_text(), re.MULTILINE)) for name in DOCUMENTS}
    assert counted == {document: 2 * len(found) for document, found in fences.items()}


def test_a_block_of_data_can_be_read() -> None:
    for block in (block for document in DOCUMENTS for block in blocks(document)):
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            assert yaml.safe_load(block.text)


def test_a_block_of_the_debugger_holds_its_commands() -> None:
    names = {name for verb in list_verbs() for name in verb.names}
    lines = [
        line
        for document in DOCUMENTS
        for one in blocks(document)
        if one.language == "debugger"
        for line in one.text.splitlines()
    ]
    assert lines
    assert [] == [line for line in lines if line.split()[0] not in names]


def test_a_console_block_begins_with_a_command_of_a_known_program() -> None:
    console = [block.text for document in DOCUMENTS for block in blocks(document) if block.language == "console"]
    assert [] == [text for text in console if not text.startswith("$ ")]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for words in (one.words for document in DOCUMENTS for one in commands(document)):
        assert words[0] in ("vcdebug", *OTHER_PROGRAMS)
        assert words[0] != "make" or words[1] in targets


@pytest.mark.parametrize("document", WITH_COMMANDS)
def test_the_commands_of_a_document_run_and_print_what_it_shows(document: str, example: Path) -> None:
    for command in commands(document):
        if command.words[0] == "vcdebug" and command.words[1] != "--version":
            line = command.line
            for pattern, replacement in PLACEHOLDERS.items():
                line = re.sub(pattern, replacement, line)
            if command.needs_only_files:
                run_command(document, Documented(line, command.printed))
            else:
                parse_command(Documented(line, command.printed))


def run_command(document: str, command: Documented) -> None:
    code, out, err = call(command.words[1:])
    pending = document in ALL_PENDING or re.search(PENDING, command.line)
    assert code in ((2,) if pending else (0, 2)), f"{command.line}: {err}"
    notices = [] if document in SILENT else [line for line in err.splitlines() if line.startswith("vcdebug: ")]
    assert notices == err.splitlines(), command.line
    assert [] == [shown for shown in command.printed if shown not in out.splitlines()], command.line
    assert document not in ALL_PENDING or re.search(r"\b(gang|queue)\b", out), command.line


def test_the_page_of_cycles_shows_both_scenarios_of_persistence_settled_and_not() -> None:
    persisting = [command for command in commands("docs/cycles.md") if " persist-" in command.line]
    assert 6 == len(persisting)
    assert [] == [command.line for command in persisting if not command.printed]


def parse_command(command: Documented) -> None:
    """A wrong option or value raises UsageError."""
    _, name, *words = command.words
    parser = CommandParser(prog=f"vcdebug {name}")
    load_commands([name])[name].add_arguments(parser)
    parser.parse_args(words)


def test_the_page_of_commands_is_up_to_date() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), "run: make docs"
