"""Victims are looked for: the entry of a search, and the questions to plugins."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import Kind, merged
from vcdebug.explain.job_view import EVICTING_ACTIONS
from vcdebug.explain.votes import question
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE, UNIFIED_EVICTABLE, VICTIM_TASKS
from vcdebug.framework.record import HookEvent, Level, PredicateEvent, Span
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording
from vcdebug.trace.visits import between_jobs

BETWEEN, WITHIN = "between", "within"


class Search(Kind):
    """The first event of each search; `between` jobs (preempt's first phase, reclaim), `within` a job (its second)."""

    KIND = "search"
    HELP = "preempt or reclaim begins to look for victims for a task (between: of other jobs; within: of its own job)"
    WORDS = (BETWEEN, WITHIN)
    WATCHES = (HookEvent, PredicateEvent)

    def candidates(self, recording: Recording) -> Seqs:
        return [span.first for span in recording.spans if _searches(recording, span)]

    def means(self, recording: Recording, seq: Seq) -> bool:
        task, action = (recording.tree.around(seq, level) for level in (Level.TASK, Level.ACTION))
        if task is None or action is None:
            return False
        inside = action.name == "preempt" and not between_jobs(recording, recording.spans[task.parent])
        return not self.words or (WITHIN if inside else BETWEEN) in self.words


def _searches(recording: Recording, span: Span) -> bool:
    """Whether a span is a task's search that left some event."""
    if span.level is not Level.TASK or span.first > span.last:
        return False
    action = recording.tree.around(span.first, Level.ACTION)
    return action is not None and action.name in EVICTING_ACTIONS


_CHOOSING = (PREEMPTABLE.upstream, RECLAIMABLE.upstream, UNIFIED_EVICTABLE.upstream, VICTIM_TASKS.upstream)


class Victim(Kind):
    """Every question for victims, once: at its first answer that fulfils the condition."""

    KIND = "victim"
    HELP = "plugins are asked who may be evicted"
    WORDS = _CHOOSING
    WATCHES = (HookEvent,)

    def candidates(self, recording: Recording) -> Seqs:
        return merged([recording.index.at_point(point) for point in self.words or _CHOOSING])

    def first_of_group(self, recording: Recording, seq: Seq) -> Seq:
        asked = question(recording, seq)
        return seq if asked is None else asked.first
