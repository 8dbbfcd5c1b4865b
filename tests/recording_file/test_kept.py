"""The cache of recordings: found by their inputs, bounded in size, and verified before use."""

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.transcripts import call
from tests.recorded import ROOT, bundled
from vcdebug.cli import snapshots
from vcdebug.cli.arguments import CACHE_VARIABLE
from vcdebug.explain.answer import Explanation
from vcdebug.explain.job_view import ExplainSubject
from vcdebug.explain.pending import explanation, survey
from vcdebug.explain.pending.explanation import explain_subject
from vcdebug.files import recording_files as kept
from vcdebug.files.recording_files import RecordingCache, cache_key
from vcdebug.recording.file.object_tables import store_recording
from vcdebug.recording.file.read import open_stored_recording
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.tui import worker
from vcdebug.tui.messages import CycleReady

SNAPSHOT = ROOT / "fixtures" / "preempt-works"


@pytest.fixture(autouse=True)
def keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enable the cache for small snapshots too, in a folder of the test."""
    monkeypatch.setattr(kept, "MIN_BYTES", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(CACHE_VARIABLE, "10")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the snapshots whose cycles the command line replays."""
    found: list[str] = []

    def counted(snapshot: Snapshot, **options: Any) -> Recording:
        found.append(snapshot.name)
        return replay_cycle(snapshot, **options)

    monkeypatch.setattr(snapshots, "replay_cycle", counted)
    return found


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").rglob("*.vcrec"))


def test_the_second_time_no_cycle_is_run_and_the_answer_is_the_same(runs: list[str]) -> None:
    first, second = call(["explain", "preempt-works"]), call(["explain", "preempt-works"])

    assert first == second
    assert ["preempt-works"] == runs


def test_explain_reuses_cached_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    explained: list[str] = []

    def counted(recording: Recording, subject: ExplainSubject) -> Explanation:
        explained.append(subject.job)
        return explain_subject(recording, subject)

    for module in (explanation, survey):
        monkeypatch.setattr(module, "explain_subject", counted)

    first, second = call(["explain", "preempt-works"]), call(["explain", "preempt-works"])

    assert first == second
    assert len(set(explained)) == len(explained) > 0


def test_invalid_cached_survey_is_recomputed() -> None:
    recording = replay_cycle(load_snapshot(SNAPSHOT))
    recording.answered["survey"] = "nobody waits"
    opened = open_stored_recording(b"".join(store_recording(recording, "this")), "this")

    assert survey.survey_jobs(replay_cycle(load_snapshot(SNAPSHOT))) == survey.survey_jobs(opened)


@pytest.mark.parametrize("option", [["--set", "conf:actions=allocate"], ["--release", "v1.14.4"], ["--complete"]])
def test_another_edit_release_or_reading_is_another_recording(runs: list[str], option: list[str]) -> None:
    call(["explain", "preempt-works"])
    changed = call(["explain", "preempt-works", *option])

    assert changed == call(["explain", "preempt-works", *option, "--no-cache"])
    assert 3 == len(runs)


def test_option_no_cache_neither_reads_nor_writes_the_cache(runs: list[str], tmp_path: Path) -> None:
    call(["run", "preempt-works", "--no-cache"])
    call(["run", "preempt-works", "--max-events", "1000000"])

    assert [] == files(tmp_path)
    assert 2 == len(runs)


@pytest.mark.parametrize(
    "change", [lambda data: data[:-1], lambda _: b"", lambda _: b"something else", lambda data: b"\x80\x04." + data]
)
def test_a_damaged_file_is_passed_over_and_made_anew(
    runs: list[str], tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    before = call(["explain", "preempt-works"])
    (path,) = files(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(change(whole))

    assert before == call(["explain", "preempt-works"])
    assert 2 == len(runs)
    assert whole[:20] == path.read_bytes()[:20]


def test_a_changed_input_is_another_recording(tmp_path: Path) -> None:
    folder = tmp_path / "snapshot"
    folder.mkdir()
    path = folder / "nodes.json"
    path.write_text("[]")
    before = cache_key(folder, {})
    path.write_text("[ ]")

    assert before not in (None, cache_key(folder, {}))


def test_the_key_names_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache_key(SNAPSHOT, {})
    monkeypatch.setattr(kept, "program_id", lambda: "another")

    assert before not in (None, cache_key(SNAPSHOT, {}))


def test_a_stream_and_a_small_snapshot_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MIN_BYTES", 1 << 20)

    assert [None, None] == [cache_key("-", {}), cache_key(SNAPSHOT, {})]


def test_a_packed_snapshot_is_as_large_as_it_is_unpacked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kept, "MIN_BYTES", 1 << 20)
    plain, packed = tmp_path / "cluster.json", tmp_path / "cluster.json.gz"
    for file in (plain, packed):
        file.write_bytes(b"x" * 200_000)

    assert cache_key(plain, {}) is None
    assert cache_key(packed, {}) is not None


def test_cache_removes_the_least_recently_used_recording(tmp_path: Path) -> None:
    folder = RecordingCache(tmp_path, 1)
    for number, name in enumerate(("old", "older", "new")):
        folder.cache_recording(name, bundled())
        os.utime(tmp_path / f"{name}.vcrec", (1000 - number, 1000 - number))
    size = (tmp_path / "old.vcrec").stat().st_size
    assert folder.find_recording("older") is not None

    for number in range((1 << 20) // size):
        folder.cache_recording(f"further-{number}", bundled())

    assert not (tmp_path / "new.vcrec").exists()
    assert sum(entry.size for entry in folder.list_entries()) <= 1 << 20


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = RecordingCache(tmp_path / "file" / "recordings")

    folder.cache_recording("key", bundled())

    assert folder.find_recording("key") is None


def test_cache_says_what_is_kept_and_removes_it(tmp_path: Path) -> None:
    call(["explain", "preempt-works"])

    assert call(["cache"])[1].startswith("1 cached recording, 0 MB, in ")
    assert "removed 1 from" in call(["cache", "--clear"])[2]
    assert [] == files(tmp_path)


def test_a_setting_that_is_no_number_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, "much")

    assert "VCDEBUG_CACHE: 'much' is not a size in MB" in call(["cache"])[2]


def test_screen_opens_the_cached_recording(tmp_path: Path) -> None:
    folder = RecordingCache(tmp_path)
    first, second = _opened(folder), _opened(folder)

    assert 1 == len(folder.list_entries())
    assert len(first) == len(second)
    assert "LazyList" == type(second.events).__name__


def test_leaving_does_not_wait_for_the_recording_cache(tmp_path: Path) -> None:
    stop, keeping, said = Event(), RecordingCache(tmp_path), list[object]()

    worker.load_and_replay(
        replace(worker.Start.from_word(str(SNAPSHOT)), kept=keeping), said.append, stop, drawn=stop.set
    )

    assert isinstance(said[-1], CycleReady)
    assert [] == keeping.list_entries()


def _opened(folder: RecordingCache) -> Recording:
    found: list[object] = []
    worker.load_and_replay(replace(worker.Start.from_word(str(SNAPSHOT)), kept=folder), found.append, Event())
    ready = found[-1]
    assert isinstance(ready, CycleReady)
    return ready.recording
