"""The state after any event, looked up figure by figure: every figure keeps the events at which it changed.

Nothing is computed backward: a value is the last one written at or before the event, else the opening one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from vcdebug.framework.columns import OPERATION
from vcdebug.framework.record import Event, NodeAmounts, OpEvent, Record, StateEvent
from vcdebug.framework.session import Session
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, Seq, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.resource import Resource
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo, task_status
from vcdebug.trace.history import History, JobCounts, LazyMap, TaskState
from vcdebug.trace.postings import EMPTY, Seqs

TASK, NODE, PHASE, BOOK = "task", "node", "phase", "book"
GROUPS = ("jobs", "queues")
"""Parts of a plugin's books that are kept by job or queue; other figures belong to the plugin as a whole."""


FigureKey = tuple[str, str, str]
"""(plugin, job or queue or nothing, figure)."""


class Timeline:
    """Opening values and histories of one recording."""

    def __init__(self, record: Record, session: Session) -> None:
        self._record = record
        self._session = session
        self._histories: dict[tuple[str, Any], History[Any]] = {}
        self.touched: dict[JobId, list[TaskKey]] = {}
        """Tasks that change at all, by job."""
        self._read_changes()

    def _read_changes(self) -> None:
        events = self._record.events
        for seq, kind, key, value in self._record.changes:
            if kind == OPERATION:
                self._read_operation(seq, events[seq - 1])
            elif kind == BOOK:
                plugin, name = key
                for figure, amount in value.items():
                    self._history(BOOK, (plugin, name or "", figure)).write(seq, amount)
            else:
                self._history(kind, key).write(seq, value)

    def _read_operation(self, seq: Seq, event: Event) -> None:
        """The operation stands for the figures that it changed: they are made when they are looked up."""
        assert isinstance(event, OpEvent)
        self._history(TASK, event.task).write(seq, event)
        if event.node in self._session.nodes:
            self._history(NODE, event.node).write(seq, event)
        for key in event.figures.changed(event.place):
            self._history(BOOK, key).write(seq, event)

    def _history(self, kind: str, key: Any) -> History[Any]:
        history = self._histories.get((kind, key))
        if history is None:
            history = self._histories[kind, key] = History()
            task = self.tasks.get(key) if kind == TASK else None
            if task is not None:
                self.touched.setdefault(task.job, []).append(key)
        return history

    def state_at(self, seq: Seq) -> ClusterState:
        """The state after event `seq`; 0 is the opening state."""
        return ClusterState(self, seq)

    def last_change(self, kind: str, key: str | FigureKey, seq: Seq) -> Seq | None:
        """The last event at or before `seq` that wrote a figure: kind is task, node, phase or book."""
        history = self._histories.get((kind, key))
        return None if history is None else history.changed(seq)

    def written(self, kind: str, key: str | FigureKey) -> Seqs:
        """Every event that wrote a figure, ascending; one that wrote it twice is there twice."""
        history = self._histories.get((kind, key))
        return EMPTY if history is None else history.seqs

    def lookup(self, kind: str, key: object, seq: Seq, opening: Any) -> Any:
        """A figure after event `seq`."""
        history = self._histories.get((kind, key))
        value = opening if history is None else history.at(seq, opening)
        return _left_by(value, kind, key) if isinstance(value, OpEvent) else value

    # Opening values

    @cached_property
    def _opening(self) -> StateEvent | None:
        return next((event for event in self._record.events if isinstance(event, StateEvent)), None)

    @cached_property
    def tasks(self) -> Mapping[TaskKey, TaskInfo]:
        """Every task that a job or a node has; good for what never changes about it."""
        tasks = {task.key: task for job in self._session.jobs.values() for task in job.tasks.values()}
        for node in self._session.nodes.values():
            for key, task in node.tasks.items():
                tasks.setdefault(key, task)
        return tasks

    @cached_property
    def opening_tasks(self) -> Mapping[TaskKey, TaskState]:
        """Tasks as the session found them."""
        return {key: _opening_state(task) for key, task in self.tasks.items()}

    @cached_property
    def opening_nodes(self) -> Mapping[NodeName, NodeAmounts]:
        """Nodes as the session found them."""
        names, opening = self._record.node_names, self._opening
        if opening is None:
            return {name: NodeAmounts.of(node) for name, node in self._session.nodes.items()}
        return dict(zip(names, opening.nodes, strict=True))

    @cached_property
    def opening_phases(self) -> Mapping[JobId, str]:
        """PodGroup phases as the session found them."""
        groups = ((uid, job.pod_group.manifest) for uid, job in self._session.jobs.items())
        return {uid: (manifest.get("status") or {}).get("phase") or "" for uid, manifest in groups}

    @cached_property
    def opening_books(self) -> Mapping[FigureKey, Any]:
        """Every figure of every plugin when the session opened."""
        figures: dict[FigureKey, Any] = {}
        for plugin, books in self._opening.books if self._opening is not None else ():
            for figure, value in books.items():
                if figure not in GROUPS:
                    figures[plugin, "", figure] = value
                    continue
                for name, entry in value.items():
                    figures.update({(plugin, name, part): amount for part, amount in entry.items()})
        return figures

    @cached_property
    def figures(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """plugin → job, queue or nothing → names of its figures."""
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        for plugin, name, figure in self.opening_books:
            entry = found.setdefault(plugin, {})
            entry[name] = (*entry.get(name, ()), figure)
        return found

    @cached_property
    def opening_counts(self) -> Mapping[JobId, Mapping[TaskStatus, int]]:
        """Tasks per status of every job when the session opened."""
        counts: dict[JobId, dict[TaskStatus, int]] = {}
        for uid, job in self._session.jobs.items():
            entry = counts[uid] = {}
            for task in job.tasks.values():
                status = self.opening_tasks[task.key].status
                entry[status] = entry.get(status, 0) + 1
        return counts

    @cached_property
    def opening_on_node(self) -> Mapping[NodeName, tuple[TaskKey, ...]]:
        """Tasks by the node that they name when the session opened."""
        found: dict[NodeName, list[TaskKey]] = {}
        for key, state in self.opening_tasks.items():
            if state.node:
                found.setdefault(state.node, []).append(key)
        return {node: tuple(keys) for node, keys in found.items()}

    @cached_property
    def best_effort(self) -> Mapping[JobId, tuple[TaskKey, ...]]:
        """Tasks of each job that request nothing."""
        jobs = self._session.jobs.items()
        return {uid: tuple(t.key for t in job.tasks.values() if t.best_effort) for uid, job in jobs}

    @property
    def jobs(self) -> Mapping[JobId, JobInfo]:
        """The session's jobs, for what never changes about them."""
        return self._session.jobs


class ClusterState:
    """Everything that changes in a cycle, after one event. Do not change what it returns."""

    __slots__ = ("_timeline", "seq")

    def __init__(self, timeline: Timeline, seq: Seq) -> None:
        self._timeline = timeline
        self.seq = seq

    @property
    def tasks(self) -> Mapping[TaskKey, TaskState]:
        """Status and node of every task."""
        return LazyMap(self._timeline.tasks, self._task)

    @property
    def nodes(self) -> Mapping[NodeName, NodeAmounts]:
        """Idle, used, releasing and pipelined of every node."""
        return LazyMap(self._timeline.opening_nodes, self._node)

    @property
    def phases(self) -> Mapping[JobId, str]:
        """The PodGroups' phases."""
        return LazyMap(self._timeline.opening_phases, self._phase)

    @property
    def books(self) -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
        """plugin → job or queue (empty for the plugin as a whole) → figure → value."""
        return LazyMap(self._timeline.figures, self._book)

    def figure(self, plugin: str, name: str, figure: str) -> Any:
        """One figure of a plugin about a job or queue; None where it keeps none."""
        opening = self._timeline.opening_books.get((plugin, name, figure))
        return self._timeline.lookup(BOOK, (plugin, name, figure), self.seq, opening)

    def amount(self, plugin: str, name: str, figure: str) -> Resource:
        """As figure, for one that is an amount; empty where the plugin keeps none."""
        value = self.figure(plugin, name, figure)
        return value if isinstance(value, Resource) else Resource()

    def job(self, job: JobId) -> JobCounts:
        """How many of a job's tasks have which status."""
        timeline = self._timeline
        counts = dict(timeline.opening_counts[job])
        for key in timeline.touched.get(job, ()):
            before, now = timeline.opening_tasks[key].status, self._task(key).status
            counts[before] -= 1
            counts[now] = counts.get(now, 0) + 1
        pending = [key for key in timeline.best_effort[job] if self._task(key).status is TaskStatus.PENDING]
        shown = {status: counts[status] for status in sorted(counts) if counts[status]}
        return JobCounts(shown, len(pending), timeline.jobs[job].min_available)

    def tasks_on(self, node: NodeName) -> list[TaskKey]:
        """Tasks that name this node, by `namespace/name`; finished ones hold no room."""
        timeline = self._timeline
        keys = dict.fromkeys(timeline.opening_on_node.get(node, ()))
        keys.update(dict.fromkeys(key for touched in timeline.touched.values() for key in touched))
        return sorted(key for key in keys if self._task(key).node == node)

    def _task(self, key: TaskKey) -> TaskState:
        opening = self._timeline.opening_tasks[key]
        return TaskState(*self._timeline.lookup(TASK, key, self.seq, opening))

    def _node(self, name: NodeName) -> NodeAmounts:
        amounts: NodeAmounts = self._timeline.lookup(NODE, name, self.seq, self._timeline.opening_nodes[name])
        return amounts

    def _phase(self, job: JobId) -> str:
        return str(self._timeline.lookup(PHASE, job, self.seq, self._timeline.opening_phases[job]))

    def _book(self, plugin: str) -> Mapping[str, Mapping[str, Any]]:
        names = self._timeline.figures[plugin]

        def entry(name: str) -> Mapping[str, Any]:
            return {figure: self.figure(plugin, name, figure) for figure in names[name]}

        return LazyMap(names, entry)


def _left_by(event: OpEvent, kind: str, key: Any) -> Any:
    """A figure as an operation left it."""
    if kind == TASK:
        return event.state
    return event.after if kind == NODE else event.figures.figure(event.place, *key)


def _opening_state(task: TaskInfo) -> TaskState:
    """From the pod's manifest, because the task has moved on."""
    pod = Pod(task.pod.manifest)
    return TaskState(task_status(pod), pod.node_name)
