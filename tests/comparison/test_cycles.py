"""The comparison of two recordings."""

from __future__ import annotations

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from tests.recorded import GOLDEN, bundled, golden
from vcdebug.comparison.cycles import CycleComparison, compare_cycles
from vcdebug.framework.record import HookEvent, OpEvent, PopEvent
from vcdebug.model.task import TaskStatus
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.branch import edited_snapshot

CONF = conf_of("priority gang", "predicates proportion nodeorder", actions="enqueue, allocate")


def crowded(queue_of_second: str = "a") -> Snapshot:
    """Two jobs of two pods, with room for one job."""
    return cluster(
        node("n1", cpu="2"),
        queue("a", weight=1),
        queue("b", weight=1),
        priority_class("high", 10),
        pod_group("first", queue="a", min_member=2),
        pod_group("second", queue=queue_of_second, min_member=2),
        pods("first", 2),
        pods("second", 2),
        conf=CONF,
    )


def compared(*edits: str, queue_of_second: str = "a") -> CycleComparison:
    snapshot = crowded(queue_of_second)
    return compare_cycles(
        replay_cycle(snapshot), replay_cycle(edited_snapshot(snapshot, [parse_edit(text) for text in edits]))
    )


@pytest.mark.parametrize("name", GOLDEN[::3])
def test_a_recording_does_not_differ_from_a_second_run(name: str) -> None:
    found = compare_cycles(golden(name), replay_cycle(golden(name).snapshot))
    assert CycleComparison((), (), (), found.panics, None, None) == found
    assert found.has_same_decisions


def test_more_room_places_the_second_job() -> None:
    found = compared("Node/n1:status.allocatable.cpu=4")
    assert ["default/second"] == [change.name for change in found.jobs]
    before, after = found.jobs[0].before, found.jobs[0].after
    assert before is not None
    assert after is not None
    assert ("pending", "bound") == (before.outcome, after.outcome)
    placed = [(change.name, change.after.status) for change in found.tasks if change.after is not None]
    assert [("default/second-0", TaskStatus.BINDING), ("default/second-1", TaskStatus.BINDING)] == placed


def test_a_queue_that_deserves_something_else_is_a_changed_decision() -> None:
    found = compared("Queue/a:spec.weight=3", queue_of_second="b")
    assert [("proportion", "a"), ("proportion", "b")] == [change.name for change in found.queues]
    assert not found.has_same_decisions


def test_an_object_on_one_side_only_is_none_on_the_other() -> None:
    found = compared("PodGroup/second:-", "Pod/second-0:-", "Pod/second-1:-")
    gone = [(change.name, change.after) for change in found.jobs]
    assert ("default/second", None) in gone
    assert all(change.after is None for change in found.tasks if change.name.startswith("default/second"))


def test_divergence_is_the_first_differing_answer_of_a_plugin() -> None:
    found = compared("PodGroup/second:spec.priorityClassName=high")
    assert found.divergence is not None
    sides = found.divergence.before, found.divergence.after
    for side in sides:
        assert side is not None
        assert isinstance(side.event, HookEvent | PopEvent)
    deed = found.operation_divergence
    assert deed is not None
    assert deed.before is not None
    assert deed.after is not None
    assert isinstance(deed.before.event, OpEvent)
    assert isinstance(deed.after.event, OpEvent)
    assert ("first", "second") == (deed.before.event.task[8:-2], deed.after.event.task[8:-2])


def test_both_sides_of_a_vote_are_shown() -> None:
    base = bundled()
    off = replay_cycle(edited_snapshot(base.snapshot, [parse_edit("conf:plugins.gang.enablePreemptable=false")]))
    found = compare_cycles(base, off).divergence
    assert found is not None
    for side, state in ((found.before, "answered"), (found.after, "switched off")):
        assert side is not None
        assert side.question is not None
        assert [state] == [vote.state for vote in side.question.votes if vote.plugin == "gang"]


def test_differing_values_of_one_answer_are_named() -> None:
    found = compared("Node/n1:metadata.labels.zone=a", "Pod/first-0:spec.nodeSelector.zone=b").divergence
    assert found is not None
    assert any(difference.field.startswith(("failed", "feasible")) for difference in found.differences)


def test_changed_figures_without_changed_decisions_are_no_divergence() -> None:
    found = compared("Queue/a:spec.weight=2", "Queue/b:spec.weight=2", "Queue/default:spec.weight=2")
    assert found.has_same_decisions
    assert found.divergence is None
