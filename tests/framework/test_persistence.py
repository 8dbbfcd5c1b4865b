"""Pipelined tasks that an earlier cycle stored in pods' annotations, over a complete cycle."""

from typing import Any

import pytest

from tests.actions.outcome import ops, phases, tasks
from tests.builders import (
    CREATED,
    cluster,
    conf_of,
    node,
    open_session,
    pod,
    pod_group,
    pods,
    priority_class,
    queue,
    snapshot_from_objects,
    task,
)
from vcdebug.framework import transitions
from vcdebug.framework.hooks import PRE_PREDICATE
from vcdebug.framework.persistence import AnnotationPatch, annotation_patches, clamp_request
from vcdebug.framework.quirks import BOOKS_CLAMPED
from vcdebug.framework.record import CloseEvent, PanicEvent, PredicateEvent
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import PersistenceSetting
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edit_path import EditError
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.whatif.branch import edited_snapshot
from vcdebug.whatif.cycles import CycleChain
from vcdebug.whatif.next_cycle import next_snapshot

STATUS, NODE, EVICTION = (f"volcano.sh/{key}" for key in ("pipelined-status", "pipelined-node", "eviction-occurred"))
FLAG = {EVICTION: "true"}
TIERS = ("priority gang conformance", "drf predicates proportion nodeorder")


def pipelined(name: str, on: str, group: str = "j", cpu: str = "2", status: str = "true", **more: Any) -> Manifest:
    """A Pending pod that an earlier cycle pipelined."""
    notes = {STATUS: status, NODE: on, **more.pop("notes", {})}
    return pod(name, group, requests={"cpu": cpu, "memory": "1G"}, annotations=notes, **more)


def world(*objects: Any, setting: PersistenceSetting = "auto", actions: str = "allocate") -> Snapshot:
    snapshot = cluster(*objects, conf=conf_of(*TIERS, actions=actions))
    snapshot.persistence = setting
    return snapshot


def cycle(*objects: Any, setting: PersistenceSetting = "auto", actions: str = "allocate") -> Recording:
    return replay_cycle(world(*objects, setting=setting, actions=actions))


def patches(recording: Recording) -> list[AnnotationPatch]:
    return list(annotation_patches(recording.session))


def asked_nodes(recording: Recording) -> list[int]:
    """The number of nodes that each search visited."""
    return [event.processed for event in recording.events if isinstance(event, PredicateEvent)]


def figures(books: dict[str, Any]) -> tuple[float, float]:
    """(cpu allocated to the job in drf, cpu requested by its queue in proportion)."""
    held = books["drf"]["jobs"]["default/j"]["allocated"].milli_cpu
    return held, books["proportion"]["queues"]["default"]["request"].milli_cpu


def opened(*objects: Any, setting: PersistenceSetting = "auto") -> Session:
    return open_session(world(*objects, setting=setting), *TIERS)


def test_a_restored_task_waits_on_its_node_and_is_not_charged() -> None:
    ssn = opened(node("n1", cpu="4"), pod_group("j"), pipelined("j-0", "n1", notes={EVICTION: "true"}))
    restored = task(ssn, "j-0")
    assert (TaskStatus.PIPELINED, "n1", True) == (restored.status, restored.node_name, restored.eviction_occurred)
    n1 = ssn.nodes["n1"]
    assert (2000.0, 4000.0, 0.0) == (n1.pipelined.milli_cpu, n1.idle.milli_cpu, n1.used.milli_cpu)
    assert 1 == ssn.jobs["default/j"].waiting_task_num()
    books = dict(ssn.plugin_books())
    assert (0.0, 2000.0) == figures(books)
    assert 0 == int(ssn.view.pod_count[0])


def test_a_node_that_is_idle_now_takes_the_task_and_no_other_is_asked() -> None:
    recording = cycle(node("n1"), node("n2"), pod_group("j"), pipelined("j-0", "n2"))
    assert {"j-0": "Binding@n2"} == tasks(recording)
    assert [1] == asked_nodes(recording)
    assert [AnnotationPatch("default/j-0", {}, (STATUS, NODE))] == patches(recording)
    n2 = recording.session.nodes["n2"]
    assert (0.0, 2000.0) == (n2.pipelined.milli_cpu, n2.used.milli_cpu)


def test_the_books_take_an_allocation_of_a_restored_task_once() -> None:
    session = cycle(node("n1"), pod_group("j"), pipelined("j-0", "n1")).session
    assert (2000.0, 2000.0) == figures(dict(session.plugin_books()))
    assert 1 == int(session.view.pod_count[0])


def test_a_full_node_keeps_the_task_waiting_and_nothing_else_is_tried() -> None:
    full = [pod_group("r"), *pods("r", 1, cpu="9", on="n1", deleting=True)]
    recording = cycle(node("n1"), node("n2"), full, pod_group("j"), pipelined("j-0", "n1"))
    assert "Pipelined@n1" == tasks(recording)["j-0"]
    assert [] == asked_nodes(recording)
    assert [] == patches(recording)


def test_a_drained_node_releases_the_task_to_the_ordinary_search() -> None:
    drained = node("n1", unschedulable=True)
    recording = cycle(drained, node("n2"), pod_group("j"), pipelined("j-0", "n1"))
    assert {"j-0": "Binding@n2"} == tasks(recording)
    assert ["unpipeline j-0@n1", "allocate j-0@n2"] == ops(recording)
    assert [AnnotationPatch("default/j-0", {}, (STATUS, NODE))] == patches(recording)


def test_a_released_task_that_finds_no_node_is_pending_and_struck_out() -> None:
    recording = cycle(node("n1", unschedulable=True), pod_group("j"), pipelined("j-0", "n1"))
    assert {"j-0": "Pending@"} == tasks(recording)
    assert [AnnotationPatch("default/j-0", {}, (STATUS, NODE))] == patches(recording)


def test_second_restored_task_stays_pipelined_on_a_node_with_room_for_one() -> None:
    both = [pipelined("j-0", "n1"), pipelined("j-1", "n1")]
    recording = cycle(node("n1", cpu="3"), pod_group("j"), both)
    assert {"j-0": "Binding@n1", "j-1": "Pipelined@n1"} == tasks(recording)


def test_a_gang_with_one_restored_task_is_placed_as_a_whole() -> None:
    gang = [pipelined("j-0", "n2"), *pods("j", 3, cpu="2")[1:]]
    recording = cycle(node("n1", cpu="4"), node("n2", cpu="2"), pod_group("j", min_member=3), gang)
    assert {"j-0": "Binding@n2", "j-1": "Binding@n1", "j-2": "Binding@n1"} == tasks(recording)


def test_a_discarded_statement_puts_a_restored_task_back() -> None:
    ssn = opened(node("n1"), pod_group("j"), pipelined("j-0", "n1"))
    before = figures(dict(ssn.plugin_books()))
    n1 = ssn.nodes["n1"]
    amounts = n1.pipelined.milli_cpu, n1.idle.milli_cpu, n1.used.milli_cpu
    statement = Statement(ssn)
    assert None is ssn.ask_plugins(PRE_PREDICATE, task(ssn, "j-0"))
    assert None is statement.allocate(task(ssn, "j-0"), "n1")
    statement.discard()
    restored = task(ssn, "j-0")
    assert (TaskStatus.PIPELINED, "n1") == (restored.status, restored.node_name)
    assert amounts == (n1.pipelined.milli_cpu, n1.idle.milli_cpu, n1.used.milli_cpu)
    assert before == figures(dict(ssn.plugin_books()))


def test_a_gang_that_stays_short_keeps_its_restored_task() -> None:
    gang = [pipelined("j-0", "n1"), *pods("j", 3, cpu="9")[1:]]
    recording = cycle(node("n1"), pod_group("j", min_member=3), gang)
    assert "Pipelined@n1" == tasks(recording)["j-0"]
    assert ["allocate j-0@n1", "unallocate j-0@n1"] == ops(recording)
    assert [] == patches(recording)


def test_restored_task_causes_no_second_eviction() -> None:
    going, staying = pods("r", 2, cpu="5", on="n1")
    going["metadata"]["deletionTimestamp"] = CREATED
    waiting = pipelined("j-0", "n1", cpu="5", notes={EVICTION: "true"}, priority=9)
    recording = cycle(
        node("n1"), pod_group("r"), [going, staying], pod_group("j"), waiting, actions="allocate, preempt"
    )
    assert [] == [op for op in ops(recording) if op.startswith("evict")]
    assert "Pipelined@n1" == tasks(recording)["j-0"]


def test_pipelined_status_restores_a_task_only_with_the_text_true() -> None:
    snapshot = world(node("n1", cpu="1"), pod_group("j"), pipelined("j-0", "n1", status="True"))
    session = open_session(snapshot, *TIERS)
    assert TaskStatus.PENDING is task(session, "j-0").status
    (problem,) = session.persistence.problems
    where = "Pod default/j-0: metadata.annotations[volcano.sh/pipelined-status]"
    assert f"{where}: is 'True', not 'true'; the task counts as Pending" == problem.format_line()


@pytest.mark.parametrize(
    ("where", "what"), [("gone", "names gone, which is not a node of the snapshot"), ("", "is missing")]
)
def test_an_unknown_node_does_not_restore(where: str, what: str) -> None:
    ssn = opened(node("n1"), pod_group("j"), pipelined("j-0", where))
    assert TaskStatus.PENDING is task(ssn, "j-0").status
    assert [what] == [problem.what for problem in ssn.persistence.problems]


def test_a_bound_pod_that_still_carries_the_annotations_is_bound() -> None:
    bound = pod("j-0", "j", on="n1", annotations={STATUS: "true", NODE: "n2"})
    recording = cycle(node("n1"), node("n2"), pod_group("j"), bound)
    assert {"j-0": "Running@n1"} == tasks(recording)
    assert [] == patches(recording)


def test_annotations_are_ignored_without_persistence() -> None:
    recording = cycle(node("n1"), node("n2"), pod_group("j"), pipelined("j-0", "n2"), setting="off")
    assert {"j-0": "Binding@n1"} == tasks(recording)
    assert [] == patches(recording)


@pytest.mark.parametrize(
    ("setting", "carriers", "text"),
    [
        ("auto", 0, "task state persistence: off (no pods carry its annotations)"),
        ("auto", 1, "task state persistence: on (1 pod carries its annotations)"),
        ("on", 0, "task state persistence: on (set in meta.json)"),
        ("off", 1, "task state persistence: off (set in meta.json)"),
    ],
)
def test_the_setting_says_why(setting: PersistenceSetting, carriers: int, text: str) -> None:
    ssn = opened(node("n1"), pod_group("j"), [pipelined(f"j-{i}", "n1") for i in range(carriers)], setting=setting)
    assert text == ssn.persistence.setting_text


def test_pipelining_patches_the_pod_with_its_node() -> None:
    leaving = [pod_group("r"), *pods("r", 1, cpu="9", on="n1", deleting=True)]
    recording = cycle(node("n1"), leaving, pod_group("j"), pods("j", 1, cpu="5"), setting="on")
    assert "Pipelined@n1" == tasks(recording)["j-0"]
    assert [AnnotationPatch("default/j-0", {STATUS: "true", NODE: "n1"}, ())] == patches(recording)


def test_a_release_by_another_decision_leaves_the_task_pending() -> None:
    ssn = opened(node("n1"), pod_group("j"), pipelined("j-0", "n1"))
    transitions.unplace_task(ssn, task(ssn, "j-0"), "unpipeline")
    assert (TaskStatus.PENDING, "") == (task(ssn, "j-0").status, task(ssn, "j-0").node_name)
    assert 0.0 == ssn.nodes["n1"].pipelined.milli_cpu


def bound_by_another_client(where: str, setting: PersistenceSetting = "auto") -> Recording:
    """A restored task with a free node, whose pod another client binds to `where` during the cycle."""
    snapshot = world(node("n1"), node("n2"), pod_group("j"), pipelined("j-0", "n1", notes=FLAG), setting=setting)
    snapshot.bound = {"default/j-0": where}
    return replay_cycle(snapshot)


def test_binding_a_pod_to_the_node_it_already_has_succeeds() -> None:
    recording = bound_by_another_client("n1")
    assert {"j-0": "Binding@n1"} == tasks(recording)
    assert [AnnotationPatch("default/j-0", {}, (STATUS, NODE, EVICTION))] == patches(recording)


def test_a_pod_that_is_bound_elsewhere_meanwhile_is_a_conflict_and_clears_the_annotations() -> None:
    recording = bound_by_another_client("n2")
    assert {"j-0": "Pending@"} == tasks(recording)
    assert ["allocate j-0@n1", "unallocate j-0@n1"] == ops(recording)
    assert [AnnotationPatch("default/j-0", {}, (STATUS, NODE, EVICTION))] == patches(recording)
    assert "n2" == next_snapshot(recording).objects_of("Pod")[0]["spec"]["nodeName"]
    assert {} == next_snapshot(recording).bound


def test_bind_by_another_client_is_unseen_without_persistence() -> None:
    recording = bound_by_another_client("n2", setting="off")
    assert {"j-0": "Binding@n1"} == tasks(recording)
    assert "n2" == next_snapshot(recording).objects_of("Pod")[0]["spec"]["nodeName"]


def test_eviction_occurred_does_not_survive_the_bind() -> None:
    recording = cycle(node("n1"), pod_group("j"), pipelined("j-0", "n1", notes=FLAG))
    assert [AnnotationPatch("default/j-0", {}, (STATUS, NODE, EVICTION))] == patches(recording)


def test_outdated_eviction_annotation_is_removed() -> None:
    leaving = [pod_group("r"), *pods("r", 1, cpu="9", on="n1", deleting=True)]
    waiting = pod("j-0", "j", requests={"cpu": "5"}, annotations=FLAG)
    recording = cycle(node("n1"), leaving, pod_group("j"), waiting)
    assert [AnnotationPatch("default/j-0", {STATUS: "true", NODE: "n1"}, (EVICTION,))] == patches(recording)


def test_a_restored_task_that_is_allocated_and_never_committed_keeps_its_annotations() -> None:
    """The gang is pipelined but not ready: its statement stays open."""
    both = [pipelined("j-0", "n1"), pipelined("j-1", "n1")]
    recording = cycle(node("n1", cpu="3"), pod_group("j", min_member=2), both)
    assert {"j-0": "Allocated@n1", "j-1": "Pipelined@n1"} == tasks(recording)
    assert [] == patches(recording)


def test_next_cycle_reads_the_written_annotations() -> None:
    """The victim terminates for two seconds; meanwhile the task stays pipelined and no other pod is evicted."""
    low = [pod_group("r", phase="Running"), *pods("r", 2, cpu="4500m", on="n1", terminationGracePeriodSeconds=2)]
    high = [priority_class("high", 9), pod_group("j", priority_class="high")]
    waiting = pods("j", 1, cpu="4", priority=9, annotations={"third.party/x": "keep"})
    cycles = CycleChain(cycle(node("n1"), low, high, waiting, setting="on", actions="allocate, preempt"))
    for _ in range(2):
        cycles.run_next()
    states = [tasks(one)["j-0"] for one in cycles.recordings]
    assert ["Pipelined@n1", "Pipelined@n1", "Binding@n1"] == states
    notes = [named_pod(one.snapshot, "j-0")["metadata"]["annotations"] for one in cycles.recordings]
    assert {STATUS: "true", NODE: "n1", EVICTION: "true", "third.party/x": "keep"}.items() <= notes[1].items()
    after = named_pod(next_snapshot(cycles.recordings[-1]), "j-0")
    assert {"third.party/x"} == {key for key in after["metadata"]["annotations"] if "scheduling" not in key}


def named_pod(snapshot: Snapshot, name: str) -> Manifest:
    return next(manifest for manifest in snapshot.objects_of("Pod") if manifest["metadata"]["name"] == name)


def test_once_on_persistence_stays_on_although_no_pod_carries_an_annotation_any_more() -> None:
    first = cycle(node("n1"), pod_group("j"), pipelined("j-0", "n1"))
    later = replay_cycle(next_snapshot(first)).session.persistence
    assert "task state persistence: on (as in the cycles before)" == later.setting_text


def test_edits_switch_persistence_and_bind_pods_meanwhile() -> None:
    snapshot = world(node("n1"), pod_group("j"), pods("j", 1))
    for text, expected in (("replay:persistence=on", "on"), ("replay:persistence-", "auto")):
        assert expected == edited_snapshot(snapshot, [parse_edit(text)]).persistence
    bound = edited_snapshot(snapshot, [parse_edit("replay:bound[default/j-0]=n2")])
    assert {"default/j-0": "n2"} == bound.bound
    assert {} == edited_snapshot(bound, [parse_edit("replay:bound[default/j-0]-")]).bound
    for wrong in ("replay:persistence=maybe", "replay:speed=2", "replay:bound=n1"):
        with pytest.raises(EditError):
            edited_snapshot(snapshot, [parse_edit(wrong)])


def test_accounts_release_no_more_than_they_hold() -> None:
    held = Resource.from_list({"cpu": "1", "memory": "2G"})
    request = Resource.from_list({"cpu": "3", "memory": "1G", "pods": "1"})
    ssn = opened(node("n1"), pod_group("j"), pods("j", 1), setting="on")
    cut = clamp_request(ssn, "drf", "default/j", held, request)
    assert (1000.0, 1e9, 0.0) == (cut.milli_cpu, cut.memory, cut.get("pods"))
    assert [BOOKS_CLAMPED] == [note.code for note in ssn.record.notes]
    assert request is clamp_request(opened(node("n1")), "drf", "default/j", held, request)


def test_the_setting_is_read_from_meta_json() -> None:
    objects = [node("n1"), pod_group("j")]
    assert "on" == snapshot_from_objects(objects, persistence="on").persistence
    assert "off" == snapshot_from_objects(objects, persistence=False).persistence
    wrong = snapshot_from_objects(objects, persistence="maybe")
    assert "auto" == wrong.persistence
    assert ["persistence"] == [problem.field for problem in wrong.problems if problem.field == "persistence"]


GPU_JOB: dict[str, Any] = {"min_resources": {"cpu": "1", "nvidia.com/gpu": "1"}, "phase": "Pending"}


@pytest.mark.parametrize(("setting", "expected"), [("off", "Pending"), ("on", "Inqueue")])
def test_a_scalar_that_the_queue_configures_nowhere_does_not_keep_a_job_out(
    setting: PersistenceSetting, expected: str
) -> None:
    """No node has GPUs, so the queue's limit for GPUs is 0."""
    limited = queue("q", capability={"cpu": "4"})
    snapshot = cluster(node("n1"), limited, pod_group("j", queue="q", **GPU_JOB), pods("j", 1))
    snapshot.scheduler_conf = conf_of("gang", "proportion", actions="enqueue")
    snapshot.persistence = setting
    assert expected == phases(replay_cycle(snapshot))["j"]


@pytest.mark.parametrize(("setting", "expected"), [("off", "Pending"), ("on", "Inqueue")])
def test_the_root_queues_own_limits_are_not_enforced(setting: PersistenceSetting, expected: str) -> None:
    tree = [queue("root", capability={"cpu": "1"}), queue("q", parent="root")]
    group = pod_group("j", queue="q", phase="Pending", min_resources={"cpu": "2"})
    snapshot = cluster(node("n1"), tree, group, pods("j", 1, cpu="2"))
    snapshot.scheduler_conf = conf_of(
        "gang", "capacity", actions="enqueue", arguments={"capacity": {"enableHierarchy": "true"}}
    )
    snapshot.persistence = setting
    assert expected == phases(replay_cycle(snapshot))["j"]


def deep_preemption(setting: PersistenceSetting) -> Recording:
    """Queues so deep that a query about l makes l the parent of x1, although l has no allocations of x1's victims."""
    chain = [queue(f"q{depth}", parent=f"q{depth - 1}" if depth > 1 else "root") for depth in range(1, 6)]
    below = [queue("x", parent="q5"), queue("l", parent="q5"), queue("x1", parent="x")]
    low = [pod_group("low", queue="x1", min_member=0, phase="Running"), *pods("low", 1, cpu="9", on="n1")]
    high = [pod_group("j", queue="x1", priority_class="high"), *pods("j", 1, cpu="9", priority=9)]
    waiting = [pod_group("k", queue="l"), *pods("k", 1, cpu="9")]
    snapshot = cluster(node("n1"), [queue("root"), *chain, *below], priority_class("high", 9), low, high, waiting)
    snapshot.scheduler_conf = conf_of(
        "priority",
        "predicates capacity",
        actions="allocate, preempt",
        arguments={"capacity": {"enableHierarchy": "true"}},
    )
    snapshot.persistence = setting
    return replay_cycle(snapshot)


def test_a_cycle_in_which_books_would_fall_below_nothing_goes_on_with_persistence() -> None:
    off, on = deep_preemption("off"), deep_preemption("on")
    assert isinstance(off.events[-1], PanicEvent)
    assert isinstance(on.events[-1], CloseEvent)
    clamped = [note.text for note in on.notes if note.code == BOOKS_CLAMPED]
    assert ["capacity: l has less cpu, memory, pods than is released; it stays at 0"] == clamped
