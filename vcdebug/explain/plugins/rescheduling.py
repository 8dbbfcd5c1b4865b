"""rescheduling: nodes beside the thresholds, and the pods of busy nodes in the order of their turn.

Upstream: plugins/rescheduling (lowNodeUtilization).
"""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import number
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.plugin import PluginWords
from vcdebug.framework.hooks import VICTIM_TASKS
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.model.status import TaskStatus
from vcdebug.plugins.rescheduling import Choice, Rescheduling
from vcdebug.trace.moment import session_at
from vcdebug.trace.recording import Recording

FORMULA = "idle: below every threshold; busy: above some target; pods of busy nodes go while idle nodes have room"
COLUMNS = ("cpu %", "memory %", "room left", "chosen")
TITLE = "rescheduling: who should leave a busy node?"


def victim_tasks(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Nodes first, then pods."""
    session = session_at(recording, seq)
    plugin = session.plugins.get(Rescheduling.name) if session is not None else None
    if session is None or not isinstance(plugin, Rescheduling):
        return Equation(TITLE, FORMULA, COLUMNS, "check", (), event.victims)
    running = [task for job in session.jobs.values() for task in job.with_status(TaskStatus.RUNNING)]
    found = plugin.choice(running)
    victims = tuple(task.key for task in found.victims)
    return Equation(TITLE, FORMULA, COLUMNS, "check", tuple(_terms(found)), victims, None, _thresholds(found))


def _thresholds(found: Choice) -> str:
    low = ", ".join(f"{name} < {number(limit)}" for name, limit in found.low_at.items())
    high = ", ".join(f"{name} > {number(limit)}" for name, limit in found.target.items())
    return f"idle: {low}; busy: {high}"


def _terms(found: Choice) -> Iterator[Term]:
    for one in found.nodes:
        kind = "idle" if one.low else "busy" if one.high else "in between"
        yield Term(one.node, (*_percents(one.percents), None, None), None, kind)
    for step in found.steps:
        room = Resource(float(step.budget[CPU]), float(step.budget[MEMORY]))
        chosen = step.victim is not None
        words = f"on {step.node}" if chosen else f"on {step.node}: {step.why}"
        yield Term(step.pod, (*_percents(step.percents), room, "yes" if chosen else "no"), chosen, words)


def _percents(percents: dict[str, float]) -> tuple[Ratio, Ratio]:
    return Ratio(percents["cpu"]), Ratio(percents["memory"])


WORDS = PluginWords(equations={VICTIM_TASKS.upstream: victim_tasks})
