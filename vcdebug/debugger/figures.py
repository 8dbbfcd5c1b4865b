"""Every figure of the state by name (`node n1 idle cpu`), parsed from words, with the events that changed it."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Final, NamedTuple

from vcdebug.actions import ENQUEUE
from vcdebug.amount_text import format_amount, format_number, format_resource, short_name, value_in_units
from vcdebug.errors import VcdebugError, closest_names
from vcdebug.framework.figures import Value
from vcdebug.framework.record import Level, NodeAmounts, OpEvent, StatementEvent
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.model.task import TaskStatus
from vcdebug.recording import event_index
from vcdebug.recording.event_index import Seqs
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.timeline import ClusterState, JobCounts

NODE, QUEUE, JOB, TASK, PLUGIN = "node", "queue", "job", "task", "plugin"
FIGURE_KINDS: Final = (NODE, QUEUE, JOB, TASK, PLUGIN)
KIND_ALIASES: Final = {"pod": TASK}
"""Kubernetes' words for kinds."""
RESOURCE_KINDS: Final = {"jobs": JOB, "pods": TASK, "nodes": NODE, "queues": QUEUE}
"""Commands that show all objects of a kind -> that kind."""
STATUS_COUNTS: Final[Mapping[str, TaskStatus]] = {
    "allocated-tasks" if status is TaskStatus.ALLOCATED else status.upstream_name.lower(): status
    for status in TaskStatus
}
"""Part name → status whose tasks it counts; plain `allocated` is a plugin's amount."""
SUMMED_COUNTS: Final = ("ready", "waiting", "total")
"""A job's counts over several statuses, as the gang adds them up."""
TOTAL_REQUEST: Final = "total-request"
FUTURE_IDLE: Final = "future-idle"
FIXED_NODE_PARTS: Final = ("allocatable", "capacity")
"""Amounts of a node that never change in a cycle."""
OWN_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    NODE: (*NodeAmounts._fields, FUTURE_IDLE, *FIXED_NODE_PARTS),
    QUEUE: ("weight",),
    JOB: (*SUMMED_COUNTS, *STATUS_COUNTS, "phase", "priority", "minimum", TOTAL_REQUEST),
    TASK: ("status", "node", "priority", "request", JOB, QUEUE),
    PLUGIN: (),
}
"""Kind → figures that the session itself has, without any plugin."""


class Figure(NamedTuple):
    """A figure of one object, whole or in one dimension."""

    kind: str
    name: str
    part: str
    dim: str = ""
    plugin: str = ""
    """The plugin that keeps it, for figures of queues, jobs and plugins."""

    def __str__(self) -> str:
        part = f"{self.plugin}/{self.part}" if self.plugin and self.kind != PLUGIN else self.part
        return " ".join(word for word in (self.kind, self.name, part, self.dim) if word)


def figure_value(recording: Recording, figure: Figure, seq: Seq) -> Value:
    """The figure after an event: an amount, a number, a text; None where it does not exist. 0 is the opening state."""
    value = VALUE_READERS[figure.kind](recording, recording.timeline.state_at(seq), figure)
    # Dimensions are read from the resource, since a missing one counts as 0 there.
    return value.get(figure.dim) if figure.dim and isinstance(value, Resource) else value


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
    # The parts are named after the counters, in SUMMED_COUNTS.
    counted: int = getattr(counts, f"{figure.part}_count")
    return counted


def _task_value(recording: Recording, state: ClusterState, figure: Figure) -> Value:
    if figure.part == "status":
        return state.tasks[figure.name].status.upstream_name
    if figure.part == "node":
        return state.tasks[figure.name].node
    if figure.part in (JOB, QUEUE):
        job = recording.owners.jobs.get(figure.name, "")
        return job if figure.part == JOB else recording.owners.queues.get(job, "")
    task = recording.timeline.tasks[figure.name]
    return task.priority if figure.part == "priority" else task.resreq


VALUE_READERS: Final[Mapping[str, Callable[[Recording, ClusterState, Figure], Value]]] = {
    NODE: _node_value,
    QUEUE: _queue_value,
    JOB: _job_value,
    TASK: _task_value,
    PLUGIN: lambda _, state, figure: state.plugin_figure(figure.name, "", figure.part),
}


def figure_parts(recording: Recording, kind: str, name: str) -> tuple[str, ...]:
    """The figures of an object, including those of plugins."""
    books = recording.timeline.figures
    if kind in (NODE, TASK):
        return OWN_PARTS[kind]
    if kind == PLUGIN:
        return books.get(name, {}).get("", ())
    return tuple(
        dict.fromkeys((*OWN_PARTS[kind], *(part for figures in books.values() for part in figures.get(name, ()))))
    )


def figure_plugin(recording: Recording, name: str, part: str) -> str:
    """The first plugin that keeps this figure of a queue or job; empty if none does."""
    for plugin, figures in recording.timeline.figures.items():
        if name and part in figures.get(name, ()):
            return plugin
    return ""


def object_names(recording: Recording, kind: str) -> Mapping[str, object]:
    """The session's objects of a kind, by name."""
    session = recording.session
    objects_by_kind: Mapping[str, Mapping[str, object]] = {
        NODE: session.nodes,
        QUEUE: session.queues,
        JOB: session.jobs,
        TASK: recording.timeline.tasks,
        PLUGIN: {plugin: None for plugin, figures in recording.timeline.figures.items() if figures.get("")},
    }
    return objects_by_kind[kind]


def format_figure(figure: Figure, value: object) -> str:
    """A value of the figure in words: cores, Gi, whole devices."""
    if isinstance(value, Resource):
        return format_resource(value)
    if figure.dim and isinstance(value, float | int):
        return format_amount(figure.dim, value)
    if isinstance(value, float):
        return format_number(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None or value == "" else str(value)


def comparable_value(figure: Figure, value: object) -> bool | int | float | str | None:
    """A value as conditions compare it: cores, bytes, whole devices; several dimensions are a text."""
    if figure.dim and isinstance(value, float | int):
        return value_in_units(figure.dim, value)
    return value if isinstance(value, bool | int | float | str | None) else format_figure(figure, value)


def figure_dimensions(recording: Recording, figure: Figure) -> tuple[str, ...]:
    """The dimensions of a figure that is an amount."""
    value = figure_value(recording, figure._replace(dim=""), 0)
    return all_dimensions(recording) if isinstance(value, Resource) else ()


@per_recording()
def all_dimensions(recording: Recording) -> tuple[str, ...]:
    """cpu, memory, and the other dimensions of nodes and plugin figures."""
    offered = (node.allocatable for node in recording.session.nodes.values())
    booked = (entry for entry in recording.timeline.opening_books.values() if isinstance(entry, Resource))
    names = dict.fromkeys(name for amounts in (*offered, *booked) for name, _ in amounts.items())
    # Sorted, since the order of manifests must not change a table's columns.
    return tuple(dict.fromkeys((CPU, MEMORY, *sorted(names))))


FIGURE_USAGE: Final = (
    "KIND NAME PART [DIMENSION], such as node n1 idle cpu, queue research allocated, job ml/train ready"
)
MAX_NAMED: Final = 12
MAX_COMPARED: Final = 2_000
"""Names that are compared for a "did you mean" hint."""


class FigureError(VcdebugError):
    """Raised for words that name no figure of the recording."""


@per_recording(most=1024)
def parse_figure(recording: Recording, words: tuple[str, ...]) -> Figure:
    """The figure that the words name; raises FigureError with what would be possible."""
    if not words:
        raise FigureError("say which figure", FIGURE_USAGE)
    kind, name_words = KIND_ALIASES.get(words[0], words[0]), words[1:]
    if kind not in FIGURE_KINDS:
        raise FigureError(f"no kind of figure {kind!r}", f"figures are {FIGURE_USAGE}")
    if not name_words:
        raise FigureError(f"say which {kind}", FIGURE_USAGE)
    objects = object_names(recording, kind)
    name, part_words = _find_name(kind, name_words[0], objects)
    return _find_part(recording, kind, name, (*part_words, *name_words[1:]))


def parse_figure_line(recording: Recording, line: str) -> Figure:
    """Same as parse_figure, for a line of words."""
    return parse_figure(recording, tuple(line.split()))


@per_recording()
def find_figure(recording: Recording, words: tuple[str, ...]) -> Figure | None:
    """Same as parse_figure, but None for a figure that the recording lacks, such as that of a node an edit removed."""
    try:
        return parse_figure(recording, words)
    except FigureError:
        return None


def find_object_name(recording: Recording, kind: str, word: str) -> str:
    """The name of the object that a word names; a namespace may be missing. Raises FigureError with close names."""
    return _find_name(kind, word, object_names(recording, kind))[0]


def _find_name(kind: str, word: str, objects: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
    """(object, further words) of a word such as `n1.idle.cpu`; object names may contain dots."""
    if word in objects:
        return word, ()
    prefix = word
    while "." in prefix:
        prefix = prefix.rpartition(".")[0]
        name = prefix if prefix in objects else _find_unique(kind, prefix, objects)
        if name:
            return name, tuple(word[len(prefix) + 1 :].split(".", 1))
    name = _find_unique(kind, word, objects)
    if name:
        return name, ()
    close = closest_names(word, islice(objects, MAX_COMPARED), 3) or list(objects)[:MAX_NAMED]
    available = f"available: {_list_some(close, len(objects))}" if objects else "the session has none"
    raise FigureError(f"no {'pod' if kind == TASK else kind} {word!r}", available)


def _find_unique(kind: str, word: str, objects: Mapping[str, object]) -> str:
    """The full name of a job or task given without namespace; empty unless it is unique."""
    if kind not in (JOB, TASK) or "/" in word:
        return ""
    matches = [name for name in objects if name.endswith(f"/{word}")]
    return matches[0] if len(matches) == 1 else ""


def _find_part(recording: Recording, kind: str, name: str, words: Sequence[str]) -> Figure:
    parts = figure_parts(recording, kind, name)
    if not words:
        raise FigureError(f"say which figure of {kind} {name}", f"it has {_list_some(parts)}")
    plugin, _, part = words[0].rpartition("/")
    books = recording.timeline.figures
    has_part = part in (books.get(plugin, {}).get(name, ()) if plugin else parts)
    if not has_part:
        raise FigureError(f"{kind} {name} has no figure {words[0]!r}", f"it has {_list_some(parts)}")
    if kind == PLUGIN:
        plugin = name
    elif not plugin and part not in OWN_PARTS[kind]:
        plugin = figure_plugin(recording, name, part)
    return _find_dimension(recording, Figure(kind, name, part, "", plugin), words[1:])


def _find_dimension(recording: Recording, figure: Figure, words: Sequence[str]) -> Figure:
    if not words:
        return figure
    dimensions = figure_dimensions(recording, figure)
    if len(words) > 1:
        raise FigureError(f"unexpected {words[1]!r} after {figure} {words[0]}", FIGURE_USAGE)
    if not dimensions:
        raise FigureError(f"{figure} is one value, without dimensions")
    short = [dim for dim in dimensions if words[0] in (dim.rsplit("/", 1)[-1], short_name(dim))]
    if words[0] not in dimensions and len(short) != 1:
        raise FigureError(f"{figure} has no dimension {words[0]!r}", f"it has {_list_some(dimensions)}")
    return figure._replace(dim=words[0] if words[0] in dimensions else short[0])


def _list_some(names: Collection[str], total: int = 0) -> str:
    total = total or len(names)
    first_names = list(names)[:MAX_NAMED]
    return ", ".join(first_names) + (f" and {total - len(first_names)} more" if total > len(first_names) else "")


def iter_figure_completions(recording: Recording, kind: str, name: str) -> Iterator[str]:
    """Every figure of one object, in words."""
    if name not in object_names(recording, kind):
        return
    for part in figure_parts(recording, kind, name):
        figure = parse_figure(recording, (kind, name, part))
        yield f"{kind} {name} {part}"
        if kind in (NODE, PLUGIN) or figure.plugin:
            yield from (f"{kind} {name} {part} {dim}" for dim in figure_dimensions(recording, figure))


class FigureChange(NamedTuple):
    """An event that changed a figure."""

    seq: Seq
    old: Value
    new: Value


class FigureHistory(NamedTuple):
    """All changes of one figure."""

    figure: Figure
    changes: tuple[FigureChange, ...]

    @property
    def change_seqs(self) -> Seqs:
        """The events, ascending."""
        return [change.seq for change in self.changes]

    def last_change(self, seq: Seq) -> FigureChange | None:
        """The last change at or before an event; None where the value is the opening one."""
        position = bisect_right(self.changes, seq, key=lambda change: change.seq)
        return self.changes[position - 1] if position else None

    def change_at(self, seq: Seq) -> FigureChange | None:
        """The change that an event made, if it made one."""
        change = self.last_change(seq)
        return change if change is not None and change.seq == seq else None


@per_recording(most=512)
def figure_history(recording: Recording, figure: Figure) -> FigureHistory:
    """Every event at which the figure changed; a write of an equal value does not count."""
    values = _iter_counts(recording, figure) if _is_count(figure) else _iter_values(recording, figure)
    last, changes = figure_value(recording, figure, 0), []
    for seq, value in values:
        if 0 < seq <= len(recording) and not _is_same_value(last, value):
            changes.append(FigureChange(seq, last, value))
            last = value
    return FigureHistory(figure, tuple(changes))


def writer_of(recording: Recording, figure: Figure, seq: Seq) -> Seq:
    """The event that wrote the value which shows at `seq`: an earlier one where the writer is no event about it.

    A commit's effect on a task is seen at the event after it, and so is the phase that allocate or backfill sets.
    """
    before = recording.event_at(seq - 1) if seq > 1 else None
    if figure.kind == TASK and isinstance(before, StatementEvent) and before.what == "commit":
        is_write = isinstance(recording.event_at(seq), OpEvent)
        return seq if is_write or figure.name not in [operation[1] for operation in before.ops] else seq - 1
    action = recording.span_tree.span_around(seq, Level.ACTION) if figure.part == "phase" else None
    return seq if action is None or action.name == ENQUEUE else action.first


def iter_changed_figures(recording: Recording, first: Seq, last: Seq) -> Iterator[tuple[Figure, FigureChange]]:
    """Each figure, in each dimension, that differs after two events, with the last event that wrote it."""
    line, owners = recording.timeline, recording.owners.jobs
    before = line.changes_up_to(first)
    moved = {
        kind: [name for name, place in line.changed_up_to(kind, last).items() if place >= before]
        for kind in (NODE, TASK)
    }
    jobs = dict.fromkeys(owners[task] for task in moved[TASK] if owners.get(task) in recording.session.jobs)
    names_by_kind = {QUEUE: object_names(recording, QUEUE), JOB: jobs, **moved, PLUGIN: object_names(recording, PLUGIN)}
    for kind, names in names_by_kind.items():
        parsed = ((kind, name, part) for name in names for part in figure_parts(recording, kind, name))
        for figure in map(partial(parse_figure, recording), parsed):
            written = figure_history(recording, figure).last_change(last)
            if written is None or written.seq <= first:
                continue
            for dim_figure in [figure._replace(dim=dim) for dim in figure_dimensions(recording, figure)] or [figure]:
                values = figure_value(recording, dim_figure, first), figure_value(recording, dim_figure, last)
                if not _is_same_value(*values):
                    yield dim_figure, FigureChange(written.seq, *values)


def _iter_values(recording: Recording, figure: Figure) -> Iterator[tuple[Seq, Value]]:
    for seq in dict.fromkeys(_written_seqs(recording, figure)):
        yield seq, figure_value(recording, figure, seq)


def _written_seqs(recording: Recording, figure: Figure) -> Seqs:
    written = recording.timeline.seqs_written
    if figure.kind == NODE:
        return written(event_index.NODE, figure.name) if figure.part not in FIXED_NODE_PARTS else ()
    if figure.kind == TASK:
        return written(event_index.TASK, figure.name) if figure.part in ("status", "node") else ()
    if figure.kind == PLUGIN:
        return written(event_index.BOOK, (figure.name, "", figure.part))
    if figure.plugin:
        return written(event_index.BOOK, (figure.plugin, figure.name, figure.part))
    return written(event_index.PHASE, figure.name) if figure.part == "phase" else ()


def _is_count(figure: Figure) -> bool:
    return figure.kind == JOB and not figure.plugin and figure.part in (*STATUS_COUNTS, *SUMMED_COUNTS)


def _iter_counts(recording: Recording, figure: Figure) -> Iterator[tuple[Seq, int]]:
    """(event, count) after each event that moved a task of the job, updated incrementally."""
    counts = dict(recording.timeline.opening_counts[figure.name])
    minimum = recording.session.jobs[figure.name].min_available
    for seq, moves in groupby(_status_moves(recording, figure.name), key=itemgetter(0)):
        for _, before, after in moves:
            counts[before] -= 1
            counts[after] = counts.get(after, 0) + 1
        if figure.part in STATUS_COUNTS:
            yield seq, counts.get(STATUS_COUNTS[figure.part], 0)
        else:
            yield seq, getattr(JobCounts(counts, 0, minimum), f"{figure.part}_count")


def _status_moves(recording: Recording, job: JobId) -> list[tuple[Seq, TaskStatus, TaskStatus]]:
    """Every change of status of a job's tasks, in order."""
    moves: list[tuple[Seq, TaskStatus, TaskStatus]] = []
    for key in recording.timeline.touched.get(job, ()):
        moves += _iter_task_moves(recording, key)
    return sorted(moves, key=itemgetter(0))


def _iter_task_moves(recording: Recording, key: TaskKey) -> Iterator[tuple[Seq, TaskStatus, TaskStatus]]:
    line = recording.timeline
    before = line.opening_tasks[key].status
    for seq in dict.fromkeys(line.seqs_written(event_index.TASK, key)):
        after = line.state_at(seq).tasks[key].status
        if after is not before:
            yield seq, before, after
        before = after


def _is_same_value(old: object, new: object) -> bool:
    if isinstance(old, Resource) and isinstance(new, Resource):
        names = dict.fromkeys(name for amounts in (old, new) for name, _ in amounts.items())
        return all(old.get(name) == new.get(name) for name in names)
    return old == new
