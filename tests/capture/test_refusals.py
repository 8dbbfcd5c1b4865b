from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tests.capture.fake_server import (
    NOT_FOUND_REPLY,
    UNAUTHORIZED_REPLY,
    UNAVAILABLE,
    ApiReply,
    ApiRequest,
    FakeApi,
    status,
    write_kubeconfig,
)
from tests.capture.small_cluster import BUDGETS, HYPERNODES, PODS, QUEUES, small_cluster
from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.capture.api_client import ConnectionFailed, HttpAnswer, NoAnswer, Query
from vcdebug.errors import VcdebugError
from vcdebug.snapshot.snapshot import Manifest

SHARDS = "/apis/shard.volcano.sh/v1alpha1/nodeshards"
INTERNAL = status(500, "InternalError", "etcdserver: leader changed")


def error_of(options: CaptureOptions) -> VcdebugError:
    with pytest.raises(VcdebugError) as caught:
        capture_cluster(options)
    assert "\n" not in caught.value.format_line()
    return caught.value


def test_wrong_credentials_are_named_with_the_context(api: FakeApi, options: CaptureOptions) -> None:
    api.scripted["/version"] = [UNAUTHORIZED_REPLY]
    error = error_of(options)
    assert "the API server rejected the credentials (401 Unauthorized)" == error.message
    assert error.where.startswith("context 'dev' (http://127.0.0.1:")
    assert "log in again, then check: kubectl --context dev get nodes" == error.hint


def test_credentials_that_expire_on_the_way_stop_the_capture(api: FakeApi, options: CaptureOptions) -> None:
    api.scripted[BUDGETS] = [UNAUTHORIZED_REPLY]
    assert "401" in error_of(options).message


def test_a_missing_required_permission_is_named_in_full(api: FakeApi, options: CaptureOptions) -> None:
    api.forbidden = {"queues.scheduling.volcano.sh"}
    error = error_of(options)
    assert (
        'missing permission: verb "list", resource "queues", API group "scheduling.volcano.sh" '
        '(queues.scheduling.volcano.sh is forbidden: User "viewer" cannot read it)'
    ) == error.message
    assert "check: kubectl --context dev auth can-i list queues.scheduling.volcano.sh" in error.hint


def test_every_other_missing_permission_is_named_at_once(api: FakeApi, options: CaptureOptions) -> None:
    api.forbidden = {"pods", "nodes", "poddisruptionbudgets.policy"}
    error = error_of(options)
    assert error.message.startswith('missing permission: verb "list", resource "nodes", API group ""')
    assert error.message.endswith("; also missing: list pods, list poddisruptionbudgets.policy")


def test_a_server_that_reviews_no_access_still_gets_the_first_permission_named(
    api: FakeApi, options: CaptureOptions
) -> None:
    api.forbidden, api.reviews_answered = {"pods"}, False
    error = error_of(options)
    assert error.message.startswith('missing permission: verb "list", resource "pods", API group "" in all namespaces')
    assert "also missing" not in error.message
    assert "auth can-i list pods --all-namespaces;" in error.hint


def test_a_forbidden_optional_kind_is_skipped_and_noted(api: FakeApi, options: CaptureOptions) -> None:
    api.forbidden = {"poddisruptionbudgets.policy"}
    snapshot = capture_cluster(options)
    assert "PodDisruptionBudget" not in snapshot.objects
    assert [
        (
            'capture: poddisruptionbudgets.policy: missing permission "list poddisruptionbudgets.policy" '
            "(check: kubectl auth can-i list poddisruptionbudgets.policy --all-namespaces); the replay can "
            "be wrong about victims protected by plugin pdb"
        )
    ] == [problem.format_line() for problem in snapshot.problems]


def test_a_missing_optional_api_group_is_noted(api: FakeApi, options: CaptureOptions) -> None:
    del api.objects[SHARDS], api.groups["shard.volcano.sh"]
    assert [
        (
            "capture: nodeshards.shard.volcano.sh: the cluster does not serve API group shard.volcano.sh; this "
            "cluster's scheduler runs without it, and so does the replay"
        )
    ] == [problem.format_line() for problem in capture_cluster(options).problems]


@pytest.mark.parametrize("group", ["topology.volcano.sh", "nodeinfo.volcano.sh"])
def test_without_a_kind_that_the_scheduler_waits_for_there_is_no_cycle_to_replay(
    group: str, api: FakeApi, options: CaptureOptions
) -> None:
    path = next(path for path in api.objects if path.startswith(f"/apis/{group}/"))
    del api.objects[path], api.groups[group]
    (problem,) = capture_cluster(options).problems
    assert problem.effect.startswith("Volcano's scheduler does not start a cycle without it")


def test_an_optional_api_group_in_another_version_is_noted(api: FakeApi, options: CaptureOptions) -> None:
    del api.objects[HYPERNODES]
    api.groups["topology.volcano.sh"] = ["v1beta1"]
    assert [
        (
            "capture: hypernodes.topology.volcano.sh: the cluster serves topology.volcano.sh in version v1beta1 only, "
            "not v1alpha1; the replay can be wrong about network topology placement"
        )
    ] == [problem.format_line() for problem in capture_cluster(options).problems]


def test_groups_are_looked_up_once_for_many_missing_kinds(api: FakeApi, options: CaptureOptions) -> None:
    for path in [path for path in api.objects if path.startswith("/apis/resource.k8s.io/")]:
        del api.objects[path]
    assert 3 == len(capture_cluster(options).problems)
    assert 1 == len(api.asked("/apis"))


def test_cluster_without_volcano_is_named_as_such(api: FakeApi, options: CaptureOptions) -> None:
    api.scripted[QUEUES] = [NOT_FOUND_REPLY]
    error = error_of(options)
    assert "this cluster does not serve queues.scheduling.volcano.sh v1beta1" == error.message
    assert "is Volcano installed?" == error.hint


def test_an_optional_kind_that_fails_to_the_end_is_skipped_and_noted(api: FakeApi, options: CaptureOptions) -> None:
    api.scripted[BUDGETS] = [INTERNAL] * options.attempts
    assert [
        (
            "capture: poddisruptionbudgets.policy: cannot be listed: the server answered 500: etcdserver: leader "
            "changed; the replay can be wrong about victims protected by plugin pdb"
        )
    ] == [problem.format_line() for problem in capture_cluster(options).problems]


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(code: int, api: FakeApi, options: CaptureOptions) -> None:
    api.scripted[PODS] = [ApiReply(code, "try later")] * 2
    assert 5 == len(capture_cluster(options).objects_of("Pod"))
    assert 3 == len(api.asked(PODS))


def test_the_server_says_how_long_to_wait(api: FakeApi, options: CaptureOptions) -> None:
    waits: list[float] = []
    api.scripted[PODS] = [
        ApiReply(429, "slow", {"Retry-After": "7"}),
        UNAVAILABLE,
        ApiReply(503, "", {"Retry-After": "999"}),
    ]
    capture_cluster(options, sleep=waits.append)
    assert [7.0, 0.02, 30.0] == waits


def test_capture_gives_up_a_server_that_stays_busy(api: FakeApi, options: CaptureOptions) -> None:
    api.scripted[PODS] = [UNAVAILABLE] * options.attempts
    words = "cannot list pods: the server answered 503: the server is currently unable to handle the request"
    with pytest.raises(NoAnswer, match=words):
        capture_cluster(options, sleep=lambda _: None)


@pytest.mark.parametrize("text", ["<html>log in here</html>", "{", "", '{"items": [1', "\x00"])
def test_an_answer_that_is_no_json_is_quoted(text: str, api: FakeApi, options: CaptureOptions) -> None:
    api.scripted[PODS] = [ApiReply(200, text)] * options.attempts
    assert f"cannot list pods: the server answered 200: not JSON: {text!r}" == error_of(options).message


@pytest.mark.parametrize("body", [{"kind": "Pod"}, {"items": 3}, {"items": ["pod"]}, [], "null", "3"])
def test_json_that_is_no_list_is_an_error(body: object, api: FakeApi, options: CaptureOptions) -> None:
    api.scripted[PODS] = [ApiReply(200, body)]
    assert error_of(options).message.startswith("cannot list pods: the server answered 200: JSON, but not a")


def test_a_redirect_is_not_followed(api: FakeApi, options: CaptureOptions) -> None:
    api.scripted[PODS] = [ApiReply(302, "Found", {"Location": "/login"})]
    assert "cannot list pods: the server answered 302: Found" == error_of(options).message
    assert [] == api.asked("/login")


def at(address: str, folder: Path) -> CaptureOptions:
    return CaptureOptions(kubeconfig=str(write_kubeconfig(folder / "at", address)), timeout=0.5)


def test_a_server_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    error = error_of(at(address, tmp_path))
    assert error.message.startswith("no response from the API server: Failed to establish a new connection: ")
    assert error.message.endswith("Connection refused")
    assert f"context 'dev' ({address})" == error.where


def test_a_server_that_never_answers_is_one_clear_error(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        error = error_of(at(f"http://127.0.0.1:{silent.getsockname()[1]}", tmp_path))
    assert error.message.startswith("no response from the API server: Read timed out.")


def test_a_certificate_that_is_not_trusted_is_one_clear_error(options: CaptureOptions, tmp_path: Path) -> None:
    server = json.loads(Path(options.kubeconfig).read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"]
    message = error_of(at(server.replace("http:", "https:"), tmp_path)).message
    assert message.startswith("no response from the API server: [SSL")


def test_a_connection_that_breaks_off_later_is_tried_again(options: CaptureOptions) -> None:
    transport = BreakingTransport(breaks=3)
    capture_cluster(options, transport=transport)
    assert 0 == transport.breaks


def test_a_connection_that_stays_broken_is_one_clear_error(options: CaptureOptions) -> None:
    transport = BreakingTransport(breaks=1000)
    with pytest.raises(NoAnswer, match="no response from the API server: reset by peer"):
        capture_cluster(options, transport=transport)


class BreakingTransport:
    """A connection that fails `breaks` times on the list of nodes."""

    context, server, user = "dev", "context 'dev'", "me"

    def __init__(self, breaks: int) -> None:
        self.breaks = breaks
        self._api = small_cluster()

    def send(self, method: str, path: str, query: Query, body: Manifest | None = None) -> HttpAnswer:
        if path == "/api/v1/nodes" and self.breaks:
            self.breaks -= 1
            raise ConnectionFailed("reset by peer")
        reply = self._api.answer_request(ApiRequest(method, path, dict(query), {}, body))
        return HttpAnswer(reply.status, {}, reply.content_bytes)
