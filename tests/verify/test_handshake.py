"""What the server says of a node's vGPU device plugin, to schedulers that would end as they answer it."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.builders import cluster, node
from vcdebug.model.devices.vgpu_held import HANDSHAKE, plugin_answers
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.verify.handshake import later, shaken
from vcdebug.verify.messages import Request
from vcdebug.verify.present import moved
from vcdebug.verify.program import fill
from vcdebug.verify.server import ApiServer

NOW = datetime(2026, 11, 1, 9, 30, tzinfo=UTC)


def said(word: str) -> Manifest:
    made = node("n1")
    made["metadata"]["annotations"] = {HANDSHAKE: word, "a": "b"}
    return made


@pytest.mark.parametrize(
    ("word", "answered"),
    [
        ("Reported 2026-11-01 09:00:00", "Requesting_2026.11.01 09:30:00"),
        ("", "Requesting_2026.11.01 09:30:00"),
        ("Requesting_2026.11.01 09:29:30", "Requesting_2026.11.01 09:29:30"),
        ("Requesting_2026.11.01 09:28:30", "Deleted_2026.11.01 09:30:00"),
        ("Requesting_soon", "Deleted_2026.11.01 09:30:00"),
        ("Requesting", "Requesting"),
        ("Deleted_2026.11.01 09:00:00", "Deleted_2026.11.01 09:00:00"),
    ],
)
def test_a_node_says_what_it_would_say_after_the_schedulers_answer(word: str, answered: str) -> None:
    assert said(answered) == shaken(said(word), NOW)


def test_a_node_without_a_device_plugin_is_served_as_it_is() -> None:
    assert node("n1") == shaken(node("n1"), NOW)


def test_a_program_reads_the_answer() -> None:
    snapshot = cluster(said("Reported"))
    api = ApiServer()
    fill(api, snapshot)
    served = api.reply(Request("GET", "/api/v1/nodes/n1", {}, {}, None)).body
    assert isinstance(served, dict)
    asked = snapshot.now.strftime("%Y.%m.%d %H:%M:%S")
    assert f"Requesting_{asked}" == served["metadata"]["annotations"][HANDSHAKE]


@pytest.mark.parametrize(("seconds", "answers"), [(50, True), (70, False)])
def test_how_long_ago_a_device_plugin_was_asked_moves_with_the_snapshot(seconds: int, answers: bool) -> None:
    snapshot = cluster(node("n1"))
    asked = (snapshot.now - timedelta(seconds=seconds)).strftime("%Y.%m.%d %H:%M:%S")
    [present] = moved(cluster(said(f"Requesting_{asked}")), snapshot.now + timedelta(days=9)).of("Node")
    assert answers is plugin_answers(present, snapshot.now + timedelta(days=9))


@pytest.mark.parametrize("word", ["Reported 2026-11-01 09:00:00", "Requesting", "Requesting_soon", "Deleted_x"])
def test_what_names_no_time_does_not_move(word: str) -> None:
    assert said(word) == later(said(word), timedelta(days=9))
