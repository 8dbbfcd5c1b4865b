"""rescheduling: node utilisation against the thresholds, and the pods of busy nodes in eviction order.

Upstream: plugins/rescheduling (lowNodeUtilization).
"""

from collections.abc import Iterator

from vcdebug.amount_text import capitalize_first, format_number, join_names
from vcdebug.explain.answer import Advice
from vcdebug.explain.decisions.evictions import Eviction
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugins import PluginExplainer
from vcdebug.framework.hooks import VICTIM_TASKS
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.model.pod import PREEMPTABLE_KEY
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.model.task import TaskStatus
from vcdebug.plugins.rescheduling import MEASURED_DIMENSIONS, STRATEGY, Rescheduling, ReschedulingChoice
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


def kept_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence: why no pod is moved off the job's first node, and which thresholds have no effect."""
    plugin, tasks = view.session.plugins.get(Rescheduling.name), list(view.tasks.values())
    asking = [facts for facts in map(view.facts_of, view.actions) if facts.evicts and not facts.places]
    if not isinstance(plugin, Rescheduling) or STRATEGY not in plugin.settings.strategies or not (tasks and asking):
        return
    choice, params = plugin.choose_victims([]), plugin.settings.params
    load = next((one for one in choice.nodes if one.node == tasks[0].node_name), None)
    if load is None or load.high or not any(load.percents.values()):
        return
    limits, state = (choice.low_at, "below every threshold") if load.low else (choice.target, "above no target")
    shares = ((name, *map(format_number, (share, limits[name]))) for name, share in load.percents.items())
    percents = join_names(f"{name} {share} % (limit {limit} %)" for name, share, limit in shares)
    names = dict.fromkeys(str(name) for stated in params.values() if isinstance(stated, dict) for name in stated)
    unmeasured = join_names(name for name in names if name not in MEASURED_DIMENSIONS)
    ignored = f"; it does not measure {unmeasured}, so only thresholds of cpu and memory count" if unmeasured else ""
    yield f"{Rescheduling.name} moves no pod off {load.node}, which is {state}: {percents}{ignored}."


def moved_facts(view: JobView, eviction: Eviction) -> Iterator[str | Advice]:
    """Yields why a pod is moved off its node: what the node uses, and the order of its pods; advice on priorities."""
    plugin = view.session.plugins.get(Rescheduling.name)
    if not isinstance(plugin, Rescheduling):
        return
    choice = plugin.choose_victims([])
    loads = {load.node: load for load in choice.nodes}
    percents = loads[eviction.node].percents if eviction.node in loads else {}
    over = [name for name, share in percents.items() if share > choice.target[name]]
    used = join_names(f"{name} {format_number(percents[name])} % (target {choice.target[name]:g} %)" for name in over)
    idle = join_names(load.node for load in choice.nodes if load.low)
    yield f"{Rescheduling.name}: {eviction.node} uses {used}, and {idle} is below every threshold."
    victim = view.tasks[eviction.victim]
    others = [task for task in view.session.nodes[eviction.node].tasks_in_order() if task.job != victim.job]
    higher = max((task.pod.priority or 0 for task in others), default=0)
    order = "the pods of a node go by priority, the lowest first, then by QoS class"
    yield f"{capitalize_first(order)}; {victim.name} has {victim.pod.priority or 0}; {PREEMPTABLE_KEY} is not read."
    if higher > (victim.pod.priority or 0):
        edits = (f"Pod/{task.key}:spec.priority={higher + 1}" for task in view.tasks.values())
        yield Advice.for_owner(
            f"Give its pods a PriorityClass above {higher}; pods of other jobs on {eviction.node} precede them.", *edits
        )


EXPLAINER = PluginExplainer(equations={VICTIM_TASKS.upstream: victim_tasks})
