"""The small API server: who may ask it, and what it makes of writes."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.verify.messages import Request
from vcdebug.verify.patches import patched
from vcdebug.verify.protobuf import CONTENT_TYPE, MAGIC, decoded
from vcdebug.verify.server import ApiServer
from vcdebug.verify.wire import Wire, served

PODS = KIND_BY_NAME["Pod"].path
POD = {
    "metadata": {"name": "a", "namespace": "x", "annotations": {"k": "v"}},
    "spec": {},
    "status": {"phase": "Pending"},
}


def field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2, len(data)]) + data


def pod_in_protobuf() -> bytes:
    """A pod with one condition and a nominated node, as Go's clients send it."""
    condition = field(1, b"PodScheduled") + field(2, b"False") + field(5, b"Unschedulable") + field(6, b"no room")
    status = field(1, b"Pending") + field(2, condition) + field(11, b"n1")
    pod = field(1, field(1, b"a") + field(3, b"x")) + field(3, status)
    return MAGIC + field(1, field(1, b"v1") + field(2, b"Pod")) + field(2, pod)


def server() -> ApiServer:
    api = ApiServer()
    api.store.put(PODS, POD)
    return api


def send(api: ApiServer, method: str, path: str, body: Any = None, content_type: str = "application/json") -> int:
    return api.reply(Request(method, path, {}, {"Content-Type": content_type}, body)).status


def test_nobody_without_the_token_is_answered() -> None:
    with served(Wire(server(), "secret")) as address:
        with urllib.request.urlopen(f"{address}{PODS}") as answer:
            assert 1 == len(json.loads(answer.read())["items"])
        assert "/secret" in address
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{address.removesuffix('/secret')}{PODS}")


def test_a_status_in_protobuf_changes_what_it_says_and_nothing_else() -> None:
    api = server()
    body = decoded(pod_in_protobuf())
    assert 200 == send(api, "PUT", "/api/v1/namespaces/x/pods/a/status", body, CONTENT_TYPE)
    pod = api.store.get(PODS, "x/a")
    assert pod is not None
    assert "n1" == pod["status"]["nominatedNodeName"]
    assert [("PodScheduled", "no room")] == [(one["type"], one["message"]) for one in pod["status"]["conditions"]]
    assert {"k": "v"} == pod["metadata"]["annotations"]


@pytest.mark.parametrize("content", [b"", b"{}", MAGIC + b"\x0a\xff", MAGIC + b"\x0b", pod_in_protobuf()[:-3]])
def test_what_is_no_message_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"protobuf|breaks off|form"):
        decoded(content)


def test_bindings_evictions_and_events_are_carried_out_and_written_down() -> None:
    api = server()
    path = "/api/v1/namespaces/x/pods/a"
    assert 201 == send(api, "POST", f"{path}/binding", {"metadata": {"name": "a"}, "target": {"name": "n1"}})
    assert 201 == send(api, "POST", "/api/v1/namespaces/x/events", {"metadata": {"name": "e"}})
    assert 200 == send(api, "DELETE", path)
    assert 404 == send(api, "DELETE", "/api/v1/namespaces/x/pods/b")
    assert ["bind", "create", "delete"] == [one.verb for one in api.written]
    pod = api.store.get(PODS, "x/a")
    assert pod is not None
    assert ("n1", True) == (pod["spec"]["nodeName"], "deletionTimestamp" in pod["metadata"])


def test_what_is_not_kept_is_answered_all_the_same() -> None:
    api = server()
    api.keeps = lambda _: False
    assert 201 == send(api, "POST", "/api/v1/namespaces/x/pods/a/binding", {"target": {"name": "n1"}})
    assert [] == api.written
    assert POD["spec"] == (api.store.get(PODS, "x/a") or {})["spec"]


def test_patches_of_every_kind() -> None:
    before = {"a": {"b": 1, "c": 2}, "conditions": [{"type": "X", "status": "True"}, {"type": "Y", "status": "True"}]}
    assert {"b": 1} == patched(before, {"a": {"c": None}}, "application/merge-patch+json")["a"]
    changed = patched(
        before, {"conditions": [{"type": "Y", "status": "False"}]}, "application/strategic-merge-patch+json"
    )
    assert ["True", "False"] == [one["status"] for one in changed["conditions"]]
    steps = [{"op": "remove", "path": "/conditions/0"}, {"op": "add", "path": "/a/d~1e", "value": 3}]
    stepped = patched(before, steps, "application/json-patch+json")
    assert (["Y"], 3) == ([one["type"] for one in stepped["conditions"]], stepped["a"]["d/e"])
    assert 2 == len(before["conditions"])
