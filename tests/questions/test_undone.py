"""Placements and evictions that a cycle plans and rolls back: an answer says that they did not last."""

import pytest

from tests.recorded import GOLDEN, golden
from vcdebug.explain.decisions.evictions import planned_evictions
from vcdebug.explain.questions.nodes import explain_node
from vcdebug.explain.questions.victims import explain_victim_choice
from vcdebug.framework.record import PLACING_OPS, OpEvent
from vcdebug.model.task import TaskStatus
from vcdebug.recording.recording import Recording


def _placed_tasks(recording: Recording) -> dict[str, str]:
    """Each task of a job that an action placed → its last node."""
    operations = (event for _, event in recording.events_of_type(OpEvent) if event.op in PLACING_OPS)
    return {event.task: event.node for event in operations if event.task in recording.timeline.tasks}


@pytest.mark.parametrize("name", GOLDEN[::3])
def test_a_node_is_said_to_be_the_pods_own_only_if_the_pod_keeps_it(name: str) -> None:
    recording = golden(name)
    for pod, node in list(_placed_tasks(recording).items())[:12]:
        task, reply = recording.timeline.tasks[pod], explain_node(recording, pod)
        is_kept = task.status is not TaskStatus.PENDING
        assert is_kept is reply.sentence.startswith(f"{pod} is placed on {node}"), reply.sentence
        assert is_kept is not reply.sentence.endswith("rolled that back.")
        assert reply.evidence[-1].seq <= len(recording)


@pytest.mark.parametrize("name", GOLDEN[::3])
def test_a_victim_of_a_plan_that_is_rolled_back_is_said_to_stay(name: str) -> None:
    recording = golden(name)
    for pod in dict.fromkeys(one.victim for one in planned_evictions(recording)):
        lasts = any(one.is_carried_out for one in planned_evictions(recording) if one.victim == pod)
        lines = explain_victim_choice(recording, pod).lines
        assert lasts is not any("the pod stays" in line for line in lines), lines
