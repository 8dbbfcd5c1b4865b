"""The server serves the vGPU handshake already answered, since some schedulers would exit on answering it."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.builders import cluster, node
from vcdebug.conformance.api_objects import ApiRequest
from vcdebug.conformance.api_server import ApiServer
from vcdebug.conformance.loopback_server import answered_node, delayed_node, moved_to_present
from vcdebug.conformance.scheduler_program import fill_server
from vcdebug.model.devices.vgpu_annotations import HANDSHAKE_ANNOTATION, is_plugin_alive
from vcdebug.snapshot.snapshot import Manifest

NOW = datetime(2026, 11, 1, 9, 30, tzinfo=UTC)


def said(word: str) -> Manifest:
    made = node("n1")
    made["metadata"]["annotations"] = {HANDSHAKE_ANNOTATION: word, "a": "b"}
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
    assert said(answered) == answered_node(said(word), NOW)


def test_a_node_without_a_device_plugin_is_served_as_it_is() -> None:
    assert node("n1") == answered_node(node("n1"), NOW)


def test_served_node_has_the_answered_handshake() -> None:
    snapshot = cluster(said("Reported"))
    api = ApiServer()
    fill_server(api, snapshot)
    served = api.answer_request(ApiRequest("GET", "/api/v1/nodes/n1", {}, {}, None)).body
    assert isinstance(served, dict)
    asked = snapshot.now.strftime("%Y.%m.%d %H:%M:%S")
    assert f"Requesting_{asked}" == served["metadata"]["annotations"][HANDSHAKE_ANNOTATION]


@pytest.mark.parametrize(("seconds", "answers"), [(50, True), (70, False)])
def test_how_long_ago_a_device_plugin_was_asked_moves_with_the_snapshot(seconds: int, answers: bool) -> None:
    snapshot = cluster(node("n1"))
    asked = (snapshot.now - timedelta(seconds=seconds)).strftime("%Y.%m.%d %H:%M:%S")
    [present] = moved_to_present(cluster(said(f"Requesting_{asked}")), snapshot.now + timedelta(days=9)).objects_of(
        "Node"
    )
    assert answers is is_plugin_alive(present, snapshot.now + timedelta(days=9))


@pytest.mark.parametrize("word", ["Reported 2026-11-01 09:00:00", "Requesting", "Requesting_soon", "Deleted_x"])
def test_handshake_without_a_time_is_not_shifted(word: str) -> None:
    assert said(word) == delayed_node(said(word), timedelta(days=9))
