"""conformance: critical pods are protected. Upstream: plugins/conformance."""

from collections.abc import Sequence

from vcdebug.amount_text import join_names
from vcdebug.explain.answer import Advice
from vcdebug.explain.equation import Equation, Term, victim_equation
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugins import PluginExplainer, VetoReason
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE, UNIFIED_EVICTABLE
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.conformance import is_critical
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import tasks_of


def critical_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Allows candidates that are not system-critical."""
    terms, columns = [], ("priority class", "namespace")
    for task in tasks_of(recording, event.candidates):
        figures, critical = (task.pod.priority_class_name or None, task.namespace), is_critical(task)
        terms.append(Term(task.key, figures, not critical, "critical pods are protected" if critical else ""))
    title = f"conformance: candidates that can be evicted for {event.task or 'the job'}"
    return victim_equation(title, "no critical priority class, not in kube-system", columns, terms)


def explain_veto(view: JobView, task: TaskInfo, protected: Sequence[TaskKey], seq: Seq) -> VetoReason:
    """The protected pods are system-critical."""
    tasks = tasks_of(view.recording, protected)
    lines = tuple(f"{t.key}: namespace {t.namespace}, class {t.pod.priority_class_name or 'none'}" for t in tasks)
    verb = "is" if len(protected) == 1 else "are"
    text = f"{join_names(protected)} {verb} system-critical (namespace kube-system, or a system-* PriorityClass)"
    advice = Advice.queue_admin("Free room elsewhere; system-critical pods are never evicted.")
    return VetoReason(text, {}, (advice,), lines)


EXPLAINER = PluginExplainer(
    equations={
        PREEMPTABLE.upstream: critical_equation,
        RECLAIMABLE.upstream: critical_equation,
        UNIFIED_EVICTABLE.upstream: critical_equation,
    },
    explain_veto=explain_veto,
)
