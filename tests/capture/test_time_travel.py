"""Captures of earlier states: the last one before a pod's bind or eviction, and compacted history."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from io import StringIO

import pytest

from tests.apiserver.clusters import CONFIG_MAPS, DEPLOYMENTS, Direct, small_server
from tests.apiserver.server import ApiServer, expired
from tests.capture.small_cluster import CONF, PODS
from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.capture.listing import EarlierState, VersionGone, first_version
from vcdebug.cli.commands.capture import capture_before
from vcdebug.cli.output import Output
from vcdebug.errors import CaptureError
from vcdebug.snapshot.manifest import key_of
from vcdebug.snapshot.provenance import Provenance
from vcdebug.snapshot.snapshot import Manifest, Snapshot

OPTIONS = CaptureOptions(first_wait=0.0)
WAITING, TRAIN = "team-a/waiting-0", "team-a/train-0"


def pod_of(server: ApiServer, key: str) -> Manifest:
    found = server.store.get_object(PODS, key)
    assert found is not None
    return found


def bind(server: ApiServer, key: str) -> None:
    body = pod_of(server, key)
    server.store.put_object(PODS, {**body, "spec": {**body["spec"], "nodeName": "node-1"}})


def rename(server: ApiServer, name: str) -> None:
    """Write another change: a new pod."""
    body = pod_of(server, WAITING)
    server.store.put_object(PODS, {**body, "metadata": {**body["metadata"], "name": name, "uid": name}})


def taken(
    server: ApiServer, said: StringIO | None = None, wait: Callable[[float], None] | None = None, **event: str
) -> Snapshot:
    args = Namespace(**{"before_bind": None, "before_eviction": None, "every": 10.0} | event)
    sleep = wait or (lambda _: pytest.fail("there is nothing to wait for"))
    return capture_before(args, OPTIONS, Output(err=said or StringIO()), sleep, Direct(server))


def names(snapshot: Snapshot) -> set[str]:
    return {key_of(pod) for pod in snapshot.objects_of("Pod")}


def test_the_first_version_is_found_in_few_steps() -> None:
    asked = []

    def changed(version: int) -> bool:
        asked.append(version)
        return version >= 777

    assert 777 == first_version(changed, 1, 100_000)
    assert len(asked) <= 17


def test_a_bind_is_waited_for_and_the_state_just_before_it_is_taken() -> None:
    server, waits = small_server(), []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        rename(server, f"early-{len(waits)}")
        if len(waits) == 2:
            bind(server, WAITING)
        rename(server, f"late-{len(waits)}")

    found = taken(server, wait=wait, before_bind=WAITING)
    assert [10.0, 10.0] == waits
    assert {"team-a/early-1", "team-a/late-1", "team-a/early-2"} <= names(found)
    assert "team-a/late-2" not in names(found)
    assert not next(pod for pod in found.objects_of("Pod") if key_of(pod) == WAITING)["spec"].get("nodeName")
    assert found.provenance is not None
    assert found.provenance.consistent


def test_a_bind_that_is_past_is_looked_for_in_earlier_states() -> None:
    server = small_server()
    bind(server, WAITING)
    for number in range(30):
        rename(server, f"later-{number}")
    found = taken(server, before_bind=WAITING)
    assert not [name for name in names(found) if "later" in name]
    assert {False} == {"nodeName" in pod["spec"] for pod in found.objects_of("Pod") if key_of(pod) == WAITING}


def test_an_eviction_is_past_once_the_pod_leaves_or_is_gone() -> None:
    for leaves in (True, False):
        server = small_server()
        body = pod_of(server, TRAIN)
        if leaves:
            leaving = {**body["metadata"], "deletionTimestamp": "2026-11-07T09:29:00Z"}
            server.store.put_object(PODS, {**body, "metadata": leaving})
        server.store.delete_object(PODS, TRAIN)
        rename(server, "later")
        found = taken(server, before_eviction=TRAIN)
        (victim,) = [pod for pod in found.objects_of("Pod") if key_of(pod) == TRAIN]
        assert "deletionTimestamp" not in victim["metadata"]
        assert "team-a/later" not in names(found)


def test_the_clock_of_an_earlier_state_is_the_time_of_the_event() -> None:
    server = small_server()
    body = pod_of(server, TRAIN)
    leaving = {"deletionTimestamp": "2026-11-07T09:29:30Z", "deletionGracePeriodSeconds": 30}
    server.store.put_object(PODS, {**body, "metadata": {**body["metadata"], **leaving}})
    assert "2026-11-07T09:29:00+00:00" == taken(server, before_eviction=TRAIN).now.isoformat()
    body = pod_of(server, WAITING)
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-07T09:28:10Z"}
    bound = {"spec": {**body["spec"], "nodeName": "node-1"}, "status": {"conditions": [scheduled]}}
    server.store.put_object(PODS, {**body, **bound})
    assert "2026-11-07T09:28:10+00:00" == taken(server, before_bind=WAITING).now.isoformat()


def test_a_cycle_is_captured_before_its_first_decision() -> None:
    server, victims = small_server(), (TRAIN, "team-a/train-1")
    for key in victims:
        evicted = {"type": "DisruptionTarget", "reason": "PreemptionByScheduler", "status": "True"}
        stamped = {**evicted, "lastTransitionTime": "2026-11-07T09:29:01Z"}
        server.store.put_object(PODS, {**pod_of(server, key), "status": {"phase": "Running", "conditions": [stamped]}})
    for key in victims:
        server.store.delete_object(PODS, key)
        rename(server, f"after-{key[-1]}")
    found = taken(server, before_eviction=victims[1])
    assert [] == [pod for pod in found.objects_of("Pod") if pod["status"].get("conditions")]
    assert set(victims) <= names(found)
    assert "2026-11-07T09:29:01+00:00" == found.now.isoformat()


@pytest.mark.parametrize("may_list", [True, False])
def test_the_configuration_of_an_earlier_state_is_that_of_its_time(may_list: bool) -> None:
    server = small_server()
    key = "volcano-system/volcano-scheduler-configmap"
    old = server.store.get_object(CONFIG_MAPS, key)
    assert old is not None
    bind(server, WAITING)
    server.store.put_object(CONFIG_MAPS, {**old, "data": {"volcano-scheduler.conf": "actions: backfill"}})
    if not may_list:
        server.before = lambda request: server.forbidden.update(["configmaps"] * request.path.endswith("/configmaps"))
    found = taken(server, before_bind=WAITING)
    said = [problem.format_line() for problem in found.problems if "ConfigMap" in problem.object]
    assert (may_list, not may_list) == (CONF == found.scheduler_conf, bool(said))
    assert may_list or "its earlier text cannot be read" in said[0]


@pytest.mark.parametrize("may_list", [True, False])
def test_the_flags_and_the_release_of_an_earlier_state_are_those_of_its_time(may_list: bool) -> None:
    server = small_server()
    key = "volcano-system/volcano-scheduler"
    old = server.store.get_object(DEPLOYMENTS, key)
    assert old is not None
    bind(server, WAITING)
    text = json.dumps(old).replace(":v1.15.1", ":v1.14.4").replace("-v=3", "--percentage-nodes-to-find=7")
    server.store.put_object(DEPLOYMENTS, json.loads(text))
    if not may_list:
        server.scripted[DEPLOYMENTS] = [expired(None)]
    found = taken(server, before_bind=WAITING)
    said = [problem.format_line() for problem in found.problems if "Deployment" in problem.object]
    state = (7 == found.flags.percentage_nodes_to_find, "v1.14.4" in str(found.release))
    assert (not may_list, not may_list) == state
    assert may_list or "its earlier flags and image cannot be read; using its present flags and image" in said[0]
    assert may_list is not bool(said)


@pytest.mark.parametrize("exact", ["compacted", "ignored", "refused"])
def test_a_state_that_the_server_does_not_show_is_said_and_the_present_one_taken(exact: str) -> None:
    server, said = small_server(), StringIO()
    bind(server, WAITING)
    for number in range(9):
        rename(server, f"later-{number}")
    if exact == "compacted":
        server.store.compacted = server.store.revision - 2
    else:
        server.exact = "ignored" if exact == "ignored" else "refused"
    found = taken(server, said, before_bind=WAITING)
    assert "team-a/later-8" in names(found)
    assert "the current cluster is captured, after the bind of team-a/waiting-0" in said.getvalue()
    assert "the server no longer shows the state of version" in said.getvalue()


def test_a_whole_capture_of_a_forgotten_version_is_refused() -> None:
    server = small_server()
    version = str(server.store.revision)
    assert version == capture_of(server, version).resource_versions["Node"]
    rename(server, "later")
    server.store.compacted = server.store.revision
    with pytest.raises(VersionGone):
        capture_of(server, version)


def capture_of(server: ApiServer, version: str) -> Provenance:
    found = capture_cluster(OPTIONS, transport=Direct(server), earlier=EarlierState(version)).provenance
    assert found is not None
    return found


def test_a_pod_without_its_namespace_is_refused() -> None:
    with pytest.raises(CaptureError, match="'waiting-0' is not a pod"):
        taken(small_server(), before_bind="waiting-0")
