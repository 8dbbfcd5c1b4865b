"""tdm: victims outside revocable zones, revocable zones by their windows, and starving jobs. Upstream: plugins/tdm."""

from collections.abc import Iterator

from vcdebug.amount_text import count_noun, format_number, join_names, verb_for
from vcdebug.explain.answer import Advice
from vcdebug.explain.equation import JOB_NOT_IN_SESSION, Equation, Term, all_hold, first_failing
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import AskedNode, OrderDifference, OrderMoment, PluginExplainer, iter_differences
from vcdebug.explain.predicate_reasons import ConstraintFailure
from vcdebug.framework.hooks import JOB_ORDER, JOB_PIPELINED, JOB_STARVING, PREEMPTABLE, VICTIM_TASKS
from vcdebug.framework.plugin_answers import PERMIT, REJECT
from vcdebug.framework.record import HookEvent
from vcdebug.gotime import SECOND
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import tdm
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import session_at_event
from vcdebug.recording.state_before import job_before, task_of, tasks_before
from vcdebug.snapshot.manifest import REVOCABLE_ZONE_KEY

SCORE_FORMULA = "100 on a revocable node with an open window, for a task that can use revocable nodes"
ZONE_FORMULA = "a revocable node accepts tasks of revocable zones while its window is open; any other node accepts all"
SHUT_FORMULA = "preemptable and Running on a node of a closed zone, as many per job as its budget allows"
ADVICE = Advice.queue_admin(
    "Set volcano.sh/preemptable on pods that are safe to evict; tdm evicts only those, within their job's budget."
)


def preemptable_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Preemptable: allows running preemptable tasks outside revocable zones within their jobs' budgets."""
    preemptor = task_of(recording, event.task)
    title = f"tdm: which candidates may make room for {preemptor.key}?"
    formula = "preemptable, Running, on no revocable node, and within what the job's budget allows"
    columns = ("status", "may go", "gone before")
    if preemptor.preemptable or preemptor.revocable_zone:
        itself = "the preemptor is itself preemptable"
        reason = itself if preemptor.preemptable else f"the preemptor has {REVOCABLE_ZONE_KEY}"
        refused_terms = tuple(Term(key, (None, None, None), False, reason) for key in event.candidates)
        return Equation(title, formula, columns, "task", refused_terms, (), None, reason)
    picks: dict[JobId, list[TaskKey]] = {}
    terms = tuple(_judge_victim(recording, seq, task, picks) for task in tasks_before(recording, event.candidates, seq))
    # Upstream iterates a Go map of jobs in random order; the replay takes ascending ids.
    victims = tuple(key for uid in sorted(picks) for key in picks[uid])
    note = "jobs in ascending order of their ids"
    return Equation(title, formula, columns, "task", terms, victims, None, note)


def _judge_victim(recording: Recording, seq: Seq, task: TaskInfo, picks: dict[JobId, list[TaskKey]]) -> Term:
    rule, status = recording.session.plugin_of_class(tdm.Tdm).bar_reason(task), task.status.upstream_name
    if rule or task.job not in recording.session.jobs:
        return Term(task.key, (status, None, None), False, _not_evictable_reason(recording, task, rule))
    job = job_before(recording, task.job, seq)
    job_victims = picks.setdefault(job.uid, [])
    term = _budget_term(job, task, status, len(job_victims))
    if term.is_met:
        job_victims.append(task.key)
    return term


def _budget_term(job: JobInfo, task: TaskInfo, label: str, earlier: int) -> Term:
    """The term of a candidate: whether its job's disruption budget allows it after `earlier` other victims."""
    allowed = tdm.max_evictions(job)
    budget = f"the disruption budget of {job.name} allows {count_noun(allowed, 'eviction')}: {_stated_budget(job)}"
    figures = (label, allowed, min(earlier, allowed))
    return Term(task.key, figures, earlier < allowed, "" if earlier < allowed else budget)


def _not_evictable_reason(recording: Recording, task: TaskInfo, rule: str) -> str:
    node = recording.session.nodes.get(task.node_name)
    return {
        tdm.NOT_PREEMPTABLE: 'it has volcano.sh/preemptable: "false"',
        tdm.NOT_RUNNING: f"it is {task.status.upstream_name}, not Running",
        tdm.NO_NODE: "its node is not in the session",
        tdm.REVOCABLE: f"its node is revocable, in zone {node.revocable_zone if node is not None else ''}",
        "": JOB_NOT_IN_SESSION,
    }[rule]


def _stated_budget(job: JobInfo) -> str:
    """The source of a job's disruption budget, in words."""
    annotations, running, total = job.pod_group.annotations, job.count_tasks(TaskStatus.RUNNING), len(job.tasks)
    counts = f"{running} of {total} run"
    for key in (tdm.MIN_AVAILABLE_KEY, tdm.MAX_UNAVAILABLE_KEY):
        if annotations.get(key):
            return f"{key} {annotations[key]}, {counts}"
    return f"it states no budget, so one at a time, {counts}"


def job_pipelined(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """JobPipelined: whether enough tasks are placed or pipelined; tdm ignores minimums of roles."""
    job = job_before(recording, event.job, seq)
    placed_count, is_pipelined = job.waiting_task_num() + job.settled_task_num(), job.is_pipelined()
    term, verdict = Term("tasks", (placed_count, job.min_available), is_pipelined), PERMIT if is_pipelined else REJECT
    title, formula = f"tdm: would {job.uid} be complete?", "ready + waiting + best-effort pending ≥ min available"
    return Equation(title, formula, ("have", "min"), "check", (term,), verdict, "tasks")


def job_starving(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """JobStarving: only a job that is not preemptable and has pending tasks starves."""
    job = job_before(recording, event.job, seq)
    terms = (
        Term("not preemptable", (not job.preemptable,), not job.preemptable),
        Term("pending", (job.count_tasks(TaskStatus.PENDING),), job.has_pending_tasks()),
    )
    title, formula = f"tdm: is {job.uid} starving?", "not preemptable, and some task is pending"
    return Equation(title, formula, ("",), "check", terms, all_hold(terms), first_failing(terms) or "pending")


def job_order(moment: OrderMoment, left: JobInfo, right: JobInfo) -> Iterator[OrderDifference]:
    """Yields the comparison of the jobs' `preemptable` flags."""
    sign = moment.recording.session.plugin_of_class(tdm.Tdm).job_order(left, right)
    return iter_differences(sign, [("preemptable", left.preemptable, right.preemptable)])


def score_equation(asked_node: AskedNode, part: str) -> Equation:
    """The score of a node, which prefers revocable nodes for tasks that may use them."""
    plugin, zone = asked_node.session.plugin_of_class(tdm.Tdm), asked_node.node.revocable_zone
    window, error = (plugin.windows.get(zone, ""), plugin.zones.zone_error(zone)) if zone else ("", None)
    terms = (
        Term("the node is revocable", (zone or "no",), None),
        Term("its window", (window + (f" ({error})" if error is not None else ""),), None),
        Term("the task may use revocable nodes", (asked_node.task.revocable_zone or "no",), None),
    )
    score = float(plugin.node_order(asked_node.task, asked_node.session.node_table.single_row(asked_node.row)).total[0])
    title = f"tdm: zone of {asked_node.node.name}"
    return Equation(title, SCORE_FORMULA, ("",), "check", terms, score, None, f"score {format_number(score)}")


def check_equations(asked_node: AskedNode) -> Iterator[Equation]:
    """Yields the check of a node: its zone's window against the clock, and whether the task may use the zone."""
    plugin, zone = asked_node.session.plugin_of_class(tdm.Tdm), asked_node.node.revocable_zone
    error = plugin.zones.zone_error(zone) if zone else None
    allowed = not zone or bool(asked_node.task.revocable_zone)
    window = Term("window", (zone or "no zone", plugin.windows.get(zone) or ""), error is None, error or "")
    task = Term("task", (asked_node.task.revocable_zone or "no zone", ""), allowed, "" if allowed else tdm.NOT_ALLOWED)
    terms, title = (window,) if error is not None else (window, task), f"tdm: zone of {asked_node.node.name}"
    yield Equation(title, ZONE_FORMULA, ("zone", "window"), "check", terms, all_hold(terms), first_failing(terms))


def victim_tasks(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """VictimTasks: zones by window; in closed zones preemptable tasks within their jobs' budgets."""
    title = "tdm: which pods have to leave a revocable node with a closed window?"
    columns = ("zone", "may go", "gone before")
    # Windows depend on the clock and victims on task states, so the session is rebuilt at the event.
    session = session_at_event(recording, seq)
    plugin = session.plugins.get(tdm.Tdm.name) if session is not None else None
    if session is None or not isinstance(plugin, tdm.Tdm):
        return Equation(title, SHUT_FORMULA, columns, "check", (), event.victims)
    terms: list[Term] = []
    for zone in sorted(plugin.windows):
        error = plugin.zones.zone_error(zone)
        words = f"{plugin.windows[zone]}: {error or 'open'}"
        terms.append(Term(f"zone {zone}", (zone, None, None), None, words))
        evictable = plugin.evictable_in(zone) if error is not None else {}
        for job in (session.jobs[uid] for uid in sorted(evictable) if uid in session.jobs):
            terms += (_budget_term(job, task, zone, earlier) for earlier, task in enumerate(evictable[job.uid]))
    last = recording.snapshot.process.last_eviction
    note = f"it looks once per {format_number(plugin.evict_period / SECOND)} s; it looked last at {last or 'no time'}"
    return Equation(title, SHUT_FORMULA, columns, "check", tuple(terms), event.victims, None, note)


def find_closed_zones(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Nodes of revocable zones that no pod without the annotation may use, and those of a closed window."""
    zones, nodes = fits.view.session.plugin_of_class(tdm.Tdm).zones, fits.view.session.nodes
    states = {zone: zones.zone_error(zone) for node in nodes.values() if (zone := node.revocable_zone)}
    errors = {zone: error for zone, error in states.items() if error}
    if not fits.task.revocable_zone and (refused := fits.refused_for(tdm.NOT_ALLOWED, *errors.values())):
        names = [node.name for node in refused]
        rule = f"only pods with annotation {REVOCABLE_ZONE_KEY}, which {fits.task.name} lacks"
        text = f"{join_names(names)} of a revocable zone {verb_for(len(names), 'takes')} {rule}"
        alike = [one for one in fits.view.unplaced_tasks if one.task_role == fits.task.task_role]
        edits = [f"Pod/{one.key}:metadata.annotations[{REVOCABLE_ZONE_KEY}]='*'" for one in alike]
        allow = f'Set annotation {REVOCABLE_ZONE_KEY}: "*" on the pods, if tdm may evict them when a window ends'
        openings = list(filter(None, (zones.next_opening(nodes[name].revocable_zone) for name in names)))
        if openings and not fits.refused_for(tdm.NOT_ALLOWED):
            allow += f", and wait until {min(openings).strftime('%H:%M')}, when a revocable zone opens"
            edits.append(f"clock:now={min(openings).isoformat()}")
        yield ConstraintFailure(text, (Advice.for_owner(f"{allow}.", *edits),))
    for zone, error in errors.items():
        if names := [node.name for node in fits.refused_for(error) if nodes[node.name].revocable_zone == zone]:
            yield _closed_zone_failure(zones, zone, f"{join_names(names)} {verb_for(len(names), 'is')}")


def _closed_zone_failure(zones: tdm.RevocableZones, zone: str, nodes_are: str) -> ConstraintFailure:
    """The failure of the nodes of a zone whose window is closed, missing, or cannot be read."""
    window, opens, key = zones.windows.get(zone), zones.next_opening(zone), f"{tdm.ZONE_KEY}{zone}"
    if opens is None:
        fault = f"the window {window!r} of which cannot be read" if window else f"which has no {key}"
        words, edit = f"Set {key} of plugin tdm to a window such as 00:00-23:59.", f"[{key}]='00:00-23:59'"
        write = Advice.cluster_admin(words, f"conf:plugins.tdm.arguments{edit}")
        return ConstraintFailure(f"{nodes_are} in revocable zone {zone}, {fault} in plugin tdm", (write,))
    wait = f"Wait until {opens.strftime('%H:%M')}, when revocable zone {zone} opens."
    advice = (
        Advice.for_owner(wait, f"clock:now={opens.isoformat()}"),
        Advice.cluster_admin(f"Extend {key} ({window})."),
    )
    text = f"{nodes_are} in revocable zone {zone}, open only {window} (now {zones.now.strftime('%H:%M')})"
    return ConstraintFailure(text, advice, is_temporary=True)


EXPLAINER = PluginExplainer(
    scores=score_equation,
    refusals=check_equations,
    equations={
        PREEMPTABLE.upstream: preemptable_equation,
        JOB_PIPELINED.upstream: job_pipelined,
        JOB_STARVING.upstream: job_starving,
        VICTIM_TASKS.upstream: victim_tasks,
    },
    comparators={JOB_ORDER.method: job_order},
    veto_advice=ADVICE,
    failures=find_closed_zones,
)
