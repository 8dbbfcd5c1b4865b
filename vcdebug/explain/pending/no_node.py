"""Why no node takes a task: the reasons of the nodes, and the tasks that got its room."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE, ENQUEUE
from vcdebug.amount_text import capitalize_first, count_noun, join_first_names, join_names, verb_for
from vcdebug.explain import answer
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFit, NodeFits, room_by_node, tasks_by_node
from vcdebug.explain.pending.gates.not_in_session import opening_evidence
from vcdebug.explain.pending.placement_constraints import UNBOUND_REASONS, format_resource_meant
from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.hooks import PRE_PREDICATE, PREDICATE
from vcdebug.framework.quirks import SCORES_DROPPED
from vcdebug.framework.record import PLACING_OPS, OpEvent, StateEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.cluster import is_not_ready
from vcdebug.model.names import JobId, NodeName, Seq, TaskKey
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import PREDICATES, TDM, USAGE
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources
from vcdebug.releases.nodes import NODE_NOT_READY_ABSENT
from vcdebug.releases.scheduling import VOLUMES_AT_ALLOCATION
from vcdebug.snapshot.manifest import name_of

UNRESOLVABLE_CAUSE = "predicates-unresolvable"
MIXED_CAUSE = "predicates-mixed"
POD_COUNT = "pod-count"
LARGER_CAUSE = "larger-than-any-node"
NODE_ORDER = "node-order"
UNDO_ALLOCATION = "unallocate"


def no_node_finding(task: TaskInfo, room: NodeFits) -> answer.Finding:
    """The finding for a task that no node can take in this state."""
    if room.node_fits and not any(task.init_resreq.less_equal(node.allocatable) for node in room.node_fits):
        return _larger_than_any_finding(task, room)
    if not room.waiting_nodes and not room.free_nodes:
        return _unresolvable_finding(task, room)
    if room.waiting_nodes and all(node.kind == "pods" for node in room.waiting_nodes) and not room.free_nodes:
        return _pod_count_finding(task, room)
    return _mixed_finding(task, room)


def hopeless_finding(task: TaskInfo, room: NodeFits) -> answer.Finding | None:
    """None unless no node could take the task even if it were empty."""
    if room.waiting_nodes or room.free_nodes:
        return None
    return no_node_finding(task, room)


def no_best_node_finding(view: JobView, task: TaskInfo) -> answer.Finding | None:
    """Nodes passed the filter, and then the scores failed: the task is lost without a word."""
    attempts = view.failed_tries(task.key)
    passed = [(seq, event) for attempt in attempts for seq, event in attempt.predicate_passes if len(event.feasible)]
    if not passed:
        return None
    seq, event = passed[-1]
    undone = [(s, e) for attempt in attempts for s, e in attempt.events if isinstance(e, OpEvent) and s > seq]
    if undone and (undone[-1][1].op, undone[-1][1].task) == (UNDO_ALLOCATION, task.key):
        return _refused_placement_finding(view, task, *undone[-1])
    feasible = count_noun(len(event.feasible), "node")
    headline = answer.pending_headline(view.job.uid, f"scoring failed for {task.name}, which fits {feasible}")
    notes = [note.text for note in view.recording.notes if (note.code, note.seq) == (SCORES_DROPPED, seq)]
    facts = (*(f"{capitalize_first(text)}." for text in notes), "The pod's condition gives no reason.")
    text = FILTERS_ON if filters_are_off(view.recording.conf) else "Correct what made scoring fail."
    evidence = (answer.Evidence(seq, f"{feasible} pass; no best node follows"),)
    nodes = {"nodes.feasible": answer.count(len(event.feasible), "nodes")}
    return answer.Finding(NODE_ORDER, headline, nodes, evidence, (answer.cluster_admin_advice(text),), facts=facts)


FILTERS_ON = f"{PREDICATES}: set {PREDICATE.switches[0]} to true."
NEEDS_FILTERS = f"{PREDICATES} refused it: its {PREDICATE.switches[0]} is false, and it needs what its filters keep"


def filters_are_off(conf: SchedulerConf) -> bool:
    """Whether predicates runs without its filters: its scores and placements then miss what these keep of a pod."""
    return any(not option.is_enabled(PREDICATE.switches) for option in conf.options_of(PREDICATES))


def _refused_placement_finding(view: JobView, task: TaskInfo, seq: Seq, undone: OpEvent) -> answer.Finding:
    """A node was chosen, and the placement there was refused: the task is lost without a word."""
    headline = answer.pending_headline(view.job.uid, f"{undone.node} was chosen for {task.name} and then refused it")
    release, has_volumes = view.recording.snapshot.release, bool(task.pod.spec.get("volumes"))
    by_volumes = has_volumes and release.has_older_form(VOLUMES_AT_ALLOCATION)
    without_filters = filters_are_off(view.recording.conf) and not by_volumes
    why = f"{release.display_name()} checks volumes only then" if by_volumes else "A plugin refused the placement"
    why = NEEDS_FILTERS if without_filters else why
    facts = (f"{why}; the pod's condition gives no reason.",)
    evidence = (answer.Evidence(seq, f"the placement of {task.name} on {undone.node} is undone"),)
    text = f"Check that {undone.node} has the volumes of {task.name}, or keep it off such nodes: nodeAffinity."
    text = text if by_volumes else f"Check what {undone.node} lacks for {task.name}."
    advice = (answer.cluster_admin_advice(FILTERS_ON) if without_filters else answer.owner_advice(text),)
    return answer.Finding(MIXED_CAUSE, headline, {}, evidence, advice, facts=facts)


def search_evidence(view: JobView, task: TaskInfo) -> tuple[answer.Evidence, ...]:
    """The passes of predicates for the task, one per action."""
    found: dict[str, answer.Evidence] = {}
    for visit in view.job_visits:
        for attempt in visit.tries:
            if attempt.task != task.key:
                continue
            for seq, event in attempt.predicate_passes:
                refused = f"{task.name} fits {len(event.feasible)} of {count_noun(event.processed, 'node')}"
                found.setdefault(visit.action, answer.Evidence(seq, f"{visit.action}: {refused}"))
            for seq, hook in attempt.task_calls(PRE_PREDICATE.upstream):
                if hook.result is not None:
                    found.setdefault(
                        visit.action, answer.Evidence(seq, f"{visit.action}: PrePredicate fails for {task.name}")
                    )
    return tuple(sorted(found.values())) or _untried_evidence(view)


def _untried_evidence(view: JobView) -> tuple[answer.Evidence, ...]:
    """The task never came before the predicates: what its nodes lack is read from the state."""
    end = view.action_ends(ALLOCATE)
    if end is None:
        return opening_evidence(view.recording, "the nodes when the session opened")
    return (answer.Evidence(end, "the nodes at the end of allocate; no predicate was called"),)


def histogram_lines(room: NodeFits) -> tuple[str, ...]:
    """`3 nodes  Insufficient cpu  (cpu-01, cpu-02, cpu-03)`."""
    return tuple(
        f"{count_noun(len(names), 'node')}: {reason}  ({join_names(names)})" for reason, names in room.reason_histogram
    )


def _build_finding(
    room: NodeFits,
    cause: str,
    reason: str,
    advice: tuple[answer.Advice, ...],
    numbers: Mapping[str, answer.Number],
    facts: Sequence[str] = (),
    proof: tuple[answer.Evidence, ...] = (),
) -> answer.Finding:
    """A finding about all nodes, with the searches as proof and the reasons as table."""
    counts = {
        "nodes": room.node_fits,
        "nodes.unresolvable": room.of_kind("unresolvable"),
        "nodes.tooSmall": room.of_kind("too small"),
        "nodes.short": room.of_kind("short", "pods", "refused"),
    }
    counted = {name: answer.count(len(nodes), "nodes") for name, nodes in counts.items()}
    every = {**answer.numbers("request", room.task.init_resreq), **counted, **numbers}
    evidence = search_evidence(room.view, room.task)
    all_evidence = tuple(sorted((*evidence, *proof))) if proof else evidence
    headline = answer.pending_headline(room.view.job.uid, reason)
    every_fact = (*facts, *_left_out_facts(room.view))
    return answer.Finding(cause, headline, every, all_evidence, advice, histogram_lines(room), every_fact)


def _left_out_facts(view: JobView) -> tuple[str, ...]:
    """The nodes that the release does not know because they are not ready."""
    release, snapshot = view.recording.snapshot.release, view.recording.snapshot
    if not release.has_older_form(NODE_NOT_READY_ABSENT):
        return ()
    names = [name_of(node) for node in snapshot.objects_of("Node") if is_not_ready(node)]
    are = verb_for(len(names), "is")
    text = f"{join_first_names(names, len(names))} {are} not ready: {release.display_name()} ignores such nodes."
    return (text,) if names else ()


def _larger_than_any_finding(task: TaskInfo, room: NodeFits) -> answer.Finding:
    from vcdebug.explain.pending.constraint_failures import CSI, advice_for_larger

    request = task.init_resreq
    largest: dict[str, NodeFit] = {}
    for name, value in request.items():
        if value > 0:
            largest[name] = max(room.node_fits, key=lambda node: node.allocatable.get(name))
    beyond = [name for name, node in largest.items() if request.get(name) > node.allocatable.get(name)]
    numbers: dict[str, answer.Number] = {}
    facts = [EVICTIONS_CANNOT_HELP]
    if beyond:
        name = beyond[0]
        node = largest[name]
        have = node.allocatable.get(name)
        asked, most = amount_text.format_amounts_apart(name, request.get(name), have)
        driver = name.removeprefix(CSI)
        if have > 0:
            reason = f"{task.name} asks {asked} {name}, more than any node has (largest: {node.name}, {most})"
        elif driver != name:
            reason = f"{task.name} mounts a volume of CSI driver {driver}, which no node in the snapshot runs"
        else:
            reason = f"{task.name} asks {asked} {name}, and no node in the snapshot provides it"
            near = format_resource_meant(room, name)
            facts = [near, *facts] if near else facts
        for each in beyond:
            numbers[f"largest.{each}"] = answer.number(each, largest[each].allocatable.get(each))
            numbers[f"short.{each}"] = answer.number(each, request.get(each) - largest[each].allocatable.get(each))
    else:
        asked = amount_text.format_resource(request)
        reason = f"no node is large enough for {task.name} ({asked}) in all resources at once"
    advice = advice_for_larger([name for name in beyond if largest[name].allocatable.get(name) <= 0])
    return _build_finding(room, LARGER_CAUSE, reason, advice, numbers, facts)


def _unresolvable_finding(task: TaskInfo, room: NodeFits) -> answer.Finding:
    """The finding for a task that no node could take even if it were empty."""
    from vcdebug.explain.pending.constraint_failures import advice_for_unresolvable, find_constraint_failures

    if not room.node_fits:
        more = (answer.add_nodes_advice(task.init_resreq),)
        return _build_finding(room, UNRESOLVABLE_CAUSE, f"no node is in the session for {task.name}", more, {})
    ways = find_constraint_failures(room)
    temporary = _is_temporary(room)
    fits = "fits" if not temporary else "currently fits"
    none = f"none of {len(room.node_fits)} nodes {fits} {task.name}"
    if len(room.node_fits) == 1:
        only = room.node_fits[0].name
        none = f"the only node, {only}, does not {'currently ' if temporary else ''}fit {task.name}"
    advice = advice_for_unresolvable(room, ways)
    facts = [*_selector_facts(task), *failure_facts(ways), *([] if temporary else [EVICTIONS_CANNOT_HELP])]
    reason = f"{none}: {format_reasons(room, none)}"
    return _build_finding(room, UNRESOLVABLE_CAUSE, reason, advice, {}, facts)


def format_reasons(room: NodeFits, before: str) -> str:
    """`2 node(s) had untolerated taint(s), 1 too small: cpu`, as many as fit behind the words before them.

    One reason of all nodes comes without its count.
    """
    reasons = [(reason.rstrip("."), len(names)) for reason, names in room.reason_histogram]
    if len(reasons) == 1:
        return reasons[0][0]
    left = answer.MAX_LINE_LENGTH - len(str(answer.pending_headline(room.view.job.uid, f"{before}: ")))
    texts = [_join_reasons(reasons, shown) for shown in range(len(reasons), 0, -1)]
    return next((text for text in texts if len(text) <= left), texts[-1])


def _join_reasons(reasons: Sequence[tuple[str, int]], shown: int) -> str:
    first = ", ".join(f"{count} {reason}" for reason, count in reasons[:shown])
    rest = sum(count for _, count in reasons[shown:])  # exact: ints
    return f"{first} and {count_noun(rest, 'more node')}" if rest else first


EVICTIONS_CANNOT_HELP = "Evictions cannot help."


def failure_facts(ways: Sequence[answer.ConstraintFailure]) -> list[str]:
    """What the reasons of the nodes mean in this snapshot, a sentence each."""
    return [f"{way.text}." for way in ways]


def _is_temporary(room: NodeFits) -> bool:
    """Whether some reason can end by itself: a condition, a closed window, a load, a claim that is being bound."""
    # Imported here, since only a task that no node can take needs the readers of constraints.
    from vcdebug.explain.pending.constraint_failures import CONTROL_PLANE_PREFIX, plugin_failures, untolerated_taints
    from vcdebug.explain.pending.placement_constraints import are_devices_held, is_pool_unsettled

    passing = any(
        taint.key.startswith(CONTROL_PLANE_PREFIX)
        for node in room.node_fits
        for taint in untolerated_taints(room, node)
    )
    passing = (
        passing
        or any(plugin_failures(TDM, room))
        or any(plugin_failures(USAGE, room))
        or any(w in n.reason.lower() for n in room.node_fits for w in UNBOUND_REASONS)
    )
    return passing or are_devices_held(room) or is_pool_unsettled(node.reason for node in room.node_fits)


def _selector_facts(task: TaskInfo) -> list[str]:
    selector = task.pod.spec.get("nodeSelector")
    labels = ", ".join(f"{key}={value}" for key, value in sorted((selector or {}).items()))
    return [f"{task.name} has nodeSelector {labels}."] if labels else []


def _pod_count_finding(task: TaskInfo, room: NodeFits) -> answer.Finding:
    crowded = room.of_kind("pods")
    limits = dict.fromkeys(amount_text.format_amount(PODS, node.allocatable.get(PODS)) for node in crowded)
    node = crowded[0]
    free = amount_text.format_resource(Resource(node.future.milli_cpu, node.future.memory))
    verbs = ("has", "has reached its") if len(crowded) == 1 else ("have", "have reached their")
    reason = (
        f"{count_noun(len(crowded), 'node')} {verbs[0]} room for {task.name} but {verbs[1]} pod limit "
        f"({' or '.join(limits)})"
    )
    facts = [f"{node.name} has {free} free."]
    numbers = {
        "pods.allocatable": answer.number(PODS, node.allocatable.get(PODS)),
        "pods.free": answer.number(PODS, node.future.get(PODS)),
    }
    advice = (
        answer.owner_advice("Run fewer small pods."),
        answer.cluster_admin_advice("Add nodes, or raise the kubelets' maxPods."),
    )
    return _build_finding(room, POD_COUNT, reason, advice, numbers, facts)


def _mixed_finding(task: TaskInfo, room: NodeFits) -> answer.Finding:
    from vcdebug.explain.pending.constraint_failures import advice_for_mixed, find_constraint_failures

    numbers, node, facts = dict[str, answer.Number](), room.nearest_node, list[str]()
    short = node.short if node is not None else ()
    if node is not None and short:
        free = [(name, max(node.future.get(name), 0.0)) for name, _ in short]
        numbers.update({f"nearest.{name}": answer.number(name, value) for name, value in free})
        numbers.update({f"short.{name}": answer.number(name, missing) for name, missing in short})
    # One reason alone, a shortage: its numbers say more than the reason.
    if node is not None and short and len(room.reason_histogram) == 1:
        reason = _shortage_reason(task, room, node)
    else:
        where = f"fits none of {len(room.node_fits)} nodes" if len(room.node_fits) > 1 else "does not fit the only node"
        none = f"{task.name} {where}"
        reason = f"{none}: {format_reasons(room, none)}"
        facts += [f"{capitalize_first(_nearest_words(task, node))}."] if node is not None and short else []
    # In one line with the nearest node: together they say why an admitted job fits nowhere.
    facts = [" ".join(amounts)] if (amounts := [*facts, *_spread_out_facts(room)]) else []
    ways = find_constraint_failures(room)
    facts += failure_facts(ways)
    taken = room_takers(room)
    facts += (taker_facts(room, taken) if taken.tasks else _passing_facts(room)) or _user_facts(room)
    advice = advice_for_mixed(room, ways)
    return _build_finding(room, MIXED_CAUSE, reason, advice, numbers, facts, taker_evidence(taken))


def _shortage_reason(task: TaskInfo, room: NodeFits, node: NodeFit) -> str:
    """What the pod asks, and how near the nearest node comes."""
    if len(room.node_fits) > 1:
        return f"no node has room for {task.name}: {_nearest_words(task, node)}"
    return f"the only node, {node.name}, has no room for {task.name}: {_nearest_words(task, node, several=False)}"


def _nearest_words(task: TaskInfo, node: NodeFit, *, several: bool = True) -> str:
    """`it asks 1.5 cpu; n1 comes closest with 1 free (0.5 short; also short: memory 2Gi)`."""
    (name, missing), *others = node.short
    asked = amount_text.format_named_amount(name, task.init_resreq.get(name))
    free = amount_text.format_amount(name, max(node.future.get(name), 0.0))
    near = f"{node.name} comes closest with" if several else f"{node.name} has"
    also = f"; also short: {amount_text.join_named_amounts(others)}" if others else ""
    return f"it asks {asked}; {near} {free} free ({amount_text.format_amount(name, missing)} short{also})"


def _spread_out_facts(room: NodeFits) -> list[str]:
    """The room of all nodes together, if it would be enough and only its fragmentation keeps the task out."""
    short, view = room.of_kind("short", "too small"), room.view
    names = dict.fromkeys(name for node in short for name, _ in node.short)
    if len(short) < 2 or len(names) != 1 or PODS in names:
        return []
    name = next(iter(names))
    free, by_node = 0.0, {node.name: max(node.future.get(name), 0.0) for node in short}
    for value in by_node.values():
        free += value
    if free < room.task.init_resreq.get(name):
        return []
    named = join_names(f"{node} {amount_text.format_amount(name, value)}" for node, value in by_node.items() if value)
    where = f"spread over {count_noun(len(short), 'node')}{f' ({named})' if len(short) <= MAX_TAKERS else ''}"
    admitted = ENQUEUE in view.actions and view.job.pod_group.min_resources is not None
    sums = f"; {ENQUEUE} compares minResources with totals only" if admitted else ""
    return [f"{amount_text.format_named_amount(name, free)} is free in total, but {where}{sums}."]


MAX_TAKERS = 3


class RoomTaker(NamedTuple):
    """A task that got the room."""

    task: TaskInfo
    node: NodeName
    seq: Seq


class RoomTakers(NamedTuple):
    """All of them, and their nodes."""

    tasks: Sequence[RoomTaker]
    nodes: Sequence[NodeName]


def room_takers(room: NodeFits) -> RoomTakers:
    """Tasks of other jobs that this cycle placed where the task would have fitted at the opening."""
    recording, request = room.view.recording, room.task.init_resreq
    opened, _ = next(recording.events_of_type(StateEvent), (0, None))
    if not opened:
        return RoomTakers((), ())
    before = room_by_node(recording, opened)
    lost = tuple([n.name for n in room.of_kind("short") if request.less_equal(before[n.name].future)])
    placed = placements_before(recording, room.since)
    # One answer for all jobs of which nothing was placed.
    mine = room.view.job.uid if any(key in placed for key in room.view.tasks) else ""
    return _takers_on(recording, opened, room.since, lost, mine) if lost else RoomTakers((), ())


@per_recording(most=8)
def _takers_on(recording: Recording, opened: Seq, seq: Seq, lost: tuple[NodeName, ...], mine: JobId) -> RoomTakers:
    """Those on these nodes that are of another job."""
    arrived = arrivals_by_node(recording, opened, seq)
    found = [one for node in lost for one in arrived.get(node, ()) if one.task.job != mine]
    return RoomTakers(found, [*dict.fromkeys(one.node for one in found)])


@per_recording(most=8)
def arrivals_by_node(recording: Recording, opened: Seq, seq: Seq) -> Mapping[NodeName, Sequence[RoomTaker]]:
    """The tasks on each node after an event that the cycle placed and that were elsewhere when the session opened."""
    opening, placed = recording.timeline.state_at(opened).tasks, placements_before(recording, seq)
    return {
        node: [
            RoomTaker(task, node, placed[task.key])
            for task in tasks
            if task.key in placed and opening[task.key].node != node
        ]
        for node, tasks in tasks_by_node(recording, seq).items()
    }


@per_recording(most=8)
def placements_before(recording: Recording, seq: Seq) -> Mapping[TaskKey, Seq]:
    """Each task that an operation gave a node up to an event, and the last operation that did."""
    operations = ((at, event) for at, event in recording.events_of_type(OpEvent) if at <= seq)
    return {event.task: at for at, event in operations if event.op in PLACING_OPS}


def taker_facts(room: NodeFits, found: RoomTakers) -> list[str]:
    """The tasks that got the room in this cycle, and which order put them first."""
    jobs, own = room.view.session.jobs, room.view.queue.name
    names = group_by_key((taker.task.job, taker.task.name) for taker in found.tasks)
    queues = {job: f" (queue {jobs[job].queue})" if jobs[job].queue != own else "" for job in names}
    who = join_names(
        f"{pods[0] if len(pods) == 1 else count_noun(len(pods), 'pod')} of {job}{queues[job]}"
        for job, pods in names.items()
    )
    were, order = verb_for(len(found.tasks), "was"), _order_words(room, found.tasks[0])
    first = f"{join_names(found.nodes)} had room at the start of this cycle; {who} {were} placed there first"
    return [f"{first}, since {order}." if order else f"{first}."]


def _passing_facts(room: NodeFits) -> list[str]:
    """Jobs that started in this cycle on the nearest node, which never had enough for the task: it reserves nothing."""
    node = room.nearest_node
    if node is None or not node.short:
        return []
    placed = placements_before(room.view.recording, room.since)
    there = [task for task in room.tasks_on(node.name) if task.key in placed and task.job != room.view.job.uid]
    if not there:
        return []
    name = node.short[0][0]
    used = sum_resources(task.resreq for task in there).get(name)
    free = max(node.future.get(name), 0.0) + used
    taken, had = (amount_text.format_amount(name, value) for value in (used, free))
    started = (
        f"{join_names(task.key for task in there)} started on {node.name} in this cycle and use {taken} of the {had}"
    )
    return [f"{started} {name} that were free; nothing is reserved for {room.view.job.uid}."]


def _user_facts(room: NodeFits) -> list[str]:
    """The pods that use what the nearest node lacks, the largest first."""
    node = room.nearest_node
    if node is None or not node.short or node.kind == "too small":
        return []
    name = node.short[0][0]
    ranked = users_of_node(room.view.recording, room.since, node.name, name)
    users = amount_text.join_ranked_amounts(name, ranked, MAX_TAKERS)
    return [f"In use on {node.name} ({name}): {users}."] if ranked else []


@per_recording(most=64)
def users_of_node(recording: Recording, seq: Seq, node: NodeName, name: str) -> Sequence[tuple[TaskKey, float]]:
    """The pods on a node after an event and what each uses of a dimension, the largest first."""
    tasks = tasks_by_node(recording, seq).get(node, ())
    return amount_text.rank_by_amount({t.key: value for t in tasks if (value := t.resreq.get(name)) > 0})


def _order_words(room: NodeFits, first: RoomTaker) -> str:
    from vcdebug.explain.orders import order_of

    recording, mine = room.view.recording, room.view.job
    other = recording.session.jobs[first.task.job]
    if other.queue != mine.queue:
        decided = order_of(recording, first.seq, "queue", other.queue, mine.queue)
        if decided.order_sign >= 0:
            return ""
        rest = "; priority orders jobs only within a queue" if mine.priority > other.priority else ""
        return f"queue {other.queue} is served before {mine.queue}{decided.deciding_words}{rest}"
    decided = order_of(recording, first.seq, "job", other.uid, mine.uid)
    return f"{other.uid} is tried before {mine.uid}{decided.deciding_words}" if decided.order_sign < 0 else ""


def taker_evidence(found: RoomTakers) -> tuple[answer.Evidence, ...]:
    """The placements."""
    return tuple(
        answer.Evidence(taker.seq, f"{taker.task.key} is placed on {taker.node}") for taker in found.tasks[:MAX_TAKERS]
    )
