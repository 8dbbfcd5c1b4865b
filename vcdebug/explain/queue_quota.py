"""What is said alike wherever a queue's share or limit refuses: the plugin's words, a broken tree, what would help."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vcdebug import amount_text
from vcdebug.amount_text import amounts_apart, listed, named
from vcdebug.explain import amounts
from vcdebug.explain.answer import MORE_NODES, Advice, Evidence, Finding, owner, sharers
from vcdebug.explain.job_view import JobView
from vcdebug.explain.limits import QueueCheck
from vcdebug.explain.plugin import Kept, Quota
from vcdebug.explain.plugins import words
from vcdebug.framework.quirks import QUEUE_TREE_BROKEN
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.queue import ROOT_QUEUE, circle_text
from vcdebug.model.resource import Resource
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import CAPACITY
from vcdebug.trace.circle import circle_of_queues
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording


def by_guarantees(view: JobView, plugin: str, limit: QueueCheck, seq: Seq) -> str:
    """Who is guaranteed more than it holds of what the queue lacks, to be said after the limit; empty for nobody."""
    name = limit.first
    parts = [
        f"{more} {name} are guaranteed to queue {queue}, which holds {less}"
        for queue, amounts in guaranteed(view, plugin, limit, seq).items()
        for more, less in [amounts_apart(name, *amounts)]
    ]
    total = named(name, view.session.total_resource.get(name))
    return f"; of the {total} of the cluster {listed(parts)}" if parts else ""


def guaranteed(view: JobView, plugin: str, limit: QueueCheck, seq: Seq) -> dict[QueueName, tuple[float, float]]:
    """Queues that hold less of what lacks than they are guaranteed: (guaranteed, held)."""
    found: dict[QueueName, tuple[float, float]] = {}
    if limit.hard or not limit.exceeded:
        return found
    state, name = view.recording.timeline.state_at(seq - 1), limit.first
    for queue in view.session.queues.values():
        kept = Resource.from_list(queue.guarantee or {}).get(name)
        if queue.name == limit.queue or kept <= 0:
            continue
        known = queue.name in state.books.get(plugin, {})
        held = state.amount(plugin, queue.name, "allocated").get(name) if known else 0.0
        if held < kept:
            found[queue.name] = (kept, held)
    return found


def gang_in_all(view: JobView, limit: QueueCheck) -> str:
    """What the rest of the gang asks together, where even that is more than the limit; empty otherwise."""
    job, name = view.job, limit.first
    lacks, waiting = job.min_available - job.ready_task_num(), unbound(view)
    if lacks < 2 or lacks > len(waiting) or not limit.exceeded:
        return ""
    asked = 0.0
    for value in sorted(task.resreq.get(name) for task in waiting)[:lacks]:
        asked += value
    if asked <= limit.check.limit.get(name):
        return ""
    return f"; the {lacks} pods that its gang lacks ask {named(name, asked)} in all"


def unbound(view: JobView) -> list[TaskInfo]:
    """Pods that wait when the cycle ends, also those that were promised room."""
    return [task for task in view.pending_at_open if task.status in (TaskStatus.PENDING, TaskStatus.PIPELINED)]


TREE_PLUGIN = CAPACITY
BROKEN_TREE_ADVICE = (
    owner("see vcdebug inspect for what is missing"),
    sharers(
        "give the queue an existing parent, and limits within its parent's, or move the job to a leaf queue: one fault "
        "stops every queue"
    ),
)


def quota_of(plugin: str) -> Quota:
    """What the plugin says about limits of queues."""
    quota = words(plugin).quota
    assert quota is not None
    return quota


@per_recording()
def fault_of_tree(recording: Recording) -> str:
    """What is wrong with capacity's tree of queues; empty where it is in force."""
    return next((note.text for note in recording.notes if note.code == QUEUE_TREE_BROKEN), "")


def broken_tree(view: JobView, seq: Seq, plugin: str) -> Finding | None:
    """capacity gave up on its tree of queues: everything is refused. None where the tree is in force."""
    fault = fault_of_tree(view.recording)
    if not fault:
        return None
    circle = circle_of_queues(view.recording)
    names = f"; {circle_text(circle)}" if circle else ""
    sentence = f"{view.job.uid} is refused like every other: {fault}{names}."
    evidence = (Evidence(seq, f"{plugin} refuses without looking at amounts"),)
    advice: tuple[Advice, ...] = BROKEN_TREE_ADVICE
    if circle:
        edit = f"Queue/{circle[0]}:spec.parent={ROOT_QUEUE}"
        advice = (sharers(f"give queue {circle[0]} another spec.parent, say {ROOT_QUEUE}", edit),)
    return Finding(QUEUE_TREE_BROKEN, sentence, {}, evidence, advice)


def open_it(view: JobView) -> tuple[Advice, ...]:
    """For a queue that is not Open."""
    name = view.queue.name
    return (
        owner("move the job to an open queue"),
        sharers(f"open the queue: vcctl queue operate -a open -n {name}", f"Queue/{name}:status.state=Open"),
    )


def whole_cluster(view: JobView, limit: Resource, name: str) -> bool:
    """Whether the limit is all that the nodes have: no setting of the queue can raise it."""
    return limit.get(name) >= view.session.total_resource.get(name)


def all_taken(view: JobView, queue: QueueName, name: str) -> tuple[Advice, ...]:
    """The advice where a queue may have the whole cluster already."""
    total = amount_text.named(name, view.session.total_resource.get(name))
    return (
        owner(f"wait until jobs of queue {queue} end: it may already have the whole cluster ({total})"),
        MORE_NODES,
    )


def who_counts(view: JobView, seq: Seq, plugin: str, limit: QueueCheck) -> str:
    """Of an ancestor: which of the queues below it hold the most, and whether they could be made to give it back."""
    queues, name = view.session.queues, limit.first
    if limit.queue == view.queue.name or plugin != TREE_PLUGIN:
        return ""
    state = view.recording.timeline.state_at(seq - 1)
    held = {
        queue.name: state.amount(plugin, queue.name, "allocated").get(name)
        for queue in queues.values()
        if queue.parent == limit.queue and queue.name != view.queue.name
    }
    holders = [queue for queue, value in held.items() if value > 0]
    if not holders:
        return ""
    parts = [
        f"{queue} holds {taken} {name} of it and deserves {least}"
        for queue in holders
        for taken, least in [amounts_apart(name, held[queue], state.amount(plugin, queue, "deserved").get(name))]
    ]
    kept = [queue for queue in holders if not queues[queue].reclaimable]
    verb = "says" if len(kept) == 1 else "say"
    closed = f"; {listed(kept)} {verb} reclaimable: false, so nothing can be taken back from there" if kept else ""
    return f"; {listed(parts)}{closed}"


# Victims


def victim_queues(view: JobView, refused: Sequence[TaskKey]) -> list[QueueName]:
    """The queues of candidates."""
    owners = view.recording.owners.jobs
    return list(dict.fromkeys(view.session.jobs[owners[key]].queue for key in refused if key in owners))


def not_above(
    view: JobView,
    plugin: str,
    refused: Sequence[TaskKey],
    seq: Seq,
    smaller: Callable[[JobView, Sequence[QueueName]], Advice],
) -> Kept:
    """The candidates' queues hold no more than they deserve."""
    state, queues = view.recording.timeline.state_at(seq - 1), victim_queues(view, refused)
    lines, parts, numbers = [], [], {}
    for queue in queues:
        allocated, deserved = (state.amount(plugin, queue, figure) for figure in ("allocated", "deserved"))
        lines += [
            f"queue {queue}, {n}: allocated {held} <= deserved {least}"
            for n in deserved.resource_names()
            for held, least in [amounts_apart(n, allocated.get(n), deserved.get(n))]
        ]
        parts.append(
            f"queue {queue} holds {amount_text.resource(allocated, ('cpu', 'memory'))} and deserves "
            f"{amount_text.resource(deserved, ('cpu', 'memory'))}"
        )
        numbers.update(amounts.numbers(f"queue.{queue}.allocated", allocated))
        numbers.update(amounts.numbers(f"queue.{queue}.deserved", deserved))
    sated = [q for q in queues if state.amount(plugin, q, "request").less_equal(state.amount(plugin, q, "deserved"))]
    verb = "deserves all it asks for" if len(queues) == 1 else "deserve all they ask for"
    enough = sharers(f"free room that others hold, or add nodes: {listed(queues)} {verb}, no weight changes that")
    advice = enough if len(sated) == len(queues) else smaller(view, queues)
    return Kept(f"{'; '.join(parts[:2])}: not above its share", numbers, (advice,), tuple(lines))
