"""The pods that the cache holds, by their claims, and their times of arrival."""

from datetime import datetime, timedelta

import pytest

from tests.builders import CREATED, cluster, conf_of, metadata, node, pod, pod_group
from vcdebug.framework.record import PanicEvent
from vcdebug.model.cluster import ClusterInfo
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.manifest import Json
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot

EARLY = "2026-10-30T12:00:00Z"
NAMED = {"name": "c", "resourceClaimName": "there"}
MISSING = {"name": "m", "resourceClaimName": "gone"}
NOT_YET = {"name": "n", "resourceClaimTemplateName": "t"}
NEITHER = {"name": "x"}


def claim(name: str, *requests: dict[str, Json]) -> Manifest:
    stated = [{"name": f"r{index}", "exactly": {"deviceClassName": "gpu", **one}} for index, one in enumerate(requests)]
    spec = {"devices": {"requests": stated}}
    return {"kind": "ResourceClaim", "metadata": metadata(name, "default"), "spec": spec}


def asking(*entries: dict[str, str], on: str = "", **flags: Json) -> Snapshot:
    objects = [node("n1"), pod_group("j"), claim("there", {}), pod("j-0", "j", on=on, resourceClaims=list(entries))]
    snapshot = cluster(*objects, conf=conf_of("gang", "predicates"))
    snapshot.flags = SchedulerFlags(**flags)
    return snapshot


def held(snapshot: Snapshot) -> int:
    return len(ClusterInfo(snapshot).jobs["default/j"].tasks)


@pytest.mark.parametrize(
    ("entries", "seen"),
    [
        ([NAMED], 1),
        ([MISSING], 0),
        ([NAMED, MISSING], 0),
        ([NEITHER], 0),
        ([NOT_YET], 1),
        ([NOT_YET, MISSING], 1),
        ([MISSING, NOT_YET], 0),
    ],
)
def test_a_pod_that_names_a_claim_that_does_not_exist_is_not_seen(entries: list[dict[str, str]], seen: int) -> None:
    assert seen == held(asking(*entries))
    assert seen == held(snapshot_at_release(asking(*entries), "v1.15.1"))
    assert held(snapshot_at_release(asking(*entries), "v1.14.4")) == 1
    assert held(asking(*entries, feature_gates={"DynamicResourceAllocation": False})) == 1


def test_a_node_looks_emptier_without_a_running_pod_whose_claim_is_gone() -> None:
    assert [] == list(ClusterInfo(asking(MISSING, on="n1")).nodes["n1"].tasks)


def test_the_pod_of_a_volume_that_is_not_there_yet_is_asked_for_no_claim() -> None:
    snapshot = asking(MISSING)
    snapshot.objects["Pod"][0]["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]
    assert held(snapshot) == 1


def test_a_claim_that_ends_the_process_does_so_before_a_session_opens() -> None:
    mixed = claim("there", {}, {"capacity": {"requests": {"memory": "1Gi"}}})
    snapshot = cluster(
        node("n1"), pod_group("j"), mixed, pod("j-0", "j", resourceClaims=[NAMED]), conf=conf_of("gang", "predicates")
    )
    [event] = replay_cycle(snapshot).events
    assert isinstance(event, PanicEvent)
    assert ("assignment to entry in nil map", ()) == (event.message, event.calls)
    assert [("Pod", "default/j-0")] == list(event.objects)
    assert not ClusterInfo(snapshot_at_release(snapshot, "v1.14.4")).panic


def test_a_cycle_beside_another_reads_pods_again_whose_claims_are_others() -> None:
    before, after = asking(MISSING), asking(MISSING)
    after.objects = {**before.objects, "ResourceClaim": [claim("gone", {})]}
    assert len(ClusterInfo(after, ClusterInfo(before)).jobs["default/j"].tasks) == 1
    assert not ClusterInfo(before, ClusterInfo(after)).jobs["default/j"].tasks


@pytest.mark.parametrize(
    ("started", "changed", "kept"),
    [(None, "", True), (-1, "", False), (-30, "", False), (-1, "2026-10-31T11:30:00Z", False), (-1, EARLY, True)],
)
def test_pods_that_were_there_before_the_nodes_keep_what_is_ignored(
    started: int | None, changed: str, kept: bool
) -> None:
    """The process starts an hour or more before noon; the pod was created at noon or earlier."""
    share = {"volcano.sh/vgpu-memory": "100"}
    waits = pod("j-0", "j", requests=share, created=EARLY if changed else CREATED)
    waits["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "lastTransitionTime": changed}]
    snapshot = snapshot_at_release(cluster(node("n1"), pod_group("j"), waits), "v1.13.3,+vgpu-scalars-ignored")
    if started is not None:
        snapshot.process = SchedulerProcess(started=datetime.fromisoformat(CREATED) + timedelta(hours=started))
    (read,) = ClusterInfo(snapshot).jobs["default/j"].tasks.values()
    assert kept == ("volcano.sh/vgpu-memory" in (read.resreq.scalars or {}))
