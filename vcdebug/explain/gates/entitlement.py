"""May the job evict at all? Starving, preemption policy, Preemptive."""

from __future__ import annotations

from vcdebug.explain import amounts
from vcdebug.explain.amounts import count, plural
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.job_view import JobView
from vcdebug.explain.visits import Visit
from vcdebug.model.task import TaskInfo

NOT_STARVING = "not-starving"
POLICY_NEVER = "preemption-policy-never"
NETWORK_TOPOLOGY = "network-topology"
PREEMPT = "preempt"


def not_starving(view: JobView, action: str, task: TaskInfo) -> Finding:
    """The action's turn never came, because the job does not starve."""
    start, end = view.action_starts(action) or 0, view.action_ends(action)
    answers = [(s, e) for s, e in view.hooks("JobStarving") if s > start and (end is None or s < end) and not e.result]
    if action == PREEMPT and view.job.contains_network_topology():
        return _topology(view, action, task)
    counts = view.recording.timeline.state_at(start).job(view.job.uid)
    evidence = tuple(Evidence(s, f"JobStarving: {e.plugin} says no") for s, e in answers[:1])
    who = answers[0][1].plugin if answers else "no plugin"
    reason = (
        f"{counts.ready} ready + {counts.waiting} waiting for room >= minMember {counts.min_available}"
        if answers
        else "no plugin with JobStarving is enabled, so no job ever starves"
    )
    sentence = (
        f"{view.job.uid} may not {action} for its {plural(len(view.left_over), 'pending pod')}: {who} "
        f"{'says that it does not starve' if answers else 'speaks for it'} ({reason}), and no node has room for "
        f"{task.name} ({amounts.resource(task.init_resreq)})."
    )
    numbers = {
        "pods.ready": count(counts.ready, "pods"),
        "pods.waiting": count(counts.waiting, "pods"),
        "pods.pending": count(len(view.left_over), "pods"),
        "job.minAvailable": count(counts.min_available, "pods"),
        **amounts.numbers("request", task.init_resreq),
    }
    if not answers:
        advice: tuple[str, ...] = ("enable gang or priority (enableJobStarving) in a tier of the configuration",)
        return Finding(NOT_STARVING, sentence, numbers, _start(view, action), advice)
    advice = (
        "wait for free room: pods beyond minMember never cost others theirs",
        f"or raise minMember above {counts.ready + counts.waiting}, so that the gang counts as incomplete",
    )
    lines = (f"starving = waiting {counts.waiting} + ready {counts.ready} < minMember {counts.min_available}: no",)
    return Finding(NOT_STARVING, sentence, numbers, evidence, advice, lines)


def _topology(view: JobView, action: str, task: TaskInfo) -> Finding:
    """preempt never turns to a job that states a network topology."""
    sentence = (
        f"{action} leaves {view.job.uid} out because it states a network topology (spec.networkTopology): {action} "
        f"considers no such job, and no node has room for {task.name} ({amounts.resource(task.init_resreq)})."
    )
    advice = ("use gangpreempt, which knows network topologies, or take networkTopology out of the PodGroup",)
    return Finding(
        NETWORK_TOPOLOGY, sentence, amounts.numbers("request", task.init_resreq), _start(view, action), advice
    )


def _start(view: JobView, action: str) -> tuple[Evidence, ...]:
    start = view.action_starts(action)
    return (Evidence(start, f"{action} starts, and never turns to the job"),) if start is not None else ()


def never(view: JobView, visit: Visit, task: TaskInfo) -> Finding:
    """preemptionPolicy: Never."""
    name = task.pod.priority_class_name
    source = f" (priority class {name})" if name else ""
    candidates = plural(len([t for t in visit.tries if view.tasks[t.task].pod.preemption_policy == "Never"]), "pod")
    sentence = (
        f"{task.name} may not evict anybody: its preemptionPolicy is Never{source}, so {visit.action} skips it, and no "
        f"node has room for {amounts.resource(task.init_resreq)}."
    )
    attempt = next(one for one in visit.tries if one.task == task.key)
    evidence: tuple[Evidence, ...] = (
        Evidence(attempt.first - 1, f"{visit.action} takes up {task.key} and leaves it at once"),
    )
    if visit.end is not None:
        evidence = (
            *evidence,
            Evidence(visit.end[0], f"{visit.action} gives up: {candidates} tried, no victim looked at"),
        )
    advice = ("use a priority class whose preemptionPolicy is PreemptLowerPriority, or wait for free room",)
    return Finding(POLICY_NEVER, sentence, amounts.numbers("request", task.init_resreq), evidence, advice)
