"""Effects of the older forms of changes before v1.12, on the clusters made for them."""

import re

import pytest

from tests.builders import conf_of, metadata, node, pod_group, pods, queue
from tests.releases import shown_before_1_12 as shown
from tests.releases.shown import BESIDE, SHOWN
from tests.releases.shown_before_1_13 import deciding, volume_elsewhere
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.framework.record import CloseEvent, OpEvent, PanicEvent
from vcdebug.framework.registry import registry_for
from vcdebug.plugins import LATER_PLUGINS, OTHER_FORMS, PLUGINS
from vcdebug.plugins.capacity import Capacity
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Snapshot


def both(change: str) -> tuple[Recording, Recording]:
    """The cycles of the cluster for a change, under the newer and the older rule."""
    base = ",+".join(["master", *([BESIDE[change]] if change in BESIDE else [])])
    snapshot = SHOWN[change]()
    newer, older = (snapshot_at_release(snapshot, name) for name in (base, f"{base},+{change}"))
    return replay_cycle(newer), replay_cycle(older)


def closed(recording: Recording) -> CloseEvent:
    return next(event for event in recording.events if isinstance(event, CloseEvent))


def places(recording: Recording) -> dict[str, str]:
    """Node by pod name, for all pods with a node."""
    jobs = closed(recording).jobs.values()
    tasks = {key.partition("/")[2]: task.node for job in jobs for key, task in job.tasks.items()}
    return {key: node for key, node in tasks.items() if node}


def evicted(recording: Recording) -> list[str]:
    return [event.task for event in recording.events if isinstance(event, OpEvent) and event.op == "evict"]


def panicked(recording: Recording) -> bool:
    return any(isinstance(event, PanicEvent) for event in recording.events)


@pytest.mark.parametrize(
    ("change", "newer", "older"),
    [
        ("nomination-unheeded", {"h-0": "n2"}, {"h-0": "n1"}),
        ("backfill-ends-at-failure", {"b-0": "n1"}, {}),
        ("queue-state-unread", {}, {"j-0": "n1"}),
        ("dra-absent", {}, {"j-0": "n1"}),
        ("vgpu-modes-absent", {}, {"j-0": "n1"}),
        ("vgpu-charged-by-news", {"j-0": "n1", "k-0": "n1"}, {"j-0": "n1"}),
        ("vgpu-unwanted-type-ignored", {}, {"j-0": "n1"}),
        ("gpushare-number-uncharged", {"r-0": "n1"}, {"r-0": "n1", "j-0": "n1"}),
    ],
)
def test_placements_depend_on_the_change(change: str, newer: dict[str, str], older: dict[str, str]) -> None:
    assert (newer, older) == tuple(map(places, both(change)))


@pytest.mark.parametrize(
    ("change", "newer", "older"),
    [
        ("preempt-evicts-named", [], ["default/l-0"]),
        ("reclaim-whole-request", ["default/b-1"], []),
        ("cdp-preempt-only", [], ["default/b-3"]),
    ],
)
def test_evicted_pods_depend_on_the_change(change: str, newer: list[str], older: list[str]) -> None:
    assert (newer, older) == tuple(map(evicted, both(change)))


def test_guarantees_beyond_the_cluster_end_the_process() -> None:
    assert (False, True) == tuple(map(panicked, both("guarantees-beyond-rest")))


def test_a_tree_of_queues_with_too_many_guarantees_ends_it_too() -> None:
    snapshot = shown.asks_for_less_than_it_deserves()
    snapshot.objects["Queue"][0]["spec"] |= {"guarantee": {"resource": {"cpu": "50"}}, "parent": "root"}
    snapshot.objects["Queue"].append(queue("root"))
    snapshot.scheduler_conf = conf_of("gang", "capacity predicates", arguments=shown.TREE)
    found = [replay_cycle(snapshot_at_release(snapshot, name)) for name in ("v1.12.0", "v1.11.2")]
    assert [False, True] == [panicked(recording) for recording in found]


def test_the_status_of_a_queue_counts_running_tasks_only() -> None:
    newer, older = both("queue-status-running")
    allocated = [closed(recording).queues["default"]["cpu"] for recording in (newer, older)]
    assert ["1", "0"] == allocated


def test_a_node_without_the_volume_refuses_the_task_once_it_was_chosen() -> None:
    newer, older = both("volumes-at-allocation")
    undone = [[event.op for event in one.events if isinstance(event, OpEvent)] for one in (newer, older)]
    assert ([], ["unallocate"]) == tuple(undone)
    assert {} == places(older)


def test_unbound_volumes_that_a_node_does_not_have_end_the_process() -> None:
    """Upstream's volume cache dereferences nil if it finds no volume."""
    snapshot = volume_elsewhere()
    claim, volume = snapshot.objects["PersistentVolumeClaim"][0], snapshot.objects["PersistentVolume"][0]
    claim["spec"] = {"storageClassName": "s", "accessModes": ["ReadWriteOnce"], "resources": claim["spec"]["resources"]}
    claim["metadata"]["annotations"] = {}
    volume["spec"].pop("claimRef")
    snapshot.objects["Node"][0]["status"]["allocatable"]["attachable-volumes-csi-csi.x"] = "8"
    racks = [{"matchLabelExpressions": [{"key": "rack", "values": ["r"]}]}]
    wait = {"provisioner": "csi.x", "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": racks}
    snapshot.objects["StorageClass"] = [{"kind": "StorageClass", "metadata": metadata("s"), **wait}]
    found = [replay_cycle(snapshot_at_release(snapshot, f"master,{sign}volumes-at-allocation")) for sign in "-+"]
    assert [False, True] == [panicked(recording) for recording in found]


def test_a_refused_pipeline_is_undone() -> None:
    newer, older = both("refused-pipeline-undone")
    assert ({"l-0": "n1", "j-0": "n1"}, {"l-0": "n1"}) == (places(newer), places(older))


def test_a_queue_deserves_what_is_requested_at_most() -> None:
    deserved = [one.session.plugin_of_class(Capacity).queues["a"].deserved.milli_cpu for one in both(DESERVED)]
    assert [4000.0, 1000.0] == deserved


DESERVED = "capacity-deserved-within-request"


def test_a_job_is_admitted_by_its_own_queue() -> None:
    newer, older = both("capacity-admission-leaf-only")
    phases = [closed(recording).jobs["default/j"].phase for recording in (newer, older)]
    assert ["Pending", "Inqueue"] == phases


def test_a_group_without_pods_is_called_unschedulable() -> None:
    newer, older = both("gang-close-without-tasks")
    said = [[one.type for one in closed(recording).jobs["default/j"].conditions] for recording in (newer, older)]
    assert [[], ["Unschedulable"]] == said


def test_network_topology_is_not_read() -> None:
    newer, older = both("topology-absent")
    assert ["a1", "a1"] == [places(newer)["j-0"], places(older)["j-0"]]
    assert older.session.jobs["default/j"].network_topology is None
    registry = registry_for(resolve_release("v1.11.2").release, PLUGINS, OTHER_FORMS, LATER_PLUGINS)
    assert "network-topology-aware" not in registry


def test_a_message_does_not_name_the_minimum() -> None:
    snapshot = deciding(node("n1", cpu="1"), pod_group("j", min_member=2), pods("j", 2), actions="allocate")
    said = [message_of(snapshot_at_release(snapshot, name)) for name in ("v1.12.0", "v1.11.2")]
    assert ["Pod default/j-0 can possibly be assigned to n1" + tail for tail in (MINIMUM, "")] == said


MINIMUM = ", once minAvailable is satisfied"


def message_of(snapshot: Snapshot) -> str | None:
    return closed(replay_cycle(snapshot)).jobs["default/j"].tasks["default/j-0"].message


@pytest.mark.parametrize(
    ("change", "job", "said"),
    [
        ("backfill-ends-at-failure", "default/b", "backfill ended at default/a-0, and b-0 is behind it"),
        ("volumes-at-allocation", "default/j", "n1 was chosen for j-0 and then refused it"),
    ],
)
def test_explain_names_the_older_rule_without_a_condition(change: str, job: str, said: str) -> None:
    older = both(change)[1]
    assert said in explain_by_name(older, job).sentence


@pytest.mark.parametrize("release", ["v1.10.0", "v1.11.2"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_a_node_that_refuses_the_volumes_once_it_was_chosen_is_named_in_each_older_release(
    release: str, nodes: int
) -> None:
    """Whether the placement is undone, or never comes to an operation; scoring did not fail."""
    snapshot = volume_elsewhere()
    snapshot.objects["Node"] += [node(f"m{number}") for number in range(1, nodes)]
    found = explain_by_name(replay_cycle(snapshot_at_release(snapshot, release)), "default/j")
    assert re.search(r": [nm]1 was chosen for j-0 and then refused it\.$", found.sentence)
    assert f"{release} checks volumes only then; the pod's condition gives no reason." == found.dominant.facts[0]


@pytest.mark.parametrize("actions", ["backfill", "allocate, backfill"])
def test_the_pod_that_ended_backfill_is_explained_and_a_request_is_advised_where_allocate_runs(actions: str) -> None:
    snapshot = SHOWN["backfill-ends-at-failure"]()
    snapshot.scheduler_conf = (snapshot.scheduler_conf or "").replace("backfill", actions)
    older = replay_cycle(snapshot_at_release(snapshot, "master,+backfill-ends-at-failure"))
    found = explain_by_name(older, "default/b")
    ends = "the first pod that fits no node ends backfill for all other pods (fixed in v1.12.0): "
    assert f"{ends}the only node, n1, does not fit a-0: " in found.dominant.facts[0]
    edits = [one.edits for one in found.advised]
    assert ("Pod/default/a-0:-",) in edits
    asked = ("Pod/default/b-0:spec.containers[0].resources.requests[cpu]=10m",)
    assert (asked in edits) == ("allocate" in actions)
