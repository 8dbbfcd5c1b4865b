"""The evicting action's own filter: who may be a candidate at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vcdebug.explain.amounts import count, listed, plural
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.visits import NodeTry, TaskTry
from vcdebug.model.names import TaskKey
from vcdebug.model.task import TaskInfo

NOT_PREEMPTABLE = "victims-not-preemptable"
NOT_RECLAIMABLE = "queue-not-reclaimable"
SAME_QUEUE, OTHER_QUEUE, SAME_JOB, OUTSIDE = "in the same queue", "in queue ", "of the same job", "outside Volcano"
UNRECLAIMABLE = "is not reclaimable"
NOT_YET = ", not Running"


@dataclass(frozen=True, slots=True)
class Filtered:
    """What the filter removed."""

    finding: Finding
    in_domain: bool
    """Whether some node would have room without those that were the action's to take, but for a flag or a status."""


def filtered(view: JobView, attempt: TaskTry, nodes: Sequence[NodeTry], room: NodeFits) -> Filtered:
    """No candidate is left that would make room."""
    here = room if room.task.key == attempt.task else NodeFits(view, view.tasks[attempt.task], room.seq)
    objections: dict[str, list[TaskKey]] = {}
    spared, in_domain = 0, False
    for node in nodes:
        mine: list[TaskInfo] = []
        for victim in here.tasks_on(node.node):
            objection = here.objection(attempt.action, victim)
            if objection is None:
                spared += 1
            else:
                objections.setdefault(objection, []).append(victim.key)
            if objection is None or not _elsewhere(objection):
                mine.append(victim)
        in_domain = in_domain or (bool(mine) and here.would_fit(node.node, mine))
    unreclaimable = [text for text in objections if text.endswith(UNRECLAIMABLE)]
    cause = NOT_RECLAIMABLE if unreclaimable and not _other_flags(objections) else NOT_PREEMPTABLE
    finding = _finding(cause, attempt, nodes, objections, spared)
    return Filtered(finding, in_domain)


def _elsewhere(text: str) -> bool:
    """Whether the pods were never the action's to take, whatever their flags."""
    if text.endswith(UNRECLAIMABLE):
        return False
    return text in (SAME_QUEUE, SAME_JOB, OUTSIDE) or text.startswith(OTHER_QUEUE)


def _other_flags(objections: dict[str, list[TaskKey]]) -> bool:
    """Whether something else than the queue's flag keeps as many pods of other queues."""
    flagged = [key for text, keys in objections.items() if text.endswith(UNRECLAIMABLE) for key in keys]
    other = [
        key
        for text, keys in objections.items()
        if not text.endswith(UNRECLAIMABLE) and not _elsewhere(text)
        for key in keys
    ]
    return len(other) > len(flagged)


Objections = Sequence[tuple[str, list[TaskKey]]]
"""Reason and the pods that it keeps, most frequent first."""


def ranked(objections: dict[str, list[TaskKey]]) -> Objections:
    """Most frequent first."""
    return sorted(objections.items(), key=lambda entry: (-len(entry[1]), entry[0]))


def told(order: Objections) -> str:
    """`12 in queue a; 3 of the same job`."""
    return "; ".join(f"{len(keys)} {reason}" for reason, keys in order) or "the nodes are empty"


def objection_lines(order: Objections) -> tuple[str, ...]:
    """One line per reason, with some of the pods."""
    return tuple(f"{plural(len(keys), 'pod')}: {reason}  ({listed(keys)})" for reason, keys in order)


def _finding(
    cause: str, attempt: TaskTry, nodes: Sequence[NodeTry], objections: dict[str, list[TaskKey]], spared: int
) -> Finding:
    total = spared
    for keys in objections.values():
        total += len(keys)
    order = ranked(objections)
    left = f", and the {spared} left do not make enough room" if spared else ""
    name = attempt.task.rpartition("/")[2]
    sentence = (
        f"{attempt.action} finds nobody it may evict for {name}: of {plural(total, 'pod')} on "
        f"{plural(len(nodes), 'node')}, {told(order)}{left}."
    )
    numbers = {
        "pods.onNodes": count(total, "pods"),
        "pods.candidates": count(spared, "pods"),
        "nodes.tried": count(len(nodes), "nodes"),
    }
    votes = [hook for node in nodes for hook in node.hooks("Preemptable", "Reclaimable")]
    evidence = [
        Evidence(seq, f"{attempt.action}: predicates leave {plural(len(e.feasible), 'node')}")
        for seq, e in attempt.searches[-1:]
    ]
    evidence += [
        Evidence(seq, f"{e.plugin} is offered {plural(len(dict(e.subject)['candidates']), 'candidate')}")
        for seq, e in votes[:1]
    ]
    return Finding(cause, sentence, numbers, tuple(evidence), filter_advice(cause, order), objection_lines(order))


def filter_advice(cause: str, order: Objections) -> tuple[str, ...]:
    """What would make candidates of some of them."""
    if cause == NOT_RECLAIMABLE:
        queue = next(text.split()[2].rstrip(",") for text, _ in order if text.endswith(UNRECLAIMABLE))
        return (f"set spec.reclaimable of queue {queue} to true",)
    reasons = [text for text, _ in order]
    advice = []
    if any("preemptable false" in text for text in reasons):
        advice.append('remove volcano.sh/preemptable: "false" from pods that may be evicted')
    if any(_elsewhere(text) and text.startswith(OTHER_QUEUE) for text in reasons):
        advice.append("preempt takes only from the same queue: reclaim takes from others")
    if any(text == SAME_QUEUE for text in reasons):
        advice.append("reclaim takes only from other queues: preempt takes from the same one")
    if any(text == OUTSIDE for text in reasons):
        advice.append("pods outside Volcano are never evicted: keep them off these nodes")
    if any(text.endswith(NOT_YET) and not text.startswith("Releasing") for text in reasons):
        advice.append("look at the next cycle: pods that were placed in this one can be evicted only then")
    return tuple(advice) or ("wait for free room, or add nodes",)
