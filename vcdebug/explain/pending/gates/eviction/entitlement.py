"""May the job evict at all: does it starve, is its preemptionPolicy Never, does a nominated node forbid it?"""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug import amount_text
from vcdebug.actions import PREEMPT
from vcdebug.amount_text import count_noun
from vcdebug.explain import answer
from vcdebug.explain.answer import Evidence, Finding, cluster_admin_advice, count, owner_advice, proof_of
from vcdebug.explain.job_view import JobView
from vcdebug.framework.hooks import JOB_STARVING, PRE_PREDICATE, PREDICATE
from vcdebug.model.task import TaskInfo
from vcdebug.recording.visits import JobVisit, TaskTry
from vcdebug.releases.scheduling import PREEMPT_WITH_TOPOLOGY

NOT_STARVING = "not-starving"
POLICY_NEVER = "preemption-policy-never"
NETWORK_TOPOLOGY = "network-topology"
NOT_ELIGIBLE = "not-eligible-to-preempt"


def not_starving_finding(view: JobView, action: str, task: TaskInfo) -> Finding:
    """The action's turn never came, because the job does not starve."""
    answers = [(seq, event) for seq, event in view.calls_during(action, JOB_STARVING.upstream) if not event.result]
    served = view.recording.snapshot.release.has_older_form(PREEMPT_WITH_TOPOLOGY)
    if action == PREEMPT and view.job.contains_network_topology() and not served:
        return _topology_finding(view, action, task)
    counts = view.recording.timeline.state_at(view.action_starts(action) or 0).job_counts(view.job.uid)
    who = answers[0][1].plugin if answers else "no plugin"
    reason = (
        f"{counts.ready_count} ready + {counts.waiting_count} waiting for room >= minMember {counts.min_available}"
        if answers
        else "no plugin with JobStarving is enabled, so no job ever starves"
    )
    sentence = (
        f"{view.job.uid} may not {action} for its {count_noun(len(view.left_over), 'pending pod')}: {who} "
        f"{'says that it does not starve' if answers else 'speaks for it'} ({reason}), and no node has room for "
        f"{task.name} ({amount_text.format_resource(task.init_resreq)})."
    )
    numbers = {
        "pods.ready": count(counts.ready_count, "pods"),
        "pods.waiting": count(counts.waiting_count, "pods"),
        "pods.pending": count(len(view.left_over), "pods"),
        "job.minAvailable": count(counts.min_available, "pods"),
        **answer.numbers("request", task.init_resreq),
    }
    if not answers:
        enable = cluster_admin_advice("enable gang or priority (enableJobStarving) in a tier of the configuration")
        return Finding(NOT_STARVING, sentence, numbers, _start_evidence(view, action), (enable,))
    evidence = proof_of(answers[0][0], f"JobStarving: {who} says no")
    advice = (
        owner_advice("wait for free room: pods beyond minMember never cost others theirs"),
        owner_advice(
            f"raise minMember above {counts.ready_count + counts.waiting_count}, so that the gang counts as incomplete"
        ),
    )
    lines = (
        (
            f"starving = waiting {counts.waiting_count} + ready {counts.ready_count} < "
            f"minMember {counts.min_available}: no"
        ),
    )
    return Finding(NOT_STARVING, sentence, numbers, evidence, advice, lines)


def _topology_finding(view: JobView, action: str, task: TaskInfo) -> Finding:
    """preempt never visits a job with a network topology."""
    sentence = (
        f"{action} leaves {view.job.uid} out because it states a network topology (spec.networkTopology): {action} "
        f"considers no such job, and no node has room for {task.name} "
        f"({amount_text.format_resource(task.init_resreq)})."
    )
    advice = (
        owner_advice("take networkTopology out of the PodGroup", f"PodGroup/{view.job.uid}:spec.networkTopology-"),
        cluster_admin_advice("use gangpreempt, which knows network topologies"),
    )
    numbers = answer.numbers("request", task.init_resreq)
    return Finding(NETWORK_TOPOLOGY, sentence, numbers, _start_evidence(view, action), advice)


def _start_evidence(view: JobView, action: str) -> tuple[Evidence, ...]:
    return proof_of(view.action_starts(action), f"{action} starts, and never turns to the job")


def never_preempt_finding(view: JobView, visit: JobVisit, task: TaskInfo) -> Finding:
    """The finding for a pod whose preemptionPolicy is Never."""
    name = task.pod.priority_class_name
    source = f" (priority class {name})" if name else ""
    candidates = count_noun(len([t for t in visit.tries if view.tasks[t.task].pod.preemption_policy == "Never"]), "pod")
    sentence = (
        f"{task.name} may not evict anybody: its preemptionPolicy is Never{source}, so {visit.action} skips it, and no "
        f"node has room for {amount_text.format_resource(task.init_resreq)}."
    )
    attempt = next(one for one in visit.tries if one.task == task.key)
    end = visit.end[0] if visit.end is not None else None
    evidence = (
        Evidence(attempt.first - 1, f"{visit.action} takes up {task.key} and leaves it at once"),
        *proof_of(end, f"{visit.action} gives up: {candidates} tried, no victim looked at"),
    )
    advice = (
        owner_advice("use a priority class whose preemptionPolicy is PreemptLowerPriority, or wait for free room"),
    )
    return Finding(POLICY_NEVER, sentence, answer.numbers("request", task.init_resreq), evidence, advice)


def ineligible_reason(view: JobView, attempt: TaskTry) -> str | None:
    """Why preempt left the pod out because of its nominated node, in a few words."""
    node = view.tasks[attempt.task].pod.nominated_node_name
    if attempt.action != PREEMPT or not node or attempt.predicate_passes or attempt.task_calls(PRE_PREDICATE.upstream):
        return None
    if node not in view.session.nodes:
        return f"its nominated node {node} is not in the session"
    if any(event.result is not None for _, event in attempt.task_calls(PREDICATE.upstream)):
        return f"a pod that was preempted for it is still leaving its nominated node {node}"
    return f"its nominated node {node} takes it without evicting anybody (already schedulable)"


def not_eligible_finding(view: JobView, tries: Sequence[TaskTry]) -> Finding | None:
    """None unless preempt left one of these pods out because of its nominated node."""
    reasons = ((attempt, ineligible_reason(view, attempt)) for attempt in tries)
    attempt, reason = next(((attempt, reason) for attempt, reason in reasons if reason), (None, ""))
    if attempt is None:
        return None
    task = view.tasks[attempt.task]
    sentence = f"{task.name} may not preempt: {reason}, so preempt leaves it out, and plans nothing for it."
    passed = [(seq, e.plugin) for seq, e in attempt.task_calls(PREDICATE.upstream) if e.result is None]
    asked = tuple(Evidence(seq, f"{plugin} has nothing against the nominated node") for seq, plugin in passed[:1])
    evidence = asked or (Evidence(attempt.first - 1, f"preempt takes up {task.key} and leaves it at once"),)
    advice = (
        owner_advice(
            f"clear status.nominatedNodeName of {task.name}, so that preempt considers it",
            f"Pod/{task.key}:status.nominatedNodeName-",
        ),
        owner_advice("see why allocate does not place it there"),
    )
    return Finding(NOT_ELIGIBLE, sentence, answer.numbers("request", task.init_resreq), evidence, advice)
