"""The small API server: its access control and its handling of writes."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from threading import Thread
from typing import Any

import pytest
from kubernetes import client, watch

from vcdebug.conformance import loopback_server
from vcdebug.conformance.api_objects import (
    PROTOBUF_MAGIC,
    PROTOBUF_TYPE,
    ApiAddress,
    ApiRequest,
    apply_patch,
    decode_object,
)
from vcdebug.conformance.api_server import ApiServer
from vcdebug.conformance.loopback_server import LoopbackServer, serve_on_loopback
from vcdebug.snapshot.kinds import KIND_BY_NAME

PODS = KIND_BY_NAME["Pod"].api_path
POD = {
    "metadata": {"name": "a", "namespace": "x", "annotations": {"k": "v"}},
    "spec": {"containers": []},
    "status": {"phase": "Pending"},
}


def field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2, len(data)]) + data


def pod_in_protobuf() -> bytes:
    """A pod with one condition and a nominated node, as Go's clients send it."""
    condition = field(1, b"PodScheduled") + field(2, b"False") + field(5, b"Unschedulable") + field(6, b"no room")
    status = field(1, b"Pending") + field(2, condition) + field(11, b"n1")
    pod = field(1, field(1, b"a") + field(3, b"x")) + field(3, status)
    return PROTOBUF_MAGIC + field(1, field(1, b"v1") + field(2, b"Pod")) + field(2, pod)


def server() -> ApiServer:
    api = ApiServer()
    api.store.put_object(PODS, POD)
    return api


def send(api: ApiServer, method: str, path: str, body: Any = None, content_type: str = "application/json") -> int:
    return api.answer_request(ApiRequest(method, path, {}, {"Content-Type": content_type}, body)).status


def test_requests_without_the_token_get_401() -> None:
    with serve_on_loopback(LoopbackServer(server(), "secret")) as address:
        with urllib.request.urlopen(f"{address}{PODS}") as answer:
            assert 1 == len(json.loads(answer.read())["items"])
        assert "/secret" in address
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{address.removesuffix('/secret')}{PODS}")


def test_a_status_in_protobuf_changes_what_it_says_and_nothing_else() -> None:
    api = server()
    body = decode_object(pod_in_protobuf())
    assert 200 == send(api, "PUT", "/api/v1/namespaces/x/pods/a/status", body, PROTOBUF_TYPE)
    pod = api.store.get_object(PODS, "x/a")
    assert pod is not None
    assert "n1" == pod["status"]["nominatedNodeName"]
    assert [("PodScheduled", "no room")] == [(one["type"], one["message"]) for one in pod["status"]["conditions"]]
    assert {"k": "v"} == pod["metadata"]["annotations"]


@pytest.mark.parametrize(
    "content", [b"", b"{}", PROTOBUF_MAGIC + b"\x0a\xff", PROTOBUF_MAGIC + b"\x0b", pod_in_protobuf()[:-3]]
)
def test_invalid_protobuf_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"protobuf|breaks off|form"):
        decode_object(content)


def test_bindings_evictions_and_events_are_carried_out_and_written_down() -> None:
    api = server()
    path = "/api/v1/namespaces/x/pods/a"
    assert 201 == send(api, "POST", f"{path}/binding", {"metadata": {"name": "a"}, "target": {"name": "n1"}})
    assert 201 == send(api, "POST", "/api/v1/namespaces/x/events", {"metadata": {"name": "e"}})
    assert 200 == send(api, "DELETE", path)
    assert 404 == send(api, "DELETE", "/api/v1/namespaces/x/pods/b")
    assert ["bind", "create", "delete"] == [one.verb for one in api.writes]
    pod = api.store.get_object(PODS, "x/a")
    assert pod is not None
    assert ("n1", True) == (pod["spec"]["nodeName"], "deletionTimestamp" in pod["metadata"])


def test_watch_event_of_a_deletion_contains_the_last_object() -> None:
    api = server()
    address, request = ApiAddress.from_path(PODS), ApiRequest("GET", PODS, {}, {}, None)
    since = api.store.revision
    api.store.put_object(PODS, {**POD, "status": {"phase": "Running"}})
    api.store.delete_object(PODS, "x/a")
    changed, gone = api.list_changes(address, request, since)
    assert ("MODIFIED", "DELETED") == (changed["type"], gone["type"])
    assert (POD["spec"], "Running") == (gone["object"]["spec"], gone["object"]["status"]["phase"])
    assert str(api.store.revision) == gone["object"]["metadata"]["resourceVersion"]


def test_write_that_is_not_stored_is_answered() -> None:
    api = server()
    api.stores_write = lambda _: False
    assert 201 == send(api, "POST", "/api/v1/namespaces/x/pods/a/binding", {"target": {"name": "n1"}})
    assert [] == api.writes
    assert POD["spec"] == (api.store.get_object(PODS, "x/a") or {})["spec"]


GROUPS = ("scheduling.volcano.sh", "v1beta1")


def test_a_client_of_the_kubernetes_package_lists_watches_and_writes() -> None:
    api = server()
    path = KIND_BY_NAME["PodGroup"].api_path
    with serve_on_loopback(LoopbackServer(api, "secret")) as address:
        options = client.Configuration()
        options.host = address
        with client.ApiClient(options) as connection:
            core, custom = client.CoreV1Api(connection), client.CustomObjectsApi(connection)
            assert 1 == len(core.list_pod_for_all_namespaces().items)
            known: Any = custom.list_cluster_custom_object(*GROUPS, "podgroups")
            api.store.put_object(path, {"metadata": {"name": "g", "namespace": "x"}, "status": {"phase": "Pending"}})
            watching = watch.Watch().stream  # type: ignore[no-untyped-call]  # as the client has it
            revision = known["metadata"]["resourceVersion"]
            events = watching(custom.list_cluster_custom_object, *GROUPS, "podgroups", resource_version=revision)  # type: ignore[no-untyped-call]  # as the client has it
            group = next(iter(events))["object"]
            status = {**group, "status": {"phase": "Inqueue"}}
            custom.replace_namespaced_custom_object(*GROUPS, "x", "podgroups", "g", status)
            core.patch_namespaced_pod_status("a", "x", {"status": {"nominatedNodeName": "n2"}})
            target = client.V1ObjectReference(kind="Node", name="n1")
            binding = client.V1Binding(metadata=client.V1ObjectMeta(name="a", namespace="x"), target=target)
            core.create_namespaced_pod_binding("a", "x", binding, _preload_content=False)
            core.delete_namespaced_pod("a", "x")
    assert ["update", "patch", "bind", "delete"] == [one.verb for one in api.writes]
    assert "Inqueue" == (api.store.get_object(path, "x/g") or {})["status"]["phase"]
    pod = api.store.get_object(PODS, "x/a") or {}
    assert ("n1", "n2") == (pod["spec"]["nodeName"], pod["status"]["nominatedNodeName"])


def test_the_list_that_is_given_last_waits_until_nothing_else_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback_server, "STILL_SECONDS", 0.05)
    api, order = server(), list[str]()
    api.metrics = None
    held = LoopbackServer(api, "secret", last_list=PODS)
    asked = [
        Thread(target=lambda: order.append(str(held.answer_request(ApiRequest("GET", PODS, {}, {}, None)).status)))
    ]
    asked[0].start()
    for kind in ("PersistentVolume", "PersistentVolumeClaim", "Node"):
        held.answer_request(ApiRequest("GET", KIND_BY_NAME[kind].api_path, {}, {}, None))
        order.append(kind)
    asked[0].join()
    assert ["PersistentVolume", "PersistentVolumeClaim", "Node", "200"] == order


def volumes() -> ApiServer:
    """A claim, a volume that it may bind, and a StorageClass."""
    api = ApiServer()
    claim = {"metadata": {"name": "c", "namespace": "x", "uid": "1"}, "spec": {"storageClassName": "fast"}}
    api.store.put_object(KIND_BY_NAME["PersistentVolumeClaim"].api_path, claim)
    api.store.put_object(KIND_BY_NAME["PersistentVolume"].api_path, {"metadata": {"name": "v"}, "spec": {}})
    api.store.put_object(KIND_BY_NAME["StorageClass"].api_path, {"metadata": {"name": "fast"}, "provisioner": "d"})
    return api


def claimed(api: ApiServer) -> tuple[str | None, str | None, list[str]]:
    """Volume and phase of the claim, and the names of all bound volumes."""
    claim = api.store.get_object(KIND_BY_NAME["PersistentVolumeClaim"].api_path, "x/c") or {}
    bound = [one for one in api.store.objects_of(KIND_BY_NAME["PersistentVolume"].api_path) if one.get("status")]
    return (
        claim["spec"].get("volumeName"),
        claim.get("status", {}).get("phase"),
        [one["metadata"]["name"] for one in bound],
    )


def test_a_volume_that_a_scheduler_chose_is_bound_to_its_claim() -> None:
    api = volumes()
    reference = field(2, b"x") + field(3, b"c")
    entry = field(1, b"pv.kubernetes.io/bound-by-controller") + field(2, b"yes")
    volume = field(1, field(1, b"v") + field(12, entry)) + field(2, field(4, reference))
    body = decode_object(PROTOBUF_MAGIC + field(1, field(1, b"v1") + field(2, b"PersistentVolume")) + field(2, volume))
    assert 200 == send(api, "PUT", "/api/v1/persistentvolumes/v", body, PROTOBUF_TYPE)
    assert ("v", "Bound", ["v"]) == claimed(api)
    assert ["update"] == [one.verb for one in api.writes]


def test_a_claim_for_which_a_node_was_chosen_gets_a_volume_if_its_class_provides_some() -> None:
    api = volumes()
    chosen = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}}
    path = "/api/v1/namespaces/x/persistentvolumeclaims/c"
    assert 200 == send(api, "PATCH", path, chosen, "application/merge-patch+json")
    assert ("made-x-c", "Bound", ["made-x-c"]) == claimed(api)
    api = volumes()
    by_hand = {"metadata": {"name": "fast"}, "provisioner": "kubernetes.io/no-provisioner"}
    api.store.put_object(KIND_BY_NAME["StorageClass"].api_path, by_hand)
    assert 200 == send(api, "PATCH", path, chosen, "application/merge-patch+json")
    assert (None, None, []) == claimed(api)


def test_patches_of_every_kind() -> None:
    before = {"a": {"b": 1, "c": 2}, "conditions": [{"type": "X", "status": "True"}, {"type": "Y", "status": "True"}]}
    assert {"b": 1} == apply_patch(before, {"a": {"c": None}}, "application/merge-patch+json")["a"]
    changed = apply_patch(
        before, {"conditions": [{"type": "Y", "status": "False"}]}, "application/strategic-merge-patch+json"
    )
    assert ["True", "False"] == [one["status"] for one in changed["conditions"]]
    fewer = {"conditions": [{"type": "X", "$patch": "delete"}, {"type": "none", "$patch": "delete"}]}
    assert ["Y"] == [
        one["type"] for one in apply_patch(before, fewer, "application/strategic-merge-patch+json")["conditions"]
    ]
    queue = {"status": {"state": "Open", "allocated": {"cpu": "2", "pods": "1"}}}
    applied = apply_patch(queue, {"status": {"allocated": {"cpu": "1"}}}, "application/apply-patch+yaml")
    assert {"state": "Open", "allocated": {"cpu": "1"}} == applied["status"]
    steps = [{"op": "remove", "path": "/conditions/0"}, {"op": "add", "path": "/a/d~1e", "value": 3}]
    stepped = apply_patch(before, steps, "application/json-patch+json")
    assert (["Y"], 3) == ([one["type"] for one in stepped["conditions"]], stepped["a"]["d/e"])
    assert 2 == len(before["conditions"])


@pytest.mark.parametrize(
    "step",
    [
        {"op": "remove", "path": "/metadata/annotations/volcano.sh~1gpu-index"},
        {"op": "replace", "path": "/spec/nodeName", "value": "n1"},
        {"op": "remove", "path": "/spec/containers/9"},
        {"op": "add", "path": "/metadata/nowhere/x", "value": "1"},
    ],
)
def test_a_step_of_a_patch_that_leads_nowhere_is_refused_and_changes_nothing(step: dict[str, str]) -> None:
    api = server()
    steps = [{"op": "add", "path": "/metadata/labels", "value": {}}, step]
    path = "/api/v1/namespaces/x/pods/a"
    assert 422 == send(api, "PATCH", path, steps, "application/json-patch+json")
    assert [] == api.writes
