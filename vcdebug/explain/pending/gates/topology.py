"""Hard network topology: whether any HyperNode could hold the job."""

from collections.abc import Iterable, Iterator

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain import answer
from vcdebug.explain.answer import Evidence, Finding, count, owner_advice, pending_headline, queue_admin_advice
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.no_node import MAX_TAKERS, no_node_finding
from vcdebug.framework.hooks import HYPER_NODE_GRADIENT_FOR_JOB, HYPER_NODE_GRADIENT_FOR_SUB_JOB
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.recording.state_before import sum_resources
from vcdebug.releases.scheduling import HIGHEST_TIER_NAME_SUBGROUP

NO_HYPER_NODE = "no-hypernode"
JOB_GRADIENT, SUB_JOB_GRADIENT = HYPER_NODE_GRADIENT_FOR_JOB.upstream, HYPER_NODE_GRADIENT_FOR_SUB_JOB.upstream


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
    highest = group.network_topology.hard_tier() if group.network_topology is not None else None
    minimum_words, minimum = _job_minimum(view) if sub_job is None else _sub_job_minimum(view, sub_job)
    tried = [info for info in view.session.hyper_nodes.by_name.values() if highest is None or info.tier <= highest]
    within = f"up to tier {highest} " if highest is not None else ""
    headline = pending_headline(
        view.job.uid, f"no HyperNode {within}has room for {minimum_words} ({amount_text.format_resource(minimum)})"
    )
    were = f"{count_noun(len(tried), 'HyperNode')} {verb_for(len(tried), 'was')}"
    checked = f"{were} checked by {event.plugin}, so no pod was tried on a node."
    facts = (checked, *(() if sub_job is None else _tier_name_facts(view, sub_job, highest)))
    numbers = {**answer.numbers("minResources", minimum), "hyperNodes": count(len(tried), "HyperNodes")}
    evidence = (Evidence(seq, f"{event.plugin} allows no HyperNode ({event.point})"),)
    advice = (
        owner_advice("Raise spec.networkTopology.highestTierAllowed, or set mode: soft."),
        owner_advice("Request less in spec.minResources."),
        queue_admin_advice("Free room in one HyperNode."),
    )
    lines = tuple(_hyper_node_lines(view, [info.name for info in tried], minimum, seq))
    return Finding(NO_HYPER_NODE, headline, numbers, evidence, advice, lines, facts)


def full_hyper_nodes(view: JobView) -> Finding | None:
    """The finding if the HyperNodes that a hard topology allows are full, and pods or room of the job are known."""
    task = view.blocked_task
    searches = [seq for attempt in view.failed_tries(task.key) for seq, _ in attempt.empty_passes] if task else []
    calls = [call for visit in view.visits_of(ALLOCATE)[-1:] for call in visit.visit_calls(SUB_JOB_GRADIENT)]
    if task is None or not searches or not calls:
        return None
    # One list of HyperNodes per tier.
    names = [*dict.fromkeys(name for _, event in calls for tier in event.result for name in tier)]
    rows = (view.session.hyper_node_rows(name) for name in names)
    allowed = dict.fromkeys(node for one in rows if one is not None for node in one.node_names)
    outside = [node.name for node in NodeFits(view, task, searches[-1]).free_nodes if node.name not in allowed]
    fits = NodeFits(view, task, searches[-1], allowed)
    placed = len([each for each in view.job.tasks.values() if each.node_name in allowed])
    if fits.free_nodes or not (outside or placed):
        return None
    inside, where = no_node_finding(task, fits), f"HyperNode{'s' if len(names) > 1 else ''} {join_names(names)}"
    like = f", where its {count_noun(placed, 'placed pod')} {verb_for(placed, 'is')}" if placed else ""
    topology = view.job.pod_group.network_topology
    tier = topology.hard_tier() if topology is not None else None
    rule = f"networkTopology hard{f', tier {tier}' if tier is not None else ''}"
    headline = pending_headline(
        view.job.uid, f"{task.name} may use only {where}{like} ({rule}), and no node there fits it"
    )
    reason = inside.reason if inside.reason.startswith(task.name) else amount_text.capitalize_first(inside.reason)
    fit = [f"{join_names(outside, 3)} {verb_for(len(outside), 'has')} room for it outside."] if outside else []
    facts = (f"{reason}.", *_other_users(fits, allowed, where), *fit)
    evidence = (*inside.evidence, Evidence(calls[-1][0], f"{calls[-1][1].plugin} allows {join_names(names)}"))
    advice = (
        owner_advice("Raise spec.networkTopology.highestTierAllowed, or set mode: soft."),
        queue_admin_advice(f"Free room in {where}."),
    )
    return Finding(NO_HYPER_NODE, headline, inside.numbers, evidence, advice, inside.lines, facts)


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


def _job_minimum(view: JobView) -> tuple[str, Resource]:
    """(words, amount) that a HyperNode must hold for the job: minResources, else the pods up to minMember."""
    min_resources = view.job.get_min_resources()
    if not min_resources.is_empty():
        return "its minResources", min_resources
    pending_tasks = view.unplaced_tasks[: max(view.job.min_available - view.job.ready_task_num(), 1)]
    return f"its {view.job.min_available} pods (minMember)", sum_resources(task.init_resreq for task in pending_tasks)


def _sub_job_minimum(view: JobView, sub_job: SubJobInfo) -> tuple[str, Resource]:
    """(words, amount) that a HyperNode must hold for a subgroup: all its Pending pods, whatever its minimum."""
    pending_tasks = [task for task in view.unplaced_tasks if task.uid in sub_job.tasks]
    name = sub_job.uid.removeprefix(f"{view.job.uid}/")
    pods_words = f"the {count_noun(len(pending_tasks), 'pod')} of subgroup {name}"
    return pods_words, sum_resources(task.init_resreq for task in pending_tasks)


def _tier_name_facts(view: JobView, sub_job: SubJobInfo, tier: int | None) -> Iterator[str]:
    """Yields a sentence: the tier that highestTierName means, and which releases ignore the name."""
    policies = [policy for policy in view.job.pod_group.sub_group_policies if sub_job.gid.endswith(f"/{policy.name}")]
    for topology in (policy.network_topology for policy in policies):
        if topology is not None and topology.highest_tier_name and tier is not None:
            name = f"highestTierName {topology.highest_tier_name} of the subGroupPolicy means tier {tier}"
            change = HIGHEST_TIER_NAME_SUBGROUP
            yield f"{name}; releases before {join_names(change.fixed_in)} ignore it ({change.pull})."


def _hyper_node_lines(view: JobView, names: list[str], minimum: Resource, seq: Seq) -> Iterator[str]:
    state = view.recording.timeline.state_at(seq - 1)
    for name in names:
        rows = view.session.hyper_node_rows(name)
        idle = sum_resources(state.nodes[node].idle for node in (rows.node_names if rows is not None else ()))
        short_dimensions = minimum.less_equal_with_resources_name(idle)[1]
        shortage_words = " and ".join(
            amount_text.format_named_amount(each, minimum.get(each) - idle.get(each)) for each in short_dimensions
        )
        dimensions = [each for each in minimum.resource_names() if each != PODS or each in short_dimensions]
        yield f"{name}: {amount_text.format_resource(idle, dimensions)} idle, {shortage_words or '0'} short"
