"""Recording files: `run --save`, and every command on a saved recording."""

import re
from pathlib import Path

import pytest

from tests.cli.transcripts import call
from vcdebug.files import recording_files

SNAPSHOT = "preempt-blocked-by-gang"
TIMES = re.compile(r"in [0-9.]+ s|[0-9]+\.[0-9]+")


@pytest.fixture
def saved(tmp_path: Path) -> str:
    path = str(tmp_path / "cycle.vcrec")
    assert 0 == call(["run", SNAPSHOT, "--save", path])[0]
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["explain"],
        ["explain", "llm-finetune"],
        ["inspect"],
        ["run", "--set", "conf:actions=allocate"],
    ],
)
def test_a_command_answers_about_a_recording_as_about_its_snapshot(saved: str, words: list[str]) -> None:
    command, *rest = words

    fresh, opened = call([command, SNAPSHOT, *rest]), call([command, saved, *rest])

    assert fresh[0] == opened[0]
    assert TIMES.sub("", fresh[1]) == TIMES.sub("", opened[1]).replace(saved, SNAPSHOT)


def test_the_trace_of_a_recording_is_that_of_its_snapshot(saved: str, tmp_path: Path) -> None:
    fresh, opened = tmp_path / "fresh.jsonl", tmp_path / "opened.jsonl"

    call(["run", SNAPSHOT, "--trace", str(fresh)])
    call(["run", saved, "--trace", str(opened)])

    assert fresh.read_bytes() == opened.read_bytes()


def test_a_recording_can_be_saved_again(saved: str, tmp_path: Path) -> None:
    again = str(tmp_path / "again.vcrec")

    assert 0 == call(["run", saved, "--save", again])[0]
    first, second = call(["explain", saved]), call(["explain", again])
    assert (first[0], first[1].replace(saved, again)) == second[:2]


def test_a_release_is_the_snapshots_not_the_recordings(saved: str) -> None:
    code, _, err = call(["run", saved, "--release", "v1.14.0"])

    assert 1 == code
    assert "--release needs a snapshot; this is a recording" in err


def test_a_damaged_recording_is_one_line(saved: str) -> None:
    data = bytearray(Path(saved).read_bytes())
    data[-1] ^= 1
    Path(saved).write_bytes(data)

    code, out, err = call(["run", saved])

    assert (1, "", 1) == (code, out, err.count("\n"))
    assert "is not a readable recording: it is damaged" in err


def test_the_recording_of_another_program_says_which(saved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_files, "program_id", lambda: "0.0 (another)")

    code, _, err = call(["run", saved])

    assert 1 == code
    assert "this is 0.0 (another); use that version, or record again from the snapshot" in err


def test_failed_save_leaves_no_file(tmp_path: Path) -> None:
    code, _, err = call(["run", SNAPSHOT, "--save", str(tmp_path / "nowhere" / "cycle.vcrec")])

    assert 1 == code
    assert "cannot be written" in err
    assert [] == [*tmp_path.iterdir()]
