"""The evicting action's own filter: who may be a candidate at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vcdebug.explain.amounts import count, listed, plural
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.case import Case
from vcdebug.explain.room import Room
from vcdebug.explain.visits import NodeTry, TaskTry
from vcdebug.model.names import TaskKey

NOT_PREEMPTABLE = "victims-not-preemptable"
NOT_RECLAIMABLE = "queue-not-reclaimable"
SAME_QUEUE, OTHER_QUEUE, SAME_JOB, OUTSIDE = "in the same queue", "in queue ", "of the same job", "outside Volcano"
UNRECLAIMABLE = "is not reclaimable"


@dataclass(frozen=True, slots=True)
class Filtered:
    """What the filter removed."""

    finding: Finding
    in_domain: bool
    """Whether some of them were the action's to take, but for a flag or a status."""


def filtered(case: Case, attempt: TaskTry, nodes: Sequence[NodeTry], room: Room) -> Filtered:
    """No candidate is left that would make room."""
    here = room if room.task.key == attempt.task else Room(case, case.tasks[attempt.task], room.seq)
    objections: dict[str, list[TaskKey]] = {}
    spared = 0
    for node in nodes:
        for victim in here.tasks_on(node.node):
            objection = here.objection(attempt.action, victim)
            if objection is None:
                spared += 1
            else:
                objections.setdefault(objection, []).append(victim.key)
    unreclaimable = [text for text in objections if text.endswith(UNRECLAIMABLE)]
    most = max(objections, key=lambda text: len(objections[text]), default="")
    cause = NOT_RECLAIMABLE if unreclaimable and not _other_flags(objections) else NOT_PREEMPTABLE
    finding = _finding(cause, attempt, nodes, objections, spared)
    return Filtered(finding, bool(most) and any(not _elsewhere(text) for text in objections))


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


def _finding(
    cause: str, attempt: TaskTry, nodes: Sequence[NodeTry], objections: dict[str, list[TaskKey]], spared: int
) -> Finding:
    total = spared
    for keys in objections.values():
        total += len(keys)
    order = sorted(objections.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    text = "; ".join(f"{len(keys)} {reason}" for reason, keys in order) or "the nodes are empty"
    left = f", and the {spared} left do not make enough room" if spared else ""
    name = attempt.task.rpartition("/")[2]
    sentence = (
        f"{attempt.action} finds nobody it may evict for {name}: of {plural(total, 'pod')} on "
        f"{plural(len(nodes), 'node')}, {text}{left}."
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
    lines = tuple(f"{plural(len(keys), 'pod')}: {reason}  ({listed(keys)})" for reason, keys in order)
    return Finding(cause, sentence, numbers, tuple(evidence), _advice(cause, order), lines)


def _advice(cause: str, order: Sequence[tuple[str, list[TaskKey]]]) -> tuple[str, ...]:
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
    return tuple(advice) or ("wait for free room, or add nodes",)
