"""cdp: pods whose cooldown has passed may be evicted. Upstream: plugins/cdp."""

from vcdebug.amount_text import format_duration
from vcdebug.explain.answer import Advice
from vcdebug.explain.equation import Equation, Term, victim_equation
from vcdebug.explain.plugins import PluginExplainer
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE
from vcdebug.framework.record import HookEvent
from vcdebug.gotime import SECOND, unix_nanoseconds
from vcdebug.model.names import Seq
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.cdp import Cooldown
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import tasks_of

ADVICE = Advice.for_owner("Wait for the cooldown to end, or shorten annotation volcano.sh/cooldown-time of these pods.")


def cooldown_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """The vote on victims: cdp protects running pods within their stated cooldown."""
    now = unix_nanoseconds(recording.snapshot.now)
    terms = [_cooldown_term(task, now) for task in tasks_of(recording, event.candidates)]
    title = f"cdp: for which candidates has the cooldown passed, when {event.task} asks?"
    formula = "scheduled + cooldown ≤ now; only running pods that state a cooldown are protected"
    return victim_equation(title, formula, ("cooldown", "scheduled", "left"), terms)


def _cooldown_term(task: TaskInfo, now: int) -> Term:
    cooldown = Cooldown.of_pod(task.pod)
    remaining = cooldown.time_left(now)
    if cooldown.time is None or cooldown.scheduled is None:
        reason = "states no cooldown" if cooldown.time is None else "is not running, or was never marked as scheduled"
        cooldown_text = None if cooldown.time is None else format_duration(cooldown.time / SECOND)
        return Term(task.key, (cooldown_text, None, None), True, reason)
    time, since = format_duration(cooldown.time / SECOND), f"{format_duration((now - cooldown.scheduled) / SECOND)} ago"
    note = f"scheduled {since}; cooldown {time} ends in {format_duration(remaining / SECOND)}" if remaining else ""
    return Term(task.key, (time, since, format_duration(remaining / SECOND)), not remaining, note)


EXPLAINER = PluginExplainer(
    equations={PREEMPTABLE.upstream: cooldown_equation, RECLAIMABLE.upstream: cooldown_equation}, veto_advice=ADVICE
)
