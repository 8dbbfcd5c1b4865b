"""preempt asks each pod first whether it may evict at all: one with a nominated node often may not."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.explain import amounts
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.job_view import JobView
from vcdebug.explain.visits import TaskTry

NOT_ELIGIBLE = "not-eligible-to-preempt"
PREEMPT = "preempt"


def ineligible(view: JobView, attempt: TaskTry) -> str | None:
    """Why preempt left the pod out because of its nominated node, in a few words."""
    node = view.tasks[attempt.task].pod.nominated_node_name
    if attempt.action != PREEMPT or not node or attempt.searches or attempt.hooks("PrePredicate"):
        return None
    if node not in view.session.nodes:
        return f"its nominated node {node} is not in the session"
    if any(event.result is not None for _, event in attempt.hooks("Predicate")):
        return f"a pod that was preempted for it is still leaving its nominated node {node}"
    return f"its nominated node {node} takes it without evicting anybody (already schedulable)"


def not_eligible(view: JobView, tries: Sequence[TaskTry]) -> Finding | None:
    """None unless preempt left one of these pods out because of its nominated node."""
    for attempt in tries:
        reason = ineligible(view, attempt)
        if reason is not None:
            return _finding(view, attempt, reason)
    return None


def _finding(view: JobView, attempt: TaskTry, reason: str) -> Finding:
    task = view.tasks[attempt.task]
    sentence = f"{task.name} may not preempt: {reason}, so preempt leaves it out, and plans nothing for it."
    passed = [(seq, e.plugin) for seq, e in attempt.hooks("Predicate") if e.result is None]
    asked = tuple(Evidence(seq, f"{plugin} has nothing against the nominated node") for seq, plugin in passed[:1])
    evidence = asked or (Evidence(attempt.first - 1, f"preempt takes up {task.key} and leaves it at once"),)
    advice = (
        f"clear status.nominatedNodeName of {task.name}, so that preempt considers it",
        "or see why allocate does not place it there",
    )
    return Finding(NOT_ELIGIBLE, sentence, amounts.numbers("request", task.init_resreq), evidence, advice)
