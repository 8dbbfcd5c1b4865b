"""Whether the job may evict at all: starvation, preemptionPolicy Never, nominated nodes."""

from collections.abc import Sequence
from typing import Final

from vcdebug import amount_text
from vcdebug.actions import PREEMPT
from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain.answer import Advice, Cause, Evidence, Finding, amount_numbers, counts, proof_of
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.room_takers import HYPER_NODE_ROOMS, MAX_TAKERS, user_facts
from vcdebug.framework.hooks import JOB_STARVING, PRE_PREDICATE, PREDICATE
from vcdebug.framework.registry import resolve_reference
from vcdebug.model.pod import PREEMPTABLE_KEY
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import TDM
from vcdebug.recording.visits import JobVisit, TaskTry, refusals_in
from vcdebug.releases.scheduling import PREEMPT_WITH_TOPOLOGY


def not_starving_finding(view: JobView, action: str, task: TaskInfo) -> Finding:
    """The finding if an evicting action did not try the job because no plugin reports it as starving."""
    calls, job = view.calls_during(action, JOB_STARVING.upstream), view.job.uid
    answers = refusals_in(calls)
    preempts_topology = view.recording.snapshot.release.has_older_form(PREEMPT_WITH_TOPOLOGY)
    if action == PREEMPT and view.job.contains_network_topology() and not preempts_topology:
        return _topology_finding(view, action, task)
    # In the state at the answer: the action itself may have placed the pods up to minMember.
    at_end = view.action_ends(action) if calls else view.action_starts(action)
    asked_at = answers[0][0] if answers else at_end or len(view.recording)
    placed = view.recording.timeline.state_at(asked_at).job_counts(job)
    ready, waiting, minimum = placed.ready_count, placed.waiting_count, placed.min_available
    numbers = {
        **counts({"pods.ready": ready, "pods.waiting": waiting, "pods.pending": len(view.unplaced_tasks)}),
        **counts({"job.minAvailable": minimum}),
        **amount_numbers("request", task.init_resreq),
    }
    room = room_facts(view, task)
    if not calls:
        reason = f"{action} acts only for starving jobs, and no enabled plugin reports starvation (enableJobStarving)"
        enabling = Advice.cluster_admin("Enable gang or priority (enableJobStarving) in the scheduler configuration.")
        evidence = _start_evidence(view, action)
        return view.pending(Cause.NOT_STARVING, reason, numbers, evidence, (enabling,)).with_additions(*room)
    plugin = (answers or calls)[0][1].plugin
    unstarved = f"JobStarving: {plugin} reports that the job does not starve"
    if plugin == TDM and view.job.preemptable:
        reason = f'{action} does not act for it, since {PREEMPTABLE_KEY} is "true" and {plugin} lets no such job evict'
        remove = f"Remove {PREEMPTABLE_KEY} from PodGroup {job}, if its pods may evict and may not be evicted."
        key, evidence = f"[{PREEMPTABLE_KEY}]-", proof_of(asked_at, unstarved)
        edits = (f"PodGroup/{job}:metadata.annotations{key}", f"PodGroup/{job}:metadata.labels{key}")
        advice = (Advice.for_owner("Wait for free room."), Advice.for_owner(remove, *edits))
        return view.pending(Cause.NOT_STARVING, reason, numbers, evidence, advice).with_additions(*room)
    counts_text = f"{ready} ready, {waiting} pipelined, minMember {minimum}"
    reason = f"it has its minMember ({counts_text}); {action} acts only for jobs below it"
    evidence = proof_of(asked_at, unstarved if answers else f"{action} ends, and the job has its minMember")
    wait_reason = f"{plugin} does not report pods above minMember as starving, so {action} does not evict for them"
    above = f"Raise minMember above {ready + waiting}, so that the job counts as starving."
    edit = f"PodGroup/{job}:spec.minMember={ready + waiting + 1}"
    advice = (Advice.for_owner(f"Wait for free room: {wait_reason}."), Advice.for_owner(above, edit))
    lines = (f"starving = waiting {waiting} + ready {ready} < minMember {minimum}: no",)
    return view.pending(Cause.NOT_STARVING, reason, numbers, evidence, advice, lines).with_additions(*room)


NO_FREE_ROOM: Final = "No node has free room for"


def room_facts(view: JobView, task: TaskInfo) -> list[str | Advice]:
    """A sentence about the nodes with free room for the task at the end of the cycle: that none has it, which have it,
    or the room in each HyperNode that a hard topology allows; advice about HyperNodes.
    """
    fits = NodeFits(view, task, len(view.recording))
    if free := join_names((node.name for node in fits.free_nodes), MAX_TAKERS):
        have = verb_for(len(fits.free_nodes), "has")
        return resolve_reference(HYPER_NODE_ROOMS)(view) or [f"{free} {have} free room for {task.name}."]
    if fits.waiting_nodes and not fits.of_kind("pods", "short"):
        reason, names = fits.reason_histogram[0]
        return [f"No node fits {task.name}; {count_noun(len(names), 'node')}: {reason}."]
    return [f"{NO_FREE_ROOM} {task.name} ({amount_text.format_resource(task.init_resreq)})."]


def _topology_finding(view: JobView, action: str, task: TaskInfo) -> Finding:
    """The finding for a job with a network topology, which preempt of this release never visits."""
    reason = f"{action} skips jobs with spec.networkTopology"
    edit = f"PodGroup/{view.job.uid}:spec.networkTopology-"
    advice = (
        Advice.for_owner(f"Remove spec.networkTopology from PodGroup {view.job.uid}.", edit),
        Advice.cluster_admin("Use the gangpreempt action, which supports network topologies."),
    )
    numbers, evidence = amount_numbers("request", task.init_resreq), _start_evidence(view, action)
    finding = view.pending(Cause.NETWORK_TOPOLOGY, reason, numbers, evidence, advice)
    return finding.with_additions(*room_facts(view, task))


def _start_evidence(view: JobView, action: str) -> tuple[Evidence, ...]:
    return proof_of(view.action_starts(action), f"{action} starts, and never tries the job")


def never_preempt_finding(view: JobView, visit: JobVisit, task: TaskInfo) -> Finding:
    """The finding for a pod whose preemptionPolicy is Never."""
    name, action = task.pod.priority_class_name, visit.action
    source = f" (PriorityClass {name})" if name else ""
    skipped = [one for one in visit.tries if view.tasks[one.task].pod.preemption_policy == "Never"]
    fits = NodeFits(view, task, len(view.recording))
    reason = f"no node has free room for {task.name}, and its preemptionPolicy Never rules out {action}{source}"
    if fits.free_nodes:
        # Of a gang, one pod may have room where all together have none.
        reason = f"preemptionPolicy Never of {task.name} rules out {action}{source}"
    facts = (f"It asks {amount_text.format_resource(task.init_resreq)}.", *user_facts(fits))
    first = next(tried for tried in visit.tries if tried.task == task.key).first
    end, pods = visit.end[0] if visit.end is not None else None, count_noun(len(skipped), "pod")
    ended = proof_of(end, f"{action} ends with {pods} skipped and no node searched")
    evidence = (Evidence(first - 1, f"{action} skips {task.key}"), *ended)
    use = "Use a PriorityClass with preemptionPolicy PreemptLowerPriority, or wait for free room."
    numbers, advice = amount_numbers("request", task.init_resreq), (Advice.for_owner(use),)
    return view.pending(Cause.POLICY_NEVER, reason, numbers, evidence, advice, facts=facts)


def ineligible_reason(view: JobView, attempt: TaskTry) -> str | None:
    """Why preempt skipped the pod because of its nominated node, in a few words; None if it did not."""
    node = view.tasks[attempt.task].pod.nominated_node_name
    if attempt.action != PREEMPT or not node or attempt.predicate_passes or attempt.task_calls(PRE_PREDICATE.upstream):
        return None
    if node not in view.session.nodes:
        return f"its nominated node {node} is not in the session"
    if any(event.result is not None for _, event in attempt.task_calls(PREDICATE.upstream)):
        return f"a pod that it preempted is still terminating on its nominated node {node}"
    return f"it already fits its nominated node {node} without evictions"


def not_eligible_finding(view: JobView, tries: Sequence[TaskTry]) -> Finding | None:
    """The finding about the first pod that preempt skipped because of its nominated node; None without one."""
    reasons = ((attempt, ineligible_reason(view, attempt)) for attempt in tries)
    attempt, why = next(((attempt, reason) for attempt, reason in reasons if reason), (None, ""))
    if attempt is None:
        return None
    task, calls = view.tasks[attempt.task], attempt.task_calls(PREDICATE.upstream)
    passes = [(seq, event.plugin) for seq, event in calls if event.result is None]
    accepted = tuple(Evidence(seq, f"{plugin} accepts the nominated node") for seq, plugin in passes[:1])
    evidence = accepted or (Evidence(attempt.first - 1, f"preempt skips {task.key}"),)
    clear = f"Clear status.nominatedNodeName of {task.name}, so that preempt considers it."
    find_out = Advice.for_owner("Find out why allocate does not place it there.")
    advice = (Advice.for_owner(clear, f"Pod/{task.key}:status.nominatedNodeName-"), find_out)
    reason, numbers = f"preempt skips {task.name} because {why}", amount_numbers("request", task.init_resreq)
    return view.pending(Cause.NOT_ELIGIBLE, reason, numbers, evidence, advice)
