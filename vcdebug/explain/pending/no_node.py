"""Why a task fits no node: the reasons of the nodes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import Final, NamedTuple

import numpy as np

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE, ENQUEUE
from vcdebug.amount_text import capitalize_first, count_noun, join_first_names, join_names, lower_first, verb_for
from vcdebug.explain import answer
from vcdebug.explain.fit_table import NodeFit
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending import placement_constraints
from vcdebug.explain.pending.gates.not_in_session import opening_evidence
from vcdebug.explain.pending.room_takers import (
    MAX_TAKERS,
    deadlocked_gangs,
    fits_when_tried,
    own_users,
    passing_facts,
    room_takers,
    taker_advice,
    taker_evidence,
    taker_facts,
    user_facts,
    users_of_node,
)
from vcdebug.explain.predicate_reasons import ConstraintFailure, ConstraintKind
from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.hooks import PRE_PREDICATE, PREDICATE
from vcdebug.framework.quirks import SCORES_DROPPED
from vcdebug.framework.record import UNALLOCATE_OP, BestEvent, OpEvent
from vcdebug.model.cluster import is_not_ready
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.pod_claims import csi_drivers
from vcdebug.model.pod_resources import request_parts, stated_requests
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import CAPACITY, PREDICATES, PROPORTION
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources
from vcdebug.releases.nodes import NODE_NOT_READY_ABSENT
from vcdebug.releases.scheduling import VOLUMES_AT_ALLOCATION
from vcdebug.snapshot.manifest import name_of
from vcdebug.snapshot.snapshot import Snapshot


def no_node_finding(task: TaskInfo, fits: NodeFits) -> answer.Finding:
    """The finding for a task that fits no node in this state."""
    if fits.table.is_too_large:
        return _larger_than_any_finding(task, fits)
    if not fits.waiting_nodes and not fits.free_nodes:
        return _unresolvable_finding(task, fits)
    if fits.waiting_nodes and not fits.of_kind("short", "refused", "free"):
        return _pod_count_finding(task, fits)
    return _mixed_finding(task, fits)


def hopeless_finding(task: TaskInfo, fits: NodeFits) -> answer.Finding | None:
    """The finding if the task would fit no node even without evictable pods; else None."""
    if fits.waiting_nodes or fits.free_nodes:
        return None
    return no_node_finding(task, fits)


def no_best_node_finding(view: JobView, task: TaskInfo) -> answer.Finding | None:
    """The finding if nodes passed the predicates but scoring or placement failed without a reason in the condition."""
    attempts = view.failed_tries(task.key)
    passes = [(seq, event) for attempt in attempts for seq, event in attempt.predicate_passes if len(event.feasible)]
    if not passes:
        return None
    seq, event = passes[-1]
    later = [(number, one) for attempt in attempts for number, one in attempt.events if number > seq]
    operations = [(number, one) for number, one in later if isinstance(one, OpEvent)]
    if operations and (operations[-1][1].op, operations[-1][1].task) == (UNALLOCATE_OP, task.key):
        return _refused_placement_finding(view, task, operations[-1][0], operations[-1][1].node)
    notes = [note.text for note in view.recording.notes if (note.code, note.seq) == (SCORES_DROPPED, seq)]
    chosen = [NodeName(one.name) for _, one in later if isinstance(one, BestEvent) and one.name]
    if len(event.feasible) == 1:
        chosen = [view.recording.node_names[event.feasible.item(0)]]
    if chosen and not notes and _has_volumes_checked_late(view, task):
        return _refused_placement_finding(view, task, seq, chosen[-1])
    feasible = count_noun(len(event.feasible), "node")
    reason = f"scoring failed for {task.name}, which fits {feasible}"
    facts = (*(f"{capitalize_first(text)}." for text in notes), "The pod's condition gives no reason.")
    text = FILTERS_ON if filters_are_off(view.recording.conf) else "Correct what made scoring fail."
    evidence = (answer.Evidence(seq, f"{feasible} pass; no best node follows"),)
    numbers = answer.counts({"nodes.feasible": len(event.feasible)})
    return view.pending(
        answer.Cause.NODE_ORDER, reason, numbers, evidence, (answer.Advice.cluster_admin(text),), facts=facts
    )


SHORTAGES: Final = (answer.Cause.MIXED, answer.Cause.POD_COUNT)
"""Causes that say what the nodes lack for a pod."""
FILTERS_ON = f"{PREDICATES}: set {PREDICATE.switches[0]} to true."
NEEDS_FILTERS = f"{PREDICATES} refused it: its {PREDICATE.switches[0]} is false, and it needs what its filters keep"


def filters_are_off(conf: SchedulerConf) -> bool:
    """Whether the filters of plugin predicates are switched off, whose results its scores and placements need."""
    return any(not option.is_enabled(PREDICATE.switches) for option in conf.options_of(PREDICATES))


def _has_volumes_checked_late(view: JobView, task: TaskInfo) -> bool:
    """Whether the release compares the pod's volumes with a node only once it has chosen it."""
    is_older = view.recording.snapshot.release.has_older_form(VOLUMES_AT_ALLOCATION)
    return is_older and bool(task.pod.spec.get("volumes"))


def _refused_placement_finding(view: JobView, task: TaskInfo, seq: Seq, node: NodeName) -> answer.Finding:
    """The finding if the chosen node's placement was refused, which the pod's condition does not mention."""
    release, by_volumes = view.recording.snapshot.release, _has_volumes_checked_late(view, task)
    without_filters = filters_are_off(view.recording.conf) and not by_volumes
    reason = f"{release.display_name()} checks volumes only then" if by_volumes else "A plugin refused the placement"
    reason = NEEDS_FILTERS if without_filters else reason
    places = placement_constraints.volume_places(view.recording.snapshot, task) if by_volumes else ()
    facts = (f"{reason}; the pod's condition gives no reason.", *(f"Claim {place}." for place in places))
    evidence = (answer.Evidence(seq, f"no placement of {task.name} on {node} remains"),)
    text = f"Check that {node} has the volumes of {task.name}, or keep it off such nodes: nodeAffinity."
    text = text if by_volumes else f"Check what {node} lacks for {task.name}."
    advice = (answer.Advice.cluster_admin(FILTERS_ON) if without_filters else answer.Advice.for_owner(text),)
    verdict = f"{node} was chosen for {task.name} and then refused it"
    return view.pending(answer.Cause.MIXED, verdict, {}, evidence, advice, facts=facts)


def search_evidence(view: JobView, task: TaskInfo) -> tuple[answer.Evidence, ...]:
    """The passes of predicates for the task, one per action; else the state of the nodes at the end of allocate."""
    by_action: dict[str, answer.Evidence] = {}
    for visit in view.job_visits:
        for attempt in (one for one in visit.tries if one.task == task.key):
            for seq, event in attempt.predicate_passes:
                fit_words = f"{task.name} fits {len(event.feasible)} of {count_noun(event.processed, 'node')}"
                by_action.setdefault(visit.action, answer.Evidence(seq, f"{visit.action}: {fit_words}"))
            failed = [seq for seq, hook in attempt.task_calls(PRE_PREDICATE.upstream) if hook.result is not None]
            for seq in failed:
                text = f"{visit.action}: PrePredicate fails for {task.name}"
                by_action.setdefault(visit.action, answer.Evidence(seq, text))
    if by_action:
        return tuple(sorted(by_action.values()))
    at_end = answer.proof_of(view.action_ends(ALLOCATE), "the nodes at the end of allocate; no predicate was called")
    return at_end or opening_evidence(view.recording, "the nodes when the session opened")


def _build_finding(
    fits: NodeFits,
    cause: str,
    reason: str,
    advice: tuple[answer.Advice, ...],
    numbers: Mapping[str, answer.Number],
    facts: Sequence[str] = (),
    proof: tuple[answer.Evidence, ...] = (),
) -> answer.Finding:
    """A finding about all nodes, with the searches as proof and the reasons as table."""
    node_counts = answer.counts(
        {
            "nodes": len(fits.node_fits),
            "nodes.unresolvable": len(fits.of_kind("unresolvable")),
            "nodes.tooSmall": len(fits.of_kind("too small")),
            "nodes.short": len(fits.of_kind("short", "pods", "refused")),
        }
    )
    all_numbers = {**answer.amount_numbers("request", fits.task.init_resreq), **node_counts, **numbers}
    evidence = search_evidence(fits.view, fits.task)
    all_evidence = tuple(sorted((*evidence, *proof))) if proof else evidence
    lines = answer.reason_lines(fits.reason_histogram, "node")
    return fits.view.pending(cause, reason, all_numbers, all_evidence, advice, lines, tuple(facts))


@per_recording()
def ignored_node_facts(recording: Recording) -> tuple[str, ...]:
    """A sentence about nodes that an older release leaves out of the session since they are not ready, if any."""
    release = recording.snapshot.release
    if not release.has_older_form(NODE_NOT_READY_ABSENT):
        return ()
    names = [name_of(node) for node in recording.snapshot.objects_of("Node") if is_not_ready(node)]
    are = f"{verb_for(len(names), 'is')} not ready: {release.display_name()} ignores such nodes"
    return (f"{join_first_names(names, len(names))} {are}.",) if names else ()


def _larger_than_any_finding(task: TaskInfo, fits: NodeFits) -> answer.Finding:
    from vcdebug.explain.pending.constraint_failures import advice_for_larger

    request, snapshot = task.init_resreq, fits.view.recording.snapshot
    largest = {name: fits.table.largest_node(name) for name, value in request.items() if value > 0}
    exceeded = [name for name, (most, _) in largest.items() if request.get(name) > most]
    numbers: dict[str, answer.Number] = {}
    for each in exceeded:
        numbers[f"largest.{each}"] = answer.amount_number(each, largest[each][0])
        numbers[f"short.{each}"] = answer.amount_number(each, request.get(each) - largest[each][0])
    facts, repair = [EVICTIONS_CANNOT_HELP], list[answer.Advice]()
    if exceeded:
        facts = [*_request_source(task, snapshot, exceeded[0]), *facts]
        name, (most, node_name) = exceeded[0], largest[exceeded[0]]
        request_text, maximum = amount_text.format_amounts_apart(name, request.get(name), most)
        drivers = csi_drivers(snapshot, [name])
        if most > 0:
            reason = f"{task.name} asks {request_text} {name}, more than any node has (largest: {node_name}, {maximum})"
        elif drivers:
            reason = f"{task.name} mounts a volume of {drivers[0]}, and no CSINode lists this driver"
        else:
            reason = f"{task.name} asks {request_text} {name}, and no node in the snapshot provides it"
            similar, provider = placement_constraints.find_similar_resource(
                fits.view.recording, name, tuple(request.resource_names())
            )
            silent = placement_constraints.silent_device_plugins(fits.view.recording, name)
            misspelt = [f"Did you mean {similar}, which {provider} provides?"] if similar else []
            facts, repair = [*(one.fact for one in silent), *misspelt, *facts], [one.advice for one in silent]
    else:
        request_text = amount_text.format_resource(request)
        reason = f"no node is large enough for {task.name} ({request_text}) in all resources at once"
    advice = (*repair, *advice_for_larger(snapshot, [name for name in exceeded if largest[name][0] <= 0]))
    return _build_finding(fits, answer.Cause.LARGER, reason, advice, numbers, facts)


_ADDED_PARTS: Final = {"sidecar": "its sidecars", "overhead": "the overhead of its RuntimeClass"}
"""Part of a request besides its containers → what it is for."""


def _request_source(task: TaskInfo, snapshot: Snapshot, name: str) -> Iterator[str]:
    """Yields sentences about init containers, sidecars and an overhead that make a request larger than expected."""
    amount_of = defaultdict[str, float](float)
    for kind, _, amounts in request_parts(task.pod, snapshot.flags):
        amount_of[kind] += amounts.get(name)
    running, added = amount_of["container"], dict(_ADDED_PARTS)
    if amount_of["initialisation"] > running + amount_of["sidecar"]:
        first = ((one.get("name"), stated_requests(one)) for one in task.pod.spec["initContainers"])
        asking = {container: Resource.from_list(requests).get(name) for container, requests in first}
        largest = max(asking, key=lambda container: asking[container])
        asked, rest = amount_text.format_amounts_apart(name, asking[largest], running)
        yield f"Its init container {largest} asks {asked} {name}; its containers ask {rest} in total."
        del added["sidecar"]
    for kind, purpose in added.items():
        if amount_of[kind] > 0:
            yield f"{amount_text.format_named_amount(name, amount_of[kind])} of this is for {purpose}."


def _initialised_users(fits: NodeFits) -> Iterator[str]:
    """Yields why the largest user of the nearest node holds more than its containers ask: for its init container."""
    near, recording = fits.nearest_node, fits.view.recording
    place, lacking = (near.name, near.short[:1]) if near is not None else ("", ())
    for name, _ in lacking:
        for key, _ in users_of_node(recording, fits.earliest_seq, NodeName(place), name)[:1]:
            task = recording.timeline.tasks[key]
            sources = _request_source(task, recording.snapshot, name)
            yield from (f"{task.name}: {lower_first(one)}" for one in sources if one.startswith("Its init container"))


def _unresolvable_finding(task: TaskInfo, room: NodeFits) -> answer.Finding:
    """The finding for a task that fits no node even without evictable pods."""
    from vcdebug.explain.pending.constraint_failures import advice_for_unresolvable, find_constraint_failures

    if not room.node_fits:
        add_nodes = (answer.Advice.add_nodes(task.init_resreq),)
        return _build_finding(
            room, answer.Cause.UNRESOLVABLE, f"no node is in the session for {task.name}", add_nodes, {}
        )
    failures = find_constraint_failures(room)
    temporary = _is_temporary(room, failures)
    currently, asks = "currently " if temporary else "", f"{task.name}{_too_large_words(task, room)}"
    misfit_words = f"none of {len(room.node_fits)} nodes {currently}fits {asks}"
    if len(room.node_fits) == 1:
        misfit_words = f"the only node, {room.node_fits[0].name}, does not {currently}fit {asks}"
    selector = task.pod.spec.get("nodeSelector") or {}
    labels = ", ".join(f"{key}={value}" for key, value in sorted(selector.items()))
    facts = failure_facts(failures)
    # A sole node that is too small belongs beside the nodes that refuse the task: together they are all nodes.
    if facts and len(small := room.of_kind("too small")) == 1:
        total = small[0].allocatable
        amounts = join_names(amount_text.format_named_amount(name, total.get(name)) for name, _ in small[0].short)
        facts[0] = f"{facts[0][:-1]}; {small[0].name} has {amounts} in total."
    facts += [f"{task.name} has nodeSelector {labels}."] if labels else []
    facts += [] if temporary else [EVICTIONS_CANNOT_HELP]
    reason, advice = f"{misfit_words}: {format_reasons(room, misfit_words)}", advice_for_unresolvable(room, failures)
    return _build_finding(room, answer.Cause.UNRESOLVABLE, reason, advice, {}, facts)


def _too_large_words(task: TaskInfo, fits: NodeFits) -> str:
    """` (asks 4 cpu)`: what a node has too little of in total; empty if all nodes are large enough."""
    names = fits.table.lacked(fits.of_kind("too small"))
    amounts = join_names(amount_text.format_named_amount(name, task.init_resreq.get(name)) for name in names)
    return f" (asks {amounts})" if amounts else ""


def format_reasons(fits: NodeFits, prefix: str) -> str:
    """Reasons with their number of nodes: `2 node(s) had untolerated taint(s), 1 too small (cpu)`, up to the length.

    One reason of all nodes comes without its count.
    """
    reasons, text = [(reason.rstrip("."), len(names)) for reason, names in fits.reason_histogram], ""
    if len(reasons) == 1:
        return reasons[0][0]
    space_left = answer.MAX_LINE_LENGTH - len(str(answer.pending_headline(fits.view.job.uid, f"{prefix}: ")))
    for shown in range(len(reasons), 0, -1):
        more_nodes = sum(count for _, count in reasons[shown:])  # exact: ints
        text = ", ".join(f"{count} {reason}" for reason, count in reasons[:shown])
        text += f" and {count_noun(more_nodes, 'more node')}" if more_nodes else ""
        if len(text) <= space_left:
            break
    return text


EVICTIONS_CANNOT_HELP = "Evictions cannot help."


def failure_facts(failures: Sequence[ConstraintFailure]) -> list[str]:
    """The texts of the failures as sentences."""
    return [f"{failure.text}." for failure in failures]


def _is_temporary(fits: NodeFits, failures: Sequence[ConstraintFailure]) -> bool:
    """Whether some reason may be temporary: a node condition, a closed window, load, or an unbound claim."""
    # Imported here, since only a task that fits no node needs this module.
    from vcdebug.explain.pending.constraint_failures import are_devices_held

    reasons = [reason for reason, _ in fits.reason_histogram]
    return (
        any(failure.is_temporary for failure in failures)
        or any(words in reason.lower() for reason in reasons for words in placement_constraints.UNBOUND_REASONS)
        or are_devices_held(fits)
        # An incomplete or invalid device pool is rewritten by its driver.
        or any(map(ConstraintKind.DEVICE_POOL.is_about, reasons))
    )


def _pod_count_finding(task: TaskInfo, fits: NodeFits) -> answer.Finding:
    crowded = fits.of_kind("pods")
    limits = dict.fromkeys(amount_text.format_amount(PODS, node.allocatable.get(PODS)) for node in crowded)
    node, places = crowded[0], count_noun(len(crowded), "node")
    free = amount_text.format_resource(Resource(node.future_idle.milli_cpu, node.future_idle.memory))
    have, reached = ("has", "has reached its") if len(crowded) == 1 else ("have", "have reached their")
    reason = f"{places} {have} room for {task.name} but {reached} pod limit ({' or '.join(limits)})"
    numbers = {
        "pods.allocatable": answer.amount_number(PODS, node.allocatable.get(PODS)),
        "pods.free": answer.amount_number(PODS, node.future_idle.get(PODS)),
    }
    more = answer.Advice.cluster_admin("Add nodes, or raise the kubelets' maxPods.")
    advice = (answer.Advice.for_owner("Run fewer small pods."), more)
    return _build_finding(fits, answer.Cause.POD_COUNT, reason, advice, numbers, [f"{node.name} has {free} free."])


def _mixed_finding(task: TaskInfo, fits: NodeFits) -> answer.Finding:
    from vcdebug.explain.pending.constraint_failures import advice_for_mixed, find_constraint_failures

    at_end, fits = fits, fits_when_tried(fits)
    is_earlier = fits is not at_end
    node, numbers = fits.nearest_node, dict[str, answer.Number]()
    short = node.short if node is not None else ()
    if node is not None:
        free = [(name, max(node.future_idle.get(name), 0.0)) for name, _ in short]
        numbers.update({f"nearest.{name}": answer.amount_number(name, value) for name, value in free})
        numbers.update({f"short.{name}": answer.amount_number(name, missing) for name, missing in short})
    reason, facts = _mixed_reason(task, fits, "had" if is_earlier else "has")
    facts += _request_source(task, fits.view.recording.snapshot, short[0][0]) if short else []
    takers = room_takers(fits)
    passing = [] if takers.tasks else passing_facts(at_end, fits if is_earlier else None)
    held = (taker_facts(fits, takers) if takers.tasks else passing) or [*user_facts(fits), *_initialised_users(fits)]
    # In one line with the nearest node and its users, which together explain why an admitted job fits nowhere.
    if spread := _spread_out_facts(fits):
        facts, held = [" ".join([*facts, *held[:1], *spread])], held[1:]
    failures = find_constraint_failures(fits)
    # In one line with the reason for which the task may not use those nodes.
    reasons = failure_facts(failures)
    facts += [*reasons[:-1], *filter(None, [" ".join((*reasons[-1:], *_excluded_room(fits)))]), *held]
    advice = (*taker_advice(fits, takers), *advice_for_mixed(fits, failures))
    when = answer.proof_of(fits.seq if is_earlier else None, f"the nodes when {task.name} was tried")
    finding = _build_finding(fits, answer.Cause.MIXED, reason, advice, numbers, facts, (*when, *taker_evidence(takers)))
    finding = finding.with_additions(*deadlocked_gangs(fits), *own_users(fits), in_front=True)
    return finding.with_additions(answer.Flaw.PASSED, *_reserving_advice(fits)) if passing else finding


def _mixed_reason(task: TaskInfo, fits: NodeFits, has: str) -> tuple[str, list[str]]:
    """Why no node takes the task now, and a sentence about the nearest node if the reason does not say that."""
    node = fits.nearest_node
    is_only_reason = len(fits.reason_histogram) == 1
    nearest = _nearest_words(fits, node, has if is_only_reason else "has") if node is not None and node.short else None
    # If the only reason is a shortage, its numbers are more precise than the reason.
    if node is not None and nearest is not None and is_only_reason:
        several = len(fits.node_fits) > 1
        has_no_room = "no node has room" if several else f"the only node, {node.name}, has no room"
        return f"{has_no_room} for {task.name}: it {nearest.request}; {nearest.room}", []
    words = f"fits none of {len(fits.node_fits)} nodes" if len(fits.node_fits) > 1 else "does not fit the only node"
    asks = _too_large_words(task, fits)
    misfit = f"{task.name}{asks} {words}"
    reason = f"{misfit}: {format_reasons(fits, misfit)}"
    if nearest is None:
        return reason, []
    if asks != f" ({nearest.request})":
        return reason, [f"It {nearest.request}; {nearest.room}."]
    if node is None or not nearest.room.startswith(NONE_FREE):
        return reason, [f"{nearest.room}."]
    return reason, [f"No {node.short[0][0]} is free{nearest.room.removeprefix(NONE_FREE)}."]


def _reserving_advice(fits: NodeFits) -> Iterator[answer.Advice]:
    """Yields a first step that keeps later jobs from the room, and evicts nothing."""
    node, plugins = fits.nearest_node, fits.view.recording.conf.plugin_names()
    if node is None or not {CAPACITY, PROPORTION} & {*plugins}:
        return
    tasks = fits.view.unplaced_tasks
    names = [name for name, _ in node.short]
    request = amount_text.format_resource(sum_resources(task.init_resreq for task in tasks), names)
    queue = f"a queue of its own with guarantee {request} (spec.deserved at least as much)"
    words = f"Move {fits.view.job.uid} to {queue}: other queues then leave that free, until it is placed."
    yield answer.Advice.from_outside(words, answer.AdviceHarm.QUEUE).as_first_step(
        "nothing is placed before running pods end"
    )


NONE_FREE: Final = "none is free"


class NearestNode(NamedTuple):
    """The nearest node in words."""

    request: str
    """What the task asks of what the node lacks: `asks 1.5 cpu`."""
    room: str
    """`n1 comes closest with 1 free (0.5 short; also short: memory 2Gi)`."""


def _nearest_words(fits: NodeFits, node: NodeFit, has: str) -> NearestNode:
    (name, missing), *further = node.short
    request = f"asks {amount_text.format_named_amount(name, fits.task.init_resreq.get(name))}"
    also_short = f"also short: {amount_text.join_named_amounts(further)}" if further else ""
    if len(fits.node_fits) > 1 and fits.table.free_amounts(name, fits.node_fits).max() <= 0:
        return NearestNode(request, f"{NONE_FREE}{f' ({also_short})' if further else ''}")
    free = node.future_idle.get(name)
    short = "; ".join(filter(None, (f"{amount_text.format_amount(name, missing)} short", also_short)))
    if free < 0:
        over = amount_text.format_amount(name, -free)
        return NearestNode(request, f"pods on {node.name} hold {over} more than it has ({short})")
    nearest = f"{node.name} comes closest with" if free and len(fits.node_fits) > 1 else f"{node.name} {has}"
    return NearestNode(request, f"{nearest} {amount_text.format_amount(name, free)} free ({short})")


def _spread_out_facts(fits: NodeFits) -> list[str]:
    """A sentence about the free room of all nodes together, if only fragmentation blocks the task; else empty."""
    short, view = fits.of_kind("short", "too small"), fits.view
    names = fits.table.lacked(short)
    if len(short) < 2 or len(names) != 1 or PODS in names:
        return []
    name, on_nodes = names[0], np.maximum(fits.table.free_amounts(names[0], short), 0.0)
    free: float = on_nodes.cumsum()[-1].item()  # sum() adds in another order
    if free < fits.task.init_resreq.get(name):
        return []
    by_node = zip(short, on_nodes.tolist(), strict=True) if len(short) <= MAX_TAKERS else ()
    amounts = join_names(f"{node.name} {amount_text.format_amount(name, value)}" for node, value in by_node if value)
    spread = f"spread over {count_noun(len(short), 'node')}{f' ({amounts})' if by_node else ''}"
    free_text = amount_text.format_named_amount(name, free)
    enqueue_note = f"; {ENQUEUE} compares minResources with totals only" if _is_admitted(view) else ""
    return [f"{free_text} is free in total, but {spread}{enqueue_note}."]


def _is_admitted(view: JobView) -> bool:
    return ENQUEUE in view.actions and view.job.pod_group.min_resources is not None


def _excluded_room(fits: NodeFits) -> Iterator[str]:
    """Yields a sentence about free room on nodes that the task may not use, which enqueue counts as well."""
    view, node = fits.view, fits.nearest_node
    name = next((name for name, _ in node.short), "") if node is not None and _is_admitted(view) else ""
    refused = [node for reason in _CHOSEN_REASONS for node in fits.refused_for(reason)] if name else []
    # Conditions of nodes, which the cluster itself turns into taints, pass.
    excluded = [each for each in refused if not each.short and "node.kubernetes.io/" not in each.reason]
    free = fsum(each.future_idle.get(name) for each in excluded)
    if excluded and free >= fits.task.init_resreq.get(name):
        usable = fsum(each.allocatable.get(name) for each in fits.of_kind("short", "too small", "pods"))
        texts = [amount_text.format_named_amount(name, amount) for amount in (free, usable)]
        nodes = f"{join_names(each.name for each in excluded)}, which the pod may not use"
        limit = f"a queue with capability {texts[1]} would hold such jobs back"
        yield f"{texts[0]} is free on {nodes}; {ENQUEUE} counts it too, as it compares totals only ({limit})."


_CHOSEN_REASONS: Final = (placement_constraints.NODE_AFFINITY_REASON, "untolerated taint")
"""Parts of the reasons for which a job's owner or a node's admin keeps a pod off a node."""
