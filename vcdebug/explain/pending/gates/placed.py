"""What the job got: places, a bind by another client, or a pipeline that is never bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import count_noun, format_age, join_names
from vcdebug.explain import answer
from vcdebug.explain.answer import Advice, Evidence, Finding, cluster_admin_advice, count, owner_advice, proof_of
from vcdebug.explain.decisions.evictions import eviction_price, lost_pods
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.checklist import NOT_TRIED_CAUSE, allocate_findings, failed_search_seq
from vcdebug.explain.pending.gates.not_in_session import opening_evidence
from vcdebug.framework.hooks import JOB_VALID
from vcdebug.framework.quirks import BOUND_ELSEWHERE
from vcdebug.framework.record import BIND_OP, PLACING_OPS, Note, OpEvent, StatementEvent
from vcdebug.gotime import SECOND, parse_nanoseconds, unix_nanoseconds
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.snapshot.manifest import metadata_of

PLACES_CAUSE = "places"
PIPELINED_CAUSE = "pipelined"
EVICTED_CAUSE = "evicted"
ADMITTED_CAUSE = "admitted"
HAS_CAUSES = (PLACES_CAUSE, PIPELINED_CAUSE, EVICTED_CAUSE, ADMITTED_CAUSE)
"""The causes of a job for which this cycle has no more to do."""


def placed(view: JobView) -> Finding | None:
    """None unless the job (or the pod that was asked about) has its place."""
    if view.pod is not None and view.pod in view.tasks:
        task = view.tasks[view.pod]
        if task.status is TaskStatus.PENDING:
            return None
        if task not in view.placed_tasks:
            return _already_placed_finding(view, [task])
    elif any(pod.key == view.pod for pod in view.hidden_pods):
        return None
    if not view.pending_at_open:
        return (
            _already_placed_finding(view, list(view.tasks.values())) if view.tasks and not _was_invalid(view) else None
        )
    firm = [task for task in view.placed_tasks if task.status is not TaskStatus.ALLOCATED]
    if not firm or not (view.job.is_pipelined() or any(t.status is TaskStatus.BINDING for t in firm)):
        return None
    return _placed_finding(view, firm)


def _already_placed_finding(view: JobView, tasks: Sequence[TaskInfo]) -> Finding:
    opening = view.recording.timeline.opening_tasks
    states = dict.fromkeys(opening[task.key].status.upstream_name for task in tasks)
    keys = [task.key for task in tasks]
    lost = [one for one in lost_pods(view) if one.victim in keys]
    by = join_names(dict.fromkeys(one.action for one in lost if one.action))
    who = join_names(dict.fromkeys(one.preemptor for one in lost if one.preemptor))
    why = f"{f' by {by}' if by else ''}{f' for {who}' if who else ''}"
    cost = f"; {join_names(one.victim for one in lost)} evicted in this cycle{why}" if lost else ""
    what = f"{view.pod} does not wait" if view.pod in keys else f"Nothing of {view.job.uid} waits"
    number = "it was" if view.pod in keys else count_noun(len(tasks), "pod")
    sentence = f"{what}: {number} {' or '.join(states)} before this cycle{cost}."
    evidence = opening_evidence(view.recording, "the session opens with the job's pods in this state")
    proof = (*evidence, *(Evidence(one.end, f"{one.action} evicts {one.victim}") for one in lost))
    numbers = {"pods": count(len(tasks), "pods"), "pods.evicted": count(len(lost), "pods")}
    return Finding(EVICTED_CAUSE if lost else PLACES_CAUSE, sentence, numbers, tuple(sorted(proof)))


def _placed_finding(view: JobView, firm: Sequence[TaskInfo]) -> Finding:
    evicted = list(evictions_for_job(view))
    bound = [task for task in firm if task.status is TaskStatus.BINDING]
    waiting = [task for task in firm if task.status is TaskStatus.PIPELINED]
    enough = view.job.ready_task_num() >= view.job.min_available
    cause = PIPELINED_CAUSE if waiting and not evicted and not (bound and enough) else PLACES_CAUSE
    numbers = {
        "pods.bound": count(len(bound), "pods"),
        "pods.pipelined": count(len(waiting), "pods"),
        "pods.left": count(len(view.left_over), "pods"),
        "pods.evicted": count(len(evicted), "pods"),
        "job.minAvailable": count(view.job.min_available, "pods"),
    }
    text = _placed_sentence(view, cause, bound, waiting, [task for _, task, _ in evicted])
    lines = tuple(_task_line(view, task) for task in firm)
    return Finding(cause, text, numbers, tuple(sorted(_placement_evidence(view, firm, evicted))), (), lines)


def _placed_sentence(
    view: JobView, cause: str, bound: Sequence[TaskInfo], waiting: Sequence[TaskInfo], evicted: Sequence[TaskKey]
) -> str:
    done = ((bound, "bound to"), (waiting, "pipelined on"))
    got = " and ".join(
        f"{_format_tasks(tasks)} {verb} {join_names(dict.fromkeys(t.node_name for t in tasks))}"
        for tasks, verb in done
        if tasks
    )
    stay = "stays" if len(view.left_over) == 1 else "stay"
    rest = f"; {count_noun(len(view.left_over), 'pod')} beyond minMember {view.job.min_available} {stay} Pending"
    tail = rest if view.left_over else ""
    if cause == PIPELINED_CAUSE:
        who = join_names(f"{task.key} {format_deletion_due(view, task)}" for task in releasing_tasks(view, waiting))
        if all(task.uid in view.session.restored for task in waiting):
            room = f", where room is being released ({who})" if who else ", whose room is not idle yet"
            return f"{view.job.uid} keeps the place that an earlier cycle promised: {got}{room}{tail}."
        return f"{view.job.uid} waits for room that is being released ({who}): {got}, without evicting anyone{tail}."
    cost = f", at the cost of {join_names(evicted)}{eviction_price(view)}" if evicted else ""
    return f"{view.job.uid} gets what it needs in this cycle: {got}{cost}{tail}."


def _format_tasks(tasks: Sequence[TaskInfo]) -> str:
    return tasks[0].name if len(tasks) == 1 else count_noun(len(tasks), "pod")


def _task_line(view: JobView, task: TaskInfo) -> str:
    """`a/train-0 -> n1`; for a pipelined task with the pods that have to terminate first."""
    waits = task.status is TaskStatus.PIPELINED
    gone = [f"{one.key} ({format_deletion_due(view, one)})" for one in releasing_tasks(view, [task] if waits else [])]
    return f"{task.key} -> {task.node_name}{f' behind {join_names(gone)}' if gone else ''}"


def format_deletion_due(view: JobView, task: TaskInfo) -> str:
    """When a terminating pod should be gone: `due in 20s`, `2h overdue`; `evicted now` without a deletion timestamp."""
    gone = metadata_of(task.pod.manifest).get("deletionTimestamp")
    if not isinstance(gone, str):
        return "evicted now"
    seconds = (parse_nanoseconds(gone) - unix_nanoseconds(view.recording.snapshot.now)) // SECOND  # exact: ints
    return f"due in {format_age(seconds)}" if seconds > 0 else f"{format_age(-seconds)} overdue"


def releasing_tasks(view: JobView, waiting: Sequence[TaskInfo]) -> Iterator[TaskInfo]:
    """Tasks that are Releasing on the nodes for which these wait."""
    for name in dict.fromkeys(task.node_name for task in waiting):
        node = view.session.nodes[name]
        yield from (task for task in node.tasks_in_order() if task.status is TaskStatus.RELEASING)


def evictions_for_job(view: JobView) -> Iterator[tuple[Seq, TaskKey, NodeName]]:
    """Evictions in the job's visits, by committed statements or at once."""
    for visit in view.job_visits:
        for seq, event in visit.events:
            if isinstance(event, StatementEvent) and event.what == "commit":
                yield from ((seq, task, node) for kind, task, node in event.ops if kind == "evict")
            elif isinstance(event, OpEvent) and event.op == "evict" and event.via is not None:
                yield seq, event.task, event.node


def _was_invalid(view: JobView) -> bool:
    """Whether gang called the job invalid before anything happened: it lost pods earlier, or some were never made."""
    return any(event.result and not event.result["pass"] for _, event in view.calls_about(JOB_VALID.upstream)[:1])


def _placement_evidence(
    view: JobView, firm: Sequence[TaskInfo], evicted: Sequence[tuple[Seq, TaskKey, NodeName]]
) -> Iterator[Evidence]:
    keys = [task.key for task in firm]
    for visit in view.job_visits:
        for seq, event in visit.events:
            if isinstance(event, OpEvent) and event.op in (*PLACING_OPS, BIND_OP) and event.task in keys:
                yield Evidence(seq, f"{event.op} {event.task} on {event.node}")
            elif isinstance(event, StatementEvent) and event.what == "commit" and event.ops:
                yield Evidence(seq, f"{visit.action} commits {count_noun(len(event.ops), 'operation')}")
    waiting = [task for task in firm if task.status is TaskStatus.PIPELINED]
    kept = [task for task in waiting if task.uid in view.session.restored]
    start = view.action_starts(ALLOCATE)
    if start is not None:
        for task in kept:
            asks = amount_text.format_resource(task.init_resreq)
            yield Evidence(start, f"{task.key} keeps its place on {task.node_name}, where {asks} are not idle yet")
        opening = view.recording.timeline.opening_tasks
        gone = [task for task in releasing_tasks(view, waiting) if opening[task.key].status is TaskStatus.RELEASING]
        if gone and not evicted and len(kept) < len(waiting):
            yield Evidence(start, f"{join_names(task.key for task in gone)} Releasing before allocate began")


# With task state persistence: another client bound the pod to another node during the cycle.

CAUSE = "bound-elsewhere"


def bound_elsewhere(view: JobView) -> Finding | None:
    """None unless another client bound the pod that was asked about, or a pod of the job, during the cycle."""
    tasks = {task.key: task for task in view.tasks.values() if view.pod in (None, task.key)}
    found = next(((tasks[key], note) for key, note in _bound_elsewhere_notes(view.recording) if key in tasks), None)
    if found is None:
        return None
    task, note = found
    node = view.recording.snapshot.bound[task.key]
    sentence = (
        f"{task.name} is not bound by this cycle: somebody else bound it to {node} while the cycle ran, so the bind is "
        "an error, and the pod loses what an earlier cycle had written on it."
    )
    advice = (owner_advice(f"wait for the next cycle: it finds the pod on {node}"),)
    return Finding(CAUSE, sentence, {}, proof_of(note.seq, note.text), advice)


@per_recording()
def _bound_elsewhere_notes(recording: Recording) -> Sequence[tuple[TaskKey, Note]]:
    """(pod, note) of each bind that failed because another client had bound the pod."""
    notes = (note for note in recording.notes if note.code == BOUND_ELSEWHERE)
    return [(TaskKey(note.text.split(" ", 1)[0]), note) for note in notes]


# Phantom pipelines: a task pipelined to a node where no pod terminates is never bound.

PHANTOM_CAUSE = "phantom-pipelined"


def pipelined_for_ever(view: JobView) -> Finding | None:
    """None unless the job, or the pod that was asked about, is pipelined and no pod releases resources for it."""
    waiting = _pipelined_tasks(view)
    bound = any(task.status is TaskStatus.BINDING for task in view.placed_tasks)
    enough = view.job.ready_task_num() >= view.job.min_available
    if not waiting or not view.job.is_pipelined() or (bound and enough):
        return None
    if next(evictions_for_job(view), None) is not None or next(releasing_tasks(view, waiting), None) is not None:
        return None
    nodes = (view.session.nodes[task.node_name] for task in waiting)
    # Anything that is being released could still bring the pod its room.
    return _phantom_finding(view, waiting) if all(node.releasing.is_empty() for node in nodes) else None


def _pipelined_tasks(view: JobView) -> list[TaskInfo]:
    return [task for task in view.placed_tasks if task.status is TaskStatus.PIPELINED and view.pod in (None, task.key)]


def stopping_findings(view: JobView) -> list[Finding]:
    """Why allocate does not bind the pipelined task; empty for a task restored from an earlier cycle."""
    return list(_find_stopping(view.recording, view))


@per_recording(most=1)
def _find_stopping(_: Recording, view: JobView) -> Sequence[Finding]:
    """The findings about allocate; cached, since the sentence and the contributing findings both need them."""
    task = _pipelined_tasks(view)[0]
    if _is_restored(view, task):
        return []
    found = allocate_findings(view, task, NodeFits(view, task, failed_search_seq(view, task)))
    return [finding for finding in found if finding.cause != NOT_TRIED_CAUSE]


def _is_restored(view: JobView, task: TaskInfo) -> bool:
    return task.uid in view.session.restored


def _phantom_finding(view: JobView, waiting: Sequence[TaskInfo]) -> Finding:
    task = waiting[0]
    who = task.name if len(waiting) == 1 else count_noun(len(waiting), "pod")
    where = join_names(dict.fromkeys(each.node_name for each in waiting))
    plan = _last_pipeline(view, task)
    by, evidence = "an earlier cycle", opening_evidence(view.recording, "the session opens with the pod pipelined")
    if plan is not None:
        by, evidence = plan[1], proof_of(plan[0], f"{plan[1]} pipelines it, where nothing is Releasing")
    why, advice = _phantom_reason(view, task)
    sentence = (
        f"{view.job.uid} is never bound: {by} pipelined {who} on {where} without evicting anyone, and nothing is being "
        f"released there, so it waits for nothing; {why}."
    )
    numbers = {
        "pods.pipelined": count(len(waiting), "pods"),
        "job.minAvailable": count(view.job.min_available, "pods"),
        **answer.numbers("request", task.init_resreq),
    }
    lines = tuple(f"{each.key} -> {each.node_name}, where nobody is leaving" for each in waiting)
    return Finding(PHANTOM_CAUSE, sentence, numbers, evidence, advice, lines)


def _last_pipeline(view: JobView, task: TaskInfo) -> tuple[Seq, str] | None:
    """(event, action) that last pipelined the task in this cycle; None if an earlier cycle did."""
    found = [
        (seq, visit.action)
        for visit in view.job_visits
        for seq, event in visit.events
        if isinstance(event, OpEvent) and event.op == "pipeline" and event.task == task.key
    ]
    return found[-1] if found and not _is_restored(view, task) else None


def _phantom_reason(view: JobView, task: TaskInfo) -> tuple[str, tuple[Advice, ...]]:
    if _is_restored(view, task):
        free = [
            node.name for node in NodeFits(view, task, len(view.recording)).free_nodes if node.name != task.node_name
        ]
        elsewhere = f", although {join_names(free)} would take it" if free else ""
        why = f"allocate looks for no other node for a pod that was promised one{elsewhere}"
        anew = owner_advice(f"delete {task.name}, so that it is made anew: then allocate tries every node")
        if not task.pod.nominated_node_name:
            return why, (anew,)
        edit = f"Pod/{task.key}:status.nominatedNodeName-"
        return why, (
            anew,
            owner_advice(f"clear status.nominatedNodeName of {task.name}: then every node is tried", edit),
        )
    found = stopping_findings(view)
    if not found:
        return "the next cycle plans the same again", (
            cluster_admin_advice("put allocate before the actions that evict"),
        )
    sentence = found[0].sentence.removesuffix(".")
    return f"allocate does not bind it: {sentence}; the next cycle plans the same again", found[0].advice
