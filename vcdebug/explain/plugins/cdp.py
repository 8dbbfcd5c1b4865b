"""cdp: whose cooldown has passed.

Upstream: plugins/cdp.
"""

from __future__ import annotations

from vcdebug.amount_text import span
from vcdebug.explain.answer import owner
from vcdebug.explain.equation import Equation, Term, choice
from vcdebug.explain.plugin import PluginWords
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE
from vcdebug.framework.record import HookEvent
from vcdebug.gotime import SECOND, nanoseconds
from vcdebug.model.names import Seq
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.cdp import Cooldown
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import tasks_of

ADVICE = owner("wait until the cooldown of these pods is over, or let their owners shorten volcano.sh/cooldown-time")


def cooled(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Pods whose cooldown has passed."""
    now = nanoseconds(recording.snapshot.now)
    terms = [_judged(task, now) for task in tasks_of(recording, event.candidates)]
    title = f"cdp: whose cooldown has passed, when {event.task} asks?"
    formula = "scheduled + cooldown ≤ now; only running pods that state a cooldown are protected"
    return choice(title, formula, ("cooldown", "scheduled", "left"), terms)


def _judged(task: TaskInfo, now: int) -> Term:
    cooldown = Cooldown.of(task.pod)
    left = cooldown.left(now)
    if cooldown.time is None or cooldown.scheduled is None:
        why = "states no cooldown" if cooldown.time is None else "is not running, or was never marked as scheduled"
        stated = None if cooldown.time is None else span(cooldown.time / SECOND)
        return Term(task.key, (stated, None, None), True, why)
    time, since = span(cooldown.time / SECOND), f"{span((now - cooldown.scheduled) / SECOND)} ago"
    note = f"scheduled {since}, its cooldown of {time} lasts another {span(left / SECOND)}" if left else ""
    return Term(task.key, (time, since, span(left / SECOND)), not left, note)


WORDS = PluginWords(equations={PREEMPTABLE.upstream: cooled, RECLAIMABLE.upstream: cooled}, keeps_advice=ADVICE)
