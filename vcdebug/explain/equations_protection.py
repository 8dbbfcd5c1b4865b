"""The arithmetic of protection: cooldowns, disruption budgets and time division, one line per candidate as asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from vcdebug.explain.equation import Equation, Term, first_failing
from vcdebug.explain.past import before, job_at, job_of, task_of
from vcdebug.framework.plugin import PERMIT, REJECT
from vcdebug.framework.record import HookEvent
from vcdebug.gotime import HOUR, MINUTE, SECOND, nanoseconds
from vcdebug.kube.listers import metadata_of
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.status import TaskStatus
from vcdebug.plugins.cdp import cooldown_time, scheduled_at
from vcdebug.plugins.pdb import Budget, Pdb, budget
from vcdebug.plugins.tdm import MAX_UNAVAILABLE_KEY, MIN_AVAILABLE_KEY, max_evictions
from vcdebug.trace.recording import Recording

CDP, PDB, TDM = "cdp", "pdb", "tdm"
NO_LABELS = "it has no labels: pdb never offers such a pod"


def cooldown(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """cdp: pods whose cooldown has passed."""
    now = nanoseconds(recording.snapshot.now)
    terms = [_cooled(recording, key, now) for key in _candidates(event)]
    title = f"cdp: whose cooldown has passed, when {_asker(event)} asks?"
    formula = "scheduled + cooldown ≤ now; only running pods that state a cooldown are protected"
    return _choice(title, formula, ("cooldown", "scheduled", "left"), terms)


def _cooled(recording: Recording, key: TaskKey, now: int) -> Term:
    pod = task_of(recording, key).pod
    cooldown, scheduled = cooldown_time(pod), scheduled_at(pod)
    if cooldown is None or scheduled is None:
        why = "states no cooldown" if cooldown is None else "is not running, or was never marked as scheduled"
        return Term(key, (words(cooldown), None, None), True, why)
    left = scheduled + cooldown - now
    figures = (words(cooldown), f"{words(now - scheduled)} ago", words(max(left, 0)))
    note = f"scheduled {figures[1]}, its cooldown of {words(cooldown)} lasts another {words(left)}" if left > 0 else ""
    return Term(key, figures, left <= 0, note)


def words(duration: int | None) -> str | None:
    """Nanoseconds as `1h30m`, `45s`."""
    if duration is None:
        return None
    sign, rest = ("-", -duration) if duration < 0 else ("", duration)
    parts = []
    for size, unit in ((HOUR, "h"), (MINUTE, "m"), (SECOND, "s")):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return sign + "".join(parts[:2]) if parts else "0s"


def budgets(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """pdb: candidates in order while every budget that covers them lasts."""
    known = _budgets(recording)
    left = [each.allowed for _, each in known]
    terms = [_spent(recording, key, known, left) for key in _candidates(event)]
    title = "pdb: which evictions do the budgets allow?"
    formula = "every budget that covers the pod has disruptions left; each call starts with the full budgets again"
    return _choice(title, formula, ("budget", "allowed", "left before"), terms)


def _budgets(recording: Recording) -> list[tuple[str, Budget]]:
    """(name, budget) as the plugin read them."""
    plugin = recording.session.plugins[PDB]
    assert isinstance(plugin, Pdb)
    read = ((metadata_of(m)["name"], budget(m)) for m in recording.snapshot.of("PodDisruptionBudget"))
    return [(name, each) for name, each in read if each is not None] if plugin.budgets else []


def _spent(recording: Recording, key: TaskKey, known: list[tuple[str, Budget]], left: list[int]) -> Term:
    pod = task_of(recording, key).pod
    if not pod.labels:
        return Term(key, (None, None, None), False, NO_LABELS)
    covering = [index for index, (_, each) in enumerate(known) if each.covers(pod)]
    before_it = {index: left[index] for index in covering}
    for index in covering:
        left[index] -= 1
    if not covering:
        return Term(key, (None, None, None), True, "no budget covers it")
    told = next((index for index in covering if before_it[index] <= 0), covering[0])
    name, each = known[told]
    figures = (name, each.allowed, before_it[told])
    taken = each.allowed - before_it[told]
    note = f"budget {name} allows {each.allowed}, and {taken} {'is' if taken == 1 else 'are'} taken already"
    return Term(key, figures, before_it[told] > 0, "" if before_it[told] > 0 else note)


def time_division(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """tdm: running preemptable tasks outside revocable zones, as many per job as its disruption budget lets go."""
    preemptor = task_of(recording, _asker(event))
    title = f"tdm: who may make room for {preemptor.key}?"
    formula = "preemptable, Running, on no revocable node, and within what the job's budget lets go"
    columns = ("status", "may go", "gone before")
    if preemptor.preemptable or preemptor.revocable_zone:
        why = (
            "the preemptor is itself preemptable" if preemptor.preemptable else "the preemptor may use revocable nodes"
        )
        refused = [Term(key, (None, None, None), False, why) for key in _candidates(event)]
        return Equation(title, formula, columns, "task", tuple(refused), (), None, why)
    taken: dict[JobId, list[TaskKey]] = {}
    terms = [_divided(recording, seq, key, taken) for key in _candidates(event)]
    victims = tuple(key for uid in sorted(taken) for key in taken[uid])
    return Equation(
        title, formula, columns, "task", tuple(terms), victims, None, "jobs in ascending order of their ids"
    )


def _divided(recording: Recording, seq: Seq, key: TaskKey, taken: dict[JobId, list[TaskKey]]) -> Term:
    task, state = task_of(recording, key), before(recording, seq).tasks[key]
    node = recording.session.nodes.get(state.node)
    barred = (
        "it states volcano.sh/preemptable false"
        if not task.preemptable
        else f"it is {state.status.label}, not Running"
        if state.status is not TaskStatus.RUNNING
        else "its node is not in the session"
        if node is None
        else f"its node is revocable, in zone {node.revocable_zone}"
        if node.revocable_zone
        else ""
    )
    if barred:
        return Term(key, (state.status.label, None, None), False, barred)
    if job_of(recording, key) is None:
        return Term(key, (state.status.label, None, None), False, "its job is not in the session")
    job = job_at(recording, task.job, seq)
    gone, most = taken.setdefault(job.uid, []), max_evictions(job)
    figures = (state.status.label, most, len(gone))
    chosen = len(gone) < most
    if chosen:
        gone.append(key)
    return Term(key, figures, chosen, "" if chosen else f"the budget of {job.name} lets {most} go: {_stated(job)}")


def pipelined(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """tdm: are enough tasks placed or promised a place? Minimums of roles do not count."""
    job = job_at(recording, event.subject[0][1], seq)
    have = job.waiting_task_num() + job.ready_task_num() + job.pending_best_effort_task_num()
    term = Term("tasks", (have, job.min_available), job.is_pipelined())
    verdict = PERMIT if job.is_pipelined() else REJECT
    title, formula = f"tdm: would {job.uid} be complete?", "ready + waiting + best-effort pending ≥ min available"
    return Equation(title, formula, ("have", "min"), "check", (term,), verdict, "tasks")


def starving(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """tdm: only a job that is not itself preemptable starves, and only with pending tasks."""
    job = job_at(recording, event.subject[0][1], seq)
    pending = job.count(TaskStatus.PENDING)
    terms = (
        Term("not preemptable", (not job.preemptable,), not job.preemptable),
        Term("pending", (pending,), pending > 0),
    )
    verdict = not job.preemptable and job.has_pending_tasks()
    deciding = first_failing(terms) or "pending"
    formula = "not preemptable, and some task is pending"
    return Equation(f"tdm: is {job.uid} starving?", formula, ("",), "check", terms, verdict, deciding)


def _stated(job: JobInfo) -> str:
    """Where the number comes from."""
    annotations, running, total = job.pod_group.annotations, job.count(TaskStatus.RUNNING), len(job.tasks)
    counts = f"{running} of {total} run"
    for key in (MIN_AVAILABLE_KEY, MAX_UNAVAILABLE_KEY):
        if annotations.get(key):
            return f"{key} {annotations[key]}, {counts}"
    return f"it states no budget, so one at a time, {counts}"


def _asker(event: HookEvent) -> TaskKey:
    return str(dict(event.subject)["task"])


def _candidates(event: HookEvent) -> tuple[TaskKey, ...]:
    candidates: tuple[TaskKey, ...] = dict(event.subject)["candidates"]
    return candidates


def _choice(title: str, formula: str, columns: tuple[str, ...], terms: list[Term]) -> Equation:
    victims = tuple(term.name for term in terms if term.holds)
    return Equation(title, formula, columns, "task", tuple(terms), victims)


EQUATIONS: Final[Mapping[tuple[str, str], Callable[[Recording, Seq, HookEvent], Equation]]] = {
    (CDP, "Preemptable"): cooldown,
    (CDP, "Reclaimable"): cooldown,
    (PDB, "Preemptable"): budgets,
    (PDB, "Reclaimable"): budgets,
    (TDM, "Preemptable"): time_division,
    (TDM, "JobPipelined"): pipelined,
    (TDM, "JobStarving"): starving,
}
