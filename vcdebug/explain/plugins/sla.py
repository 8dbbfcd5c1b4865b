"""sla: the maximum waiting time of a job. Upstream: plugins/sla."""

from collections.abc import Iterator

from vcdebug.amount_text import format_distinct_durations, format_duration
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.plugins import OrderDifference, OrderMoment, PluginExplainer
from vcdebug.framework.hooks import JOB_ENQUEUEABLE, JOB_ORDER, JOB_PIPELINED
from vcdebug.framework.plugin_answers import ABSTAIN
from vcdebug.framework.record import HookEvent
from vcdebug.gotime import SECOND, parse_nanoseconds
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.plugins.sla import Sla, earlier_first
from vcdebug.recording.recording import Recording


def overdue_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Whether the job has waited longer than its maximum waiting time."""
    job, plugin = recording.session.jobs[event.job], recording.session.plugin_of_class(Sla)
    deadline = plugin.job_deadline(job)
    created = parse_nanoseconds(job.creation_timestamp)
    verdict = plugin.permit_overdue(job)
    title, formula = f"sla: has {job.uid} waited too long?", "created + waiting time ≤ now permits; sla never rejects"
    if deadline is None:
        return Equation(title, formula, (), "check", (), ABSTAIN, None, "neither the job nor the plugin states a time")
    figures = tuple(
        format_duration(time / SECOND) for time in (plugin.now - created, deadline - created, deadline - plugin.now)
    )
    is_overdue = verdict != ABSTAIN
    term = Term("waiting", figures, is_overdue, "" if is_overdue else f"another {figures[2]} to wait")
    return Equation(title, formula, ("waited", "waiting time", "left"), "check", (term,), verdict, "waiting")


RESERVES_NOTHING = "Plugin sla only admits it and tries it first; it reserves no room that becomes free."


def job_order(moment: OrderMoment, left: JobInfo, right: JobInfo) -> Iterator[OrderDifference]:
    """Yields the comparison of deadlines: the earlier one comes first, jobs without a deadline last."""
    plugin = moment.recording.session.plugin_of_class(Sla)
    left_due, right_due = plugin.job_deadline(left), plugin.job_deadline(right)
    remaining = [0.0 if deadline is None else (deadline - plugin.now) / SECOND for deadline in (left_due, right_due)]
    spans = format_distinct_durations(*map(abs, remaining))
    left_text, right_text = (
        "none" if deadline is None else f"in {span}" if seconds > 0 else f"{span} ago"
        for deadline, seconds, span in zip((left_due, right_due), remaining, spans, strict=True)
    )
    sign = earlier_first(left_due, right_due)
    yield OrderDifference("sla deadline", left_text, right_text, sign, remark=RESERVES_NOTHING)


EXPLAINER = PluginExplainer(
    equations={JOB_ENQUEUEABLE.upstream: overdue_equation, JOB_PIPELINED.upstream: overdue_equation},
    comparators={JOB_ORDER.method: job_order},
)
