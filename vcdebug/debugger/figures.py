"""Every figure of the state by name: `node n1 idle cpu`, `queue research allocated`, `job ml/train ready`.

A figure is what a number on the screen shows. Its value at an event and the events that changed it come from the
recording's histories.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from vcdebug.amount_text import format_amount, format_number, format_resource, value_in_units
from vcdebug.framework.figures import Value
from vcdebug.framework.record import NodeAmounts
from vcdebug.model.names import Seq
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.model.task import TaskStatus
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.timeline import ClusterState

NODE, QUEUE, JOB, TASK, PLUGIN = "node", "queue", "job", "task", "plugin"
FIGURE_KINDS: Final = (NODE, QUEUE, JOB, TASK, PLUGIN)
STATUS_COUNTS: Final[Mapping[str, TaskStatus]] = {
    "allocated-tasks" if status is TaskStatus.ALLOCATED else status.upstream_name.lower(): status
    for status in TaskStatus
}
"""A job's tasks per status; `allocated` alone is what a plugin's book holds."""
SUMMED_COUNTS: Final = ("ready", "waiting", "total")
"""A job's counts over several statuses, as the gang adds them up."""
TOTAL_REQUEST: Final = "total-request"
FUTURE_IDLE: Final = "future-idle"
FIXED_NODE_PARTS: Final = ("allocatable", "capacity")
"""What a node has throughout the cycle."""
OWN_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    NODE: (*NodeAmounts._fields, FUTURE_IDLE, *FIXED_NODE_PARTS),
    QUEUE: ("weight",),
    JOB: (*SUMMED_COUNTS, *STATUS_COUNTS, "phase", "priority", "minimum", TOTAL_REQUEST),
    TASK: ("status", "node", "priority", "request"),
    PLUGIN: (),
}
"""What objects have without any plugin."""
MILLI: Final = 1000.0


class Figure(NamedTuple):
    """A figure of one object, whole or in one dimension."""

    kind: str
    name: str
    part: str
    dim: str = ""
    plugin: str = ""
    """Whose book it stands in, for figures of queues, jobs and plugins."""

    def __str__(self) -> str:
        part = f"{self.plugin}/{self.part}" if self.plugin and self.kind != PLUGIN else self.part
        return " ".join(word for word in (self.kind, self.name, part, self.dim) if word)


def figure_value(recording: Recording, figure: Figure, seq: Seq) -> Value:
    """The figure after an event: an amount, a number, a text; None where it does not exist. 0 is the opening state."""
    found = VALUE_READERS[figure.kind](recording, recording.timeline.state_at(seq), figure)
    return found.get(figure.dim) if figure.dim and isinstance(found, Resource) else found


def _node_value(recording: Recording, state: ClusterState, figure: Figure) -> Value:
    if figure.part in NodeAmounts._fields:
        return getattr(state.nodes[figure.name], figure.part)
    if figure.part == FUTURE_IDLE:
        return state.nodes[figure.name].future_idle()
    node = recording.session.nodes[figure.name]
    return node.capability if figure.part == "capacity" else node.allocatable


def _queue_value(recording: Recording, state: ClusterState, figure: Figure) -> Value:
    if figure.plugin:
        return state.plugin_figure(figure.plugin, figure.name, figure.part)
    return recording.session.queues[figure.name].weight


def _job_value(recording: Recording, state: ClusterState, figure: Figure) -> Value:
    if figure.plugin:
        return state.plugin_figure(figure.plugin, figure.name, figure.part)
    if figure.part == "phase":
        return state.phases[figure.name]
    job = recording.session.jobs[figure.name]
    if figure.part in ("priority", "minimum"):
        return job.priority if figure.part == "priority" else job.min_available
    if figure.part == TOTAL_REQUEST:
        return job.total_request
    counts = state.job_counts(figure.name)
    if figure.part in STATUS_COUNTS:
        return counts.status.get(STATUS_COUNTS[figure.part], 0)
    counted: int = getattr(counts, f"{figure.part}_count")
    return counted


def _task_value(recording: Recording, state: ClusterState, figure: Figure) -> Value:
    if figure.part == "status":
        return state.tasks[figure.name].status.upstream_name
    if figure.part == "node":
        return state.tasks[figure.name].node
    task = recording.timeline.tasks[figure.name]
    return task.priority if figure.part == "priority" else task.resreq


def _plugin_value(recording: Recording, state: ClusterState, figure: Figure) -> Value:
    return state.plugin_figure(figure.name, "", figure.part)


VALUE_READERS: Final[Mapping[str, Callable[[Recording, ClusterState, Figure], Value]]] = {
    NODE: _node_value,
    QUEUE: _queue_value,
    JOB: _job_value,
    TASK: _task_value,
    PLUGIN: _plugin_value,
}


def figure_parts(recording: Recording, kind: str, name: str) -> tuple[str, ...]:
    """What there is to know of an object, the plugins' books included."""
    books = recording.timeline.figures
    if kind in (NODE, TASK):
        return OWN_PARTS[kind]
    if kind == PLUGIN:
        return books.get(name, {}).get("", ())
    return tuple(
        dict.fromkeys((*OWN_PARTS[kind], *(part for figures in books.values() for part in figures.get(name, ()))))
    )


def figure_plugin(recording: Recording, name: str, part: str) -> str:
    """The first plugin that keeps this figure of a queue or job; empty where none does."""
    for plugin, figures in recording.timeline.figures.items():
        if name and part in figures.get(name, ()):
            return plugin
    return ""


def object_names(recording: Recording, kind: str) -> Mapping[str, object]:
    """Every object of a kind."""
    session = recording.session
    known: Mapping[str, Mapping[str, object]] = {
        NODE: session.nodes,
        QUEUE: session.queues,
        JOB: session.jobs,
        TASK: recording.timeline.tasks,
        PLUGIN: {plugin: None for plugin, figures in recording.timeline.figures.items() if figures.get("")},
    }
    return known[kind]


def format_figure(figure: Figure, found: object) -> str:
    """A value of the figure in words: cores, Gi, whole devices."""
    if isinstance(found, Resource):
        return format_resource(found)
    if figure.dim and isinstance(found, float | int):
        return format_amount(figure.dim, found)
    if isinstance(found, float):
        return format_number(found)
    if isinstance(found, list | tuple):
        return ", ".join(map(str, found)) or "none"
    return "none" if found is None or found == "" else str(found)


def comparable_value(figure: Figure, found: object) -> bool | int | float | str | None:
    """A value as conditions compare it: cores, bytes, whole devices; several dimensions are a text."""
    if figure.dim and isinstance(found, float | int):
        return value_in_units(figure.dim, found)
    return found if isinstance(found, bool | int | float | str | None) else format_figure(figure, found)


def figure_dimensions(recording: Recording, figure: Figure) -> tuple[str, ...]:
    """The dimensions of a figure that is an amount."""
    found = figure_value(recording, figure._replace(dim=""), 0)
    return all_dimensions(recording) if isinstance(found, Resource) else ()


@per_recording()
def all_dimensions(recording: Recording) -> tuple[str, ...]:
    """cpu, memory, and whatever else nodes offer and plugins keep books of."""
    offered = (node.allocatable for node in recording.session.nodes.values())
    booked = (entry for entry in recording.timeline.opening_books.values() if isinstance(entry, Resource))
    names = dict.fromkeys(name for amounts in (*offered, *booked) for name, _ in amounts.items())
    return tuple(dict.fromkeys((CPU, MEMORY, *sorted(names))))
