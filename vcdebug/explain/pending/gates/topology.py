"""Hard network topology: is there a HyperNode at all that could hold the job?"""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import count_noun
from vcdebug.explain import answer
from vcdebug.explain.answer import Evidence, Finding, count, owner_advice, pending_headline, queue_admin_advice
from vcdebug.explain.job_view import JobView
from vcdebug.framework.hooks import HYPER_NODE_GRADIENT_FOR_JOB, HYPER_NODE_GRADIENT_FOR_SUB_JOB
from vcdebug.model.names import Seq
from vcdebug.model.resource import Resource
from vcdebug.recording.state_before import sum_resources

NO_HYPER_NODE = "no-hypernode"
JOB_GRADIENT, SUB_JOB_GRADIENT = HYPER_NODE_GRADIENT_FOR_JOB.upstream, HYPER_NODE_GRADIENT_FOR_SUB_JOB.upstream


def no_hyper_node(view: JobView) -> Finding | None:
    """None unless allocate turned to the job and was given no HyperNode to try, for it or for any of its sub jobs."""
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
    tier = view.job.pod_group.network_topology
    highest = tier.hard_tier() if tier is not None else None
    stated = view.job.get_min_resources()
    waiting = view.left_over[: max(view.job.min_available - view.job.ready_task_num(), 1)]
    minimum = sum_resources(task.init_resreq for task in waiting) if stated.is_empty() else stated
    what = f"its {view.job.min_available} pods (minMember)" if stated.is_empty() else "its minResources"
    tried = [info for info in view.session.hyper_nodes.by_name.values() if highest is None or info.tier <= highest]
    within = f"up to tier {highest} " if highest is not None else ""
    headline = pending_headline(
        view.job.uid, f"no HyperNode {within}has room for {what} ({amount_text.format_resource(minimum)})"
    )
    were = "was" if len(tried) == 1 else "were"
    facts = (f"{count_noun(len(tried), 'HyperNode')} {were} checked by {event.plugin}, so no pod was tried on a node.",)
    numbers = {**answer.numbers("minResources", minimum), "hyperNodes": count(len(tried), "HyperNodes")}
    evidence = (Evidence(seq, f"{event.plugin} allows no HyperNode ({event.point})"),)
    advice = (
        owner_advice("Raise spec.networkTopology.highestTierAllowed, or set mode: soft."),
        owner_advice("Request less in spec.minResources."),
        queue_admin_advice("Free room in one HyperNode."),
    )
    lines = tuple(_hyper_node_lines(view, [info.name for info in tried], minimum, seq))
    return Finding(NO_HYPER_NODE, headline, numbers, evidence, advice, lines, facts)


def _hyper_node_lines(view: JobView, names: list[str], minimum: Resource, seq: Seq) -> Iterator[str]:
    state = view.recording.timeline.state_at(seq - 1)
    for name in names:
        rows = view.session.hyper_node_rows(name)
        idle = sum_resources(state.nodes[node].idle for node in (rows.node_names if rows is not None else ()))
        lacking = minimum.less_equal_with_resources_name(idle)[1]
        short = " and ".join(
            amount_text.format_named_amount(each, minimum.get(each) - idle.get(each)) for each in lacking
        )
        yield (f"{name}: {amount_text.format_resource(idle, minimum.resource_names())} idle, {short or '0'} short")
