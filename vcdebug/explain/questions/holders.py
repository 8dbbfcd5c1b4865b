"""What holds room (a node, queue, port, volume, quota, or what a job lacks), and which job is next when it is freed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import count_noun, format_number, format_resource, join_names, verb_for
from vcdebug.explain import queue_index
from vcdebug.explain.answer import Cause, NamedQuestion, QuestionReply, ReplySheet, age_since
from vcdebug.explain.decisions.votes import CandidateOutcome, victim_choice
from vcdebug.explain.job_view import JobView, view_of
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.orders import ElementKind, OrderStep, order_of
from vcdebug.explain.pending.constraint_failures import users_of_devices
from vcdebug.explain.pending.explanation import explain_by_name, explain_subject
from vcdebug.explain.pending.placement_constraints import claim_names_of
from vcdebug.explain.subject_names import HOLDER_WORDS, NotFoundError, find_subject, split_kind
from vcdebug.framework.hooks import ALLOCATABLE, PREEMPTABLE, RECLAIMABLE
from vcdebug.framework.record import Level
from vcdebug.grouping import group_by_key
from vcdebug.kube.ports import host_ports
from vcdebug.model.names import JobId, QueueName, Seq, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.resource import PODS
from vcdebug.model.task import TaskInfo, TaskStatus, is_allocated_status
from vcdebug.recording.cluster_overview import invalid_jobs
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.visits import refusals_in
from vcdebug.snapshot.manifest import name_of

MAX_HOLDER_ROWS: Final = 40
UNLESS_PROTECTED: Final = ", unless a plugin protects it"
LIMIT_CAUSES: Final = (Cause.NOT_ALLOCATABLE, Cause.QUEUE_QUOTA, Cause.CAPABILITY)
"""Causes in which a limit of the queue rejects the job."""


class ResourceHolder(Struct, frozen=True):
    """A pod that holds the resource, port, volume or device in question."""

    task: TaskInfo
    held_text: str
    eviction_text: str
    """Which action could evict the pod, or why none could."""


def find_holders(recording: Recording, word: str) -> QuestionReply:
    """The holders of `KIND/NAME`, such as `node/n1`; for a bare name those of what the job or pod lacks."""
    kind, _, name = word.partition("/")
    find = _FIND_BY_KIND.get(HOLDER_WORDS.get(split_kind(word)[0], kind))
    if not name or find is None:
        return _for_job(recording, word)
    target, tasks = find(recording, name)
    return _build_reply(recording, word, target, [_build_holder(recording, task) for task in tasks])


def _holding_tasks(recording: Recording) -> Iterator[TaskInfo]:
    """The tasks that use resources of a node, also those of no job, such as pods of another scheduler."""
    for task in recording.timeline.tasks.values():
        if is_allocated_status(task.status) or task.status in (TaskStatus.RELEASING, TaskStatus.PIPELINED):
            yield task


def _queue_of(recording: Recording, task: TaskInfo) -> QueueName:
    """The queue of the task's job; empty for a task of no job."""
    job = recording.session.jobs.get(task.job)
    return QueueName("") if job is None else job.queue


def _holders_on_node(recording: Recording, name: str) -> tuple[str, list[TaskInfo]]:
    tasks = [task for task in _holding_tasks(recording) if task.node_name == name]
    if name in recording.session.nodes:
        return f"node {name}", tasks
    if not tasks and not any(name_of(manifest) == name for manifest in recording.snapshot.objects_of("Node")):
        raise NotFoundError("no such node, and no pod is on it", "", name)
    return f"node {name} (outside the session)", tasks


def _holders_in_queue(recording: Recording, name: str) -> tuple[str, list[TaskInfo]]:
    queues = recording.session.queues
    if name not in queues:
        raise NotFoundError("no such queue in this snapshot", f"available: {', '.join(queues)}", name)
    queue_names = frozenset(queue_index.queues_below(recording, name))
    return f"queue {name}", [task for task in _holding_tasks(recording) if _queue_of(recording, task) in queue_names]


def _holders_on_port(recording: Recording, number: str) -> tuple[str, list[TaskInfo]]:
    tasks = [task for task in _holding_tasks(recording) if number in _host_ports(recording, task.pod)]
    return f"host port {number}", tasks


def _holders_of_claim(recording: Recording, name: str) -> tuple[str, list[TaskInfo]]:
    return f"claim {name}", [task for task in _holding_tasks(recording) if name in _claim_keys(task.pod)]


def _holders_of_quota(recording: Recording, namespace: str) -> tuple[str, list[TaskInfo]]:
    tasks = [task for task in _holding_tasks(recording) if task.namespace == namespace]
    return f"the quota of namespace {namespace}", tasks


_FIND_BY_KIND: Final[Mapping[str, Callable[[Recording, str], tuple[str, list[TaskInfo]]]]] = {
    "node": _holders_on_node,
    "queue": _holders_in_queue,
    "port": _holders_on_port,
    "claim": _holders_of_claim,
    "quota": _holders_of_quota,
}


def _host_ports(recording: Recording, pod: Pod) -> list[str]:
    return [str(port.port) for port in host_ports(pod.spec, recording.snapshot.release)]


def _claim_keys(pod: Pod) -> list[str]:
    return [f"{pod.namespace}/{name}" for name in claim_names_of(pod)]


def _for_job(recording: Recording, word: str) -> QuestionReply:
    subject = find_subject(recording, word)
    if subject.job not in recording.session.jobs:
        raise NotFoundError("is not in the session, so no pod blocks it", "ask explain", word)
    view = view_of(recording, subject)
    reserved = (each for each in view.placed_tasks if each.status is TaskStatus.PIPELINED)
    task = view.blocked_task or next(reserved, None)
    explanation = explain_subject(recording, subject)
    # What a queue's limit rejects is held by the queue's pods, on any node.
    queue_names = dict.fromkeys(_limited_queues(view)) if explanation.cause_code in LIMIT_CAUSES else {}
    if task is None:
        asked = [name for name, value in view.job.get_min_resources().items() if value > 0]
        tasks = [task for task in _holding_tasks(recording) if _queue_of(recording, task) in queue_names]
        held = [(task, [name for name in asked if task.resreq.get(name) > 0]) for task in tasks]
        of_others = ((task, amounts) for task, amounts in held if amounts and task.job != subject.job)
        needed = f"resources that {subject.job} needs ({format_resource(view.job.get_min_resources())})"
        holders = [_build_holder(recording, task, amounts=amounts) for task, amounts in of_others]
        reply = QuestionReply(f"{subject.job} has no Pending pods.", data={"subject": subject.job, "holders": []})
        return _build_reply(recording, subject.job, needed, holders) if holders else reply
    if task not in (*view.unplaced_tasks, *view.pending_at_open):
        return QuestionReply(explanation.sentence, data={"subject": subject.job, "holders": []})
    # In the state at the end of the cycle: discarded plans are rolled back, and evicted pods are Releasing.
    fits = NodeFits(view, task, len(recording))
    dimensions = [name for name, value in task.init_resreq.items() if value > 0]
    ports, volumes = _host_ports(recording, task.pod), _claim_keys(task.pod)
    # A pipelined pod waits for pods that terminate on its node, as any pod does where only they keep it out.
    suitable = {node.name for node in fits.waiting_nodes} | {task.node_name}
    nodes = recording.session.nodes
    free = [node.name for node in fits.free_nodes]
    suitable |= {name for name in free if not task.init_resreq.less_equal(nodes[name].idle)}
    if (fits.free_nodes or fits.waiting_nodes) and any(
        refusals_in(visit.visit_calls(ALLOCATABLE.upstream)) for visit in view.job_visits
    ):
        queue_names = dict.fromkeys(_limited_queues(view))
    device_users = users_of_devices(fits)
    holders, own, elsewhere = [], 0, 0
    for other in _holding_tasks(recording):
        shared = [*(f"port {port}" for port in dict.fromkeys(_host_ports(recording, other.pod)) if port in ports)]
        shared += [f"claim {name}" for name in dict.fromkeys(_claim_keys(other.pod)) if name in volumes]
        shared += filter(None, [device_users.get(other.key)])
        # Resources on unsuitable nodes do not help the job, however many there are.
        counts = other.node_name in suitable or _queue_of(recording, other) in queue_names
        amounts = [name for name in dimensions if other.resreq.get(name) > 0] if counts else []
        if other.job == subject.job:
            own += other is not task and bool(amounts)
        elif shared or amounts:
            holders.append(_build_holder(recording, other, fits, shared, amounts))
            elsewhere += not shared and other.node_name not in suitable
    needed = f"resources that {task.name} needs ({format_resource(task.init_resreq)})"
    reply = _build_reply(recording, subject.job, needed, holders, own)
    limit_words = f"A limit of queue {view.queue.name} rejected it in this cycle"
    counted = f"{limit_words}: the pods that count for the limit are listed, on any node ({elsewhere} of these)."
    lines = (counted,) if elsewhere and holders else ()
    # Where a node is free for the pod, something else than these pods keeps its job Pending.
    reason = () if holders and (queue_names or suitable.issuperset(free)) else (explanation.sentence,)
    return replace(reply, lines=(*reply.lines, *lines, *reason))


def _limited_queues(view: JobView) -> Iterator[QueueName]:
    """The queues of which pods count for a limit of the job's queue, or for the capability of a queue above it."""
    queue = view.session.queues[view.job.queue]
    for each in queue_index.queue_and_ancestors(view.recording, queue):
        if each is queue or each.capability:
            yield from queue_index.queues_below(view.recording, each.name)


def _build_holder(
    recording: Recording,
    task: TaskInfo,
    fits: NodeFits | None = None,
    shared: Sequence[str] = (),
    amounts: Sequence[str] | None = None,
) -> ResourceHolder:
    dimensions = [name for name in amounts or () if name != PODS] or amounts
    amount_words = format_resource(task.resreq, dimensions) if dimensions or not shared else ""
    holds = ", ".join(part for part in (*shared, amount_words) if part)
    return ResourceHolder(task, holds, _eviction_verdict(recording, task, fits))


def _eviction_verdict(recording: Recording, task: TaskInfo, fits: NodeFits | None) -> str:
    """Which configured actions could evict the task by their own filters, or why none could."""
    conf = recording.conf
    evicting = [action for action in conf.registry if conf.facts_of(action).evicts_by_pod]
    configured = [action for action in dict.fromkeys(conf.actions) if action in evicting]
    # No action evicts a pod twice.
    if task.status is TaskStatus.RELEASING:
        return "already terminating"
    if task.job not in recording.session.jobs:
        return "no (of no job in this cycle)"
    if not configured:
        return f"no (actions: {', '.join(conf.actions)}; none evicts)"
    if fits is None:
        return f"yes{UNLESS_PROTECTED}" if task.preemptable else 'no (volcano.sh/preemptable: "false")'
    skips = {action: fits.skipped_victim(action, task) for action in configured}
    answers = _victim_answers(recording, fits.view.job.uid)
    asked = {action: answers.get((action, task.key)) for action, skip in skips.items() if skip is None}
    protected = {action: one.saved_by for action, one in asked.items() if one is not None and one.saved_by is not None}
    accepting = [action for action in asked if action not in protected]
    if accepting:
        were_asked = all(asked[action] is not None for action in accepting)
        return f"by {' or '.join(accepting)}{': no plugin protects it' if were_asked else UNLESS_PROTECTED}"
    reasons = {action: skip.text for action, skip in skips.items() if skip is not None} | {
        action: f"{one.vote.plugin} protects it{f' ({one.reason})' if one.reason else ''}"
        for action, one in protected.items()
    }
    return "no: " + "; ".join(f"{action}: {words}" for action, words in reasons.items())


@per_recording(most=8)
def _victim_answers(recording: Recording, job: JobId) -> Mapping[tuple[str, TaskKey], CandidateOutcome]:
    """(action, pod) → what the plugins answered last in this cycle about evicting the pod for one of the job."""
    owners, tree, latest = recording.owners.jobs, recording.span_tree, dict[tuple[str, TaskKey], Seq]()
    for point in (PREEMPTABLE.upstream, RECLAIMABLE.upstream):
        for seq, event in recording.hook_calls(point):
            if owners.get(event.task) == job:
                action = tree.name_around(seq, Level.ACTION)
                latest |= {(action, pod): seq for pod in event.candidates}
    choices = {seq: victim_choice(recording, seq) for seq in dict.fromkeys(latest.values())}
    outcomes = {
        (seq, one.task): one for seq, choice in choices.items() if choice is not None for one in choice.outcomes
    }
    return {(action, pod): outcomes[seq, pod] for (action, pod), seq in latest.items() if (seq, pod) in outcomes}


def _build_reply(
    recording: Recording, subject: str, target: str, holders: Sequence[ResourceHolder], own: int = 0
) -> QuestionReply:
    """The holders in a table; `own` is the number of the job's own pods, which are counted only."""
    ordered = sorted(holders, key=lambda holder: (-holder.task.priority, holder.task.key))
    by_queue = group_by_key((_queue_of(recording, holder.task), holder) for holder in ordered)
    unmanaged = by_queue.pop("", [])
    managed = [holder for _, some in sorted(by_queue.items()) for holder in some]
    ordered = [*managed, *unmanaged]
    columns = ("pod", "node", "priority#", "age", "holds", "evictable", "queue", "status")
    rows = tuple(_holder_row(recording, holder) for holder in ordered[:MAX_HOLDER_ROWS])
    jobs, queues = count_noun(len({holder.task.job for holder in managed}), "job"), count_noun(len(by_queue), "queue")
    parts = [f"{count_noun(len(managed), 'pod')} of {jobs} ({queues})"] if managed else []
    parts += [f"{count_noun(len(unmanaged), 'pod')} of no job in this cycle"] if unmanaged else []
    sentence = f"{' and '.join(parts)} {verb_for(len(ordered), 'uses')} {target}."
    sentence = sentence if ordered else f"No pod {'of another job ' if own else ''}uses {target}."
    data = {"subject": subject, "holders": [_holder_json(recording, holder) for holder in ordered]}
    hidden_count = len(ordered) - MAX_HOLDER_ROWS
    lines = [f"{count_noun(hidden_count, 'more pod')} (use --json for all)."] if hidden_count > 0 else []
    lines += [f"{count_noun(own, 'pod')} of the job itself {verb_for(own, 'uses')} some."] if own else []
    return QuestionReply(sentence, tuple(lines), (ReplySheet("holders", columns, rows),) if rows else (), (), data)


def _holder_row(recording: Recording, holder: ResourceHolder) -> tuple[str, ...]:
    task, queue = holder.task, _queue_of(recording, holder.task) or "-"
    age, status = age_since(recording, task.pod.creation_timestamp), task.status.upstream_name
    place = (task.key, task.node_name, str(task.priority), age)
    return (*place, holder.held_text, holder.eviction_text, queue, status)


def _holder_json(recording: Recording, holder: ResourceHolder) -> dict[str, object]:
    task = holder.task
    return {
        "pod": task.key,
        "job": task.job,
        "queue": _queue_of(recording, task),
        "priority": task.priority,
        "node": task.node_name,
        "status": task.status.upstream_name,
        "holds": holder.held_text,
        "takenBack": holder.eviction_text,
    }


HOLDERS_QUESTION = NamedQuestion(
    "holders", "Which pods use the resources", ("job", "node", "queue", "port", "claim", "quota"), find_holders
)


# The order in which queues and Pending jobs would be tried, and what decides between neighbours


def find_next_job(recording: Recording, word: str = "", seq: Seq = 0) -> QuestionReply:
    """The order after an event, by default after the cycle, for one queue or all."""
    session, seq = recording.session, seq or len(recording)
    if word and word not in session.queues:
        raise NotFoundError("no such queue in this snapshot", f"available: {', '.join(session.queues)}", word)
    queued = [job for job in session.jobs.values() if job.queue in session.queues and word in ("", job.queue)]
    pending = group_by_key((job.queue, job.uid) for job in queued if job.count_tasks(TaskStatus.PENDING))
    if not pending:
        empty = [job.uid for job in queued if not job.tasks]
        about = explain_by_name(recording, empty[0]).first_lines if empty and seq == len(recording) else ()
        words = f"No pod is Pending; no pods exist yet of {join_names(empty)}." if empty else ""
        return QuestionReply(words or "No Pending jobs.", tuple(about), data={"queues": [], "jobs": []})
    queues = _sort_by_order(recording, seq, "queue", list(pending))
    jobs = {queue: _sort_by_order(recording, seq, "job", pending[queue]) for queue in queues}
    all_sheets = (
        _order_sheet("queues", recording, seq, "queue", queues),
        *(_order_sheet(f"jobs of {queue}", recording, seq, "job", jobs[queue]) for queue in queues),
    )
    sheets = tuple(sheet for sheet in all_sheets if len(sheet.rows) > 1)
    # No action tries a job that gang calls invalid, whatever its place in the order.
    skipped = [job for queue in queues for job in jobs[queue] if job in invalid_jobs(recording)]
    tried = group_by_key((queue, job) for queue in queues for job in jobs[queue] if job not in skipped)
    skipped_words = f"{count_noun(len(skipped), 'job')} with too few pods for the gang ({join_names(skipped, 3)})"
    first_job, sentence = skipped[0] if skipped else "", f"No job is next: no action tries {skipped_words}."
    if tried:
        first_queue, (first_job, *_) = next(iter(tried.items()))
        reason = _first_place_words(recording, seq, list(tried), tried[first_queue])
        sentence = f"{first_job} (queue {first_queue}) is next{reason}."
    lines = ["Queues are ordered first; job priority counts only within a queue."] if len(queues) > 1 else []
    lines += [f"No action tries {skipped_words}."] if skipped and tried else []
    if seq == len(recording):
        lines += explain_by_name(recording, first_job).first_lines
    data = {"queues": queues, "jobs": [{"queue": queue, "jobs": jobs[queue]} for queue in queues]}
    return QuestionReply(sentence, tuple(lines), sheets, (), data)


def _sort_by_order(recording: Recording, seq: Seq, kind: ElementKind, names: Sequence[str]) -> list[str]:
    def compare_names(left: str, right: str) -> int:
        return order_of(recording, seq, kind, left, right).order_sign

    # Sorted by name first, since sorted() is stable and full ties must not depend on the order of manifests.
    return sorted(sorted(names), key=cmp_to_key(compare_names))


def _first_place_words(recording: Recording, seq: Seq, queues: Sequence[QueueName], jobs: Sequence[JobId]) -> str:
    neighbours: list[tuple[ElementKind, Sequence[str]]] = [("queue", queues[:2]), ("job", jobs[:2])]
    parts = [
        f"{names[0]} is before {names[1]} by {_format_step(order_of(recording, seq, kind, *names).deciding_step)}"
        for kind, names in neighbours
        if len(names) > 1
    ]
    return f": {'; '.join(parts)}" if parts else ""


def _format_step(step: OrderStep | None) -> str:
    if step is None:
        return "unknown criterion"
    plugin_words = f" ({step.plugin})" if step.plugin else ""
    return (
        f"{step.difference.label}{plugin_words}, {_format_value(step.difference.left)} to "
        f"{_format_value(step.difference.right)}"
    )


def _format_value(figure: object) -> str:
    return format_number(figure) if isinstance(figure, float) else str(figure)


def _order_sheet(title: str, recording: Recording, seq: Seq, kind: ElementKind, names: Sequence[str]) -> ReplySheet:
    rows = (
        (str(rank), name, _format_step(order_of(recording, seq, kind, name, rival).deciding_step) if rival else "")
        for rank, (name, rival) in enumerate(zip(names, [*names[1:], ""], strict=True), start=1)
    )
    return ReplySheet(title, ("#", kind, "ordered by"), tuple(rows))


NEXT_QUESTION = NamedQuestion("next", "Which job is next", ("queue",), find_next_job, is_also_general=True)
