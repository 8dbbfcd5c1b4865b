"""The sums and writes at the close of a session."""

import pytest

from tests.builders import amounts, cluster, metadata, node, pod, pod_group, queue
from vcdebug.framework.record import CloseEvent, PanicEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags


def closed(*, parent: str, root: bool, runs: bool) -> Recording:
    """The cycle of a job in queue c below a possibly missing parent; with `runs` false there is no node."""
    queues = [queue("c", parent=parent), *([queue("root")] if root else [])]
    group = pod_group("j", queue="c", phase="Running")
    nodes = [node("n1")] if runs else []
    return replay_cycle(cluster(*queues, *nodes, group, pod("j-0", "j", on="n1" if runs else "")))


@pytest.mark.parametrize(
    ("parent", "root", "runs", "ends"),
    [
        ("nowhere", True, True, PanicEvent),
        ("nowhere", False, True, CloseEvent),
        ("nowhere", True, False, CloseEvent),
        ("root", True, True, CloseEvent),
    ],
)
def test_what_runs_below_a_parent_that_does_not_exist_ends_the_process_as_queues_are_added_up(
    parent: str, root: bool, runs: bool, ends: type
) -> None:
    """Only allocated tasks are summed up the tree, and only if queue `root` exists."""
    recording = closed(parent=parent, root=root, runs=runs)
    assert ends is type(recording.events[-1])


def test_what_jobs_became_is_written_before_queues_are_added_up() -> None:
    recording = closed(parent="nowhere", root=True, runs=True)
    assert recording.session.close is not None
    assert ["default/j"] == list(recording.session.close.jobs)
    assert {} == recording.session.close.queues


def claim(name: str, device_class: str, count: int, **capacity: str) -> Manifest:
    """A claim for `count` devices of a class, with capacity requests."""
    exactly = {"deviceClassName": device_class, "count": count, "capacity": {"requests": capacity}}
    requests = [{"name": "r", "exactly": exactly if capacity else {**exactly, "capacity": None}}]
    return {
        "kind": "ResourceClaim",
        "metadata": metadata(name, "default"),
        "spec": {"devices": {"requests": requests}},
    }


def holder(name: str, group: str, *claims: str, on: str = "n1") -> Manifest:
    entries = [{"name": f"c{index}", "resourceClaimName": each} for index, each in enumerate(claims)]
    return pod(name, group, requests=amounts("1"), on=on, resourceClaims=entries)


def device_statuses(*objects: Manifest, release: str = "master", gates: str = "") -> dict[str, dict[str, str]]:
    """The device entries in the statuses of queues."""
    snapshot = cluster(queue("root"), queue("top"), queue("a", parent="top"), node("n1"), list(objects))
    words = dict.fromkeys(gates.split(), True)
    snapshot.flags = SchedulerFlags(release=resolve_release(release).release, feature_gates=words)
    close = replay_cycle(snapshot).session.close
    assert close is not None
    return {
        name: {key: text for key, text in texts.items() if "deviceclass/" in key}
        for name, texts in close.queues.items()
    }


def test_a_queues_status_counts_the_devices_that_its_tasks_hold_a_claim_once_per_queue() -> None:
    objects = [
        pod_group("j", queue="a", phase="Running"),
        pod_group("k", queue="root", phase="Running"),
        claim("one", "gpu", 1),
        claim("two", "gpu", 2),
        claim("net", "nic", 1),
        claim("free", "gpu", 8),
        holder("j-0", "j", "one", "two"),
        holder("j-1", "j", "two", "net"),
        holder("k-0", "k", "two"),
        holder("j-2", "j", "free", on=""),
    ]
    below = {"deviceclass/gpu": "3", "deviceclass/nic": "1"}
    assert {"a": below, "top": below, "root": below, "default": {}} == device_statuses(*objects)


@pytest.mark.parametrize(
    ("first", "second", "written"),
    [
        ("512Mi", "512Mi", "1Gi"),
        ("1Gi", "500Mi", "1524Mi"),
        ("500", "500", "1k"),
        ("0", "1Gi", "1Gi"),
        ("1.5Gi", "1", "1610612737"),
        ("512", "512Mi", "536871424"),
        ("1e3", "2e3", "3e3"),
        ("500", "12", "512"),
        ("500m", "0", "500m"),
        ("100Mi", "500m", "104857600500m"),
        ("100", "923", "1023"),
    ],
)
def test_a_sum_of_capacities_is_written_in_the_units_of_the_first_that_is_not_0(
    first: str, second: str, written: str
) -> None:
    objects = [
        pod_group("j", queue="a", phase="Running"),
        claim("x", "gpu", 1, memory=first),
        claim("y", "gpu", 1, memory=second),
        holder("j-0", "j", "x", "y"),
    ]
    statuses = device_statuses(*objects, gates="DRAConsumableCapacity")
    assert {"deviceclass/gpu": "2", "memory.deviceclass/gpu": written} == statuses["a"]


@pytest.mark.parametrize(("release", "said"), [("v1.14.2", {}), ("v1.15.0", {"deviceclass/gpu": "1"})])
def test_a_queues_status_counts_no_devices_before_they_have_quotas(release: str, said: dict[str, str]) -> None:
    objects = [pod_group("j", queue="a", phase="Running"), claim("one", "gpu", 1), holder("j-0", "j", "one")]
    assert said == device_statuses(*objects, release=release)["a"]
