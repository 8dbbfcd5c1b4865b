"""Breakpoints on events (actions, statements, filtering, scoring, choices, votes, known quirks) and on state."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Self

from vcdebug.actions import ACTIONS
from vcdebug.comparison.invariants import RULE_TEXTS, InvariantViolation, find_violations
from vcdebug.debugger import figures
from vcdebug.debugger.breakpoint import BREAKPOINT_OPTIONS
from vcdebug.debugger.breakpoints import HOOK_NAMES, BreakpointError, BreakpointKind, merge_seqs
from vcdebug.debugger.expression import Value
from vcdebug.explain.decisions.votes import hook_calls_at
from vcdebug.explain.orders import pops_of_hook
from vcdebug.framework import hooks, record
from vcdebug.framework.record import ActionEvent, HookEvent, OpEvent, StateEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.recording.event_index import EMPTY_SEQS, Seqs
from vcdebug.recording.recording import Recording
from vcdebug.recording.visits import starts_after_pop
from vcdebug.releases.upstream_source import upstream_source

START, END = "start", "end"
STATEMENT_MOMENTS = ("commit", "discard", "merge", "save", "recover")
OPERATIONS = (*record.PLANNED_OPS, record.UNEVICT_OP, record.UNPIPELINE_OP, record.UNALLOCATE_OP, record.BIND_OP)
MOMENT_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "operation": OPERATIONS,
    "any": (*STATEMENT_MOMENTS, *OPERATIONS),
}
USUAL_MOMENTS = ("commit", "discard")


class ActionBreakpoint(BreakpointKind):
    """The starts of all actions, or what the words say: names of actions, `start`, `end`."""

    KIND = "action"
    HELP = "an action starts (or names of actions; end)"
    WORDS = (*ACTIONS, START, END)
    WATCHES = (record.ActionEvent,)

    def __init__(self, words: Sequence[str] = ()) -> None:
        super().__init__(words)
        self.names = [word for word in words if word not in (START, END)]
        self.moments = [word for word in words if word in (START, END)] or [START]

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event_at(seq)
        if not isinstance(event, record.ActionEvent) or event.what not in self.moments:
            return False
        return not self.names or event.action in self.names


class StatementBreakpoint(BreakpointKind):
    """Commit and discard, unless words name other operations."""

    KIND = "statement"
    HELP = "a statement commits or is discarded (or names of operations; operation; any)"
    WORDS = (*STATEMENT_MOMENTS, *OPERATIONS, *MOMENT_GROUPS)
    WATCHES = (record.StatementEvent, record.OpEvent)

    @property
    def moments(self) -> tuple[str, ...]:
        """The statement events and operations at which it stops."""
        if not self.words:
            return USUAL_MOMENTS
        return tuple(name for word in self.words for name in MOMENT_GROUPS.get(word, (word,)))

    def candidate_seqs(self, recording: Recording) -> Seqs:
        types = ((record.StatementEvent, STATEMENT_MOMENTS), (record.OpEvent, OPERATIONS))
        return merge_seqs(
            [recording.index.seqs_of_type(kind) for kind, names in types if any(w in names for w in self.moments)]
        )

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event_at(seq)
        if isinstance(event, record.StatementEvent):
            return event.what in self.moments
        return isinstance(event, record.OpEvent) and event.op in self.moments


class PredicateBreakpoint(BreakpointKind):
    """Predicates that fail for some node; `all`: also those that pass everywhere, `none`: only those without a node."""

    KIND = "predicate"
    HELP = "some node fails a task's predicates (all: also when every node passes; none: only when no node does)"
    WORDS = ("all", "none")
    WATCHES = (record.PredicateEvent, record.HookEvent)
    POINTS = (hooks.PRE_PREDICATE.upstream, hooks.PREDICATE.upstream, hooks.SIMULATE_PREDICATE.upstream)

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event_at(seq)
        if isinstance(event, record.PredicateEvent):
            if "none" in self.words:
                return not len(event.feasible)
            return bool(len(event.failed)) or "all" in self.words
        return isinstance(event, record.HookEvent) and (event.result is not None or "all" in self.words)


class ScoreBreakpoint(BreakpointKind):
    """Every scoring pass and every choice of a best node."""

    KIND = "score"
    HELP = "nodes are scored for a task, or the best one is chosen"
    WATCHES = (record.ScoreEvent, record.BestEvent)


class TieBreakpoint(BreakpointKind):
    """Choices among equally good nodes, and random offsets."""

    KIND = "tie"
    HELP = "chance decides in the real scheduler: equally good nodes, or a random offset"
    WATCHES = (record.BestEvent, record.RandomEvent)

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event_at(seq)
        return isinstance(event, record.RandomEvent) or (isinstance(event, record.BestEvent) and len(event.tied) > 1)


class QuirkBreakpoint(BreakpointKind):
    """Events at which a known quirk of upstream takes effect."""

    KIND = "quirk"
    HELP = "a known quirk of the real scheduler acts"
    WATCHES = (record.HookEvent, record.OpEvent, record.StatementEvent)

    def candidate_seqs(self, recording: Recording) -> Seqs:
        # Notes of a recording that was cut off can name events behind the cut.
        return sorted(dict.fromkeys(note.seq for note in recording.notes if note.seq <= len(recording)))


SCORE_HOOKS: Final = frozenset((hooks.NODE_ORDER.upstream, hooks.BATCH_NODE_ORDER.upstream))
BETWEEN, WITHIN = "between", "within"


class VoteBreakpoint(BreakpointKind):
    """Every recorded hook call, or those of the named hooks."""

    KIND = "vote"
    HELP = "a plugin answers a hook (or names of hooks, such as JobReady)"
    WORDS = HOOK_NAMES
    WATCHES = (record.HookEvent, record.PopEvent, record.ScoreEvent)

    def candidate_seqs(self, recording: Recording) -> Seqs:
        """Hook calls, and the pops and scoring passes in which comparison and scoring hooks are called."""
        index = recording.index
        answers = map(index.seqs_at_point, self.words) if self.words else [index.seqs_of_type(record.HookEvent)]
        pops = (sorted(pops_of_hook(recording, word)) for word in self.words)
        scores = [index.seqs_of_type(record.ScoreEvent)] if SCORE_HOOKS.intersection(self.words) else []
        return merge_seqs([*answers, *pops, *scores])

    def check_names(self, recording: Recording) -> Self:
        release = recording.session.release
        source = upstream_source(release.name)
        if self.words and all(source.never_asked_reason(hook, release.display_name()) for hook in self.words):
            raise BreakpointError(source.never_asked_reason(self.words[0], release.display_name()))
        return self


class EnqueueBreakpoint(BreakpointKind):
    """Votes on admission; `reject` only those against it."""

    KIND = "enqueue"
    HELP = "a plugin votes on a job's admission (reject: only votes against it)"
    WORDS = ("reject",)
    WATCHES = (record.HookEvent,)
    POINTS = (hooks.JOB_ENQUEUEABLE.upstream,)

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event_at(seq)
        return isinstance(event, record.HookEvent) and (event.result < 0 or "reject" not in self.words)


class OverusedBreakpoint(BreakpointKind):
    """Calls of Overused that return true; with `all` every call."""

    KIND = "overused"
    HELP = "a queue is found overused (all: also when it is not)"
    WORDS = ("all",)
    WATCHES = (record.HookEvent,)
    POINTS = (hooks.OVERUSED.upstream,)

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event_at(seq)
        return isinstance(event, record.HookEvent) and (event.result is True or "all" in self.words)


class StarvingBreakpoint(BreakpointKind):
    """Every call of JobStarving."""

    KIND = "starving"
    HELP = "a plugin says whether a job is starving"
    WATCHES = (record.HookEvent,)
    POINTS = (hooks.JOB_STARVING.upstream,)


class VictimBreakpoint(BreakpointKind):
    """Each request for victims once: the first plugin's call that fulfils the condition."""

    KIND = "victim"
    HELP = "plugins are asked which pods can be evicted"
    WORDS = POINTS = (
        hooks.PREEMPTABLE.upstream,
        hooks.RECLAIMABLE.upstream,
        hooks.UNIFIED_EVICTABLE.upstream,
        hooks.VICTIM_TASKS.upstream,
    )
    WATCHES = (record.HookEvent,)

    def first_of_group(self, recording: Recording, seq: Seq) -> Seq:
        calls = hook_calls_at(recording, seq)
        return seq if calls is None else calls.first_seq


class SearchBreakpoint(BreakpointKind):
    """The first event of each search; `between` jobs (preempt's first phase, reclaim), `within` a job (its second)."""

    KIND = "search"
    HELP = "preempt or reclaim begins to look for victims for a task (between: of other jobs; within: of its own job)"
    WORDS = (BETWEEN, WITHIN)
    WATCHES = (record.HookEvent, record.PredicateEvent)

    def candidate_seqs(self, recording: Recording) -> Seqs:
        return [span.first for span in recording.spans if _is_search(recording, span)]

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        task, action = (
            recording.span_tree.span_around(seq, level) for level in (record.Level.TASK, record.Level.ACTION)
        )
        if task is None or action is None:
            return False
        inside = recording.conf.facts_of(action.name).within_jobs and not starts_after_pop(
            recording, recording.spans[task.parent]
        )
        return not self.words or (WITHIN if inside else BETWEEN) in self.words


def _is_search(recording: Recording, span: record.Span) -> bool:
    """Whether a span is a task's search for victims with at least one event."""
    if span.level is not record.Level.TASK or span.first > span.last:
        return False
    action = recording.span_tree.span_around(span.first, record.Level.ACTION)
    return action is not None and recording.conf.facts_of(action.name).evicts_by_pod


# Breakpoints on state: a figure changes, or an invariant is violated.


OLD, NEW = "old", "new"
_BARE: Final = re.compile(r"[A-Za-z]\w*(?:[-./]+\w+)*", re.ASCII)


class DataBreakpoint(BreakpointKind):
    """Events that change the value of a figure."""

    KIND = "data"
    HELP = "a figure changes (its name: node n1 idle cpu, queue q allocated, job ns/j ready, task ns/t status)"
    WORDS = figures.FIGURE_KINDS
    FIELDS = (OLD, NEW)
    WATCHES = (OpEvent, HookEvent, StatementEvent, ActionEvent, StateEvent)

    @classmethod
    def parse_words(cls, words: Sequence[str]) -> Self:
        if not words or words[0] not in cls.WORDS:
            raise BreakpointError("break data needs a figure", hint=figures.FIGURE_USAGE)
        return cls(words)

    def check_names(self, recording: Recording) -> Self:
        figures.parse_figure(recording, self.words)
        return self

    def candidate_seqs(self, recording: Recording) -> Seqs:
        followed = self._figure_history(recording)
        return EMPTY_SEQS if followed is None else followed.change_seqs

    def field_value(self, recording: Recording, seq: Seq, name: str) -> Value:
        followed, change = self._change_at(recording, seq)
        if followed is None or change is None:
            return None
        return figures.comparable_value(followed.figure, change.old if name == OLD else change.new)

    def field_text(self, recording: Recording, seq: Seq, name: str) -> str:
        followed, change = self._change_at(recording, seq)
        if followed is None or change is None:
            return "-"
        return figures.format_figure(followed.figure, change.old if name == OLD else change.new)

    def change_text(self, recording: Recording, seq: Seq) -> str:
        return " → ".join(self.field_text(recording, seq, name) for name in self.FIELDS)

    def stop_detail(self, recording: Recording, seq: Seq) -> str:
        followed, change = self._change_at(recording, seq)
        if followed is None or change is None:
            return ""
        return f"{followed.figure} {self.change_text(recording, seq)}"

    def _change_at(
        self, recording: Recording, seq: Seq
    ) -> tuple[figures.FigureHistory | None, figures.FigureChange | None]:
        followed = self._figure_history(recording)
        return followed, None if followed is None else followed.change_at(seq)

    def _figure_history(self, recording: Recording) -> figures.FigureHistory | None:
        figure = figures.find_figure(recording, self.words)
        return None if figure is None else figures.figure_history(recording, figure)

    def __str__(self) -> str:
        bare = (
            word if _BARE.fullmatch(word) and word not in BREAKPOINT_OPTIONS else f'"{word}"' for word in self.words
        )
        return " ".join((self.KIND, *bare))


class InvariantBreakpoint(BreakpointKind):
    """Events that break an invariant which held before."""

    KIND = "invariant"
    HELP = "a total that should hold does not: node room, accounting of queues and jobs, statements left open"
    WORDS = tuple(RULE_TEXTS)
    WATCHES = (ActionEvent, OpEvent, StateEvent, HookEvent)

    def candidate_seqs(self, recording: Recording) -> Seqs:
        return list(dict.fromkeys(violation.seq for violation in self._chosen_violations(recording)))

    def stop_detail(self, recording: Recording, seq: Seq) -> str:
        return "; ".join(
            violation.violation_line for violation in self._chosen_violations(recording) if violation.seq == seq
        )

    def _chosen_violations(self, recording: Recording) -> list[InvariantViolation]:
        return [violation for violation in find_violations(recording) if not self.words or violation.rule in self.words]
