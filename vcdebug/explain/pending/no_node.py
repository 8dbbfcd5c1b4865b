"""Why no node takes a task: the reasons of the nodes, and the tasks that got its room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import count_noun, join_names
from vcdebug.explain import answer
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFit, NodeFits, room_by_node
from vcdebug.explain.pending.gates.not_in_session import opening_evidence
from vcdebug.explain.pending.placement_constraints import UNBOUND_REASONS, format_resource_meant
from vcdebug.framework.hooks import PRE_PREDICATE
from vcdebug.framework.record import PLACING_OPS, OpEvent, StateEvent
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import TDM

UNRESOLVABLE_CAUSE = "predicates-unresolvable"
MIXED_CAUSE = "predicates-mixed"
POD_COUNT = "pod-count"
LARGER_CAUSE = "larger-than-any-node"
NODE_ORDER = "node-order"


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
    attempts = [
        attempt for attempt in view.placing_tries if attempt.task == task.key and attempt.last_placement is None
    ]
    passed = [(seq, event) for attempt in attempts for seq, event in attempt.predicate_passes if len(event.feasible)]
    if not passed:
        return None
    seq, event = passed[-1]
    sentence = (
        f"{count_noun(len(event.feasible), 'node')} would take {task.name}, but scoring them failed and no best node "
        "was chosen: the task is passed over without a reason in its condition."
    )
    advice = (
        answer.cluster_admin_advice(
            "look at the scoring plugins: one needs a state that predicates did not write (enablePredicate: false?)"
        ),
    )
    evidence = (answer.Evidence(seq, f"{count_noun(len(event.feasible), 'node')} pass; no best node follows"),)
    return answer.Finding(
        NODE_ORDER, sentence, {"nodes.feasible": answer.count(len(event.feasible), "nodes")}, evidence, advice
    )


def search_evidence(view: JobView, task: TaskInfo) -> tuple[answer.Evidence, ...]:
    """The passes of predicates for the task, one per action."""
    found: dict[str, answer.Evidence] = {}
    for visit in view.job_visits:
        for attempt in visit.tries:
            if attempt.task != task.key:
                continue
            for seq, event in attempt.predicate_passes:
                refused = f"{len(event.failed)} of {count_noun(event.processed, 'node')} refuse"
                found.setdefault(visit.action, answer.Evidence(seq, f"{visit.action}: {refused} {task.name}"))
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
    return (answer.Evidence(end, "the nodes when allocate ended; the predicates were not asked"),)


def histogram_lines(room: NodeFits) -> tuple[str, ...]:
    """`3 nodes  Insufficient cpu  (cpu-01, cpu-02, cpu-03)`."""
    return tuple(
        f"{count_noun(len(names), 'node')}: {reason}  ({join_names(names)})" for reason, names in room.reason_histogram
    )


def _build_finding(
    room: NodeFits,
    cause: str,
    sentence: str,
    advice: tuple[answer.Advice, ...],
    numbers: Mapping[str, answer.Number],
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
    return answer.Finding(cause, sentence, every, all_evidence, advice, histogram_lines(room))


def _larger_than_any_finding(task: TaskInfo, room: NodeFits) -> answer.Finding:
    from vcdebug.explain.pending.constraint_failures import CSI, advice_for_larger

    request = task.init_resreq
    largest: dict[str, NodeFit] = {}
    for name, value in request.items():
        if value > 0:
            largest[name] = max(room.node_fits, key=lambda node: node.allocatable.get(name))
    beyond = [name for name, node in largest.items() if request.get(name) > node.allocatable.get(name)]
    numbers: dict[str, answer.Number] = {}
    if beyond:
        name = beyond[0]
        node = largest[name]
        have = node.allocatable.get(name)
        asked, most = amount_text.format_amounts_apart(name, request.get(name), have)
        too_few = amount_text.format_amount(name, request.get(name) - have)
        largest_has = f"the largest node ({node.name}) has {most} in all, {too_few} too few"
        driver = name.removeprefix(CSI)
        meant = f"; {near}" if have <= 0 and (near := format_resource_meant(room, name)) else ""
        sentence = (
            f"{task.name} asks {asked} {name}, "
            f"{largest_has if have > 0 else 'and no node has any'}: no eviction can help{meant or '.'}"
        )
        if driver != name and have <= 0:
            sentence = f"{task.name} mounts a volume of driver {driver}, and no node runs it: no eviction can help."
        for each in beyond:
            numbers[f"largest.{each}"] = answer.number(each, largest[each].allocatable.get(each))
            numbers[f"short.{each}"] = answer.number(each, request.get(each) - largest[each].allocatable.get(each))
    else:
        sentence = (
            f"{task.name} asks {amount_text.format_resource(request)}: some nodes are large enough in one of these, "
            "none is in all of them, and no eviction can help."
        )
    advice = advice_for_larger([name for name in beyond if largest[name].allocatable.get(name) <= 0])
    return _build_finding(room, LARGER_CAUSE, sentence, advice, numbers)


def _unresolvable_finding(task: TaskInfo, room: NodeFits) -> answer.Finding:
    """The finding for a task that no node could take even if it were empty."""
    from vcdebug.explain.pending.constraint_failures import (
        advice_for_unresolvable,
        find_constraint_failures,
        merge_advice,
    )

    if not room.node_fits:
        sentence = f"The session has no nodes at all, so nothing can take {task.name}."
        return _build_finding(room, UNRESOLVABLE_CAUSE, sentence, (answer.ADD_NODES_ADVICE,), {})
    reasons = room.reason_histogram
    several = "; ".join(f"{len(names)} {reason}" for reason, names in reasons)
    text = reasons[0][0] if len(reasons) == 1 else several
    ways = find_constraint_failures(room)
    sentence = (
        f"{_none_takes_words(task, room)}: {text}{_format_node_selector(task)}{_format_failures(ways)}. Evictions "
        "would not help."
    )
    advice = merge_advice(ways, advice_for_unresolvable(room, [reason for reason, _ in reasons]))
    return _build_finding(room, UNRESOLVABLE_CAUSE, sentence, advice, {})


def _none_takes_words(task: TaskInfo, room: NodeFits) -> str:
    """`None of 3 nodes can ever take a as it is`; without "ever" if a condition passes by itself."""
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
        or any(w in n.reason.lower() for n in room.node_fits for w in UNBOUND_REASONS)
    )
    passing = passing or are_devices_held(room) or is_pool_unsettled(node.reason for node in room.node_fits)
    several = len(room.node_fits) > 1
    none = f"None of {len(room.node_fits)} nodes" if several else f"{room.node_fits[0].name}, the only node, cannot"
    if passing:
        return f"{none} {'can take' if several else 'take'} {task.name} as things stand"
    return f"{none} {'can ever' if several else 'ever'} take {task.name} as it is"


def _format_failures(ways: Sequence[answer.ConstraintFailure]) -> str:
    """The meaning of the reasons in this snapshot, appended to them."""
    return f"; {'; '.join(way.text for way in ways)}" if ways else ""


def _format_node_selector(task: TaskInfo) -> str:
    selector = task.pod.spec.get("nodeSelector")
    if not selector:
        return ""
    return f" (it wants {', '.join(f'{key}={value}' for key, value in sorted(selector.items()))})"


def _pod_count_finding(task: TaskInfo, room: NodeFits) -> answer.Finding:
    crowded = room.of_kind("pods")
    limits = dict.fromkeys(amount_text.format_amount(PODS, node.allocatable.get(PODS)) for node in crowded)
    node = crowded[0]
    free = amount_text.format_resource(Resource(node.future.milli_cpu, node.future.memory))
    sentence = (
        f"{count_noun(len(crowded), 'node')} would have room for {task.name} ({node.name}: {free} free), "
        f"but not for one more pod: each already has the {' or '.join(limits)} pods it may run."
    )
    numbers = {
        "pods.allocatable": answer.number(PODS, node.allocatable.get(PODS)),
        "pods.free": answer.number(PODS, node.future.get(PODS)),
    }
    advice = (
        answer.owner_advice("run fewer small pods"),
        answer.cluster_admin_advice("add nodes, or raise the kubelets' maxPods"),
    )
    return _build_finding(room, POD_COUNT, sentence, advice, numbers)


def _mixed_finding(task: TaskInfo, room: NodeFits) -> answer.Finding:
    from vcdebug.explain.pending.constraint_failures import advice_for_mixed, find_constraint_failures, merge_advice

    text = ", ".join(f"{len(names)} {reason}" for reason, names in room.reason_histogram)
    where = f"fits none of {len(room.node_fits)} nodes" if len(room.node_fits) > 1 else "does not fit on the only node"
    sentence = f"{task.name} ({amount_text.format_resource(task.init_resreq)}) {where}: {text}"
    numbers, node = dict[str, answer.Number](), room.nearest_node
    if node is not None and node.short:
        free = [(name, max(node.future.get(name), 0.0)) for name, _ in node.short]
        sentence += (
            f"; nearest is {node.name} with {amount_text.join_named_amounts(free)} free, {_format_missing(node)} too "
            "few"
        )
        numbers.update({f"nearest.{name}": answer.number(name, value) for name, value in free})
        numbers.update({f"short.{name}": answer.number(name, missing) for name, missing in node.short})
    sentence += _spread_out_words(task, room)
    ways = find_constraint_failures(room)
    sentence += _format_failures(ways)
    advice = merge_advice(ways, advice_for_mixed(room))
    taken = room_takers(room)
    if taken:
        sentence += f"; {format_takers(room, taken)}"
    return _build_finding(room, MIXED_CAUSE, f"{sentence}.", advice, numbers, taker_evidence(taken))


def _spread_out_words(task: TaskInfo, room: NodeFits) -> str:
    """The room of all nodes together, if it would be enough and only its fragmentation refuses the task."""
    short = room.of_kind("short")
    names = dict.fromkeys(name for node in short for name, _ in node.short)
    if len(short) < 2 or len(names) != 1 or PODS in names:
        return ""
    name = next(iter(names))
    free = 0.0
    for node in short:
        free += max(node.future.get(name), 0.0)
    if free < task.init_resreq.get(name):
        return ""
    return f"; {amount_text.format_named_amount(name, free)} are free in all, but in pieces on {len(short)} nodes"


def _format_missing(node: NodeFit) -> str:
    """The missing amounts; the dimension's name is omitted if only one is short."""
    return (
        amount_text.format_amount(*node.short[0])
        if len(node.short) == 1
        else amount_text.join_named_amounts(node.short)
    )


MAX_TAKERS = 3


class RoomTaker(NamedTuple):
    """A task that got the room."""

    task: TaskInfo
    node: NodeName
    seq: Seq


def room_takers(room: NodeFits) -> list[RoomTaker]:
    """Tasks of other jobs that this cycle placed where the task would have fitted at the opening."""
    recording, request = room.view.recording, room.task.init_resreq
    opened, _ = next(recording.events_of_type(StateEvent), (0, None))
    if not opened:
        return []
    before, opening = room_by_node(recording, opened), recording.timeline.state_at(opened)
    lost = [n.name for n in room.of_kind("short") if request.less_equal(before[n.name].future)]
    if not lost:
        return []
    operations = ((seq, event) for seq, event in recording.events_of_type(OpEvent) if seq <= room.seq)
    placed = {event.task: seq for seq, event in operations if event.op in PLACING_OPS}
    return [
        RoomTaker(task, node, placed[task.key])
        for node in lost
        for task in room.tasks_on(node)
        if task.key in placed and task.job != room.view.job.uid and opening.tasks[task.key].node != node
    ]


def format_takers(room: NodeFits, found: list[RoomTaker]) -> str:
    """The tasks that got the room, and which order put them first."""
    jobs = room.view.session.jobs
    who = join_names((f"{t.task.name} of {t.task.job} (queue {jobs[t.task.job].queue})" for t in found), MAX_TAKERS)
    nodes = join_names(dict.fromkeys(taker.node for taker in found))
    return f"{nodes} had room when the cycle began, and this very cycle gave it to {who}{_format_order(room, found[0])}"


def _format_order(room: NodeFits, first: RoomTaker) -> str:
    from vcdebug.explain.orders import order_of

    recording, mine = room.view.recording, room.view.job
    other = recording.session.jobs[first.task.job]
    if other.queue != mine.queue:
        decided = order_of(recording, first.seq, "queue", other.queue, mine.queue)
        if decided.order_sign >= 0:
            return ""
        by = f" by {decided.deciding_step.difference.what}" if decided.deciding_step is not None else ""
        rest = "; priority only orders jobs within a queue" if mine.priority > other.priority else ""
        return f": queues come first, and {other.queue} comes before {mine.queue}{by}{rest}"
    decided = order_of(recording, first.seq, "job", other.uid, mine.uid)
    if decided.order_sign >= 0 or decided.deciding_step is None:
        return ""
    return f", which is tried first by {decided.deciding_step.difference.what}"


def taker_evidence(found: list[RoomTaker]) -> tuple[answer.Evidence, ...]:
    """The placements."""
    return tuple(answer.Evidence(taker.seq, f"{taker.task.key} gets {taker.node}") for taker in found[:MAX_TAKERS])
