"""The evicting action's own filter: who may be a candidate at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vcdebug.actions import PREEMPT, RECLAIM
from vcdebug.amount_text import plural
from vcdebug.explain.amounts import count, pod_lines
from vcdebug.explain.answer import MORE_NODES, Advice, Evidence, Finding, cluster, owner, sharers
from vcdebug.explain.candidates import ELSEWHERE, Spared
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.framework.evictions import (
    GROUP_NOT_PREEMPTABLE,
    NO_JOB,
    NOT_PREEMPTABLE,
    NOT_RECLAIMABLE,
    NOT_RUNNING,
    OTHER_QUEUE,
    SAME_QUEUE,
)
from vcdebug.grouping import by_key
from vcdebug.model.task import TaskInfo
from vcdebug.trace.visits import NodeTry, TaskTry

KEPT, UNRECLAIMABLE = "victims-not-preemptable", "queue-not-reclaimable"
LEAVING = "Releasing"
FLAGGED = sharers('remove volcano.sh/preemptable: "false" from pods that may be evicted')


class Objection(NamedTuple):
    """A reason with the pods that it keeps."""

    why: Spared
    pods: list[TaskInfo]


Objections = Sequence[Objection]
"""The most frequent first."""


def filtered(view: JobView, attempt: TaskTry, nodes: Sequence[NodeTry], room: NodeFits) -> tuple[Finding, bool]:
    """No candidate is left that would make room; and whether some node would have room without those that were the
    action's to take, but for a flag or a status.
    """
    here = room if room.task.key == attempt.task else NodeFits(view, view.tasks[attempt.task], room.seq)
    judged = [
        (node.node, each, here.spared(attempt.action, each)) for node in nodes for each in here.tasks_on(node.node)
    ]
    order = ranked((each, why) for _, each, why in judged if why is not None)
    spared = len([why for _, _, why in judged if why is None])
    mine = by_key((name, each) for name, each, why in judged if why is None or why.rule not in ELSEWHERE)
    in_domain = any(here.fits_without(name, pods) for name, pods in mine.items())
    return _finding(view, attempt, nodes, order, spared), in_domain


def ranked(spared: Iterable[tuple[TaskInfo, Spared]]) -> list[Objection]:
    """By reason, the most frequent first."""
    found = by_key((why, task) for task, why in spared)
    return sorted((Objection(*one) for one in found.items()), key=lambda one: (-len(one.pods), one.why.text))


def _cause(order: Objections) -> str:
    """The queue's flag, unless something else keeps more pods of other queues."""
    flagged = [pod for why, pods in order if why.rule == NOT_RECLAIMABLE for pod in pods]
    other = [pod for why, pods in order if why.rule not in (*ELSEWHERE, NOT_RECLAIMABLE) for pod in pods]
    return UNRECLAIMABLE if flagged and len(other) <= len(flagged) else KEPT


def told(order: Objections) -> str:
    """`12 in queue a; 3 of the same job`."""
    return "; ".join(f"{len(pods)} {why.text}" for why, pods in order) or "the nodes are empty"


def objection_lines(order: Objections) -> tuple[str, ...]:
    """One line per reason, with some of the pods."""
    return pod_lines((why.text, [pod.key for pod in pods]) for why, pods in order)


def _finding(view: JobView, attempt: TaskTry, nodes: Sequence[NodeTry], order: Objections, spared: int) -> Finding:
    total = spared + len([pod for _, pods in order for pod in pods])
    left = f", and the {spared} left do not make enough room" if spared else ""
    sentence = (
        f"{attempt.action} finds nobody it may evict for {attempt.name}: of {plural(total, 'pod')} on "
        f"{plural(len(nodes), 'node')}, {told(order)}{left}."
    )
    numbers = {
        "pods.onNodes": count(total, "pods"),
        "pods.candidates": count(spared, "pods"),
        "nodes.tried": count(len(nodes), "nodes"),
    }
    searches, votes = attempt.searches[-1:], [hook for node in nodes for hook in node.votes]
    evidence = (
        *(Evidence(s, f"{attempt.action}: predicates leave {plural(len(e.feasible), 'node')}") for s, e in searches),
        *(Evidence(s, f"{e.plugin} is offered {plural(len(e.candidates), 'candidate')}") for s, e in votes[:1]),
    )
    cause = _cause(order)
    return Finding(cause, sentence, numbers, evidence, filter_advice(view, cause, order), objection_lines(order))


def filter_advice(view: JobView, cause: str, order: Objections) -> tuple[Advice, ...]:
    """What would make candidates of some of them."""
    if cause == UNRECLAIMABLE:
        queue = next(view.session.jobs[pods[0].job].queue for why, pods in order if why.rule == NOT_RECLAIMABLE)
        edit = f"Queue/{queue}:spec.reclaimable=true"
        return (sharers(f"set spec.reclaimable of queue {queue} to true", edit),)
    rules = [why.rule for why, _ in order]
    advice: dict[str, Advice] = {
        NOT_PREEMPTABLE: FLAGGED,
        GROUP_NOT_PREEMPTABLE: FLAGGED,
        **_lacking(view, OTHER_QUEUE, RECLAIM, "it takes from other queues, preempt only from the same"),
        **_lacking(view, SAME_QUEUE, PREEMPT, "it takes from the same queue, reclaim only from others"),
        NO_JOB: cluster("keep pods outside Volcano off these nodes: they are never evicted"),
    }
    found = list(dict.fromkeys(text for rule, text in advice.items() if rule in rules))
    if any(why.rule == NOT_RUNNING and not why.text.startswith(LEAVING) for why, _ in order):
        found.append(owner("look at the next cycle: pods that were placed in this one can be evicted only then"))
    return tuple(found) or (owner("wait for free room"), MORE_NODES)


def _lacking(view: JobView, rule: str, action: str, why: str) -> dict[str, Advice]:
    """The other action, where it is not configured."""
    there = ", ".join(view.actions)
    return {} if action in view.actions else {rule: cluster(f"put {action} into actions ({there}): {why}")}
