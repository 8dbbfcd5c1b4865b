"""Older forms that no recording shows, on clusters made for them."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import (
    amounts,
    cluster,
    conf_of,
    metadata,
    names,
    node,
    open_session,
    pod,
    pod_group,
    pods,
    queue,
    task,
    tasks,
)
from tests.releases.shown import high, low, starving_in_two_queues
from tests.releases.shown_before_1_13 import scored_without_predicates
from tests.releases.shown_devices import CLASSES, TOPOLOGY_AWARE
from vcdebug.explain.decisions.queue_figures import reservation_ledger, total_reserved
from vcdebug.framework.order import build_victims_queue
from vcdebug.framework.record import CloseEvent, HookEvent, OpEvent, PanicEvent
from vcdebug.framework.session import Session
from vcdebug.model.pod_claims import limit_key_function
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release import Release
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot


def older(snapshot: Snapshot, *changes: str) -> Snapshot:
    return snapshot_at_release(snapshot, ",".join(["master", *(f"+{change}" for change in changes)]))


def release(*changes: str) -> Release:
    return resolve_release(",".join(["master", *(f"+{change}" for change in changes)])).release


def cpu_of(snapshot: Snapshot, name: str) -> float:
    return task(open_session(snapshot, "gang"), name).resreq.milli_cpu


def with_pod(**spec: Any) -> Snapshot:
    requests = spec.pop("requests", {"cpu": "1"})
    return cluster(node("n1"), pod_group("j"), pod("a", "j", requests=requests, **spec))


def test_overhead_counts_beside_the_containers_only() -> None:
    init = [{"name": "i", "image": "x", "resources": {"requests": {"cpu": "4"}}}]
    snapshot = with_pod(overhead={"cpu": "2"}, initContainers=init)
    assert (6000.0, 4000.0) == (cpu_of(snapshot, "a"), cpu_of(older(snapshot, "overhead-before-init"), "a"))


def test_requests_of_the_pod_as_a_whole_are_not_read() -> None:
    snapshot = with_pod(requests={}, resources={"requests": {"cpu": "3"}})
    found = task(open_session(older(snapshot, "pod-level-requests-ignored"), "gang"), "a")
    assert (3000.0, 0.0, True) == (cpu_of(snapshot, "a"), found.resreq.milli_cpu, found.best_effort)


def test_a_missing_claim_drops_the_pod() -> None:
    snapshot = with_pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "nobody"}}])
    sizes = [len(open_session(one, "gang").jobs["default/j"].tasks) for one in (snapshot, dropping(snapshot))]
    assert [1, 0] == sizes
    assert 1 == len(
        open_session(older(snapshot, "pvc-missing-drops-pod", "add-pod-on-error"), "gang").jobs["default/j"].tasks
    )


def dropping(snapshot: Snapshot) -> Snapshot:
    return older(snapshot, "pvc-missing-drops-pod")


def test_volcanos_own_gate_is_one_like_any_other() -> None:
    gates = [{"name": "scheduling.volcano.sh/queue-allocation-gate"}]
    snapshot = with_pod(schedulingGates=gates)
    newest, old = (open_session(one, "gang") for one in (snapshot, older(snapshot, "queue-allocation-gate")))
    assert (True, False) == (task(newest, "a").pod.has_only_volcano_gate, task(old, "a").pod.has_only_volcano_gate)
    flags = SchedulerFlags(
        feature_gates={"SchedulingGatesQueueAdmission": True}, release=release("queue-allocation-gate")
    )
    assert not flags.is_gate_on("SchedulingGatesQueueAdmission")


def test_a_drivers_limit_keeps_its_slash_and_a_long_name_is_hashed() -> None:
    key = limit_key_function(release("csi-limit-key"))
    long = "d" * 40
    assert ("attachable-volumes-csi-a/b", "attachable-volumes-csi-a-b") == (
        key("a/b"),
        limit_key_function(release())("a/b"),
    )
    assert f"attachable-volumes-csi-{long[:39]}" == key(long[:39])
    assert key(long).startswith(f"attachable-volumes-csi-{'d' * 23}") and len(key(long)) == 62  # noqa: PT018


def two_jobs() -> list[Manifest]:
    young: list[Manifest] = pods("b", 2, on="n1")
    old: list[Manifest] = pods("z", 2, on="n1")
    return [*old, *young]


def order_of_eviction(snapshot: Snapshot) -> list[str]:
    ssn: Session = open_session(snapshot, "gang")
    victims = build_victims_queue(ssn, tasks(ssn, "z-0", "z-1", "b-0", "b-1"), task(ssn, "asking-0"))
    return names([victims.pop() for _ in range(4)])


def test_the_younger_job_loses_all_its_tasks_first() -> None:
    groups = [pod_group("z"), pod_group("b"), pod_group("asking")]
    groups[0]["metadata"]["creationTimestamp"] = "2026-10-01T00:00:00Z"
    snapshot = cluster(node("n1"), groups, two_jobs(), pods("asking", 1))
    assert ["b-1", "b-0", "z-1", "z-0"] == order_of_eviction(older(snapshot, "victim-tie-by-job-age"))
    assert ["b-1", "b-0", "z-1", "z-0"] != order_of_eviction(snapshot)


@pytest.mark.parametrize(("seed", "placed"), [(None, []), (2, ["default/second-0"])])
def test_queue_order_of_older_preempt_is_chance(seed: int | None, placed: list[str]) -> None:
    """Upstream's loop over the first queue uses up the tasks of jobs in other queues."""
    snapshot = older(starving_in_two_queues(), "preempt-queue-order", "preempt-tasks-per-queue")
    recording = replay_cycle(replace(snapshot, chance=ChanceSettings(order_seed=seed)))
    assert placed == [one.task for one in recording.events if isinstance(one, OpEvent) and one.op == "pipeline"]


@pytest.mark.parametrize(
    ("release", "plugins", "asked", "ends"),
    [
        ("v1.12.1", "nodeorder", "true", True),
        ("v1.12.1", "predicates nodeorder", "false", True),
        ("v1.12.1", "predicates nodeorder", "true", False),
        ("v1.12.2", "nodeorder", "true", False),
    ],
)
def test_scores_end_the_process_where_predicates_made_no_metrics(
    release: str, plugins: str, asked: str, *, ends: bool
) -> None:
    snapshot = scored_without_predicates(plugins, predicates={"enablePredicate": asked})
    assert ends is isinstance(replay_cycle(snapshot_at_release(snapshot, release)).events[-1], PanicEvent)


@pytest.mark.parametrize(("release", "ready"), [("v1.13.3", "not ready"), ("v1.14.0", "ready")])
def test_a_gang_that_is_ready_says_so(release: str, ready: str) -> None:
    running = pod("j-0", "j", on="n1", requests={"cpu": "1"})
    waiting = pod("j-1", "j", requests={"cpu": "99"})
    snapshot = cluster(node("n1"), pod_group("j", phase="Running"), running, waiting, conf=conf_of("gang predicates"))
    close = replay_cycle(snapshot_at_release(snapshot, release)).events[-1]
    assert isinstance(close, CloseEvent)
    assert str(close.jobs["default/j"].fit_error).startswith(f"pod group is {ready}, 1 Pending")


def taint_reasons(snapshot: Snapshot) -> str:
    close = replay_cycle(snapshot).events[-1]
    assert isinstance(close, CloseEvent)
    return str(close.jobs["default/j"].tasks["default/a"].message)


def test_the_text_names_the_first_taint() -> None:
    taints = [{"key": "team", "value": "ml", "effect": "NoSchedule"}]
    conf = 'actions: "allocate"\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n'
    snapshot = cluster(node("n1", taints=taints), pod_group("j"), pod("a", "j", requests={"cpu": "1"}), conf=conf)
    assert "untolerated taint(s)" in taint_reasons(snapshot)
    assert "untolerated taint {team: ml}" in taint_reasons(older(snapshot, "taint-text"))


def test_nodegroup_has_no_limits_and_no_order() -> None:
    limits = {"volcano.sh/nodegroup-resource-limits": '{"g": {"cpu": "1"}}'}
    affinity = {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["g"]}}
    labels = {"volcano.sh/nodegroup-name": "g"}
    snapshot = cluster(
        node("n1", labels=labels),
        queue("q", annotations=limits, affinity=affinity),
        pod_group("j", queue="q"),
        pod("a", "j", requests=amounts("2")),
    )
    refused = []
    for one in (snapshot, older(snapshot, "nodegroup-resource-limits")):
        ssn = open_session(one, "nodegroup")
        plugin: Any = ssn.plugins["nodegroup"]
        refused.append(bool(plugin.predicate(task(ssn, "a"), ssn.all_rows())[0]))
    assert [True, False] == refused


def test_usage_takes_weights_and_thresholds_as_they_are() -> None:
    snapshot = cluster(node("n1"), pod_group("j"), pod("a", "j", requests={"cpu": "1"}))
    snapshot.usage = {"n1": {"time": "2026-11-01T00:00:00Z", "cpu": {"10m": 50}, "mem": {"10m": 150}}}
    ssn = open_session(
        older(snapshot, "usage-shadow-load"), "usage", arguments={"usage": {"arguments": "{usage.weight: 2}"}}
    )
    plugin: Any = ssn.plugins["usage"]
    assert [0.0] == plugin.node_order(task(ssn, "a"), ssn.all_rows()).total.tolist()
    assert bool(plugin.predicate(task(ssn, "a"), ssn.all_rows())[0])


def test_usage_weighs_five_where_no_weight_is_stated() -> None:
    snapshot = cluster(node("n1"), pod_group("j"), pod("a", "j", requests={"cpu": "1"}))
    snapshot.usage = {"n1": {"time": "2026-11-01T00:00:00Z", "cpu": {"10m": 50}, "mem": {"10m": 50}}}
    ssn = open_session(older(snapshot, "usage-shadow-load"), "usage")
    plugin: Any = ssn.plugins["usage"]
    assert [250.0] == plugin.node_order(task(ssn, "a"), ssn.all_rows()).total.tolist()


def test_images_on_nodes_are_not_known() -> None:
    snapshot = cluster(node("n1"), metadata_only())
    snapshot.objects["Node"][0]["status"]["images"] = [{"names": ["train:1"], "sizeBytes": 900_000_000}]
    known = [open_session(one, "gang").view.images[0] for one in (snapshot, older(snapshot, "image-states"))]
    assert [True, False] == [bool(states) for states in known]


def metadata_only() -> Manifest:
    return {"kind": "Namespace", "metadata": metadata("default")}


def permitted_and_refused() -> Snapshot:
    """proportion permits both jobs, overcommit rejects the first one."""
    overcommit = {"overcommit": {"arguments": "{overcommit-factor: 1.0}"}}
    minimum = [pod_group(name, phase="Pending", min_resources=amounts(cpu)) for name, cpu in (("a", "8"), ("b", "2"))]
    return cluster(
        node("n1"),
        queue("other"),
        pod_group("r", queue="other", phase="Running"),
        pods("r", 1, cpu="5", on="n1"),
        minimum,
        conf=conf_of("proportion overcommit", actions="enqueue", arguments=overcommit),
    )


@pytest.mark.parametrize(("release", "reserved"), [("", [0.0, 0.0]), ("v1.15.1", [8000.0, 10000.0])])
def test_reservation_of_a_permitted_and_rejected_job_shows_at_its_vote(release: str, reserved: list[float]) -> None:
    recording = replay_cycle(
        snapshot_at_release(permitted_and_refused(), release) if release else permitted_and_refused()
    )
    hooks = [event for event in recording.events if isinstance(event, HookEvent) and event.point == "JobEnqueueable"]
    votes = [recording.events.index(event) + 1 for event in hooks if event.plugin == "proportion"]
    states = [recording.timeline.state_at(seq) for seq in votes]
    assert reserved == [state.plugin_amount("proportion", "default", "inqueue").milli_cpu for state in states]
    whole = [total_reserved(reservation_ledger(recording, seq, "default")).milli_cpu for seq in votes]
    assert reserved == whole
    why = [entry.reason for entry in reservation_ledger(recording, votes[0], "default") if entry.reserved is not None]
    assert (["permitted in this cycle, and not admitted: its whole minResources"] if release else []) == why


def queue_behind_a_broken_tree(extra: str = TOPOLOGY_AWARE) -> Snapshot:
    """Queue b names a missing parent, so the queues behind b are not counted."""
    queues = [queue("root"), queue("a"), queue("b", parent="nobody"), queue("c")]
    tree = {"capacity": {"enableHierarchy": "true"}}
    conf = conf_of("priority gang", "capacity predicates nodeorder", actions="preempt", arguments=tree)
    running, waiting = low("l", 2, "n1", queue="c"), high("h", 1, queue="c")
    return cluster(CLASSES, node("n1", cpu="2"), queues, running, waiting, conf=conf + extra)


@pytest.mark.parametrize(
    ("release", "text"), [("v1.15.0", "[capacity] queue c not found"), ("v1.14.4", "queue c not found")]
)
def test_the_error_of_a_dry_run_names_the_plugin(release: str, text: str) -> None:
    recording = replay_cycle(snapshot_at_release(queue_behind_a_broken_tree(), release))
    hooks = [event for event in recording.events if isinstance(event, HookEvent)]
    assert [{"error": text}] == [event.result for event in hooks if event.point == "SimulateRemoveTask"]


@pytest.mark.parametrize(("release", "end"), [("v1.15.0", CloseEvent), ("v1.14.4", PanicEvent)])
def test_capacity_panics_at_an_eviction_in_a_queue_that_it_does_not_know(release: str, end: type) -> None:
    assert isinstance(replay_cycle(snapshot_at_release(queue_behind_a_broken_tree(""), release)).events[-1], end)


@pytest.mark.parametrize(("switches", "asked"), [("", 1), (",+topology-preempt-absent", 0)])
def test_quotas_are_copied_only_for_dry_runs(switches: str, asked: int) -> None:
    snapshot = cluster(node("n1"), pod_group("j"), pods("j", 1), conf=conf_of("gang proportion predicates"))
    events = replay_cycle(snapshot_at_release(snapshot, f"v1.13.3{switches}")).events
    hooks = [event for event in events if isinstance(event, HookEvent) and event.plugin == "proportion"]
    assert asked == len([event for event in hooks if event.point == "PrePredicate"])


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        ("overcommit", "resource in cluster is overused"),
        ("proportion", "queue resource quota insufficient"),
        ("capacity", "queue resource quota insufficient"),
    ],
)
@pytest.mark.parametrize(("release", "names"), [("v1.12.4", False), ("v1.13.0", True)])
def test_the_event_about_a_refused_job_names_what_it_lacks(
    plugin: str, text: str, release: str, *, names: bool
) -> None:
    asks = pod_group("j", phase="Pending", min_resources=amounts("99"))
    conf = conf_of("priority gang", plugin, actions="enqueue")
    snapshot = cluster(node("n1"), queue(capability={"cpu": "9"}), asks, pods("j", 1), conf=conf)
    recording = replay_cycle(snapshot_at_release(snapshot, release))
    (event,) = recording.record.pod_group_events
    assert (text, names) == (event.message.partition(":")[0], "cpu" in event.message)
