"""The state after any event, looked up figure by figure: every figure knows the changes that wrote it.

Nothing is computed backward: a value is the last one written at or before the event, else the opening one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from msgspec import Struct

from vcdebug.framework.columns import OPERATION
from vcdebug.framework.figures import Figures, Value
from vcdebug.framework.record import Event, JobState, NodeAmounts, OpEvent, Record, StateEvent
from vcdebug.framework.session import Session
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.model.sub_job import READY_STATUSES
from vcdebug.model.task import STATUS_BY_LABEL, TaskInfo, TaskStatus, status_on_node
from vcdebug.recording.event_index import BOOK, NODE, PHASE, TASK, ChangeIndex, FigureKey, Owners, Seqs

GROUPED_FIGURES = ("jobs", "queues")
"""Parts of a plugin's accounting that are per job or queue; other figures belong to the plugin as a whole."""


class StateTimeline:
    """Opening values of one recording, and the changes that follow."""

    def __init__(self, record: Record, session: Session, owners: Owners) -> None:
        self._record = record
        self._session = session
        self._owners = owners
        self._change_index = ChangeIndex(record, session.nodes)

    def state_at(self, seq: Seq) -> ClusterState:
        """The state after event `seq`; 0 is the opening state."""
        return ClusterState(self, seq)

    def earliest_same_seq(self, seq: Seq) -> Seq:
        """The earliest event with the same state after it as `seq`."""
        seqs = self._record.changes.seqs
        place = bisect_right(seqs, seq)
        return seqs[place - 1] if place else 0

    def last_change(self, kind: str, key: str | FigureKey, seq: Seq) -> Seq | None:
        """The last event at or before `seq` that wrote a figure: kind is task, node, phase or book."""
        place = self._change_index.last_place(kind, key, self.changes_up_to(seq))
        return None if place is None else self._record.changes.seqs[place]

    def seqs_written(self, kind: str, key: str | FigureKey) -> Seqs:
        """Every event that wrote a figure, ascending; an event that wrote it twice is listed twice."""
        seqs = self._record.changes.seqs
        return array("I", (seqs[place] for place in self._change_index.places_of(kind, key)))

    def task_history(self, task: TaskKey) -> list[tuple[TaskStatus, NodeName]]:
        """Status and node of a task after each change, in order."""
        return [self.value_written_at(place, TASK, task) for place in self._change_index.places_of(TASK, task)]

    def changes_up_to(self, seq: Seq) -> int:
        """How many changes there are up to an event."""
        return bisect_right(self._record.changes.seqs, seq)

    def changed_up_to(self, kind: str, seq: Seq) -> dict[str, int]:
        """Task or node → the place in the log of its last change up to an event."""
        return self._change_index.latest_places(kind, self.changes_up_to(seq))

    def value_after(self, kind: str, key: str | FigureKey, changes: int, opening: Value) -> Value:
        """A figure after so many changes."""
        place = self._change_index.last_place(kind, key, changes)
        return opening if place is None else self.value_written_at(place, kind, key)

    def value_written_at(self, place: int, kind: str, key: str | FigureKey) -> Value:
        """The value that the change at a place of the log wrote."""
        change = self._record.changes[place]
        if change.kind == OPERATION:
            return _figure_after_operation(self._record.events[change.seq - 1], kind, key)
        return change.value[key[-1]] if kind == BOOK else change.value

    @cached_property
    def moving(self) -> Mapping[TaskKey, None]:
        """Tasks that some event of the cycle changes."""
        return dict.fromkeys(self._change_index.changed_tasks())

    @cached_property
    def touched(self) -> Mapping[JobId, Sequence[TaskKey]]:
        """Tasks that some event of the cycle changes, by job."""
        owned = ((self._owners.jobs.get(key), key) for key in self.moving)
        return group_by_key((job, key) for job, key in owned if job is not None)

    @cached_property
    def touched_on_node(self) -> Mapping[NodeName, Collection[TaskKey]]:
        """Node → tasks that some event of the cycle assigns to it."""
        tasks_by_node: dict[NodeName, dict[TaskKey, None]] = {}
        for change in self._record.changes:
            if change.kind == OPERATION:
                event = self._record.events[change.seq - 1]
                assert isinstance(event, OpEvent)
                tasks_by_node.setdefault(event.state[1], {})[event.task] = None
            elif change.kind == TASK:
                tasks_by_node.setdefault(change.value[1], {})[change.key] = None
        return tasks_by_node

    # Opening values

    @cached_property
    def _opening_event(self) -> StateEvent | None:
        return next((event for event in self._record.events if isinstance(event, StateEvent)), None)

    @cached_property
    def tasks(self) -> Mapping[TaskKey, TaskInfo]:
        """Every task of a job or a node, for reading only what never changes in a cycle."""
        tasks = {task.key: task for job in self._session.jobs.values() for task in job.tasks.values()}
        for node in self._session.nodes.values():
            for key, task in node.tasks.items():
                tasks.setdefault(key, task)
        return tasks

    @cached_property
    def opening_tasks(self) -> Mapping[TaskKey, TaskState]:
        """Tasks as the session found them."""
        restored = self._session.cluster.restored
        return {key: _opening_state(task, restored.get(task.uid)) for key, task in self.tasks.items()}

    def opening_task(self, key: TaskKey) -> TaskState:
        """A task as the session found it, without building the states of all others."""
        all_tasks: Mapping[TaskKey, TaskState] | None = vars(self).get("opening_tasks")
        if all_tasks is not None:
            return all_tasks[key]
        task = self.tasks[key]
        return _opening_state(task, self._session.cluster.restored.get(task.uid))

    @cached_property
    def opening_nodes(self) -> Mapping[NodeName, NodeAmounts]:
        """Nodes as the session found them."""
        names, opening = self._record.node_names, self._opening_event
        if opening is None:
            return {name: NodeAmounts.of_node(node) for name, node in self._session.nodes.items()}
        return dict(zip(names, opening.nodes, strict=True))

    @cached_property
    def opening_phases(self) -> Mapping[JobId, str]:
        """PodGroup phases as the session found them."""
        groups = ((uid, job.pod_group.manifest) for uid, job in self._session.jobs.items())
        return {uid: (manifest.get("status") or {}).get("phase") or "" for uid, manifest in groups}

    @cached_property
    def opening_books(self) -> Mapping[FigureKey, Value]:
        """Every figure of every plugin when the session opened."""
        figures: dict[FigureKey, Value] = {}
        for plugin, books in self._opening_event.books if self._opening_event is not None else ():
            for figure, value in books.items():
                if figure not in GROUPED_FIGURES:
                    figures[plugin, "", figure] = value
                    continue
                for name, entry in value.items():
                    figures.update({(plugin, name, part): amount for part, amount in entry.items()})
        return figures

    @cached_property
    def figures(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """plugin → job, queue or nothing → names of its figures."""
        figure_names: dict[str, dict[str, tuple[str, ...]]] = {}
        for plugin, name, figure in self.opening_books:
            entry = figure_names.setdefault(plugin, {})
            entry[name] = (*entry.get(name, ()), figure)
        return figure_names

    @cached_property
    def opening_counts(self) -> Mapping[JobId, Mapping[TaskStatus, int]]:
        """Tasks per status of every job when the session opened."""
        if self._opening_event is not None:
            return _counts_by_job(self._opening_event.jobs)
        counts: dict[JobId, dict[TaskStatus, int]] = {}
        for uid, job in self._session.jobs.items():
            entry = counts[uid] = {}
            for task in job.tasks.values():
                status = self.opening_tasks[task.key].status
                entry[status] = entry.get(status, 0) + 1
        return counts

    @cached_property
    def opening_on_node(self) -> Mapping[NodeName, tuple[TaskKey, ...]]:
        """Node → tasks that name it when the session opens."""
        restored = self._session.cluster.restored
        node_tasks = ((_opening_node(task, restored.get(task.uid)), key) for key, task in self.tasks.items())
        keys_by_node = group_by_key((node, key) for node, key in node_tasks if node)
        return {node: tuple(keys) for node, keys in keys_by_node.items()}

    @cached_property
    def best_effort(self) -> Mapping[JobId, tuple[TaskKey, ...]]:
        """Tasks of each job that request nothing."""
        jobs = self._session.jobs.items()
        return {uid: tuple(t.key for t in job.tasks.values() if t.best_effort) for uid, job in jobs}

    @property
    def jobs(self) -> Mapping[JobId, JobInfo]:
        """The session's jobs, for reading what never changes in a cycle."""
        return self._session.jobs


class ClusterState:
    """Everything that changes in a cycle, after one event; read only."""

    __slots__ = ("_changes", "_timeline", "seq")

    def __init__(self, timeline: StateTimeline, seq: Seq) -> None:
        self._timeline = timeline
        self._changes = timeline.changes_up_to(seq)
        self.seq = seq

    @property
    def tasks(self) -> Mapping[TaskKey, TaskState]:
        """Status and node of every task."""
        return LazyMap(self._timeline.tasks, self._task_state)

    @property
    def nodes(self) -> Mapping[NodeName, NodeAmounts]:
        """Idle, used, releasing and pipelined of every node."""
        return LazyMap(self._timeline.opening_nodes, self._node_amounts)

    @property
    def phases(self) -> Mapping[JobId, str]:
        return LazyMap(self._timeline.opening_phases, self._job_phase)

    @property
    def books(self) -> Mapping[str, Mapping[str, Figures]]:
        """plugin → job or queue (empty for the plugin as a whole) → figure → value."""
        return LazyMap(self._timeline.figures, self._plugin_books)

    def plugin_figure(self, plugin: str, name: str, figure: str) -> Value:
        """One figure of a plugin about a job or queue; None where it keeps none."""
        opening = self._timeline.opening_books.get((plugin, name, figure))
        return self._timeline.value_after(BOOK, (plugin, name, figure), self._changes, opening)

    def plugin_amount(self, plugin: str, name: str, figure: str) -> Resource:
        """A figure that is an amount; an empty Resource where the plugin keeps none."""
        value = self.plugin_figure(plugin, name, figure)
        return value if isinstance(value, Resource) else Resource()

    def job_counts(self, job: JobId) -> JobCounts:
        """A job's task counts by status."""
        timeline = self._timeline
        counts = dict(timeline.opening_counts[job])
        for key in timeline.touched.get(job, ()):
            before, after = timeline.opening_task(key).status, self._task_state(key).status
            counts[before] -= 1
            counts[after] = counts.get(after, 0) + 1
        pending = [key for key in timeline.best_effort[job] if self._task_state(key).status is TaskStatus.PENDING]
        nonzero_counts = {status: counts[status] for status in sorted(counts) if counts[status]}
        return JobCounts(nonzero_counts, len(pending), timeline.jobs[job].min_available)

    def tasks_on(self, node: NodeName) -> list[TaskKey]:
        """Tasks that name this node, by `namespace/name`; finished ones hold no room."""
        timeline = self._timeline
        keys = dict.fromkeys(timeline.opening_on_node.get(node, ()))
        keys.update(dict.fromkeys(timeline.touched_on_node.get(node, ())))
        return sorted(key for key in keys if self._task_state(key).node == node)

    def _task_state(self, key: TaskKey) -> TaskState:
        opening = self._timeline.opening_task(key)
        return TaskState(*self._timeline.value_after(TASK, key, self._changes, opening))

    def _node_amounts(self, name: NodeName) -> NodeAmounts:
        amounts: NodeAmounts = self._timeline.value_after(NODE, name, self._changes, self._timeline.opening_nodes[name])
        return amounts

    def _job_phase(self, job: JobId) -> str:
        return str(self._timeline.value_after(PHASE, job, self._changes, self._timeline.opening_phases[job]))

    def _plugin_books(self, plugin: str) -> Mapping[str, Figures]:
        names = self._timeline.figures[plugin]

        def entry_figures(name: str) -> Figures:
            return {figure: self.plugin_figure(plugin, name, figure) for figure in names[name]}

        return LazyMap(names, entry_figures)


def _counts_by_job(jobs: Mapping[JobId, JobState]) -> dict[JobId, Mapping[TaskStatus, int]]:
    """Task counts of all jobs from a state event."""
    # Jobs with equal counts share one mapping: of ten thousand jobs most have the same few.
    shared_counts: dict[tuple[tuple[str, int], ...], Mapping[TaskStatus, int]] = {}
    counts: dict[JobId, Mapping[TaskStatus, int]] = {}
    for uid, job in jobs.items():
        label_counts = (*job.status.items(),)
        task_counts = shared_counts.get(label_counts)
        if task_counts is None:
            task_counts = shared_counts[label_counts] = {STATUS_BY_LABEL[label]: count for label, count in label_counts}
        counts[uid] = task_counts
    return counts


def _figure_after_operation(event: Event, kind: str, key: str | FigureKey) -> Value:
    assert isinstance(event, OpEvent)
    if isinstance(key, str):
        return event.state if kind == TASK else event.after
    return event.figures.figure_value(event.place, *key)


def _opening_state(task: TaskInfo, restored: NodeName | None) -> TaskState:
    """A task's opening state, read from its manifest because the task has changed; Pipelined if restored as such."""
    node = _opening_node(task, restored)
    return TaskState(status_on_node(task.pod, node) if restored is None else TaskStatus.PIPELINED, node)


def _opening_node(task: TaskInfo, restored: NodeName | None) -> NodeName:
    return task.pod.stated_node if restored is None else restored


# Parts of a state, and a mapping whose values are looked up one by one.

V = TypeVar("V")


class TaskState(NamedTuple):
    """A task at one moment."""

    status: TaskStatus
    node: NodeName


class JobCounts(Struct, frozen=True):
    """A job's tasks at one moment, as the gang counts them."""

    status: Mapping[TaskStatus, int]
    best_effort_pending: int
    min_available: int

    @property
    def ready_count(self) -> int:
        """Number of tasks that are Bound, Binding, Running, Allocated or Succeeded."""
        return sum(self.status.get(status, 0) for status in READY_STATUSES)

    @property
    def is_ready(self) -> bool:
        """Whether ready and best-effort pending tasks reach the minimum."""
        return self.ready_count + self.best_effort_pending >= self.min_available

    @property
    def waiting_count(self) -> int:
        """Number of Pipelined tasks."""
        return self.status.get(TaskStatus.PIPELINED, 0)

    @property
    def pending_count(self) -> int:
        """Number of Pending tasks."""
        return self.status.get(TaskStatus.PENDING, 0)

    @property
    def total_count(self) -> int:
        """Number of all tasks."""
        return sum(self.status.values())


class LazyMap(Mapping[str, V]):
    """A mapping whose values are looked up one by one."""

    __slots__ = ("_get", "_keys")

    def __init__(self, keys: Collection[str], get: Callable[[str], V]) -> None:
        self._keys = keys
        self._get = get

    def __getitem__(self, key: str) -> V:
        if key not in self._keys:
            raise KeyError(key)
        return self._get(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys
