"""Effects of the older forms of changes before v1.11, on the clusters made for them."""

from collections.abc import Callable

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods
from tests.releases import shown_before_1_11 as shown
from tests.releases.test_before_1_12 import both, closed, evicted, panicked, places
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.framework.record import HookEvent
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.completion import missing_queues
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.views.effects import iter_move_tables


@pytest.mark.parametrize(
    ("change", "newer", "older"),
    [
        ("preemption-policy-unread", [], ["default/l-0"]),
        ("reclaim-beyond-starving", [], ["default/b-2"]),
        ("victims-not-restarted", ["default/l-1"], []),
    ],
)
def test_evicted_pods_depend_on_the_change(change: str, newer: list[str], older: list[str]) -> None:
    assert (newer, older) == tuple(map(evicted, both(change)))


@pytest.mark.parametrize(
    ("change", "newer", "older"),
    [
        ("capacity-tree-absent", {"j-0": "n1"}, {"j-0": "n1", "j-1": "n1"}),
        ("node-not-ready-absent", {"j-0": "n1"}, {"j-0": "n2"}),
        ("nodegroup-ends-predicates", {}, {"j-0": "n1"}),
        ("volume-attributes-unread", {}, {"j-0": "n1"}),
        ("filters-end-at-first", {"l-0": "n1"}, {"l-0": "n1", "j-0": "n1"}),
    ],
)
def test_placements_depend_on_the_change(change: str, newer: dict[str, str], older: dict[str, str]) -> None:
    assert (newer, older) == tuple(map(places, both(change)))


def test_plugins_in_front_of_nodegroup_are_asked() -> None:
    snapshot = shown.accepted_by_its_group()
    snapshot.scheduler_conf = conf_of("gang predicates", "nodegroup")
    assert {} == places(replay_cycle(snapshot_at_release(snapshot, "v1.10.2")))


def test_a_card_with_too_many_cores_in_use_takes_another_pod() -> None:
    newer, older = both("vgpu-cores-wrap")
    assert ("", "n1") == (places(newer).get("j-0", ""), places(older).get("j-0", ""))


@pytest.mark.parametrize(
    ("change", "newer", "older"),
    [("guarantees-beyond-total", False, True), ("volumes-refuse-at-once", True, False)],
)
def test_panics_depend_on_the_change(change: str, newer: bool, older: bool) -> None:
    assert (newer, older) == tuple(map(panicked, both(change)))


def test_a_job_is_elastic_in_each_dimension_or_not_at_all() -> None:
    newer, older = both("elastic-in-every-dimension")
    assert ["Inqueue", "Pending"] == [closed(one).jobs["default/b"].phase for one in (newer, older)]


def test_pods_behind_the_first_on_a_node_have_no_memory_of_cards() -> None:
    newer, older = both("vgpu-scalars-till-first-held")
    assert ["200", "100"] == [closed(one).queues["default"]["volcano.sh/vgpu-memory"] for one in (newer, older)]


def points(recording: Recording) -> list[str]:
    """`plugin hook` of each answer about Preemptive and Allocatable."""
    asked = [event for event in recording.events if isinstance(event, HookEvent)]
    return [f"{event.plugin} {event.point}" for event in asked if event.point in ("Preemptive", "Allocatable")]


def test_reclaim_asks_whether_the_queue_may_allocate() -> None:
    newer, older = both("reclaim-asks-allocatable")
    assert (["proportion Preemptive"], ["proportion Allocatable"]) == (points(newer), points(older))


def test_a_gang_whose_pods_failed_is_pending() -> None:
    newer, older = both("failed-uncounted")
    assert ["Completed", "Pending"] == [closed(one).jobs["default/j"].phase for one in (newer, older)]


def test_a_queue_counts_its_own_tasks() -> None:
    newer, older = both("queue-status-own")
    allocated = [[closed(one).queues[name]["cpu"] for name in ("root", "p", "b")] for one in (newer, older)]
    assert [["2", "2", "2"], ["0", "0", "2"]] == allocated


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (shown.above_its_share, "queue a may not reclaim for a-1: it would use 4 cpu and deserves 2"),
        (shown.only_node_is_not_ready, "no node is in the session for j-0"),
    ],
)
def test_explain_names_the_older_rule(snapshot: Callable[[], Snapshot], said: str) -> None:
    older = replay_cycle(snapshot_at_release(snapshot(), "v1.10.2"))
    job = next(iter(older.session.jobs))
    assert said in explain_by_name(older, job).sentence


def test_a_node_that_is_ignored_is_named() -> None:
    older = replay_cycle(snapshot_at_release(shown.only_node_is_not_ready(), "v1.10.2"))
    finding = explain_by_name(older, "default/j").dominant
    assert "n1 is not ready: v1.10.2 ignores such nodes." in finding.facts


@pytest.mark.parametrize("action", ["enqueue", "allocate"])
@pytest.mark.parametrize("ready", ["True", "False"])
def test_ignored_nodes_are_named_where_a_gang_lacks_room_or_is_not_admitted(action: str, ready: str) -> None:
    hosts = [node(name, cpu="4") for name in ("n1", "n2", "n3")]
    for host in hosts[1:]:
        host["status"]["conditions"] = [{"type": "Ready", "status": ready}]
    phase = "Pending" if action == "enqueue" else "Inqueue"
    group = pod_group("j", min_member=3, phase=phase, min_resources={"cpu": "12"})
    conf = conf_of("gang", "overcommit predicates", actions="enqueue, allocate")
    snapshot = cluster(hosts, group, pods("j", 3, cpu="4"), conf=conf)
    found = explain_by_name(replay_cycle(snapshot_at_release(snapshot, "v1.10.2")), "default/j")
    assert found.scheduled is (ready == "True")
    ignored = "n2, n3 are not ready: v1.10.2 ignores such nodes."
    assert (ready == "False") is (ignored in found.dominant.facts)


@pytest.mark.parametrize(("release", "refused"), [("v1.10.0", True), ("v1.10.2", False)])
def test_pods_that_the_cache_refuses_to_bind_are_not_said_to_have_a_node(release: str, *, refused: bool) -> None:
    """Backfill places pods without requests on full nodes; the cache, which counts pods, then refuses them."""
    others = [pod_group("o", phase="Running"), *pods("o", 1, cpu="1", on="n1")]
    waiting = [pod_group("j", min_member=1), *pods("j", 1, requests={"cpu": "0"})]
    conf = conf_of("gang", "predicates nodeorder", actions="allocate, backfill")
    snapshot = cluster(node("n1", cpu="4", pods="1"), others, waiting, conf=conf)
    recording = replay_cycle(snapshot_at_release(snapshot, release))
    found = explain_by_name(recording, "default/j")
    assert "has no Pending pods" not in found.sentence
    assert refused is ("refuses to bind 1 pod to n1 (short there: pods)" in found.sentence)
    titles = [table.title for table in iter_move_tables(cycle_effects(recording))]
    assert refused is ("placed, but not bound: the scheduler's cache refuses to bind it" in titles)
    assert "placed, but not bound: its gang is not complete" not in titles


def test_no_queue_root_is_made() -> None:
    snapshot = shown.has_its_minimum()
    newer, older = (snapshot_at_release(snapshot, name).flags for name in ("v1.11.2", "v1.10.2"))
    assert [["root", "default"], ["default"]] == [
        [queue["metadata"]["name"] for queue in missing_queues([], flags)] for flags in (newer, older)
    ]


def test_a_claim_with_a_class_is_refused_where_the_gate_is_off() -> None:
    snapshot = shown.volume_of_another_class()
    snapshot.objects["PersistentVolumeClaim"][0]["spec"]["volumeAttributesClassName"] = "silver"
    found = [replay_cycle(snapshot_at_release(snapshot, name)) for name in ("v1.14.4", "v1.13.3", "v1.10.2")]
    assert [True, False, True] == [bool(places(one)) for one in found]


def test_kubernetes_before_1_31_does_not_migrate_portworx() -> None:
    flags = [snapshot_at_release(shown.has_its_minimum(), name).flags for name in ("v1.11.2", "v1.10.2")]
    assert [True, False] == [one.is_gate_on("CSIMigrationPortworx") for one in flags]
    assert (1, 30) == resolve_release("v1.10.2").release.kubernetes_version
