"""What plugins answer to a hook, and the searches for victims in which they are asked."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import HOOK_NAMES, BreakpointKind
from vcdebug.explain.votes import hook_calls_at
from vcdebug.framework.hooks import (
    JOB_ENQUEUEABLE,
    JOB_STARVING,
    OVERUSED,
    PREEMPTABLE,
    RECLAIMABLE,
    UNIFIED_EVICTABLE,
    VICTIM_TASKS,
)
from vcdebug.framework.record import HookEvent, Level, PredicateEvent, Span
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording
from vcdebug.trace.visits import starts_after_pop

BETWEEN, WITHIN = "between", "within"


class VoteBreakpoint(BreakpointKind):
    """Every recorded answer, or those at the hooks named."""

    KIND = "vote"
    HELP = "a plugin answers a hook (or names of hooks, such as JobReady)"
    WORDS = HOOK_NAMES
    WATCHES = (HookEvent,)


class EnqueueBreakpoint(BreakpointKind):
    """Votes on admission; `reject` only those against it."""

    KIND = "enqueue"
    HELP = "a plugin votes on a job's admission (reject: only votes against it)"
    WORDS = ("reject",)
    WATCHES = (HookEvent,)
    POINTS = (JOB_ENQUEUEABLE.upstream,)

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event_at(seq)
        return isinstance(event, HookEvent) and (event.result < 0 or "reject" not in self.words)


class OverusedBreakpoint(BreakpointKind):
    """Answers that call a queue overused; `all` also the others."""

    KIND = "overused"
    HELP = "a queue is found overused (all: also when it is not)"
    WORDS = ("all",)
    WATCHES = (HookEvent,)
    POINTS = (OVERUSED.upstream,)

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event_at(seq)
        return isinstance(event, HookEvent) and (event.result is True or "all" in self.words)


class StarvingBreakpoint(BreakpointKind):
    """Every answer to JobStarving."""

    KIND = "starving"
    HELP = "a plugin says whether a job is starving"
    WATCHES = (HookEvent,)
    POINTS = (JOB_STARVING.upstream,)


class VictimBreakpoint(BreakpointKind):
    """Every question for victims, once: at its first answer that fulfils the condition."""

    KIND = "victim"
    HELP = "plugins are asked who may be evicted"
    WORDS = POINTS = (PREEMPTABLE.upstream, RECLAIMABLE.upstream, UNIFIED_EVICTABLE.upstream, VICTIM_TASKS.upstream)
    WATCHES = (HookEvent,)

    def first_of_group(self, recording: Recording, seq: Seq) -> Seq:
        asked = hook_calls_at(recording, seq)
        return seq if asked is None else asked.first


class SearchBreakpoint(BreakpointKind):
    """The first event of each search; `between` jobs (preempt's first phase, reclaim), `within` a job (its second)."""

    KIND = "search"
    HELP = "preempt or reclaim begins to look for victims for a task (between: of other jobs; within: of its own job)"
    WORDS = (BETWEEN, WITHIN)
    WATCHES = (HookEvent, PredicateEvent)

    def candidate_seqs(self, recording: Recording) -> Seqs:
        return [span.first for span in recording.spans if _is_search(recording, span)]

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        task, action = (recording.span_tree.span_around(seq, level) for level in (Level.TASK, Level.ACTION))
        if task is None or action is None:
            return False
        inside = recording.conf.facts_of(action.name).within_jobs and not starts_after_pop(
            recording, recording.spans[task.parent]
        )
        return not self.words or (WITHIN if inside else BETWEEN) in self.words


def _is_search(recording: Recording, span: Span) -> bool:
    """Whether a span is a task's search that left some event."""
    if span.level is not Level.TASK or span.first > span.last:
        return False
    action = recording.span_tree.span_around(span.first, Level.ACTION)
    return action is not None and recording.conf.facts_of(action.name).evicts_by_pod
