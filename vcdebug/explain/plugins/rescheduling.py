"""rescheduling: node utilisation against the thresholds, and the pods of busy nodes in eviction order.

Upstream: plugins/rescheduling (lowNodeUtilization).
"""

from collections.abc import Iterator

from vcdebug.amount_text import format_number
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.plugins import PluginExplainer
from vcdebug.framework.hooks import VICTIM_TASKS
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.model.task import TaskStatus
from vcdebug.plugins.rescheduling import Rescheduling, ReschedulingChoice
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import session_at_event

FORMULA = "idle: below every threshold; busy: above some target; pods of busy nodes go while idle nodes have room"
COLUMNS = ("cpu %", "memory %", "room left", "chosen")
TITLE = "rescheduling: pods to evict from a busy node"


def victim_tasks(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """VictimTasks: terms for the utilisation of nodes, then for the chosen pods."""
    session = session_at_event(recording, seq)
    plugin = session.plugins.get(Rescheduling.name) if session is not None else None
    if session is None or not isinstance(plugin, Rescheduling):
        return Equation(TITLE, FORMULA, COLUMNS, "check", (), event.victims)
    running = [task for job in session.jobs.values() for task in job.tasks_with_status(TaskStatus.RUNNING)]
    choice = plugin.choose_victims(running)
    victims = tuple(task.key for task in choice.chosen_victims)
    return Equation(
        TITLE, FORMULA, COLUMNS, "check", tuple(_load_terms(choice)), victims, None, _format_thresholds(choice)
    )


def _format_thresholds(choice: ReschedulingChoice) -> str:
    low = ", ".join(f"{name} < {format_number(limit)}" for name, limit in choice.low_at.items())
    high = ", ".join(f"{name} > {format_number(limit)}" for name, limit in choice.target.items())
    return f"idle: {low}; busy: {high}"


def _load_terms(choice: ReschedulingChoice) -> Iterator[Term]:
    for load in choice.nodes:
        kind = "idle" if load.low else "busy" if load.high else "in between"
        yield Term(load.node, (*_percent_ratios(load.percents), None, None), None, kind)
    for step in choice.steps:
        room = Resource(float(step.budget[CPU]), float(step.budget[MEMORY]))
        chosen = step.victim is not None
        words = f"on {step.node}" if chosen else f"on {step.node}: {step.refusal}"
        yield Term(step.pod, (*_percent_ratios(step.percents), room, "yes" if chosen else "no"), chosen, words)


def _percent_ratios(percents: dict[str, float]) -> tuple[Ratio, Ratio]:
    return Ratio(percents["cpu"]), Ratio(percents["memory"])


EXPLAINER = PluginExplainer(equations={VICTIM_TASKS.upstream: victim_tasks})
