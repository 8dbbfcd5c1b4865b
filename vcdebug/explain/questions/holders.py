"""What holds room (a node, queue, port, volume, quota, or what a job lacks), and which job is next when it is freed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskKey
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


class _PodNeed(Struct, frozen=True):
    """What a Pending or pipelined pod needs, and which other pods hold some of it where that helps the pod."""

    fits: NodeFits
    """In the state at the end of the cycle: discarded plans are rolled back, and evicted pods are Releasing."""
    resources: tuple[str, ...]
    ports: tuple[str, ...]
    claims: tuple[str, ...]
    device_users: Mapping[TaskKey, str]
    suitable_nodes: Collection[NodeName]
    """Nodes that have room for the pod, or would have it without some of their pods."""
    queues: Collection[QueueName]
    """Queues of which pods count for a limit that rejects the job, on any node."""

    @classmethod
    def from_view(cls, view: JobView, task: TaskInfo, queues: Collection[QueueName]) -> _PodNeed:
        """The need of a task of the job; `queues` are those of a limit that explains why the job is Pending."""
        recording, fits = view.recording, NodeFits(view, task, len(view.recording))
        resources = tuple(name for name, value in task.init_resreq.items() if value > 0)
        # A pipelined pod waits for pods that terminate on its node, as any pod does where only they keep it out.
        waiting = {node.name for node in fits.waiting_nodes} | {task.node_name}
        nodes = recording.session.nodes
        full = {node.name for node in fits.free_nodes if not task.init_resreq.less_equal(nodes[node.name].idle)}
        if (fits.free_nodes or fits.waiting_nodes) and any(
            refusals_in(visit.visit_calls(ALLOCATABLE.upstream)) for visit in view.job_visits
        ):
            queues = dict.fromkeys(_limited_queues(view))
        ports, claims = tuple(_host_ports(recording, task.pod)), tuple(_claim_keys(task.pod))
        return cls(fits, resources, ports, claims, users_of_devices(fits), waiting | full, queues)

    def shared_with(self, other: TaskInfo) -> list[str]:
        """The host ports, claims and devices that the pod needs and the other one has."""
        recording = self.fits.view.recording
        ports = [f"port {port}" for port in dict.fromkeys(_host_ports(recording, other.pod)) if port in self.ports]
        claims = [f"claim {name}" for name in dict.fromkeys(_claim_keys(other.pod)) if name in self.claims]
        return [*ports, *claims, *filter(None, [self.device_users.get(other.key)])]

    def amounts_of(self, other: TaskInfo) -> list[str]:
        """The resources that the pod needs and the other one uses; empty on nodes where their room would not help."""
        helps = other.node_name in self.suitable_nodes or _queue_of(self.fits.view.recording, other) in self.queues
        return [name for name in self.resources if other.resreq.get(name) > 0] if helps else []


def _for_job(recording: Recording, word: str) -> QuestionReply:
    subject = find_subject(recording, word)
    if subject.job not in recording.session.jobs:
        raise NotFoundError("is not in the session, so no pod blocks it", "ask explain", word)
    view = view_of(recording, subject)
    reserved = (each for each in view.placed_tasks if each.status is TaskStatus.PIPELINED)
    task = view.blocked_task or next(reserved, None)
    explanation = explain_subject(recording, subject)
    # What a queue's limit rejects is held by the queue's pods, on any node.
    queues = dict.fromkeys(_limited_queues(view)) if explanation.cause_code in LIMIT_CAUSES else {}
    if task is None:
        return _holders_of_minimum(view, queues)
    if task not in (*view.unplaced_tasks, *view.pending_at_open):
        return QuestionReply(explanation.sentence, data={"subject": subject.job, "holders": []})
    return _holders_of_need(_PodNeed.from_view(view, task, queues), explanation.sentence)


def _holders_of_minimum(view: JobView, queues: Collection[QueueName]) -> QuestionReply:
    """The pods of these queues that use what the minResources of a job without Pending pods ask for."""
    recording, job = view.recording, view.job
    asked = [name for name, value in job.get_min_resources().items() if value > 0]
    tasks = [task for task in _holding_tasks(recording) if _queue_of(recording, task) in queues]
    held = [(task, [name for name in asked if task.resreq.get(name) > 0]) for task in tasks]
    of_others = ((task, amounts) for task, amounts in held if amounts and task.job != job.uid)
    holders = [_build_holder(recording, task, amounts=amounts) for task, amounts in of_others]
    if not holders:
        return QuestionReply(f"{job.uid} has no Pending pods.", data={"subject": job.uid, "holders": []})
    needed = f"resources that {job.uid} needs ({format_resource(job.get_min_resources())})"
    return _build_reply(recording, job.uid, needed, holders)


def _holders_of_need(need: _PodNeed, explanation: str) -> QuestionReply:
    """The pods that hold what a pod needs; `explanation` says why its job is Pending where they are not all of it."""
    view, task = need.fits.view, need.fits.task
    holders, own, elsewhere = [], 0, 0
    for other in _holding_tasks(view.recording):
        shared, amounts = need.shared_with(other), need.amounts_of(other)
        if other.job == view.job.uid:
            own += other is not task and bool(amounts)
        elif shared or amounts:
            holders.append(_build_holder(view.recording, other, need.fits, shared, amounts))
            elsewhere += not shared and other.node_name not in need.suitable_nodes
    needed = f"resources that {task.name} needs ({format_resource(task.init_resreq)})"
    reply = _build_reply(view.recording, view.job.uid, needed, holders, own)
    limit_words = f"A limit of queue {view.queue.name} rejected it in this cycle"
    counted = f"{limit_words}: the pods that count for the limit are listed, on any node ({elsewhere} of these)."
    lines = (counted,) if elsewhere and holders else ()
    # Where a node is free for the pod, something else than these pods keeps its job Pending.
    are_all = holders and (need.queues or all(node.name in need.suitable_nodes for node in need.fits.free_nodes))
    return replace(reply, lines=(*reply.lines, *lines, *(() if are_all else (explanation,))))


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
        return _nothing_pending_reply(recording, queued, is_at_end=seq == len(recording))
    queues = _sort_by_order(recording, seq, "queue", list(pending))
    jobs = {queue: _sort_by_order(recording, seq, "job", pending[queue]) for queue in queues}
    all_sheets = (
        _order_sheet("queues", recording, seq, "queue", queues),
        *(_order_sheet(f"jobs of {queue}", recording, seq, "job", jobs[queue]) for queue in queues),
    )
    first_job, sentence, skipped_lines = _next_job_words(recording, seq, jobs)
    lines = ["Queues are ordered first; job priority counts only within a queue."] if len(queues) > 1 else []
    lines += skipped_lines
    if seq == len(recording):
        lines += explain_by_name(recording, first_job).first_lines
    data = {"queues": queues, "jobs": [{"queue": queue, "jobs": jobs[queue]} for queue in queues]}
    return QuestionReply(sentence, tuple(lines), tuple(one for one in all_sheets if len(one.rows) > 1), (), data)


def _nothing_pending_reply(recording: Recording, queued: Sequence[JobInfo], *, is_at_end: bool) -> QuestionReply:
    empty = [job.uid for job in queued if not job.tasks]
    about = explain_by_name(recording, empty[0]).first_lines if empty and is_at_end else ()
    words = f"No pod is Pending; no pods exist yet of {join_names(empty)}." if empty else "No Pending jobs."
    return QuestionReply(words, tuple(about), data={"queues": [], "jobs": []})


def _next_job_words(
    recording: Recording, seq: Seq, jobs: Mapping[QueueName, Sequence[JobId]]
) -> tuple[JobId, str, Sequence[str]]:
    """(next job, why it is next, which jobs no action tries); the first of the latter if no other is Pending."""
    # No action tries a job that gang calls invalid, whatever its place in the order.
    invalid = invalid_jobs(recording)
    skipped = [job for some in jobs.values() for job in some if job in invalid]
    tried = group_by_key((queue, job) for queue, some in jobs.items() for job in some if job not in skipped)
    words = f"{count_noun(len(skipped), 'job')} with too few pods for the gang ({join_names(skipped, 3)})"
    if not tried:
        return skipped[0], f"No job is next: no action tries {words}.", ()
    queue, (job, *_) = next(iter(tried.items()))
    reason = _first_place_words(recording, seq, list(tried), tried[queue])
    return job, f"{job} (queue {queue}) is next{reason}.", (f"No action tries {words}.",) if skipped else ()


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
