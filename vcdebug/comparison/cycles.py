"""Compares two recordings: which decisions changed, and the first event that differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import count_noun
from vcdebug.explain.decisions.votes import HookCallGroup, hook_calls_at
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.framework import record
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskKey
from vcdebug.model.resource import Resource, deep_equal
from vcdebug.model.task import TaskStatus
from vcdebug.recording.effects import Effects, JobSummary, cycle_effects
from vcdebug.recording.event_index import Seqs
from vcdebug.recording.recording import Recording
from vcdebug.recording.trace_schema import EventEncoder
from vcdebug.snapshot.gathered_objects import object_name
from vcdebug.snapshot.manifest import JsonDict, metadata_of
from vcdebug.snapshot.snapshot import Manifest, Snapshot

DESERVED_FIGURE = "deserved"
_Name = TypeVar("_Name", bound=str | tuple[str, ...])
_State = TypeVar("_State")


class ChangedState(NamedTuple, Generic[_Name, _State]):
    """One thing that differs, by its name; None on the side where it does not exist."""

    name: _Name
    before: _State | None
    after: _State | None


class TaskOutcome(NamedTuple):
    """A task after the cycle."""

    job: JobId
    status: TaskStatus
    node: NodeName
    evicted: bool
    """Whether the cycle evicted the task."""


class CycleComparison(Struct, frozen=True):
    """The decisions that differ between two cycles, and the first difference."""

    jobs: tuple[ChangedState[JobId, JobSummary], ...]
    tasks: tuple[ChangedState[TaskKey, TaskOutcome], ...]
    queues: tuple[ChangedState[tuple[str, QueueName], Resource], ...]
    """Deserved amounts, by plugin and queue."""
    panics: tuple[str | None, str | None]
    """The messages of panics, before and after; None where the cycle has none."""
    divergence: Divergence | None
    """The first event that differs in more than amounts; None if all answers and decisions are the same."""
    operation_divergence: Divergence | None
    """The first operation or statement that differs."""

    @property
    def has_same_decisions(self) -> bool:
        """Whether every decision is the same; single votes may still differ."""
        return not (self.jobs or self.tasks or self.queues) and self.panics[0] == self.panics[1]

    @property
    def change_counts(self) -> str:
        """How many jobs, pods and queues differ, as words."""
        counts = ((self.jobs, "job"), (self.tasks, "pod"), (self.queues, "queue"))
        return ", ".join(count_noun(len(changed), noun) for changed, noun in counts if changed)

    def iter_divergences(self) -> Iterator[tuple[str, Divergence]]:
        """(title, difference): the first difference and, where it is another one, the first different operation."""
        if self.divergence is not None:
            yield "first difference", self.divergence
        if self.operation_divergence is not None and self.operation_divergence != self.divergence:
            yield "first different operation", self.operation_divergence


def compare_cycles(before: Recording, after: Recording) -> CycleComparison:
    """All changed decisions, each list in the order of names, and the first differences."""
    effects_before, effects_after = cycle_effects(before), cycle_effects(after)
    return CycleComparison(
        tuple(_iter_changed(_summary_by_job(effects_before), _summary_by_job(effects_after))),
        tuple(_iter_changed(_outcome_by_task(before, effects_before), _outcome_by_task(after, effects_after))),
        tuple(
            change
            for change in _iter_changed(_deserved_by_queue(before), _deserved_by_queue(after))
            if change.before is None or change.after is None or not deep_equal(change.before, change.after)
        ),
        (effects_before.panic, effects_after.panic),
        find_divergence(before, after),
        find_decision_divergence(before, after),
    )


def _iter_changed(
    before: Mapping[_Name, _State], after: Mapping[_Name, _State]
) -> Iterator[ChangedState[_Name, _State]]:
    """The values that differ, in the order of names."""
    for name in sorted({**before, **after}):
        left, right = before.get(name), after.get(name)
        if left != right:
            yield ChangedState(name, left, right)


def _summary_by_job(effects: Effects) -> dict[JobId, JobSummary]:
    return {summary.job: summary for summary in effects.jobs}


def _outcome_by_task(recording: Recording, effects: Effects) -> dict[TaskKey, TaskOutcome]:
    evicted = dict.fromkeys(effect.task for effect in effects.evicted)
    return {
        task.key: TaskOutcome(uid, task.status, task.node_name, task.key in evicted)
        for uid, job in recording.session.jobs.items()
        for task in job.tasks.values()
    }


def _deserved_by_queue(recording: Recording) -> dict[tuple[str, QueueName], Resource]:
    """(plugin, queue) → the queue's deserved amount when the session opened."""
    books = recording.timeline.opening_books.items()
    return {
        (plugin, name): value
        for (plugin, name, figure), value in books
        if figure == DESERVED_FIGURE and name in recording.session.queues and isinstance(value, Resource)
    }


# The first difference: the first event that differs in more than amounts, with the votes on both sides.

FIGURE_FIELDS: Final = ("plugins", "after", "left")
"""Fields of operations and pops that hold amounts and no decisions; they are not compared."""
MAX_DIFFERENCES = 12


class DivergenceSide(Struct, frozen=True):
    """One recording at the first difference."""

    seq: Seq
    path: tuple[record.Span, ...]
    """The spans around the event, the cycle first."""
    event: record.Event
    question: HookCallGroup | None
    """The votes at this event, or just before it if the other side still calls that hook; None without votes."""


class ValueDifference(Struct, frozen=True):
    """One value that differs, by its path in the event as the trace writes it; None where it is missing."""

    field: str
    before: object
    after: object


class Divergence(Struct, frozen=True):
    """The first events of the same rank that differ between two recordings."""

    before: DivergenceSide | None
    """The differing event of the first recording; None if that recording has ended. `after`: of the second one."""
    after: DivergenceSide | None
    differences: tuple[ValueDifference, ...]
    """The differing values, at most MAX_DIFFERENCES; empty for events of different types or subjects."""


def find_divergence(before: Recording, after: Recording) -> Divergence | None:
    """The first events that differ in an answer, an order, a node, a score or an operation."""
    return _first_divergence(before, after, range(1, len(before) + 1), range(1, len(after) + 1))


def find_decision_divergence(before: Recording, after: Recording) -> Divergence | None:
    """The first operations or statements that differ."""
    return _first_divergence(before, after, _decision_seqs(before), _decision_seqs(after))


def _decision_seqs(recording: Recording) -> Seqs:
    index = recording.index
    return sorted([*index.seqs_of_type(record.OpEvent), *index.seqs_of_type(record.StatementEvent)])


def _first_divergence(before: Recording, after: Recording, left: Seqs, right: Seqs) -> Divergence | None:
    judge = _EventComparison(before, after)
    for old, new in zip_longest(left, right):
        events = None if old is None else before.event_at(old), None if new is None else after.event_at(new)
        if events[0] is None or events[1] is None or not judge.is_same(events[0], events[1]):
            left_side, right_side = _build_side(before, old), _build_side(after, new)
            left_side = _with_open_question(before, left_side, right_side)
            right_side = _with_open_question(after, right_side, left_side)
            return Divergence(left_side, right_side, judge.list_differences(*events))
    return None


def _build_side(recording: Recording, seq: Seq | None) -> DivergenceSide | None:
    if seq is None:
        return None
    return DivergenceSide(seq, recording.span_tree.path_to(seq), recording.event_at(seq), hook_calls_at(recording, seq))


def _with_open_question(
    recording: Recording, side: DivergenceSide | None, other: DivergenceSide | None
) -> DivergenceSide | None:
    """The side, with the votes of the preceding event if the other side still calls that hook."""
    if side is None or other is None or other.question is None or _same_question(side.question, other.question):
        return side
    finished = hook_calls_at(recording, side.seq - 1) if side.seq > 1 else None
    return replace(side, question=finished) if _same_question(finished, other.question) else side


def _same_question(left: HookCallGroup | None, right: HookCallGroup | None) -> bool:
    return left is not None and right is not None and (left.point, left.subject) == (right.point, right.subject)


class _EventComparison:
    """Compares events of two recordings."""

    def __init__(self, before: Recording, after: Recording) -> None:
        # Rows and codes are numbers of one recording: rows compare under equal node lists, codes by their statuses.
        self._encoders = EventEncoder(before), EventEncoder(after)
        self._same_rows = list(before.node_names) == list(after.node_names)
        self._reasons = before.reason_table, after.reason_table
        self._codes: dict[tuple[int, int], bool] = {}

    def is_same(self, left: record.Event, right: record.Event) -> bool:
        """Whether two events are equal apart from amounts."""
        if type(left) is not type(right):
            return False
        if isinstance(left, record.StateEvent | record.CloseEvent):
            return True
        if isinstance(left, record.PredicateEvent) and isinstance(right, record.PredicateEvent) and self._same_rows:
            return self._same_search(left, right)
        if isinstance(left, record.ScoreEvent) and isinstance(right, record.ScoreEvent) and self._same_rows:
            return _same_scores(left, right)
        if isinstance(left, record.OpEvent | record.PopEvent | record.PredicateEvent | record.ScoreEvent):
            return self._decided_fields(0, left) == self._decided_fields(1, right)
        # Equal tuples are not encoded: encoding takes much longer than comparing.
        return left == right or self._decided_fields(0, left) == self._decided_fields(1, right)

    def list_differences(self, left: record.Event | None, right: record.Event | None) -> tuple[ValueDifference, ...]:
        """The values in which two events differ; empty for events about different subjects."""
        if left is None or right is None or _event_subject(left) != _event_subject(right):
            return ()
        differences = _iter_differences("", self._decided_fields(0, left), self._decided_fields(1, right))
        return tuple(difference for difference, _ in zip(differences, range(MAX_DIFFERENCES), strict=False))

    def _same_search(self, left: record.PredicateEvent, right: record.PredicateEvent) -> bool:
        if left[:3] != right[:3]:
            return False
        if not (np.array_equal(left.feasible, right.feasible) and np.array_equal(left.failed, right.failed)):
            return False
        pairs = dict.fromkeys(zip(left.codes.tolist(), right.codes.tolist(), strict=True))
        return all(self._same_code(pair) for pair in pairs)

    def _same_code(self, pair: tuple[int, int]) -> bool:
        if pair not in self._codes:
            left, right = (table.statuses_of(code) for table, code in zip(self._reasons, pair, strict=True))
            self._codes[pair] = left == right
        return self._codes[pair]

    def _decided_fields(self, side: int, event: record.Event) -> JsonDict:
        body = self._encoders[side].encode_event(event)
        return {
            field: value
            for field, value in body.items()
            if field not in FIGURE_FIELDS or isinstance(event, record.ScoreEvent)
        }


def _same_scores(left: record.ScoreEvent, right: record.ScoreEvent) -> bool:
    if left.task != right.task or not np.array_equal(left.rows, right.rows):
        return False
    # NaN marks a node without a score, so two NaNs are equal here.
    if not np.array_equal(left.total, right.total, equal_nan=True) or len(left.parts) != len(right.parts):
        return False
    return all(
        left_part[0] == right_part[0] and np.array_equal(left_part[1], right_part[1], equal_nan=True)
        for left_part, right_part in zip(left.parts, right.parts, strict=True)
    )


def _event_subject(event: record.Event) -> tuple[object, ...]:
    """The event's type and subject, without its result."""
    if isinstance(event, record.HookEvent):
        names = tuple((field, str(value)) for field, value in event.subject if field not in ("vote", "candidates"))
        return (type(event), event.point, event.plugin, names)
    return (type(event), getattr(event, "task", None), getattr(event, "kind", None))


def _iter_differences(path: str, left: object, right: object) -> Iterator[ValueDifference]:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in dict.fromkeys([*left, *right]):
            yield from _iter_differences(f"{path} / {key}" if path else str(key), left.get(key), right.get(key))
    elif left != right:
        yield ValueDifference(path, left, right)


# Compares two captures of one cluster: which objects, decisions and causes have changed.

NEW, GONE, OTHER = "new", "gone", "changed"
WRITE_METADATA: Final = ("resourceVersion", "generation")
"""Metadata that the API server changes at every write."""


class ObjectChange(NamedTuple):
    """One object that was added, removed or changed."""

    kind: str
    name: str
    change_kind: str


class CaptureChanges(Struct, frozen=True):
    """All changes from one capture to the next."""

    objects: tuple[ObjectChange, ...]
    decisions: CycleComparison
    causes: tuple[ChangedState[JobId, str], ...]
    """The causes for which jobs are Pending."""

    @property
    def first_difference_seq(self) -> Seq | None:
        """The first event of the later recording that differs; None where all events are the same."""
        divergence = self.decisions.divergence
        side = divergence.after or divergence.before if divergence is not None else None
        return side.seq if side is not None else None

    def format_changes(self) -> str:
        """The numbers of changes, in one line."""
        counts = (
            (len(self.objects), "object", ""),
            (len(self.decisions.tasks), "pod", " decided differently"),
            (len(self.causes), "cause", ""),
        )
        counted = [f"{count} {noun}{'s' * (count > 1)}{suffix}" for count, noun, suffix in counts if count]
        return f"changed: {', '.join(counted)}" if counted else "no changes"


def compare_captures(before: Recording, after: Recording) -> CaptureChanges:
    """All changes, each list in the order of names."""
    objects = tuple(_object_changes(before.snapshot, after.snapshot))
    causes = tuple(_iter_changed(_cause_by_job(before), _cause_by_job(after)))
    return CaptureChanges(objects, compare_cycles(before, after), causes)


def _object_changes(before: Snapshot, after: Snapshot) -> Iterator[ObjectChange]:
    for kind in sorted({**before.objects, **after.objects}):
        old, new = _by_name(before, kind), _by_name(after, kind)
        for name in sorted({**old, **new}):
            if name not in old:
                yield ObjectChange(kind, name, NEW)
            elif name not in new:
                yield ObjectChange(kind, name, GONE)
            # Objects that both captures share are one object, so most manifests need no comparison.
            elif old[name] is not new[name] and _without_write_marks(old[name]) != _without_write_marks(new[name]):
                yield ObjectChange(kind, name, OTHER)
    if before.scheduler_conf != after.scheduler_conf:
        yield ObjectChange("configuration", "", OTHER)


def _by_name(snapshot: Snapshot, kind: str) -> dict[str, Manifest]:
    return {object_name(manifest): manifest for manifest in snapshot.objects_of(kind)}


def _without_write_marks(manifest: Manifest) -> Manifest:
    """The object without WRITE_METADATA."""
    metadata = metadata_of(manifest)
    return {**manifest, "metadata": {key: value for key, value in metadata.items() if key not in WRITE_METADATA}}


def _cause_by_job(recording: Recording) -> dict[JobId, str]:
    return {item.explanation.job: item.shown_finding.cause for item in survey_jobs(recording).explained}
