"""The worker thread: its progress messages, and its end after a stop request."""

import json
from pathlib import Path
from threading import Event

import pytest
import yaml
from textual.message import Message

from tests.snapshot.manifests import as_list, cluster
from vcdebug.framework import replay_options
from vcdebug.snapshot import json_documents, loader
from vcdebug.tui import worker
from vcdebug.tui.messages import CycleFailed, CycleReady, Progress
from vcdebug.tui.worker import Start


def messages_of(source: str, stop: Event | None = None, at: str = "nothing") -> list[Message]:
    """All posted messages; requests a stop at the first progress text that contains `at`."""
    found: list[Message] = []
    asked = stop or Event()

    def post(message: Message) -> None:
        found.append(message)
        if isinstance(message, Progress) and at in message.text:
            asked.set()

    worker.load_and_replay(Start.from_word(source), post, asked)
    return found


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages if isinstance(message, Progress)]


def test_a_replay_ends_with_its_recording_ready_to_be_read() -> None:
    *_, last = messages_of("preempt-works")
    assert isinstance(last, CycleReady)
    assert {"index", "span_tree", "timeline"} <= last.recording.__dict__.keys()


def test_what_the_first_keys_need_is_built_once_the_picture_is_there() -> None:
    found: list[Message] = []
    drawn: list[bool] = []

    def built() -> bool:
        assert isinstance(found[-1], CycleReady)
        return "tasks" in vars(found[-1].recording.timeline)

    start = Start.from_word("preempt-works")
    worker.load_and_replay(start, found.append, Event(), lambda: drawn.append(built()))
    assert [False, True] == [*drawn, built()]


def test_a_stop_before_it_begins_ends_the_loading() -> None:
    stop = Event()
    stop.set()
    *_, last = messages_of("preempt-works", stop)
    assert isinstance(last, CycleFailed)
    assert "loading was stopped" in last.line


def test_a_stop_while_a_file_is_read_ends_the_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_documents, "WINDOW", 256)
    monkeypatch.setattr(worker, "PROGRESS_SECONDS", 0)
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(as_list(cluster())))
    whole, cut = texts(messages_of(str(path))), messages_of(str(path), at="%")
    assert 5 < len([text for text in whole if text.startswith("reading cluster.json ")])
    assert isinstance(cut[-1], CycleFailed)
    assert 2 > len(texts(cut))


def test_progress_is_posted_at_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_documents, "WINDOW", 256)
    monkeypatch.setattr(worker, "PROGRESS_SECONDS", 3_600)
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(as_list(cluster())))
    first, *others = texts(messages_of(str(path)))
    assert first.startswith("reading cluster.json")
    assert ["replaying cluster"] == others


def test_a_stop_during_the_cycle_ends_the_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_options, "EVENTS_PER_CHECK", 10)
    *_, last = messages_of("preempt-works", at="replaying")
    assert "the replay was stopped" == (last.line if isinstance(last, CycleFailed) else "")


def test_a_large_yaml_file_is_named_beside_the_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "SLOW_YAML_BYTES", 1_000)
    path = tmp_path / "cluster.yaml"
    path.write_text("".join(f"---\n{yaml.safe_dump(one)}" for one in cluster()))
    said = texts(messages_of(str(path)))
    assert any(
        text.startswith("cluster.yaml: reading 0 MB of YAML takes about ") and text.endswith("%") for text in said
    )
