"""Recording: one executed cycle, immutable once it ran."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.record import CutEvent, Event, HookEvent, Note, Record, Span
from vcdebug.framework.session import Session
from vcdebug.grouping import group_by_key
from vcdebug.model.fiterror import ReasonTable
from vcdebug.model.names import NodeName, Seq
from vcdebug.snapshot.problem import Problem
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.index import EventIndex, Owners
from vcdebug.trace.spans import SpanTree
from vcdebug.trace.timeline import StateTimeline

EventType = TypeVar("EventType")


class Recording:
    """Events, spans and changes of a cycle, with the snapshot and configuration that it ran on.

    `session` is the session as the cycle left it: good for what never changes, not for amounts in between.
    """

    def __init__(
        self, snapshot: Snapshot, conf: SchedulerConf, session: Session, seconds: Mapping[str, float] | None = None
    ) -> None:
        self.snapshot = snapshot
        self.conf = conf
        self.session = session
        self.record: Record = session.record
        self.seconds: Mapping[str, float] = seconds or {}
        """Duration of each stage in seconds, where a clock was given."""
        self.memo: dict[Callable[..., Any], Callable[..., Any]] = {}  # Any: each question has its own form
        """Answers that have been given about this recording, by question: see trace/memo.py."""
        self.answered: dict[str, object] = {}
        """Answers that took long, by name: plain values, stored with the recording once somebody has asked."""

    def __len__(self) -> int:
        return len(self.record.events)

    @property
    def events(self) -> Sequence[Event]:
        """All events; the one numbered `seq` is at seq - 1."""
        return self.record.events

    def event_at(self, seq: Seq) -> Event:
        """The event numbered `seq`, from 1."""
        return self.record.events[seq - 1]

    def filter_events(self, kind: type[EventType], seqs: Iterable[Seq]) -> Iterator[tuple[Seq, EventType]]:
        """Those of some events that are of one type, numbered."""
        events = self.record.events
        for seq in seqs:
            event = events[seq - 1]
            if isinstance(event, kind):
                yield seq, event

    def events_of_type(self, kind: type[EventType]) -> Iterator[tuple[Seq, EventType]]:
        """All events of one type, numbered, in order."""
        return self.filter_events(kind, self.index.seqs_of_type(kind))

    def hook_calls(self, point: str) -> Iterator[tuple[Seq, HookEvent]]:
        """All calls of one hook, by upstream's name, numbered, in order."""
        return self.filter_events(HookEvent, self.index.seqs_at_point(point))

    @property
    def spans(self) -> Sequence[Span]:
        """Actions, queues, jobs, tasks and nodes, in order of their beginning."""
        return self.record.spans

    @property
    def notes(self) -> Sequence[Note]:
        """Quirks of upstream that acted."""
        return self.record.notes

    @cached_property
    def own_problems(self) -> tuple[Problem, ...]:
        """What is wrong or missing in the input: snapshot, configuration, restored tasks, plugins."""
        plugins = self.session.plugins.values()
        of_plugins = (problem for plugin in plugins for problem in plugin.problems)
        restored = self.session.persistence.problems
        return (*self.snapshot.problems, *self.conf.problems, *restored, *of_plugins)

    @property
    def cut_event(self) -> CutEvent | None:
        """The last event, where the record was full before the cycle was over."""
        last = self.record.events[-1] if self.record.events else None
        return last if isinstance(last, CutEvent) else None

    @property
    def node_names(self) -> Sequence[NodeName]:
        """Node names by row."""
        return self.record.node_names

    @property
    def reason_table(self) -> ReasonTable:
        """What the codes of predicate events mean."""
        return self.record.reasons

    @cached_property
    def _notes_by_seq(self) -> Mapping[Seq, Sequence[Note]]:
        return group_by_key((note.seq, note) for note in self.record.notes)

    def notes_at(self, seq: Seq) -> Sequence[Note]:
        """Quirks that acted at one event."""
        return self._notes_by_seq.get(seq, ())

    @cached_property
    def owners(self) -> Owners:
        """Which job a task belongs to, which queue a job."""
        return Owners.from_session(self.session)

    @cached_property
    def span_tree(self) -> SpanTree:
        """The spans as a tree."""
        return SpanTree(self.record.spans, len(self.record.events))

    @cached_property
    def index(self) -> EventIndex:
        """Where something is spoken of."""
        return EventIndex(self.record, self.owners)

    @cached_property
    def timeline(self) -> StateTimeline:
        """The state after any event."""
        return StateTimeline(self.record, self.session, self.owners)

    def build_indexes(self, step: Callable[[], object] = lambda: None) -> None:
        """Build what the first key would wait for: the index, the spans as a tree, the opening states.

        `step` is called now and then; it ends this with an exception of its own.
        """
        _ = self.timeline.tasks, self.timeline.opening_counts, self.span_tree
        step()
        self.index.build_all(step)
