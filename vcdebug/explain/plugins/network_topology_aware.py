"""network-topology-aware: how full a HyperNode would be, how close a node is to its job, and HyperNodes without room.

Upstream: plugins/network-topology-aware.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import count_noun, format_number, join_names, verb_for
from vcdebug.explain.answer import Advice, Cause, Evidence, Finding, Flaw, amount_numbers, counts, pending_headline
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.fit_table import NodeFit
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.no_node import no_node_finding
from vcdebug.explain.pending.room_takers import MAX_TAKERS
from vcdebug.explain.pending.unread_settings import KEEPS, soft_rule
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.framework.hooks import HYPER_NODE_GRADIENT_FOR_JOB, HYPER_NODE_GRADIENT_FOR_SUB_JOB, HYPER_NODE_ORDER
from vcdebug.framework.record import HookEvent
from vcdebug.framework.subject import PURPOSE, name_in
from vcdebug.linear_pattern import compile_pattern
from vcdebug.model.hyper_nodes import TOP_HYPER_NODE, HyperNodeInfo, HyperNodes
from vcdebug.model.job import JobInfo
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.pod_group import hard_tier_of
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.network_topology_aware import JobNearness, NetworkTopologyAware, NodeNearness, ResourceFill
from vcdebug.plugins.network_topology_aware.domains import (
    GradientRequest,
    HyperNodeDomains,
    has_room,
    is_eligible,
    iter_reachable,
    search_root,
)
from vcdebug.plugins.network_topology_aware.nodes_only import NodesOnly
from vcdebug.recording.effects import hyper_nodes_of_soft
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import session_at_event
from vcdebug.recording.state_before import sum_resources
from vcdebug.releases.scheduling import ALLOCATE_TOPOLOGY_TIERS, HIGHEST_TIER_NAME_SUBGROUP, NTA_HYPERNODE_SCORE
from vcdebug.snapshot.manifest import object_in, object_list, owner_names, spec_of

JOB_GRADIENT, SUB_JOB_GRADIENT = HYPER_NODE_GRADIENT_FOR_JOB.upstream, HYPER_NODE_GRADIENT_FOR_SUB_JOB.upstream
FILL_FORMULA = "mean over tiers by weight of (used + request) / allocatable of the HyperNode; none counts as full"
NEAR_FORMULA = "(highest tier − tier of the common one) / (highest − lowest tier); the closest add their share of tasks"
FULLEST_FORMULA = "weighted mean of (used + request) / allocatable; the fullest add their share of the tasks"
CLOSEST_FORMULA = "by the tier of the HyperNode in common with the job's; the closest add their share of the tasks"
DOMAIN_FORMULA = "tier ≤ highest tier allowed, and room for minResources: in idle, future idle, or all of it to evict"
FILL_COLUMNS = ("used + request", "of", "weight", "part")
DOMAIN_COLUMNS = ("tier", "highest allowed", "minResources", "room")
SEVERAL_CLOSEST = "several nodes are the closest"


def score_equation(node: AskedNode, part: str) -> Equation | None:
    """One of the two scores that the plugin gives."""
    plugin = node.session.plugins[NetworkTopologyAware.name]
    assert isinstance(plugin, NetworkTopologyAware | NodesOnly)
    nearness = plugin.node_nearness(node.task, node.nodes, node.row)
    if nearness is None:
        return None
    near = nearness.near
    return _tiers_equation(node, nearness) if near is None else _closeness_equation(node, near, nearness)


def _closeness_equation(node: AskedNode, near: JobNearness, nearness: NodeNearness) -> Equation:
    share, tie = (near.share, SEVERAL_CLOSEST) if near.is_tied else (0.0, f"counts only where {SEVERAL_CLOSEST}")
    terms = (
        Term("closeness", (near.hyper_node, near.allocated, near.common_hyper_node, Ratio(near.closeness)), None),
        Term("share of the tasks", (near.hyper_node, None, None, Ratio(share)), None, tie),
    )
    title, columns = f"network topology: how close {node.node.name} is", ("HyperNode", "the job's", "common", "part")
    note = f"sum × {format_number(nearness.scale)} = {format_number(nearness.score)}"
    return Equation(title, NEAR_FORMULA, columns, "check", terms, nearness.score, None, note)


def _tiers_equation(asked_node: AskedNode, nearness: NodeNearness) -> Equation:
    terms: list[Term] = []
    for tier in nearness.tiers:
        name = tier.hyper_node or "no HyperNode"
        terms.append(Term(f"tier {tier.tier}", (name, None, None, Ratio(tier.weight), Ratio(tier.score)), None))
        for fill in tier.fills:
            part = Ratio(fill.used_after / fill.capacity) if fill.capacity else None
            terms.append(
                Term(f"tier {tier.tier} {fill.name}", (fill.used_after, fill.capacity, fill.weight, None, part), None)
            )
    title = f"network topology: HyperNodes of {asked_node.node.name}"
    columns = ("used + request", "of", "weight of it", "weight", "part")
    mean = nearness.score / nearness.scale if nearness.scale else 0.0
    note = f"mean {format_number(mean)} × {format_number(nearness.scale)} = {format_number(nearness.score)}"
    return Equation(title, FILL_FORMULA, columns, "dimension", tuple(terms), nearness.score, None, note)


# HyperNodes that may be tried, and how full a sub job would make each.


def order_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """The score of each HyperNode that has room for the sub job."""
    scores = dict(event.result) if isinstance(event.result, Mapping) else {}
    fills = _fills_at(recording, seq, event.sub_job, scores)
    terms: list[Term] = []
    for name, score in scores.items():
        terms.append(Term(name, (None, None, None, Ratio(score)), None))
        for fill in fills.get(name, ()):
            part = Ratio(fill.used_after / fill.capacity) if fill.capacity else None
            terms.append(Term(f"{name} {fill.name}", (fill.used_after, fill.capacity, fill.weight, part), None))
    best = max(scores, key=lambda name: scores[name], default="")
    formula = FULLEST_FORMULA if fills else CLOSEST_FORMULA
    title = f"network topology: HyperNodes for {event.sub_job}"
    return Equation(title, formula, FILL_COLUMNS, "dimension", tuple(terms), None, best or None)


def _fills_at(
    recording: Recording, seq: Seq, sub_job: str, hyper_nodes: Iterable[str]
) -> Mapping[str, tuple[ResourceFill, ...]]:
    """HyperNode → how full the sub job would make it; empty in older releases, or if the session cannot be rebuilt."""
    session = session_at_event(recording, seq)
    plugin = None if session is None else session.plugins[NetworkTopologyAware.name]
    if session is None or not isinstance(plugin, NetworkTopologyAware):
        return {}
    info = session.jobs[recording.owners.sub_jobs[sub_job]].sub_jobs[sub_job]
    return plugin.hyper_node_fills(info, hyper_nodes)


def gradient_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """The HyperNodes that may be tried: one term for each at or below the HyperNode of the call."""
    session, hyper_node, name = session_at_event(recording, seq), event.hyper_node, event.sub_job or event.job
    plugin = None if session is None else session.plugins[NetworkTopologyAware.name]
    title = f"network topology: HyperNodes that {name} may try"
    request = None
    if session is not None and isinstance(plugin, NetworkTopologyAware):
        job = session.jobs[event.job or recording.owners.sub_jobs[event.sub_job]]
        purpose = int(name_in(event.subject, PURPOSE) or 0)
        request = plugin.gradient_request(job.sub_jobs[event.sub_job] if event.sub_job else job, purpose)
    if request is None or not isinstance(plugin, NetworkTopologyAware):
        root_term = Term(hyper_node, (None, None, None, None), True)
        formula = f"no hard topology: {hyper_node} is tried as a whole"
        return Equation(title, formula, DOMAIN_COLUMNS, "check", (root_term,), None)
    terms = tuple(_domain_terms(plugin.domains, hyper_node, request))
    note = f"{request.allocated} is allocated already: room is not asked about" if request.allocated else ""
    return Equation(title, DOMAIN_FORMULA, DOMAIN_COLUMNS, "check", terms, None, None, note)


def _domain_terms(domains: HyperNodeDomains, hyper_node: str, request: GradientRequest) -> Iterator[Term]:
    for name in iter_reachable(domains, search_root(domains.tree, hyper_node, request)):
        info = domains.tree.by_name[name]
        figures = (info.tier, request.tier, request.minimum, has_room(domains.amounts[name], request))
        yield Term(name, figures, is_eligible(domains, info, request))


EXPLAINER = PluginExplainer(
    equations={
        HYPER_NODE_ORDER.upstream: order_equation,
        HYPER_NODE_GRADIENT_FOR_JOB.upstream: gradient_equation,
        HYPER_NODE_GRADIENT_FOR_SUB_JOB.upstream: gradient_equation,
    },
    scores=score_equation,
)


# Hard network topology: whether any HyperNode could hold the job

_RAISE_TIER: Final = Advice.for_owner("Raise spec.networkTopology.highestTierAllowed, or set mode: soft.")


def no_hyper_node(view: JobView) -> Finding | None:
    """The finding if allocate visited the job and no HyperNode was eligible for it or any sub job; else None."""
    if any(visit.tries for visit in view.visits_of(ALLOCATE)):
        return None
    visits = view.visits_of(ALLOCATE)[-1:]
    answers = [hook for visit in visits for hook in visit.visit_calls(JOB_GRADIENT)]
    if not answers:
        return None
    if answers[-1][1].result:
        answers = [hook for visit in visits for hook in visit.visit_calls(SUB_JOB_GRADIENT)]
    if not answers or any(event.result for _, event in answers):
        return None
    seq, event = answers[-1]
    sub_job = view.job.sub_jobs.get(event.sub_job) if event.sub_job != view.job.uid else None
    group = view.job.pod_group if sub_job is None else sub_job
    highest = hard_tier_of(group.network_topology)
    minimum_words, minimum = _minimum_for(view, sub_job)
    tried = _hyper_nodes_up_to(view, highest)
    within = f"up to tier {highest} " if highest is not None else ""
    reason = f"no HyperNode {within}has room for {minimum_words} ({amount_text.format_resource(minimum)})"
    rooms = sorted(_hyper_node_room(view, info.name, minimum, seq) for info in tried)
    nearest = f" (closest is {rooms[0][1]})" if rooms and rooms[0][0] else ""
    found = f"checked {count_noun(len(tried), 'HyperNode')} and found none with room{nearest}"
    checked = f"{event.plugin} {found}, so no pod was tried on a node."
    task = view.blocked_task
    free = [node.name for node in NodeFits(view, task, seq).free_nodes] if task is not None else []
    unlisted = [*_unlisted_nodes(view, free, highest)]
    in_one = unlisted or (hyper_node_rooms(view) if sub_job is None else [])
    numbers = {**amount_numbers("minResources", minimum), **counts({"hyperNodes": len(tried)})}
    evidence = (Evidence(seq, f"{event.plugin} allows no HyperNode ({event.point})"),)
    advice = (
        _RAISE_TIER,
        Advice.for_owner("Request less in spec.minResources."),
        Advice.queue_admin("Free room in one HyperNode."),
    )
    finding = view.pending(
        Cause.NO_HYPER_NODE, reason, numbers, evidence, advice, tuple(words for _, words in rooms), (checked,)
    )
    return finding.with_additions(*in_one, in_front=True)


def full_hyper_nodes(view: JobView) -> Finding | None:
    """The finding if the HyperNodes that a hard topology allows are full, and pods or room of the job are known."""
    task = view.blocked_task
    passes = [one for attempt in view.failed_tries(task.key) for one in attempt.empty_passes] if task else []
    calls = [call for visit in view.visits_of(ALLOCATE)[-1:] for call in visit.visit_calls(SUB_JOB_GRADIENT)]
    tier = hard_tier_of(view.job.pod_group.network_topology)
    if task is None or not passes or (not calls and tier is None):
        return None
    # One list of HyperNodes per tier. In releases without the hook, those of which nodes were searched.
    names = [*dict.fromkeys(name for _, event in calls for tier_names in event.result for name in tier_names)]
    names = names if calls else [info.name for info in _hyper_nodes_up_to(view, tier)]
    rows = {name: one for name in names if (one := view.session.hyper_node_rows(name)) is not None}
    if not calls:
        searched = {row for _, event in passes for row in event.failed.tolist()}
        rows = {name: one for name, one in rows.items() if not searched.isdisjoint(one.rows.tolist())}
    names, allowed = [*rows], dict.fromkeys(node for one in rows.values() for node in one.node_names)
    outside = [node.name for node in NodeFits(view, task, passes[-1][0]).free_nodes if node.name not in allowed]
    fits = NodeFits(view, task, passes[-1][0], allowed)
    placed = len([each for each in view.job.tasks.values() if each.node_name in allowed])
    if fits.free_nodes or not (outside or placed):
        return None
    inside, where = no_node_finding(task, fits), f"HyperNode{'s' if len(names) > 1 else ''} {join_names(names)}"
    like = f", where its {count_noun(placed, 'placed pod')} {verb_for(placed, 'is')}" if placed else ""
    rule = f"networkTopology hard{f', tier {tier}' if tier is not None else ''}"
    headline = pending_headline(
        view.job.uid, f"{task.name} may use only {where}{like} ({rule}), and no node there fits it"
    )
    reason = inside.reason if inside.reason.startswith(task.name) else amount_text.capitalize_first(inside.reason)
    fit = [f"{join_names(outside, 3)} {verb_for(len(outside), 'has')} room for it outside."] if outside else []
    unlisted = [*_unlisted_nodes(view, outside, tier)]
    facts = (f"{reason}.", *_other_users(fits, allowed, where), *(() if unlisted else fit))
    allows = f"{calls[-1][1].plugin} allows {join_names(names)}" if calls else f"the nodes of {join_names(names)} alone"
    evidence = (*inside.evidence, Evidence(calls[-1][0] if calls else passes[-1][0], allows))
    advice = (_RAISE_TIER, Advice.queue_admin(f"Free room in {where}."))
    finding = Finding(Cause.NO_HYPER_NODE, headline, inside.numbers, evidence, advice, inside.lines, facts)
    return finding.with_additions(*unlisted, in_front=True)


def _hyper_nodes_up_to(view: JobView, tier: int | None) -> list[HyperNodeInfo]:
    """The HyperNodes up to a tier, all without one; not the one above all, which stands for the whole cluster."""
    infos = (info for info in view.session.hyper_nodes.by_name.values() if info.name != TOP_HYPER_NODE)
    return [info for info in infos if tier is None or info.tier <= tier]


MAX_LISTED_ROOMS = 4
ORPHANED = ("", TOP_HYPER_NODE)
"""Parents of a HyperNode that is no member of another one."""


def hyper_node_rooms(view: JobView) -> list[str | Advice]:
    """Sentences: for how many pods of the job each HyperNode has room, where no allowed one has room for all; advice.

    Empty without a hard topology, for jobs that run in part, and if all nodes together lack the room.
    """
    tier = hard_tier_of(view.job.pod_group.network_topology)
    end, tasks = view.action_ends(ALLOCATE), view.unplaced_tasks
    needed = min(view.job.min_available, len(tasks))
    if tier is None or end is None or not tasks or view.job.ready_task_num():
        return []
    by_request = {tuple(task.init_resreq.items()): task for task in tasks}
    fits = ((request, NodeFits(view, task, end).free_nodes) for request, task in by_request.items())
    free = {request: {node.name: node for node in nodes} for request, nodes in fits}
    allowed, tree = _hyper_nodes_up_to(view, tier), view.session.hyper_nodes
    names = dict.fromkeys(info.name for info in allowed if info.manifest)
    tops = sorted(name for name in names if not any(one in names for one in tree.get_ancestors(name)[1:]))
    total = _pods_with_room(tasks, free, view.session.nodes, needed)
    rooms = {name: _pods_with_room(tasks, free, tree.real_nodes.get(name) or (), needed) for name in tops}
    if not rooms or total < needed or max(rooms.values()) >= needed:
        return []
    ranked = sorted(rooms, key=lambda name: -rooms[name])
    (first, *others), more = ranked[:MAX_LISTED_ROOMS], len(ranked) - MAX_LISTED_ROOMS
    listed = [f"{first} has room for {rooms[first]} of the {count_noun(needed, 'pod')}"]
    listed += [f"{name} for {rooms[name]}" for name in others]
    listed += [f"{more} more for at most {rooms[ranked[MAX_LISTED_ROOMS]]}"] if more > 0 else []
    rule = f"networkTopology (hard) keeps the job in one HyperNode up to tier {tier}"
    packing, release = NTA_HYPERNODE_SCORE, view.recording.snapshot.release
    fills = f"{release.display_name()} does not fill one HyperNode before the next"
    # From the nodes of the session, since a HyperNode may select others.
    busy = dict.fromkeys(name for name, node in view.session.nodes.items() if node.tasks)
    used = [name for name in rooms if not busy.keys().isdisjoint(tree.real_nodes.get(name) or ())]
    is_split = release.has_older_form(packing) and len(used) > 1
    later = [f"{fills}; {join_names(packing.fixed_in)} does ({packing.pull})."] if is_split else []
    rooms_fact = f"{rule}: {join_names(listed, len(listed))}; all nodes together have room for {total}."
    return [rooms_fact, *later, *_empty_hyper_node(allowed, tree)]


RequestKey = tuple[tuple[str, float], ...]
FreeNodes = Mapping[RequestKey, Mapping[NodeName, NodeFit]]
"""What a pod asks → the nodes with room for it, in the order of their names."""


def _pods_with_room(tasks: Iterable[TaskInfo], free: FreeNodes, within: Iterable[NodeName], most: int) -> int:
    """How many of the pods find room, each on the first of these nodes that fits it, up to a number."""
    names = sorted(within)
    left = {request: iter([nodes[name] for name in names if name in nodes]) for request, nodes in free.items()}
    rooms, current, count = dict[NodeName, Resource](), dict[RequestKey, NodeFit | None](), 0
    for task in tasks:
        request = tuple(task.init_resreq.items())
        node = current[request] if request in current else next(left[request], None)
        # Room only shrinks, so a node that is too full for a request stays so.
        while node and not task.init_resreq.less_equal(rooms.get(node.name, node.future_idle)):
            node = next(left[request], None)
        current[request] = node
        if node:
            rooms[node.name] = rooms.get(node.name, node.future_idle).clone().sub(task.init_resreq)
            count += 1
        if count == most:
            break
    return count


def no_room_in_one(view: JobView) -> Finding | None:
    """The finding in releases that try each HyperNode, if none of them had room and the last one held no pod."""
    visits, rooms = view.visits_of(ALLOCATE)[-1:], hyper_node_rooms(view)
    tier = hard_tier_of(view.job.pod_group.network_topology)
    if not rooms or not visits or visits[0].planned_tasks or visits[0].visit_calls(JOB_GRADIENT):
        return None
    reason = f"no HyperNode up to tier {tier} has room for its {count_noun(view.job.min_available, 'pod')} at once"
    evidence = (Evidence(visits[0].first, "allocate tries the HyperNodes one after another"),)
    advice = (_RAISE_TIER, Advice.queue_admin("Free room in one HyperNode."))
    return view.pending(Cause.NO_HYPER_NODE, reason, {}, evidence, advice).with_additions(*rooms, in_front=True)


def none_of_tier(view: JobView) -> Finding | None:
    """The finding in releases that try no pod of a job with a hard topology without a HyperNode of its tiers."""
    tier, end, task = hard_tier_of(view.job.pod_group.network_topology), view.action_ends(ALLOCATE), view.blocked_task
    in_tiers = view.recording.snapshot.release.has_older_form(ALLOCATE_TOPOLOGY_TIERS)
    if tier is None or end is None or task is None or not in_tiers or _hyper_nodes_up_to(view, tier):
        return None
    reason = f"networkTopology (hard) asks for one HyperNode up to tier {tier}, but the session has none"
    evidence = Evidence(end, "allocate has no HyperNode to try")
    finding = view.pending(Cause.NO_HYPER_NODE, reason, {}, (evidence,), (_RAISE_TIER,))
    free = [node.name for node in NodeFits(view, task, end).free_nodes]
    return finding.with_additions(*_unlisted_nodes(view, free, tier), in_front=True)


def _empty_hyper_node(infos: Sequence[HyperNodeInfo], tree: HyperNodes) -> Iterator[str | Advice]:
    """Yields why the first HyperNode without nodes has none: its members state a pattern, or exist nowhere."""
    for info in [one for one in infos if one.manifest and not tree.real_nodes.get(one.name)][:1]:
        members = [object_in(member) for member in object_list(spec_of(info.manifest).get("members"))]
        selectors = [object_in(one.get("selector")) for one in members if one.get("type") == "HyperNode"]
        patterns = [object_in(one.get("regexMatch")).get("pattern") for one in selectors if "exactMatch" not in one]
        none, states = f"HyperNode {info.name} has no nodes", _selector_words(info)
        if not patterns:
            yield f"{none}: {states} matches nothing in the snapshot."
            return
        yield f"{none}: of members of type HyperNode only exactMatch is read, and it states {states}."
        matches = [compile_pattern(pattern) for pattern in patterns if pattern]
        below = [one.name for one in tree.by_name.values() if one.tier < info.tier and one.parent in ORPHANED]
        names = [name for name in below if any(match(name) for match in matches)]
        listed = ", ".join(f"{{type: HyperNode, selector: {{exactMatch: {{name: {name}}}}}}}" for name in names)
        edits = (f"HyperNode/{info.name}:spec.members=[{listed}]",) if names else ()
        words = f"HyperNode {info.name}: name each member with exactMatch ({join_names(names) or 'one entry each'})."
        yield Advice.cluster_admin(words, *edits).as_repair()


def _unlisted_nodes(view: JobView, free: Sequence[NodeName], tier: int | None) -> Iterator[str | Advice]:
    """Yields a sentence and advice about nodes with room that no HyperNode up to the tier selects."""
    infos = _hyper_nodes_up_to(view, tier)
    listed = {node: None for info in infos for node in view.session.hyper_nodes.real_nodes.get(info.name) or ()}
    unlisted = [node for node in free if node not in listed]
    if not unlisted or tier is None:
        return
    selectors = join_names((f"{info.name}: {_selector_words(info)}" for info in infos), 2)
    selected = f" ({selectors})" if selectors else ""
    names, are = join_names(unlisted, 3), verb_for(len(unlisted), "is")
    have = f"{names} {verb_for(len(unlisted), 'has')} room for it, but {are} in no HyperNode up to tier {tier}"
    members = ", ".join(f"{{type: Node, selector: {{exactMatch: {{name: {node}}}}}}}" for node in unlisted)
    spec = f"{{tier: {tier}, members: [{members}]}}"
    edit = f"HyperNode/{_NEW_HYPER_NODE}:+={{apiVersion: topology.volcano.sh/v1alpha1, spec: {spec}}}"
    words = f"Put {names} into a HyperNode of tier {tier}, if they share its network."
    yield f"{have}{selected}."
    yield Advice.cluster_admin(words, edit).as_repair()


_NEW_HYPER_NODE = "added"


def _selector_words(info: HyperNodeInfo) -> str:
    """How a HyperNode selects its members: `regexMatch gpu-a-.*`."""
    words: dict[str, None] = {}
    for member in object_list(spec_of(info.manifest).get("members")):
        for kind, rule in object_in(member.get("selector")).items():
            stated = object_in(rule)
            labels = ", ".join(f"{key}={value}" for key, value in object_in(stated.get("matchLabels")).items())
            words[f"{kind} {stated.get('name') or stated.get('pattern') or labels or 'of expressions'}"] = None
    return join_names(words, 3)


def _other_users(fits: NodeFits, nodes: Iterable[NodeName], where: str) -> Iterator[str]:
    """Yields a sentence: the pods of other jobs on these nodes that use what the task lacks, the largest first."""
    nearest = fits.nearest_node
    if nearest is None:
        return
    name = nearest.short[0][0]
    tasks = [task for node in nodes for task in fits.tasks_on(node) if task.job != fits.view.job.uid]
    users = amount_text.rank_by_amount({task.key: used for task in tasks if (used := task.resreq.get(name)) > 0})
    if users:
        yield f"In use by other jobs in {where} ({name}): {amount_text.join_ranked_amounts(name, users, MAX_TAKERS)}."


def _minimum_for(view: JobView, sub_job: SubJobInfo | None) -> tuple[str, Resource]:
    """(words, amount) that a HyperNode must hold: a subgroup's Pending pods; minResources, or pods up to minMember."""
    min_resources, job = view.job.get_min_resources(), view.job
    if sub_job is not None:
        pending = [task for task in view.unplaced_tasks if task.uid in sub_job.tasks]
        words = f"the {count_noun(len(pending), 'pod')} of subgroup {sub_job.uid.removeprefix(f'{job.uid}/')}"
    elif not min_resources.is_empty():
        return "its minResources", min_resources
    else:
        pending = view.unplaced_tasks[: max(job.min_available - job.ready_task_num(), 1)]
        words = f"its {count_noun(job.min_available, 'pod')} (minMember)"
    return words, sum_resources(task.init_resreq for task in pending)


def _hyper_node_room(view: JobView, name: str, minimum: Resource, seq: Seq) -> tuple[float, str]:
    """(the largest part of a needed amount that is not idle, what is idle of how much and what lacks)."""
    rows, state = view.session.hyper_node_rows(name), view.recording.timeline.state_at(seq - 1)
    nodes = rows.node_names if rows is not None else ()
    idle = sum_resources(state.nodes[node].idle for node in nodes)
    whole = sum_resources(view.session.nodes[node].allocatable for node in nodes)
    lacks = {each: minimum.get(each) - idle.get(each) for each in minimum.less_equal_with_resources_name(idle)[1]}
    shortage_words = " and ".join(amount_text.format_named_amount(each, lack) for each, lack in lacks.items())
    dimensions = [*lacks] or [each for each in minimum.resource_names() if each != PODS]
    idle_words, whole_words = (amount_text.format_resource(amount, dimensions) for amount in (idle, whole))
    words = f"{name}: {idle_words} idle of {whole_words}, {shortage_words or '0'} short"
    return max((lack / minimum.get(each) for each, lack in lacks.items()), default=0.0), words


# HyperNodes of the pods that are placed


def topology_facts(view: JobView) -> Iterator[str | Flaw]:
    """Yields sentences about the HyperNodes of the placed pods: broken hard topologies, and soft ones that spread."""
    topology, release = view.job.pod_group.network_topology, view.recording.snapshot.release
    tier = hard_tier_of(topology)
    nodes = dict.fromkeys(task.node_name for task in view.tasks.values() if task.node_name)
    if tier is not None and len({_hyper_node_of(view, node, tier) for node in nodes}) > 1:
        placed = join_names(f"{node} ({_hyper_node_of(view, node, tier) or 'none'})" for node in nodes)
        fault = f"The pods are in different HyperNodes up to tier {tier}, against spec.networkTopology (hard): {placed}"
        actions = join_names(action for action in view.actions if view.facts_of(action).evicts_by_pod)
        yield f"{fault}; {actions or 'an action'} of {release.display_name()} does not check HyperNodes."
        yield Flaw.TOPOLOGY_BROKEN
    yield from _sibling_facts(view, tier)
    homes = hyper_nodes_of_soft(view.recording, view.job)
    if len(homes) > 1:
        places = join_names(f"{name or 'none'} ({count_noun(number, 'pod')})" for name, number in homes.items())
        yield f"spec.networkTopology is soft, so {soft_rule(view.recording)}, and the pods are in {places}; {KEEPS}."
    topologies = (policy.network_topology for policy in view.job.pod_group.sub_group_policies)
    ignored = [one.highest_tier_name for one in topologies if one is not None and one.highest_tier_name]
    if ignored and release.has_older_form(HIGHEST_TIER_NAME_SUBGROUP):
        fix = f"fixed in {join_names(HIGHEST_TIER_NAME_SUBGROUP.fixed_in)} ({HIGHEST_TIER_NAME_SUBGROUP.pull})"
        ignored_field = f"highestTierName of a subGroupPolicy ({join_names(ignored)})"
        yield f"{release.display_name()} ignores {ignored_field}, so the pods need not stay together; {fix}."


def _sibling_facts(view: JobView, tier: int | None) -> Iterator[str]:
    """Yields a sentence about another PodGroup of the same owner in another HyperNode, which no topology relates."""
    (task, start), owner = (next(iter(view.placed_tasks), None), view.action_starts(ALLOCATE)), _owner_of(view.job)
    if tier is None or task is None or start is None or not owner:
        return
    own = _hyper_node_of(view, task.node_name, tier)
    for job in (job for job in view.session.jobs.values() if job is not view.job and _owner_of(job) == owner):
        nodes = [one.node_name for one in job.tasks.values() if one.node_name]
        home = _hyper_node_of(view, nodes[0], tier) if nodes else ""
        if home and own and home != own:
            rows = view.session.hyper_node_rows(home)
            inside = rows.node_names if rows is not None else ()
            free = (fit.name for fit in NodeFits(view, task, start).free_nodes if fit.name in inside)
            room = f"there {join_names(free, 2) or 'no node'} had room for {task.name}"
            keeps = "one PodGroup with subGroupPolicy would keep both together"
            yield f"{job.name} of {owner} is in {home} ({room}): networkTopology holds within one PodGroup; {keeps}."
            return


def _owner_of(job: JobInfo) -> str:
    """`PodCliqueSet ns/name`: the first owner of a job's PodGroup; empty without one."""
    kind, _, name = next(iter(owner_names(job.pod_group.manifest)), "").partition(" ")
    return f"{kind} {job.namespace}/{name}" if name else ""


def _hyper_node_of(view: JobView, node: NodeName, tier: int) -> str:
    """The highest HyperNode up to a tier that holds the node; empty if none does."""
    ranked = sorted(view.session.hyper_nodes.by_name.values(), key=lambda info: (-info.tier, info.name))
    for info in ranked:
        rows = view.session.hyper_node_rows(info.name) if info.tier <= tier else None
        if rows is not None and node in rows.node_names:
            return info.name
    return ""
