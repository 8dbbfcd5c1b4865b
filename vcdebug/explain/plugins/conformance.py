"""conformance: who is critical.

Upstream: plugins/conformance.
"""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.amount_text import listed
from vcdebug.explain.answer import sharers
from vcdebug.explain.equation import Equation, Term, choice
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugin import Kept, PluginWords
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE, UNIFIED_EVICTABLE
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.conformance import is_critical
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import tasks_of


def ordinary(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Everything that is not critical."""
    terms = [_judged(task) for task in tasks_of(recording, event.candidates)]
    title = f"conformance: who may go for {event.task or 'the job'}?"
    return choice(title, "no critical priority class, not in kube-system", ("priority class", "namespace"), terms)


def _judged(task: TaskInfo) -> Term:
    critical = is_critical(task)
    figures = (task.pod.priority_class_name or None, task.namespace)
    return Term(task.key, figures, not critical, "critical pods are protected" if critical else "")


def kept(view: JobView, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> Kept:
    """They are critical."""
    tasks = tasks_of(view.recording, refused)
    lines = tuple(f"{t.key}: namespace {t.namespace}, class {t.pod.priority_class_name or 'none'}" for t in tasks)
    verb = "is" if len(refused) == 1 else "are"
    text = f"{listed(refused)} {verb} critical (kube-system, or a system- priority class)"
    return Kept(text, {}, (sharers("free room elsewhere: critical pods are never evicted"),), lines)


WORDS = PluginWords(
    equations={PREEMPTABLE.upstream: ordinary, RECLAIMABLE.upstream: ordinary, UNIFIED_EVICTABLE.upstream: ordinary},
    kept=kept,
)
