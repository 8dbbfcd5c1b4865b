"""Findings shared by all gates about queue limits: the plugin's checks, a broken queue tree, and advice."""

from collections.abc import Iterator

from vcdebug import amount_text
from vcdebug.amount_text import (
    capitalize_first,
    count_noun,
    format_amount,
    format_amounts_apart,
    format_named_amount,
    is_quota_count,
    join_names,
    verb_for,
)
from vcdebug.explain import answer, queue_index, stuck_jobs
from vcdebug.explain.equation import QueueCheck, first_exceeded
from vcdebug.explain.job_view import JobView
from vcdebug.explain.pending.placement_constraints import silent_device_plugins
from vcdebug.explain.plugins import QuotaExplainer, explainer_for
from vcdebug.explain.victim_candidates import every_victim, protecting_plugin
from vcdebug.framework.quirks import QUEUE_TREE_BROKEN
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.pod import Pod
from vcdebug.model.pod_resources import get_pod_resource_request
from vcdebug.model.queue import ELASTIC, OPEN, ROOT_QUEUE, circle_text
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import CAPACITY
from vcdebug.recording.input_problems import circle_of_queues
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_smallest
from vcdebug.releases.queues import CAPACITY_ROOT_ALWAYS_CLUSTER, QUEUE_STATE_UNREAD, RECLAIM_WHOLE_REQUEST
from vcdebug.snapshot.edit_path import field_step
from vcdebug.snapshot.manifest import GROUP_ANNOTATION
from vcdebug.snapshot.workloads import next_pods_of


def gang_request_facts(view: JobView, limit: QueueCheck) -> tuple[str, ...]:
    """A sentence if the pods that the gang still needs request more than the limit; else empty."""
    job, name = view.job, limit.first_dimension
    missing, unbound = job.min_available - job.ready_task_num(), unbound_tasks(view)
    if missing < 2 or missing > len(unbound) or not limit.exceeded_dimensions:
        return ()
    request = sum_smallest((task.resreq for task in unbound), name, missing)
    if request <= limit.check.limit.get(name):
        return ()
    pods = f"{count_noun(missing, 'pod')} still missing from the gang {verb_for(missing, 'asks')}"
    hard = f"; the queue's hard limit is {limit.format_limit(name)}" if limit.is_capability else ""
    return (f"The {pods} {format_named_amount(name, request)} in total{hard}.",)


def excess_headline(headline: answer.CauseHeadline, limit: QueueCheck) -> tuple[answer.CauseHeadline, tuple[str, ...]]:
    """The first line with what is short, `(4 short; also: memory)`; if it is too long, the other names as a fact."""
    excess, others = f"{limit.format_excess(limit.first_dimension)} short", limit.further_dimensions
    whole = headline._replace(reason=f"{headline.reason} ({excess}{f'; also: {others}' if others else ''})")
    if not others or len(str(whole)) <= answer.MAX_LINE_LENGTH:
        return whole, ()
    return headline._replace(reason=f"{headline.reason} ({excess})"), (f"Also short: {others}.",)


def unbound_tasks(view: JobView) -> list[TaskInfo]:
    """Pods that are Pending or Pipelined when the cycle ends."""
    return [task for task in view.pending_at_open if task.status in (TaskStatus.PENDING, TaskStatus.PIPELINED)]


def next_tasks(view: JobView) -> tuple[list[tuple[TaskInfo, int]], str]:
    """([(task, number of such pods)] that the job's controller creates next, the field that states their requests)."""
    snapshot, job = view.recording.snapshot, view.job
    pods = [(Pod(each.pod), each.replicas) for each in next_pods_of(snapshot, job.pod_group.manifest)]
    if pods:
        return [
            (TaskInfo(pod, get_pod_resource_request(pod, snapshot.flags)), number) for pod, number in pods
        ], "pod template"
    # Without templates each pod is taken to ask for its part of minResources.
    number, minimum = max(job.min_available, 1), job.get_min_resources()
    request = Resource(minimum.milli_cpu / number, minimum.memory / number)
    for name, amount in minimum.items():
        if name not in (CPU, MEMORY) and not is_quota_count(name):
            request.set_scalar(name, amount / number)
    metadata = {"name": f"{job.name}-0", "namespace": job.namespace, "annotations": {GROUP_ANNOTATION: job.name}}
    pod = Pod({"metadata": metadata, "spec": {"containers": [{"name": "main"}]}})
    return [(TaskInfo(pod, request), number)], "minResources / minMember"


def quota_explainer(plugin: str) -> QuotaExplainer:
    """The plugin's explainer of queue limits."""
    quota = explainer_for(plugin).quota
    assert quota is not None
    return quota


def open_queue_advice(view: JobView) -> tuple[answer.Advice, ...]:
    """Advice for a job whose queue is not Open."""
    name, controllers = view.queue.name, "volcano-controllers, which sets status.state of each queue"
    check = answer.Advice.from_outside(f"Check {controllers}: its pods and their log.", answer.AdviceHarm.CLUSTER)
    open_queue = f"Open queue {name}: vcctl queue operate -a open -n {name}"
    move = answer.Advice.for_owner("Move the job to an open queue.")
    opened = (answer.Advice.queue_admin(open_queue, f"Queue/{name}:status.state=Open"), move)
    return opened if view.queue.state else (check, *opened)


def is_whole_cluster(view: JobView, limit: Resource, name: str) -> bool:
    """Whether the limit is at least the cluster's total, so that no queue setting can raise it."""
    return limit.get(name) >= view.session.total_resource.get(name)


def whole_cluster_advice(view: JobView, queue: QueueName, name: str) -> tuple[answer.Advice, ...]:
    """Advice for a queue that may already use the whole cluster."""
    total = amount_text.format_named_amount(name, view.session.total_resource.get(name))
    wait = f"Wait until jobs in queue {queue} finish; it may already use the whole cluster ({total})."
    return answer.Advice.for_owner(wait), answer.Advice.add_nodes()


def sibling_facts(view: JobView, seq: Seq, plugin: str, limit: QueueCheck) -> tuple[str, ...]:
    """Sentences about an ancestor's child queues: usage, deserved amount, reclaimable flag; else empty."""
    queues, name = view.session.queues, limit.first_dimension
    if limit.queue == view.queue.name or plugin != CAPACITY:
        return ()
    state, parts, locked = view.recording.timeline.state_at(seq - 1), list[str](), list[QueueName]()
    for queue in queue_index.children_of(view.recording, limit.queue):
        used, due = (state.plugin_amount(plugin, queue, figure).get(name) for figure in ("allocated", "deserved"))
        if queue != view.queue.name and used > 0:
            usage, share = format_amounts_apart(name, used, due)
            parts.append(f"queue {queue} uses {usage} {name} and deserves {share}")
            locked += [] if queues[queue].reclaimable else [queue]
    locked_queues = f"{join_names(locked)} {verb_for(len(locked), 'has')} spec.reclaimable: false"
    note = f"; {locked_queues}, so reclaim cannot evict pods there" if locked else ""
    own = _own_share_facts(view, seq, plugin, limit)
    return (f"{capitalize_first(join_names(parts))}{note}.", *own) if parts else ()


def _own_share_facts(view: JobView, seq: Seq, plugin: str, limit: QueueCheck) -> tuple[str, ...]:
    """A sentence if the request would take the job's own queue above what it deserves, where reclaim does not act."""
    name, queue, state = limit.first_dimension, view.queue.name, view.recording.timeline.state_at(seq - 1)
    action = next((each for each in view.actions if view.facts_of(each).across_queues), None)
    used, due = (state.plugin_amount(plugin, queue, figure).get(name) for figure in ("allocated", "deserved"))
    request, guarantee = limit.check.request.get(name), Resource.from_list(view.queue.guarantee or {}).get(name)
    if action is None or not 0 < due < used + request:
        return ()
    texts = format_amounts_apart(name, due, used, request, guarantee)
    guaranteed = f" (guarantee {texts[3]})" if guarantee else ""
    share = f"Its own queue {queue} deserves {texts[0]} {name}{guaranteed} and uses {texts[1]}"
    return (f"{share}; {texts[2]} more is above that, so {action} would not evict for it either.",)


def explain_queue_rejection(view: JobView, seq: Seq, event: HookEvent) -> answer.Finding:
    """The finding that the PodGroup's minimum exceeds the limit of its queue or of an ancestor."""
    plugin, evidence = event.plugin, answer.rejection_evidence(seq, event.plugin)
    if refuses_by_state(view):
        reason = f"{queue_state_words(view)}; {plugin} admits only to Open queues"
        return view.rejected(answer.Cause.QUEUE_CLOSED, reason, {}, evidence, open_queue_advice(view))
    # A queue with children is refused for that reason, even in a broken tree.
    children = queue_index.children_of(view.recording, view.queue.name)
    tree_finding = broken_tree_finding(view, seq, plugin) if not children else None
    if tree_finding is not None:
        return tree_finding
    # Checked first: a broken tree has no figures of the queue.
    if plugin == CAPACITY and children and view.session.hierarchy_enabled(plugin):
        return _unspecified_finding(view, seq, plugin)
    limit = first_exceeded(quota_explainer(plugin).admission(view.recording, seq, view.job))
    if not limit.exceeded_dimensions:
        return _unspecified_finding(view, seq, plugin)
    stuck, lines = stuck_jobs.find_stuck_jobs(view, seq, same_queue=True), limit.arithmetic_lines()
    name, (figure, *source) = limit.first_dimension, _limit_source(view, plugin, limit)
    # Only if these jobs alone exceed the limit; otherwise their end would not admit the job.
    if stuck and limit.check._replace(total=stuck_jobs.total_without(view, limit.check.total, stuck)).is_within_limit:
        size = format_named_amount(name, limit.check.limit.get(name))
        words = f"; {figure} of queue {limit.queue}: {size}"
        return stuck_jobs.stuck_jobs_finding(view, seq, plugin, stuck, lines, limit.check.limit, words)
    reason = (
        f"minResources asks {limit.request_of(name)} {name}; queue {limit.queue} has {limit.format_usage(name)} of its "
        f"{figure} {limit.format_limit(name)} allocated or reserved"
    )
    facts = [*source, *_rejection_facts(view, seq, plugin, limit)]
    facts += stuck_jobs.earlier_admission_facts(view, seq, name, same_queue=True)
    minimum = answer.amount_numbers("minResources", limit.check.request, limit.exceeded_dimensions)
    advice = (LESS_MINIMUM_ADVICE, *_more_room_advice(view, limit))
    cause = answer.Cause.CAPABILITY if plugin == CAPACITY and limit.is_capability else answer.Cause.QUEUE_QUOTA
    headline, also = excess_headline(answer.CauseHeadline(view.job.uid, "is not admitted", reason), limit)
    numbers = {**minimum, **limit.limit_numbers()}
    return answer.Finding(cause, headline, numbers, evidence, advice, lines, (*facts, *also))


def _rejection_facts(view: JobView, seq: Seq, plugin: str, limit: QueueCheck) -> Iterator[str]:
    """Yields sentences about a limit that rejects a PodGroup: other queues, what is in use, what is not counted."""
    name = limit.first_dimension
    if limit.dimensions_alone_exceeded:
        yield "minResources alone exceeds that, so waiting cannot help."
    yield from sibling_facts(view, seq, plugin, limit)
    uncounted = next((amount.get(name) for part, amount in limit.check.summands if part == ELASTIC), 0.0)
    if uncounted > 0:
        yield f"{format_named_amount(name, uncounted)} of pods above minMember is not counted."
    # No eviction helps against a limit below minResources.
    too_early = "" if limit.dimensions_alone_exceeded else too_early_words(view, seq)
    holders = queue_index.holder_facts(view, seq, limit)
    if holders:
        yield f"{holders[0].removesuffix('.')}; {too_early}" if too_early else holders[0]
    elif too_early:
        yield capitalize_first(too_early)


LESS_MINIMUM_ADVICE = answer.Advice.for_owner("Request less in spec.minResources.")


def too_early_words(view: JobView, seq: Seq) -> str:
    """A clause: evictions cannot help a job before it is admitted; empty if no action evicts."""
    evicting = [action for action in dict.fromkeys(view.actions) if view.facts_of(action).evicts]
    if len(evicting) > 1:
        return "no action evicts for a job that is not admitted."
    return f"{evicting[0]} considers only admitted jobs{_protection_words(view, evicting[0], seq)}." if evicting else ""


def _protection_words(view: JobView, action: str, seq: Seq) -> str:
    """A clause: which plugin would protect every candidate victim if the job were admitted; empty if none would."""
    task = view.blocked_task or next((task for task, _ in next_tasks(view)[0]), None)
    if task is None or not view.facts_of(action).evicts_by_pod or view.facts_of(action).across_queues:
        return ""
    plugin, candidates = protecting_plugin(view.recording, action, task)
    explain_veto = explainer_for(plugin).explain_veto
    if explain_veto is None:
        return ""
    veto = explain_veto(view, task, [candidate.key for candidate in candidates], seq)
    reason = f". {veto.text}" if veto is not None else ""
    return f", and {plugin} would protect {every_victim(len(candidates))}{reason}"


def refuses_by_state(view: JobView) -> bool:
    """Whether the job's queue is not Open, in a release that admits only to Open queues."""
    return view.queue.state != OPEN and not view.recording.snapshot.release.has_older_form(QUEUE_STATE_UNREAD)


def queue_state_words(view: JobView) -> str:
    """`queue a is Closed`, `queue a has no status.state`."""
    return f"queue {view.queue.name} {f'is {view.queue.state}' if view.queue.state else 'has no status.state'}"


def _limit_source(view: JobView, plugin: str, limit: QueueCheck) -> tuple[str, ...]:
    """(kind of limit, sentence about its source); a stated capability has no sentence."""
    name, total = limit.first_dimension, view.session.total_resource
    if limit.is_capability:
        return ("capability",)
    if total.get(name) <= 0:
        return (
            "limit",
            f"No node provides {name}.",
            *(one.fact for one in silent_device_plugins(view.recording, name)),
        )
    parent = view.session.queues[limit.queue].parent if limit.queue in view.session.queues else ""
    if plugin == CAPACITY and parent and view.session.hierarchy_enabled(plugin):
        return "limit", f"The limit is what parent queue {parent} and other queues' guarantees leave."
    guarantees = [(queue, amount.get(name)) for queue, amount in queue_index.guaranteed_amounts(view.recording)]
    listed = join_names(f"queue {q} {format_amount(name, v)}" for q, v in guarantees if v > 0 and q != limit.queue)
    whole = f"the cluster's {format_named_amount(name, total.get(name))}"
    return "limit", f"The limit is {whole} minus the guarantees of other queues ({listed or 'none'})."


def _more_room_advice(view: JobView, limit: QueueCheck) -> tuple[answer.Advice, ...]:
    wait = () if limit.dimensions_alone_exceeded else (wait_advice(limit),)
    if limit.is_capability:
        return *wait, raise_capability_advice(limit)
    if is_whole_cluster(view, limit.check.limit, limit.first_dimension):
        whole = whole_cluster_advice(view, limit.queue, limit.first_dimension)
        # Where the minimum alone exceeds the cluster, no end of other jobs makes room.
        return whole if wait else whole[1:]
    return *wait, answer.Advice.queue_admin("Lower spec.guarantee of other queues.")


def wait_advice(limit: QueueCheck) -> answer.Advice:
    """Wait for the jobs that use the limit."""
    return answer.Advice.for_owner(f"Wait until jobs in queue {limit.queue} finish.")


def raise_capability_advice(limit: QueueCheck) -> answer.Advice:
    """Raise the queue's capability by what is missing, in every exceeded dimension."""
    words = f"Queue {limit.queue}: raise spec.capability by {limit.missing_amounts()}."
    return answer.Advice.queue_admin(words, *limit.raised_limit_edits("capability"))


def _unspecified_finding(view: JobView, seq: Seq, plugin: str) -> answer.Finding:
    """Rejected without regard to amounts: a queue that is no leaf, devices, a tree that cannot be read."""
    children, message = join_names(queue_index.children_of(view.recording, view.queue.name)), view.plugin_message(seq)
    reason = f"{plugin} rejects it in queue {view.queue.name}, although no limit is exceeded"
    advice = answer.Advice.cluster_admin(f"Check the arguments of plugin {plugin}, and the devices of the nodes.")
    if children:
        reason = f"queue {view.queue.name} has child queues ({children}); {plugin} admits only to leaf queues"
        advice = answer.Advice.for_owner(f"Set the job's queue to a leaf queue: {children}.")
    facts = (f'Scheduler message: "{message}".',) if message else ()
    return view.rejected(
        answer.Cause.QUEUE_QUOTA, reason, {}, answer.rejection_evidence(seq, plugin), (advice,), facts=facts
    )


def too_small_words(recording: Recording, allocated: Resource, task: TaskInfo) -> str:
    """`holds less than a-0 asks for (8 of 16 cpu); v1.11.0 requires more (fixed in v1.12.0)`."""
    short = [name for name in task.resreq.resource_names() if allocated.get(name) < task.resreq.get(name)]
    pairs = [(name, *format_amounts_apart(name, allocated.get(name), task.resreq.get(name))) for name in short]
    figures = join_names(f"{held} of {asked} {name}" for name, held, asked in pairs)
    fixed = f"fixed in {join_names(RECLAIM_WHOLE_REQUEST.fixed_in)}"
    release = recording.snapshot.release.display_name()
    return f"holds less than {task.name} asks for ({figures}); {release} requires more ({fixed})"


BROKEN_TREE_ADVICE: tuple[answer.Advice, ...] = (
    answer.Advice.queue_admin(
        "Give every queue an existing parent and limits within its parent's; one error blocks every queue."
    ),
    answer.Advice.for_owner("List what is missing: vcdebug inspect."),
)


@per_recording()
def tree_fault(recording: Recording) -> str:
    """The error in capacity's queue tree; empty if the tree is valid."""
    return next((note.text for note in recording.notes if note.code == QUEUE_TREE_BROKEN), "")


def broken_tree_finding(view: JobView, seq: Seq, plugin: str) -> answer.Finding | None:
    """The finding about an invalid queue tree, with which capacity rejects everything; None for a valid one."""
    fault = tree_fault(view.recording)
    if not fault:
        return None
    circle, advice = circle_of_queues(view.recording), BROKEN_TREE_ADVICE
    facts = [f"{capitalize_first(text)}." for text in (fault, circle_text(circle) if circle else "") if text]
    if over := next(queue_index.oversized_capabilities(view.recording), None):
        name, queue = over.resource, over.queue
        capability, maximum = format_amounts_apart(name, over.stated_amount, over.ancestor_limit)
        bound = f"its parent {over.ancestor}" if over.ancestor else "the cluster"
        stated = f"Queue {queue} states capability {capability} {name}, and {bound} has {maximum}"
        facts = [f"{stated}{_unread_root_limit(view.recording, over)}.", *facts]
        change = f"Queue {queue}: capability.{name} {capability} -> {maximum}."
        edit = f"Queue/{queue}:spec.capability{field_step(name)}={amount_text.quantity_text(name, over.ancestor_limit)}"
        advice = (answer.Advice.queue_admin(change, edit), advice[0])
    if circle:
        edit = f"Queue/{circle[0]}:spec.parent={ROOT_QUEUE}"
        advice = (answer.Advice.queue_admin(f"Queue {circle[0]}: set spec.parent to {ROOT_QUEUE}.", edit),)
    reason = f"{plugin} rejects every job because of an error in the queue tree"
    evidence = (answer.Evidence(seq, f"{plugin} rejects it without comparing amounts"),)
    return view.pending(QUEUE_TREE_BROKEN, reason, {}, evidence, advice, facts=tuple(facts))


def _unread_root_limit(recording: Recording, over: queue_index.OversizedCapability) -> str:
    """`: that of queue root, 800 in its spec, does not count …`: empty if the root states none or it counts."""
    root = recording.session.queues.get(ROOT_QUEUE)
    stated = Resource.from_list((root.capability if root is not None else None) or {}).get(over.resource)
    if over.ancestor or not stated or not recording.snapshot.release.has_older_form(CAPACITY_ROOT_ALWAYS_CLUSTER):
        return ""
    amount, change = amount_text.format_amount(over.resource, stated), CAPACITY_ROOT_ALWAYS_CLUSTER
    read = f"from {join_names(change.fixed_in)} on it does, {change.pull}"
    return f" (capability {amount} of queue {ROOT_QUEUE} does not count: {read})"
