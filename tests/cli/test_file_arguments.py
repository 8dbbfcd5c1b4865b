"""Every file argument: commands read no endless file, and replace no device, pipe, socket or link."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from tests.cli.transcripts import call
from tests.effort import PATIENCE
from tests.own_faults import OWN_FAULTS, own_faults_in
from vcdebug.errors import SnapshotError
from vcdebug.snapshot.file_access import MAX_FILE_BYTES, check_replaceable, read_file, replace_file

WORKS: Final = "preempt-works"
BLOCKED: Final = "preempt-blocked-by-gang"
LONGEST: Final = 60
"""Wall-clock seconds after which a command counts as hung."""
READERS: Final = (
    *("run X", "explain X", "inspect X", f"diff {WORKS} X", f"run {WORKS} --set @X", f"diff {WORKS} --conf X"),
    *(f"script {WORKS} X", f"check X {WORKS}", f"inspect {WORKS} --against X", "expect X", f"submit {WORKS} X"),
    *(f"report {WORKS} --bookmarks X", f"run {WORKS} --cycles 2 --arrivals X"),
)
SCRIPTED_READERS: Final = ("load X", "edits load X")
WRITERS: Final = (
    *(f"run {WORKS} --save X", "expect cases --junit X", f"report {WORKS} --output X.md --force"),
    *(f"redact {WORKS} --output X.tar.gz --force", f"redact {WORKS} --output r.tar.gz --map X --force"),
    f"run {WORKS} --extender-url http://127.0.0.1:9 --extender-answers X",
)
SCRIPTED_WRITERS: Final = ("save X --force", "edits save X", "report X.md --force")


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """Fail a test whose command hangs."""

    def fail(*_: object) -> None:
        raise AssertionError("the command waits for ever")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(LONGEST)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def bound_socket(path: Path) -> None:
    """Create a Unix socket file without a listening process."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


def link_to_file(path: Path) -> None:
    path.with_name("file").write_text("kept")
    path.symlink_to("file")


def very_large(path: Path) -> None:
    """Create a sparse file of zeros above the size limit."""
    with path.open("wb") as file:
        file.truncate((2 << 30) + 1)


UNREADABLE: Final[dict[str, Callable[[Path], object]]] = {
    "a link to an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a named pipe": os.mkfifo,
    "a socket": bound_socket,
    "a very large file": very_large,
    "a link to nothing": lambda path: path.symlink_to("nothing"),
}
IRREPLACEABLE: Final[dict[str, Callable[[Path], object]]] = {
    "a link to a file": link_to_file,
    "a link to a device": lambda path: path.symlink_to("/dev/null"),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a named pipe": os.mkfifo,
    "a socket": bound_socket,
    "a folder": Path.mkdir,
}


def one_line(code: int, out: str, err: str) -> str:
    """Check that the only output is one line on stderr, and return it."""
    assert (1, "", 1, []) == (code, out, err.count("\n"), own_faults_in(err))
    return err


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("command", READERS)
def test_endless_or_special_files_are_not_read(command: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "input"
    UNREADABLE[kind](path)
    assert str(path) in one_line(*call(command.replace("X", str(path)).split()))


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("line", SCRIPTED_READERS)
def test_a_command_of_the_debugger_reads_files_alone(line: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "input"
    UNREADABLE[kind](path)
    (tmp_path / "script").write_text(line.replace("X", str(path)))
    assert str(path) in one_line(*call(["script", WORKS, str(tmp_path / "script")]))


@pytest.mark.parametrize("kind", IRREPLACEABLE)
@pytest.mark.parametrize("command", WRITERS)
def test_only_a_file_is_replaced(command: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases").write_text(f"[{{snapshot: {WORKS}, evictions: 1}}]")
    word = next(word for word in command.split() if word.startswith("X"))
    path = tmp_path / word.replace("X", "target")
    IRREPLACEABLE[kind](path)
    before = (path.lstat().st_ino, path.lstat().st_mode)
    written = command.replace("X", str(tmp_path / "target"))
    assert path.name in one_line(*call(written.split()))
    assert before == (path.lstat().st_ino, path.lstat().st_mode)
    assert [] == list(tmp_path.glob(".*"))
    assert kind != "a link to a file" or (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("kind", IRREPLACEABLE)
@pytest.mark.parametrize("line", SCRIPTED_WRITERS)
def test_a_command_of_the_debugger_replaces_files_alone(line: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / ("target.md" if ".md" in line else "target")
    IRREPLACEABLE[kind](path)
    before = (path.lstat().st_ino, path.lstat().st_mode)
    (tmp_path / "script").write_text(f"set chance:tie_seed=3\n{line.replace('X', str(tmp_path / 'target'))}\n")
    code, _, err = call(["script", WORKS, str(tmp_path / "script")])
    assert (1, True, 1) == (code, path.name in err, err.count("\n"))
    assert before == (path.lstat().st_ino, path.lstat().st_mode)


@pytest.mark.parametrize("line", ["save a\0b", "report a\0b.md", "load a\0b", "edits load a\0b", "edits save a\0b"])
def test_a_name_that_no_file_can_have_is_one_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(f"set chance:tie_seed=3\n{line}\n")
    code, _, err = call(["script", WORKS, str(tmp_path / "script")])
    assert (1, [], 1) == (code, own_faults_in(err), err.count("\n"))


@pytest.mark.parametrize("line", ["save ~nobody-here/a", "load ~nobody-here/a", "report ~nobody-here/a.md"])
def test_the_home_of_a_user_that_does_not_exist_is_one_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(line)
    assert "home folder" in one_line(*call(["script", WORKS, str(tmp_path / "script")]))


def test_no_device_is_replaceable() -> None:
    with pytest.raises(SnapshotError, match="not replaced"):
        check_replaceable(Path(os.devnull))


def test_a_pipe_that_is_open_already_is_read_as_far_as_a_file(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"abc")
    os.close(writing)
    assert b"abc" == read_file(f"/dev/fd/{reading}")
    os.close(reading)


def test_a_pipe_without_an_end_is_read_up_to_the_limit() -> None:
    reading, writing = os.pipe()
    endless = threading.Thread(target=_write_until_closed, args=(writing,))
    endless.start()
    with pytest.raises(SnapshotError, match="larger than 0 MiB"):
        read_file(f"/dev/fd/{reading}", 1 << 16)
    os.close(reading)
    endless.join()


def _write_until_closed(descriptor: int) -> None:
    try:
        while True:
            os.write(descriptor, bytes(1 << 12))
    except BrokenPipeError:
        os.close(descriptor)


def test_a_file_up_to_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES)
    assert MAX_FILE_BYTES == len(read_file(path))


def test_a_link_beside_the_target_does_not_lead_the_bytes_elsewhere(tmp_path: Path) -> None:
    victim, target = tmp_path / "victim", tmp_path / "target"
    victim.write_text("kept")
    (tmp_path / f".target.{os.getpid()}.part").symlink_to(victim)
    with replace_file(target) as file:
        file.write(b"new")
    assert ("kept", "new", False) == (victim.read_text(), target.read_text(), target.is_symlink())


def test_failed_write_leaves_the_old_file_unchanged(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("old")
    with suppress(KeyboardInterrupt), replace_file(target) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert (["target"], "old") == ([path.name for path in tmp_path.iterdir()], target.read_text())


@pytest.mark.parametrize("size", [1 << 12, 20 << 20])
@pytest.mark.parametrize("name", ["snapshot.yaml", "snapshot.json", "snapshot", "snapshot.conf"])
def test_bytes_that_are_no_text_are_one_line(name: str, size: int, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(bytes(range(256)) * (size >> 8))
    assert "binary" in one_line(*call(["explain", str(tmp_path / name)]))


CLOSED: Final = ("<&-", ">&-", "<&- >&- 2>&-")
WITH_STDIN: Final = (
    f"explain {WORKS}",
    "explain -",
    f"script {WORKS} -",
    f"check - {WORKS}",
    f"open {WORKS}",
    "open -",
)


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("command", WITH_STDIN)
def test_a_standard_stream_that_is_closed_is_no_fault(command: str, closed: str, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m vcdebug {command} {closed}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=environment,
    )
    wrong = [word for word in ("Traceback", "Exception", *OWN_FAULTS) if word in done.stdout + done.stderr]
    assert ([], True) == (wrong, done.returncode in (0, 1, 2))


def test_a_small_file_takes_little_memory_whatever_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    tracemalloc.start()
    assert b"abc" == read_file(path, 1 << 31)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()
