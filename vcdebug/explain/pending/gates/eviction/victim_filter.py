"""The evicting action's own filter: who may be a candidate at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vcdebug.actions import PREEMPT, RECLAIM
from vcdebug.amount_text import count_noun
from vcdebug.explain.amounts import count, pod_lines
from vcdebug.explain.answer import (
    ADD_NODES_ADVICE,
    Advice,
    Evidence,
    Finding,
    cluster_admin_advice,
    owner_advice,
    queue_admin_advice,
)
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NEVER_CANDIDATE_RULES, NodeFits, SkippedVictim
from vcdebug.framework.action import (
    GROUP_NOT_PREEMPTABLE,
    NO_JOB,
    NOT_PREEMPTABLE,
    NOT_RECLAIMABLE,
    NOT_RUNNING,
    OTHER_QUEUE,
    SAME_QUEUE,
)
from vcdebug.grouping import group_by_key
from vcdebug.model.task import TaskInfo
from vcdebug.recording.visits import NodeTry, TaskTry

KEPT, UNRECLAIMABLE = "victims-not-preemptable", "queue-not-reclaimable"
RELEASING_PREFIX = "Releasing"
FLAG_ADVICE = queue_admin_advice('remove volcano.sh/preemptable: "false" from pods that may be evicted')


class FilterObjection(NamedTuple):
    """A reason with the pods that it keeps."""

    why: SkippedVictim
    pods: list[TaskInfo]


RankedObjections = Sequence[FilterObjection]
"""The most frequent first."""


def filter_finding(view: JobView, attempt: TaskTry, nodes: Sequence[NodeTry], room: NodeFits) -> tuple[Finding, bool]:
    """No candidate is left that would make room; and whether some node would have room without those that were the
    action's to take, but for a flag or a status.
    """
    here = room if room.task.key == attempt.task else NodeFits(view, view.tasks[attempt.task], room.seq)
    judged = [
        (node.node, each, here.skipped_victim(attempt.action, each))
        for node in nodes
        for each in here.tasks_on(node.node)
    ]
    order = rank_objections((each, why) for _, each, why in judged if why is not None)
    spared = len([why for _, _, why in judged if why is None])
    mine = group_by_key(
        (name, each) for name, each, why in judged if why is None or why.rule not in NEVER_CANDIDATE_RULES
    )
    in_domain = any(here.fits_without(name, pods) for name, pods in mine.items())
    return _build_finding(view, attempt, nodes, order, spared), in_domain


def rank_objections(spared: Iterable[tuple[TaskInfo, SkippedVictim]]) -> list[FilterObjection]:
    """By reason, the most frequent first."""
    found = group_by_key((why, task) for task, why in spared)
    return sorted((FilterObjection(*one) for one in found.items()), key=lambda one: (-len(one.pods), one.why.text))


def _filter_cause(order: RankedObjections) -> str:
    """The queue's flag, unless something else keeps more pods of other queues."""
    flagged = [pod for why, pods in order if why.rule == NOT_RECLAIMABLE for pod in pods]
    other = [pod for why, pods in order if why.rule not in (*NEVER_CANDIDATE_RULES, NOT_RECLAIMABLE) for pod in pods]
    return UNRECLAIMABLE if flagged and len(other) <= len(flagged) else KEPT


def format_objections(order: RankedObjections) -> str:
    """`12 in queue a; 3 of the same job`."""
    return "; ".join(f"{len(pods)} {why.text}" for why, pods in order) or "the nodes are empty"


def objection_lines(order: RankedObjections) -> tuple[str, ...]:
    """One line per reason, with some of the pods."""
    return pod_lines((why.text, [pod.key for pod in pods]) for why, pods in order)


def _build_finding(
    view: JobView, attempt: TaskTry, nodes: Sequence[NodeTry], order: RankedObjections, spared: int
) -> Finding:
    total = spared + len([pod for _, pods in order for pod in pods])
    left = f", and the {spared} left do not make enough room" if spared else ""
    sentence = (
        f"{attempt.action} finds nobody it may evict for {attempt.task_name}: of {count_noun(total, 'pod')} on "
        f"{count_noun(len(nodes), 'node')}, {format_objections(order)}{left}."
    )
    numbers = {
        "pods.onNodes": count(total, "pods"),
        "pods.candidates": count(spared, "pods"),
        "nodes.tried": count(len(nodes), "nodes"),
    }
    searches, votes = attempt.predicate_passes[-1:], [hook for node in nodes for hook in node.victim_votes]
    evidence = (
        *(
            Evidence(s, f"{attempt.action}: predicates leave {count_noun(len(e.feasible), 'node')}")
            for s, e in searches
        ),
        *(Evidence(s, f"{e.plugin} is offered {count_noun(len(e.candidates), 'candidate')}") for s, e in votes[:1]),
    )
    cause = _filter_cause(order)
    return Finding(cause, sentence, numbers, evidence, filter_advice(view, cause, order), objection_lines(order))


def filter_advice(view: JobView, cause: str, order: RankedObjections) -> tuple[Advice, ...]:
    """What would make candidates of some of them."""
    if cause == UNRECLAIMABLE:
        queue = next(view.session.jobs[pods[0].job].queue for why, pods in order if why.rule == NOT_RECLAIMABLE)
        edit = f"Queue/{queue}:spec.reclaimable=true"
        return (queue_admin_advice(f"set spec.reclaimable of queue {queue} to true", edit),)
    rules = [why.rule for why, _ in order]
    advice: dict[str, Advice] = {
        NOT_PREEMPTABLE: FLAG_ADVICE,
        GROUP_NOT_PREEMPTABLE: FLAG_ADVICE,
        **_missing_action_advice(view, OTHER_QUEUE, RECLAIM, "it takes from other queues, preempt only from the same"),
        **_missing_action_advice(view, SAME_QUEUE, PREEMPT, "it takes from the same queue, reclaim only from others"),
        NO_JOB: cluster_admin_advice("keep pods outside Volcano off these nodes: they are never evicted"),
    }
    found = list(dict.fromkeys(text for rule, text in advice.items() if rule in rules))
    if any(why.rule == NOT_RUNNING and not why.text.startswith(RELEASING_PREFIX) for why, _ in order):
        found.append(owner_advice("look at the next cycle: pods that were placed in this one can be evicted only then"))
    return tuple(found) or (owner_advice("wait for free room"), ADD_NODES_ADVICE)


def _missing_action_advice(view: JobView, rule: str, action: str, why: str) -> dict[str, Advice]:
    """The other action, where it is not configured."""
    there = ", ".join(view.actions)
    return {} if action in view.actions else {rule: cluster_admin_advice(f"put {action} into actions ({there}): {why}")}
