"""The explained gate, the equation and the scheduler's message about a PodGroup name the same dimensions."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.builders import cluster, node, pod_group, pods, queue
from tests.recorded import GOLDEN, golden
from vcdebug.explain.answer import Finding
from vcdebug.explain.decisions.equations import equation_at
from vcdebug.explain.equation import Equation
from vcdebug.explain.job_view import JobView
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.gates.queue_limits import room_limit
from vcdebug.explain.plugins import explainer_for
from vcdebug.framework.plugin_answers import REJECT
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.model.queue import OPEN
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.state_before import task_of
from vcdebug.snapshot.snapshot import Snapshot

WRITTEN = re.compile(r"(?:insufficient|overused) ([^\s,]+)")
JUDGED_BY_AMOUNTS = ("proportion", "capacity", "overcommit")


class Told(NamedTuple):
    """The dimensions of one rejection from three sources; None if a source names no amounts."""

    seq: Seq
    gate: list[str] | None
    equation: list[str] | None
    written: list[str] | None


def rejections(recording: Recording) -> Iterator[Told]:
    for seq in recording.index.seqs_at_point("JobEnqueueable"):
        event = recording.event_at(seq)
        if isinstance(event, HookEvent) and event.plugin in JUDGED_BY_AMOUNTS and event.result == REJECT:
            yield explained_figures(recording, seq, event)


def explained_figures(recording: Recording, seq: Seq, event: HookEvent) -> Told:
    judge = explainer_for(event.plugin).rejected
    finding = judge(JobView(recording, event.job), seq, event) if judge is not None else None
    shown = equation_at(recording, seq)
    assert shown is not None
    messages = [e.message for e in recording.record.pod_group_events if e.job == event.job and e.seq in (seq - 1, seq)]
    return Told(seq, short(finding), failing(shown), WRITTEN.findall(messages[-1]) if messages else None)


def short(finding: Finding | None) -> list[str] | None:
    """The dimensions that the finding calls exceeded; None if it gives another reason."""
    found = [name.removeprefix("short.") for name in finding.numbers if name.startswith("short.")] if finding else []
    return found or None


def failing(shown: Equation) -> list[str] | None:
    """The dimensions that fail at the first failing queue; a line may begin with the queue's name."""
    names = [term.name.split(" ") for term in shown.terms if term.is_met is False and term.name != "devices"]
    return [parts[-1] for parts in names if parts[:-1] == names[0][:-1]] or None


def disagreements(recording: Recording) -> list[Told]:
    def agree(each: Told) -> bool:
        voices = [voice for voice in (each.gate, each.equation, each.written) if voice is not None]
        return all(voice == voices[0] for voice in voices)

    return [each for each in rejections(recording) if not agree(each)]


def refused_tasks(recording: Recording) -> Iterator[Told]:
    """Refusals of Allocatable, for which the scheduler writes no message."""
    for seq in recording.index.seqs_at_point("Allocatable"):
        event = recording.event_at(seq)
        shown = equation_at(recording, seq)
        if (
            isinstance(event, HookEvent)
            and event.result is False
            and explainer_for(event.plugin).quota
            and shown is not None
        ):
            task = task_of(recording, event.task)
            queues = recording.session.queues
            if queues[event.queue].state != OPEN or any(one.parent == event.queue for one in queues.values()):
                continue  # refused before amounts are compared
            limit = room_limit(JobView(recording, task.job), event.plugin, seq, task)
            yield Told(seq, limit.exceeded_dimensions or None, failing(shown), None)


def refusals_unlike_equation(recording: Recording) -> list[Told]:
    """Refused tasks for which the gate and the equation name different dimensions."""
    return [each for each in refused_tasks(recording) if each.gate != each.equation]


def test_the_copied_cases_reject_often_enough_to_prove_it() -> None:
    found = [each for name in GOLDEN for each in rejections(golden(name))]
    assert 3 < len([each for each in found if each.gate and each.equation and each.written])
    assert 20 < len([each for name in GOLDEN for each in refused_tasks(golden(name)) if each.gate])


def persistent(plugin: str) -> Snapshot:
    """A job that exceeds its queue's cpu, and requests a GPU, which neither the queue nor a node has."""
    limited = queue("q", capability={"cpu": "4", "memory": "64Gi"})
    minimum = {"cpu": "8", "memory": "1Gi", "nvidia.com/gpu": "1"}
    group = pod_group("wanted", queue="q", min_member=1, phase="Pending", min_resources=minimum)
    objects = [limited, node("n1", cpu="16"), group, *pods("wanted", 1, cpu="8")]
    snapshot = cluster(objects, conf=f'actions: "enqueue"\ntiers:\n- plugins:\n  - name: {plugin}\n')
    snapshot.persistence = "on"
    return snapshot


@pytest.mark.parametrize("plugin", ["proportion", "capacity"])
def test_with_persistence_a_dimension_that_the_queue_configures_nowhere_is_not_short(plugin: str) -> None:
    recording = replay_cycle(persistent(plugin))
    found = explain_by_name(recording, "default/wanted")
    assert "exceeded too" not in found.sentence
    assert ["short.cpu"] == [name for name in found.dominant.numbers if name.startswith("short.")]
    (each,) = rejections(recording)
    assert ["cpu"] == each.gate == each.equation == each.written
