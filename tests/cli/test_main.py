"""Exit codes, and one line on stderr for every error."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from tests.cli.transcripts import call
from tests.effort import PATIENCE
from vcdebug.cli.commands import load_all_commands
from vcdebug.cli.commands.inspect import InspectCommand
from vcdebug.cli.snapshots import replay_arguments
from vcdebug.snapshot.sources import find_bundled, list_bundled

ROOT = Path(__file__).resolve().parents[2]
WORKS, BLOCKED = "preempt-works", "preempt-blocked-by-gang"


def error_line(arguments: list[str], code: int = 1) -> str:
    """The single error line of a command that fails with this exit code."""
    exit_code, out, err = call(arguments)
    assert code == exit_code
    assert "" == out
    assert 1 == err.count("\n")
    assert "Traceback" not in err
    return err.removeprefix("vcdebug: ").rstrip("\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", WORKS], 0),
        (["inspect", WORKS], 0),
        (["explain", WORKS, "assistants/chat-api"], 0),
        (["explain", BLOCKED, "research/llm-finetune"], 2),
        (["explain", BLOCKED, "llm-finetune-worker-0"], 2),
        (["explain", BLOCKED, "llm-finetune"], 2),
        (["explain", WORKS], 0),
        (["explain", BLOCKED], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_command_returns_its_documented_exit_code(arguments: list[str], code: int) -> None:
    assert code == call(arguments)[0]


def test_a_command_that_takes_only_a_snapshot_replays_it() -> None:
    assert replay_arguments(Namespace(snapshot=WORKS)).recording.events


def test_inspect_with_problems_exits_2(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("kind: Node\napiVersion: v1\nmetadata: {name: n1}\nspec: 7\n")
    code, out, _ = call(["inspect", str(tmp_path)])
    assert 2 == code
    assert "problems: " in out


def test_a_missing_path_is_one_short_line() -> None:
    assert "no/such/folder: no such file or folder" == error_line(["run", "no/such/folder"])


def test_open_of_a_missing_snapshot_is_one_line() -> None:
    assert error_line(["open", "no-such-file"]).startswith("no-such-file: no such file or folder")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", ""], "the name of the snapshot is empty"),
        (["run", WORKS, "--trace", "-", "--json"], "cannot both write to standard output"),
        (["run", WORKS, "--trace", ""], "Is a directory"),
        (["inspect", WORKS, "--against", __file__], f"{__file__}: not a dump"),
        (["diff", WORKS, "--conf", __file__], f"{__file__}: rejected: "),
        (["explain", WORKS, "embed"], "did you mean search/embedding-backfill"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_invalid_argument_values_are_one_line(arguments: list[str], says: str) -> None:
    assert says in error_line(arguments)


def test_a_folder_without_objects_is_one_line(tmp_path: Path) -> None:
    assert str(tmp_path) in error_line(["run", str(tmp_path)])


def test_an_unknown_job_is_one_line_with_the_closest() -> None:
    assert "did you mean research/llm-finetune" in error_line(["explain", BLOCKED, "research/llm-fintune"])


@pytest.mark.parametrize("arguments", [["nonsense"], ["run"], ["run", WORKS, "--what"], ["explain"]])
def test_a_wrong_command_line_is_one_line(arguments: list[str]) -> None:
    assert " --help" in error_line(arguments)


def test_an_unwritable_trace_is_one_line(tmp_path: Path) -> None:
    target = tmp_path / "missing" / "trace.jsonl"
    assert f"{target}: No such file or directory" == error_line(["run", WORKS, "--trace", str(target)])
    assert f"{tmp_path}: Is a directory" == error_line(["run", WORKS, "--trace", str(tmp_path)])


@pytest.mark.parametrize(
    ("target", "says"),
    [("missing/x.tar.gz", "no such folder"), (".", "is a folder"), ("x.txt", "must end in .tar.gz")],
)
def test_an_unwritable_capture_is_refused_before_the_cluster_is_read(target: str, says: str, tmp_path: Path) -> None:
    assert says in error_line(["capture", "-o", str(tmp_path / target)])


def test_a_capture_without_a_cluster_is_one_line(tmp_path: Path) -> None:
    config = tmp_path / "config"
    assert str(config) in error_line(["capture", "--kubeconfig", str(config), "-o", str(tmp_path / "x.tar.gz")])


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_the_trace_has_an_event_per_line(suffix: str, tmp_path: Path) -> None:
    target = tmp_path / f"trace.jsonl{suffix}"
    assert 0 == call(["run", WORKS, "--trace", str(target)])[0]
    data = target.read_bytes()
    lines = (gzip.decompress(data) if suffix else data).decode().splitlines()
    assert list(range(1, len(lines) + 1)) == [json.loads(line)["seq"] for line in lines]
    assert "close" == json.loads(lines[-1])["ev"]


def test_a_trace_to_stdout_is_all_that_stdout_has() -> None:
    _, out, err = call(["run", WORKS, "--trace", "-"])
    assert "" == err
    assert 1 == json.loads(out.splitlines()[0])["seq"]


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_a_snapshot_may_come_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = find_bundled(WORKS)
    assert folder is not None
    text = "\n---\n".join(path.read_text() for path in sorted(folder.glob("*.yaml")))
    monkeypatch.setattr(sys, "stdin", Stdin(text.encode()))
    code, out, _ = call(["run", "-"])
    assert 0 == code
    assert "assistants/chat-api" in out


def test_ctrl_c_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(InspectCommand, "execute", interrupted)
    assert "interrupted" == error_line(["inspect", WORKS], 130)


def test_internal_error_is_one_line_that_names_itself_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("several\nlines")

    monkeypatch.setattr(InspectCommand, "execute", broken)
    assert error_line(["inspect", WORKS]).startswith("ValueError: several lines; internal error in vcdebug")


def test_closed_pipe_ends_the_command_without_output_on_stderr() -> None:
    command = [sys.executable, "-m", "vcdebug", "run", BLOCKED, "--trace", "-"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        err = process.stderr.read().decode()
        assert 141 == process.wait(timeout=PATIENCE)
    assert "" == err


def test_closed_standard_streams_are_no_fault() -> None:
    command = f"exec {sys.executable} -m vcdebug explain {BLOCKED} llm-finetune >&- 2>&-"
    assert 2 == subprocess.run(command, shell=True, cwd=ROOT, timeout=PATIENCE, check=False).returncode


def test_text_that_the_terminal_cannot_show_is_escaped() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "vcdebug", "explain", BLOCKED, "llm-finetune", "--verbose"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=PATIENCE, check=False)
    assert 2 == done.returncode
    assert b"" == done.stderr
    assert b"\\u2713" in done.stdout


def test_a_long_complaint_is_cut(tmp_path: Path) -> None:
    (tmp_path / "commands").write_text("[" * 100_000)
    assert len(error_line(["script", WORKS, str(tmp_path / "commands")])) < 1500


def test_help_names_every_command_and_its_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        call(["--help"])
    assert 0 == left.value.code
    for command in load_all_commands().values():
        assert "Exit status: 0" in command.EXITS


def test_the_debugger_asks_for_a_terminal() -> None:
    line = error_line(["open", "preempt-works"])
    assert "the debugger needs a terminal; without one, use run, explain or inspect" in line


def test_a_command_imports_none_of_the_others_nor_what_only_other_questions_need() -> None:
    code = (
        "import sys; from vcdebug.cli.main import main; main(['explain', 'preempt-works'])\n"
        "print([n for n in sys.modules if n.startswith(('vcdebug.cli.commands.open', 'vcdebug.whatif.fixes', "
        "'vcdebug.debugger.driver', 'multiprocessing'))])"
    )
    # coverage.py would import multiprocessing into this process
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert "[]" == done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["explain", BLOCKED, "--prvoe"], "unknown option '--prvoe'; did you mean --prove?"),
        (["diff", BLOCKED, BLOCKED, "-n", "research"], "unknown option '-n'; write the job or pod as NAMESPACE/NAME"),
        (["explain", BLOCKED, "-n", "reserch"], "namespace reserch: no jobs in this namespace; did you mean research?"),
        (["explain", BLOCKED, "research/llm-finetune", "b"], "unknown argument 'b'; see vcdebug explain --help"),
        (["--prvoe"], "unknown option '--prvoe'; see vcdebug --help"),
        (
            ["explain", "no-such-file"],
            "no-such-file: no such file or folder; vcdebug open --list prints the bundled snapshots",
        ),
        (
            ["explain", BLOCKED, "--set", "PodGroup/research/llm-finetune:spec.minMembr=3"],
            (
                "the scheduler does not read this field of PodGroup; did you mean minMember?; at character 32 of: "
                "PodGroup/research/llm-finetune:spec.minMembr=3"
            ),
        ),
        (
            ["explain", BLOCKED, "--set", "PodGroup/research/llm-finetune:minMember=3"],
            (
                "the scheduler does not read this field of PodGroup; did you mean spec.minMember?; at character 32 of: "
                "PodGroup/research/llm-finetune:minMember=3"
            ),
        ),
        (
            ["get", "pods"],
            (
                "argument COMMAND: invalid choice: 'get'; "
                "vcdebug run SNAPSHOT lists jobs and placed pods; `get` works in the debugger"
            ),
        ),
        (["capture", "--until", "a/b is Pendng", "-o", "x"], "no state 'Pendng'; did you mean 'a/b is Pending'?"),
    ],
)
def test_a_misspelt_word_gets_a_hint_of_its_own_command(words: list[str], line: str) -> None:
    assert (1, "", f"vcdebug: {line}\n") == call(words)


def test_the_bundled_snapshots_are_printed_without_a_terminal() -> None:
    code, out, err = call(["open", "--list"])
    assert (0, "") == (code, err)
    assert [one.name for one in list_bundled()] == [line.split()[0] for line in out.splitlines()[1:]]
