"""sla: promises on waiting.

Upstream: plugins/sla.
"""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.explain.amounts import duration
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.plugin import Difference, PluginWords, Then
from vcdebug.framework.hooks import JOB_ENQUEUEABLE, JOB_ORDER, JOB_PIPELINED
from vcdebug.framework.plugin import ABSTAIN
from vcdebug.framework.record import HookEvent
from vcdebug.gotime import SECOND, time_of
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.plugins.sla import Sla, earlier_first
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import plugin_of


def overdue(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Has the job waited as long as it was promised at most?"""
    job, plugin = recording.session.jobs[event.job], plugin_of(recording, Sla)
    deadline, created, verdict = plugin.deadline(job), time_of(job.creation_timestamp), plugin.overdue(job)
    title, formula = f"sla: has {job.uid} waited too long?", "created + waiting time ≤ now permits; sla never rejects"
    if deadline is None:
        return Equation(title, formula, (), "check", (), ABSTAIN, None, "neither the job nor the plugin states a time")
    figures = tuple(duration(time) for time in (plugin.now - created, deadline - created, deadline - plugin.now))
    late = verdict != ABSTAIN
    term = Term("waiting", figures, late, "" if late else f"another {figures[2]} to wait")
    return Equation(title, formula, ("waited", "promised", "left"), "check", (term,), verdict, "waiting")


def job_order(then: Then, left: JobInfo, right: JobInfo) -> Iterator[Difference]:
    """The earlier deadline; jobs without one last."""
    plugin = plugin_of(then.recording, Sla)
    mine, other = plugin.deadline(left), plugin.deadline(right)
    yield Difference("sla deadline", _until(mine, plugin.now), _until(other, plugin.now), earlier_first(mine, other))


def _until(deadline: int | None, now: int) -> str:
    """How far away a deadline is."""
    if deadline is None:
        return "none"
    seconds = (deadline - now) / SECOND
    return f"in {seconds:g}s" if seconds > 0 else f"{-seconds:g}s ago"


WORDS = PluginWords(
    equations={JOB_ENQUEUEABLE.upstream: overdue, JOB_PIPELINED.upstream: overdue},
    comparators={JOB_ORDER.method: job_order},
)
