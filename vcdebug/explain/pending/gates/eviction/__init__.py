"""preempt and reclaim: which gate, filter or plugin stopped an evicting action for the job."""

from collections.abc import Iterator
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from vcdebug import amount_text
from vcdebug.actions import RECLAIM
from vcdebug.amount_text import count_noun, join_names
from vcdebug.explain import answer
from vcdebug.explain.job_view import JobView, action_seqs
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.gates import queue_limits
from vcdebug.explain.pending.gates.eviction import entitlement, veto
from vcdebug.explain.pending.no_node import failure_facts, search_evidence
from vcdebug.explain.plugins import gang
from vcdebug.framework import hooks
from vcdebug.framework.record import UNPIPELINE_OP, HookEvent, Level, Span
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.names import JobId, QueueName, Seq
from vcdebug.model.task import TaskInfo
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import fits_without, requested_together
from vcdebug.recording.visits import QUEUE_LIMIT_POINTS, JobVisit, NodeTry, TaskTry, is_rejection, spans_inside
from vcdebug.releases.scheduling import RECLAIM_BEYOND_STARVING, RECLAIM_IMMEDIATE

MAX_VETO_EVIDENCE = 3
"""Events shown for the gate that stopped the first unplaced pod, if its whole statement was discarded."""
BLAME_BY_CAUSE = {
    answer.Cause.MIXED: "every remaining node fails the predicates",
    answer.Cause.NOT_ALLOCATABLE: "its queue has no quota left for it",
    answer.Cause.NOT_PREEMPTABLE: "no pod on those nodes is a candidate victim",
    answer.Cause.NOT_RECLAIMABLE: "the queues of the pods on those nodes are not reclaimable",
    answer.Cause.POLICY_NEVER: "its preemptionPolicy is Never",
    answer.Cause.PREEMPTIVE: "its queue is not entitled to reclaim",
    answer.Cause.NOT_ELIGIBLE: "it is not eligible to preempt",
    answer.Cause.NOT_ABOVE_DESERVED: "no queue on those nodes uses more than it deserves",
}
"""Cause code → the obstacle in a few words, for causes other than protected victims."""
_BARRED = (answer.Cause.NOT_PREEMPTABLE, answer.Cause.NOT_RECLAIMABLE)
"""The causes of an action that has no candidate victim, since it takes pods of other queues only, or of its own."""


class GateChance(IntEnum):
    """The chance that the job could still have been placed at this gate."""

    NONE = 0
    WEAK = 1
    REAL = 2


class NodeStage(IntEnum):
    """The last stage that an evicting action reached on a node."""

    TOO_SMALL = 0
    FILTER = 1
    VETO = 2
    AFTER = 3
    PLACED = 4


class Gate(Struct, frozen=True):
    """The finding about one evicting action, and the chance that the job had at this gate."""

    action: str
    chance: GateChance
    finding: answer.Finding


def gates_of_tasks(view: JobView, task: TaskInfo, fits: NodeFits) -> list[Gate]:
    """The gates of every configured action that evicts pod by pod.

    An action that may evict no pod of those queues had no chance, if another action could choose among them.
    """
    actions = [action for action in dict.fromkeys(view.actions) if view.facts_of(action).evicts_by_pod]
    gates = {action: eviction_gates(view, action, task, fits) for action in actions}
    barred = [name for name, found in gates.items() if any(one.finding.cause in _BARRED for one in found)]
    real = {gate.action for found in gates.values() for gate in found if gate.chance is GateChance.REAL}
    for action in barred if real.difference(barred) else ():
        gates[action] = [replace(gate, chance=GateChance.WEAK) for gate in gates[action]]
    return [gate for found in gates.values() for gate in found]


def eviction_gates(view: JobView, action: str, task: TaskInfo, fits: NodeFits) -> list[Gate]:
    """The gates at which the action stopped for the job, the deciding one first; empty if the action never ran."""
    if view.action_starts(action) is None:
        return []
    visits = [one for one in view.visits_of(action) if one.tries and (one.end is not None or one.has_no_statement)]
    if not visits:
        return _not_entitled_gates(view, action, task, fits)
    # Older reclaim visits a job once per turn; a turn that placed nothing shows the obstacle, a later success does not.
    failed = [visit for visit in visits if visit.has_no_statement and not visit.planned_tasks]
    blocking_gate, blame = _visited_gate(view, failed[-1] if failed else visits[-1], task, fits), ""
    if blocking_gate is not None:
        finding = blocking_gate.finding
        victims = finding.numbers.get("victims")
        has_allowed = victims is not None and victims.value > 0
        protects = "allows too few victims" if has_allowed else answer.PROTECTS_EVERY
        blame = BLAME_BY_CAUSE.get(finding.cause, f"{finding.cause} {protects}")
    discard = gang.discarded_finding(view, action, blame)
    if discard is None:
        placed_count = view.job.ready_task_num() + view.job.waiting_task_num()
        if visits[-1].planned_tasks and placed_count >= view.job.min_available:
            return [Gate(action, GateChance.WEAK, entitlement.not_starving_finding(view, action, task))]
        return [] if blocking_gate is None else _with_protected_victims(view, action, visits[-1], blocking_gate)
    if blocking_gate is None:
        return [Gate(action, GateChance.REAL, discard)]
    # The discard is only the consequence, so the evidence includes that of the gate that caused it.
    proof = dict.fromkeys((*discard.evidence, *blocking_gate.finding.evidence[:MAX_VETO_EVIDENCE]))
    finding = blocking_gate.finding
    facts = (
        (f"{amount_text.capitalize_first(finding.headline.reason)}.", *finding.facts[:1])
        if finding.cause == answer.Cause.PREEMPTIVE
        else finding.facts[:1]
    )
    discard = replace(discard, evidence=tuple(sorted(proof))).with_additions(*facts)
    return [Gate(action, GateChance.REAL, discard), replace(blocking_gate, chance=GateChance.WEAK)]


def _with_protected_victims(view: JobView, action: str, visit: JobVisit, gate: Gate) -> list[Gate]:
    """The gate, and the finding about the plugins that protected candidates whose eviction would free queue quota."""
    finding = gate.finding
    if finding.cause != answer.Cause.NOT_ALLOCATABLE:
        return [gate]
    calls = [(attempt, node) for attempt in visit.tries for node in attempt.nodes if node.victim_votes]
    names = [veto.protecting_plugins(view, node) for _, node in calls]
    veto_finding = veto.find_veto(view, calls[0][0], [calls[0][1]]) if calls and all(names) else None
    if veto_finding is None:
        return [gate]
    blocked = f"{action} may evict nothing ({join_names(dict.fromkeys(name for some in names for name in some))})"
    headline = finding.headline._replace(reason=f"{finding.headline.reason}, and {blocked}")
    if len(str(headline)) <= answer.MAX_LINE_LENGTH:
        finding = replace(finding, headline=headline)
    else:
        finding = finding.with_additions(f"In its place {blocked}.", in_front=True)
    return [replace(gate, finding=finding), Gate(action, GateChance.WEAK, veto_finding)]


def _chance_before_nodes(fits: NodeFits, action: str) -> GateChance:
    """The job's chance at a gate before the search over nodes: real if evictions on some node would make room."""
    if fits.freeable_nodes(action):
        return GateChance.REAL
    # Where every node only objects and no victim would change that, the objection is the cause.
    return GateChance.WEAK if fits.of_kind("pods", "short") else GateChance.NONE


def _not_entitled_gates(view: JobView, action: str, task: TaskInfo, fits: NodeFits) -> list[Gate]:
    # Older preempt loses a job's tasks to the phase within jobs of another queue, which is then all that it tried.
    starves = any(event.result for _, event in view.calls_during(action, hooks.JOB_STARVING.upstream))
    tried = [visit for visit in view.visits_of(action) if visit.tries] if starves else []
    if tried:
        gate = _visited_gate(view, tried[-1], task, fits)
        return [] if gate is None else [gate]
    finding = queue_limits.overused_finding(view, action)
    if finding is None and view.unplaced_tasks:
        finding = turns_ended_finding(view, action, task)
        # Where every job is served, that no plugin was asked says nothing about starvation.
        if finding is None and not (evicts_without_statement(view, action) and serves_every_job(view)):
            finding = entitlement.not_starving_finding(view, action, task)
    return [] if finding is None else [Gate(action, _chance_before_nodes(fits, action), finding)]


def _visited_gate(view: JobView, visit: JobVisit, task: TaskInfo, fits: NodeFits) -> Gate | None:
    stages = [
        (attempt, [(_node_stage(view, attempt, node), node) for node in attempt.nodes]) for attempt in visit.unplaced
    ]
    furthest = max((stage for _, nodes in stages for stage, _ in nodes), default=NodeStage.TOO_SMALL)
    if furthest is NodeStage.TOO_SMALL:
        return _no_nodes_gate(view, visit, task, fits)
    attempt, nodes = next((attempt, nodes) for attempt, nodes in stages if furthest in dict(nodes))
    furthest_nodes = [node for stage, node in nodes if stage is furthest]
    if furthest is NodeStage.AFTER:
        finding = _after_victims_finding(view, attempt, furthest_nodes, fits)
        # Where no pod is a candidate, the action could not free quota: the queue refuses as it does in allocate.
        is_bare = finding.cause == answer.Cause.NOT_ALLOCATABLE and not any(node.candidates for node in furthest_nodes)
        return Gate(visit.action, GateChance.WEAK if is_bare else GateChance.REAL, finding)
    if furthest is NodeStage.VETO:
        veto_finding = veto.find_veto(view, attempt, furthest_nodes)
        return None if veto_finding is None else Gate(visit.action, GateChance.REAL, veto_finding)
    finding, in_domain = veto.filter_finding(view, attempt, [node for _, node in nodes])
    return Gate(visit.action, GateChance.REAL if in_domain else GateChance.WEAK, finding)


def _no_nodes_gate(view: JobView, visit: JobVisit, task: TaskInfo, fits: NodeFits) -> Gate | None:
    failed_tries = visit.unplaced or list(visit.tries)
    attempt = next((failed_try for failed_try in failed_tries if failed_try.task == task.key), failed_tries[0])
    tried_task = view.tasks[attempt.task]
    if tried_task.pod.preemption_policy == "Never":
        finding = entitlement.never_preempt_finding(view, visit, tried_task)
    elif refusals := [*attempt.refusals(hooks.PREEMPTIVE.upstream), *attempt.refusals(hooks.ALLOCATABLE.upstream)]:
        finding = queue_limits.not_preemptive_finding(view, tried_task, *refusals[-1])
    else:
        ineligible = entitlement.not_eligible_finding(view, failed_tries)
        return Gate(visit.action, GateChance.REAL, ineligible) if ineligible is not None else None
    return Gate(visit.action, _chance_before_nodes(fits, visit.action), finding)


def _node_stage(view: JobView, attempt: TaskTry, node: NodeTry) -> NodeStage:
    if node.task_placed:
        return NodeStage.PLACED
    if node.later_calls or (node.evicted_tasks and evicts_without_statement(view, attempt.action)):
        return NodeStage.AFTER
    candidates = node.candidates
    if candidates and fits_without(view.recording, node.first, attempt.task, node.node, candidates):
        return NodeStage.VETO
    fits_empty = view.tasks[attempt.task].init_resreq.less_equal(view.session.nodes[node.node].allocatable)
    return NodeStage.FILTER if fits_empty else NodeStage.TOO_SMALL


def _after_victims_finding(view: JobView, attempt: TaskTry, nodes: list[NodeTry], job_fits: NodeFits) -> answer.Finding:
    """The finding if victims were found or not needed, and then a queue limit or a predicate refused."""
    if evicts_without_statement(view, attempt.action):
        return freed_too_little_finding(view, attempt, nodes[-1])
    task, action, tried = view.tasks[attempt.task], attempt.action, answer.counts({"nodes.tried": len(attempt.nodes)})
    fits, searches = job_fits.for_task(task), search_evidence(view, task)
    for node in nodes:
        calls = node.node_calls(*QUEUE_LIMIT_POINTS)
        predicates = node.node_calls(hooks.PREDICATE.upstream, hooks.SIMULATE_PREDICATE.upstream)
        objections = [(s, e) for s, e in predicates if is_rejection(e)]
        # Queue and predicate can both refuse in one try: the later refusal ended it.
        queue_refused = calls and is_rejection(calls[-1][1]) and (not objections or objections[-1][0] < calls[-1][0])
        if queue_refused and node.last >= calls[-1][0]:
            after = f"{action} could make room on {node.node}{_format_victims(node)}."
            return queue_limits.not_allocatable_finding(view, task, fits, *calls[-1], after=after)
        if objections:
            return _predicate_finding(view, attempt, node, fits, *objections[-1])
        undo_seqs = [s for s, e in node.operations if (e.op, e.task) == (UNPIPELINE_OP, task.key)]
        if undo_seqs:
            # A plugin's event handler rejected the reservation of a node that passed the predicates.
            note_text = " ".join(note.text for note in view.recording.notes_at(undo_seqs[-1]))
            reserved = f"{action} reserved {node.node} for {task.name}{_format_victims(node)}"
            reason = f"{reserved}, then a plugin rejected the reservation and it was rolled back"
            evidence = (*searches, answer.Evidence(undo_seqs[-1], f"the reservation of {node.node} is rolled back"))
            free = answer.Advice.queue_admin(f"Free room on {node.node}; idle room is allocated, not reserved.")
            facts = (f"{note_text}.",) if note_text else ()
            return view.pending(answer.Cause.MIXED, reason, tried, evidence, (free,), facts=facts)
    # All checks passed but no room was reserved: a dry run whose victims are all reprieved proposes no node.
    node, (seq, event) = nodes[0], nodes[0].later_calls[-1]
    reason = f"{action} did not place {task.name} on {node.node}, although no plugin rejected it"
    evidence = (*searches, answer.Evidence(seq, f"{event.plugin} accepts {node.node}"))
    step = answer.Advice.for_owner(f"Step through what {action} does after event {seq}: vcdebug open.")
    return view.pending(answer.Cause.MIXED, reason, tried, evidence, (step,))


def _format_victims(node: NodeTry) -> str:
    """` by evicting a/x-0`: the victims of the plan on this node; empty if there are none."""
    return f" by evicting {join_names(node.evicted_tasks)}" if node.evicted_tasks else ""


def _predicate_finding(
    view: JobView, attempt: TaskTry, node: NodeTry, fits: NodeFits, seq: Seq, event: HookEvent
) -> answer.Finding:
    """The finding about a predicate that refuses the node even without the victims."""
    from vcdebug.explain.pending.constraint_failures import find_constraint_failures

    task, plugin = view.tasks[attempt.task], event.plugin
    despite_evictions = " even without the victims" if any(e.result for _, e in node.victim_votes) else ""
    reason = f"{plugin} rejects {task.name} on {node.node}{despite_evictions}: {_format_objection(event)}"
    evidence = list(search_evidence(view, task))
    for vote_seq, vote in node.victim_votes[-1:]:
        allowed = f"{vote.plugin} allows {count_noun(len(vote.result), 'victim')} on {node.node}"
        evidence.append(answer.Evidence(vote_seq, allowed))
    evidence.append(answer.Evidence(seq, f"{plugin} rejects {node.node} after the evictions"))
    advice = (answer.Advice.for_owner(f"Correct what {plugin} rejects; evictions alone do not help."),)
    numbers, facts = answer.counts({"nodes.tried": len(attempt.nodes)}), failure_facts(find_constraint_failures(fits))
    return view.pending(answer.Cause.MIXED, reason, numbers, tuple(evidence), advice, facts=tuple(facts))


def undone_plan_facts(view: JobView, task: TaskInfo) -> Iterator[str]:
    """Yields a sentence about evictions that were planned for a task, but the filters still rejected it there."""
    tries = [attempt for visit in view.job_visits for attempt in visit.tries if attempt.task == task.key]
    for at, attempt in enumerate(tries):
        undone = [node for node in attempt.nodes if node.evicted_tasks and not node.task_placed and node.later_calls]
        last_calls = {node.node: node.later_calls[-1][1] for node in undone}
        rejections = [event for event in last_calls.values() if is_rejection(event)]
        if not rejections or any(event.point in QUEUE_LIMIT_POINTS for event in rejections):
            continue
        victims = join_names(f"{key} on {node.node}" for node in undone for key in node.evicted_tasks)
        why = join_names(dict.fromkeys(_format_objection(event) for event in rejections))
        planned, plugin = f"{attempt.action} planned to evict {victims}", rejections[0].plugin
        later = (node for second in tries[at + 1 :] for node in second.nodes if node.task_placed)
        if accepted := next((node.node for node in later if node.node in last_calls and not node.evicted_tasks), None):
            # Upstream's predicates plugin does not put the pod back: its Reserve fails for a pod that runs.
            uncounted = f"{plugin} no longer counts the pods that {attempt.action} had planned to evict"
            second_try = f"A second try without evictions reserved {accepted}, since {uncounted}"
            yield f"{planned}; {plugin} still rejected {task.name} there ({why}). {second_try}."
        else:
            yield f"{planned}; {plugin} still rejects {task.name} there ({why}), so no pod is evicted."
        return


def _format_objection(event: HookEvent) -> str:
    if isinstance(event.result, list):
        return ", ".join(str(FitStatus(**status).reason) for status in event.result)
    return str(event.result.get("error")) if isinstance(event.result, dict) else str(event.result)


# In older releases reclaim evicts without a statement, one task per turn of a queue.


def evicts_without_statement(view: JobView, action: str) -> bool:
    """Whether the action is reclaim of a release that evicts without a statement."""
    return action == RECLAIM and view.recording.snapshot.release.has_older_form(RECLAIM_IMMEDIATE)


def freed_too_little_finding(view: JobView, attempt: TaskTry, node: NodeTry) -> answer.Finding:
    """The finding for older releases: the evicted pods of a node free less than the task requests."""
    task, pods = view.tasks[attempt.task], node.evicted_tasks
    freed = requested_together(view.recording, pods)
    short = task.init_resreq.less_equal_with_resources_name(freed)[1]
    parts = [
        f"{amount} of {request} {name}"
        for name in short
        for amount, request in [amount_text.format_amounts_apart(name, freed.get(name), task.init_resreq.get(name))]
    ]
    release = view.recording.snapshot.release.display_name()
    reason = f"{attempt.action} evicted {join_names(pods)} on {node.node} for {task.name}, but reserved no room for it"
    facts = (f"The evictions free {join_names(parts)}; {release} ignores idle room on the node.",)
    numbers = {
        **answer.amount_numbers("request", task.init_resreq, short),
        **answer.amount_numbers("freed", freed, short),
    }
    evidence = tuple(answer.Evidence(seq, f"{key} is evicted on {node.node}") for key, seq in pods.items())
    advice = (answer.Advice.cluster_admin("Upgrade Volcano; later releases count idle room."),)
    return view.pending(answer.Cause.FREED_TOO_LITTLE, reason, numbers, evidence, advice, facts=facts)


def turns_ended_finding(view: JobView, action: str, task: TaskInfo) -> answer.Finding | None:
    """The finding if the action serves the job and its queue's turns in reclaim ended at another job; else None."""
    recording, queue = view.recording, view.queue.name
    starving_answers = [event.result for _, event in view.calls_during(action, hooks.JOB_STARVING.upstream)]
    is_served = all(starving_answers) if starving_answers else serves_every_job(view)
    if not evicts_without_statement(view, action) or not is_served:
        return None
    ending = _last_tried_job(recording, queue, action)
    if ending is None or ending.name == view.job.uid:
        return None
    other, release = ending.name, recording.snapshot.release.display_name()
    why, removal = _end_of_turns(recording, other, action)
    reason = f"{action} did not try it; {other} was first in queue {queue}"
    facts = (f"{why}; {release} then skips the rest of the queue.",)
    higher = f"Give {view.job.uid} a higher priority than {other}, or use another queue."
    evidence = answer.proof_of(ending.first, f"{other} is the last job of queue {queue} that is tried")
    numbers, advice = answer.amount_numbers("request", task.init_resreq), (answer.Advice.for_owner(higher), *removal)
    finding = view.pending(answer.Cause.TURNS_ENDED, reason, numbers, evidence, advice, facts=facts)
    return finding.with_additions(*entitlement.room_facts(view, task))


@per_recording()
def _last_tried_job(recording: Recording, queue: QueueName, action: str) -> Span | None:
    """The job at which the queue's turns in an action ended; None where no job of it was tried."""
    start, end = (action_seqs(recording, edge).get(action) for edge in ("start", "end"))
    turns = recording.index.spans_of(Level.QUEUE, queue)
    during = (turn for turn in reversed(turns) if (start or 0) < turn.first <= (end or len(recording)))
    jobs = ([span for span in spans_inside(recording, turn) if span.level is Level.JOB] for turn in during)
    return next((tried[-1] for tried in jobs if tried), None)


def serves_every_job(view: JobView) -> bool:
    """Whether reclaim of this release serves jobs with Pending pods without asking whether they starve."""
    return view.recording.snapshot.release.has_older_form(RECLAIM_BEYOND_STARVING)


@per_recording()
def _end_of_turns(recording: Recording, job: JobId, action: str) -> tuple[str, tuple[answer.Advice, ...]]:
    """(why a job ended its queue's turns: the last refusal with its amounts, or its needs are met; its removal)."""
    view = JobView(recording, job, detailed=False)
    answers = [event.result for _, event in view.calls_during(action, hooks.JOB_STARVING.upstream)]
    if not view.unplaced_tasks or (answers and not answers[-1]):
        return f"{job} needs no more room", ()
    words = f"Suspend or delete {job}, which is refused before it."
    pods = () if view.job.ready_task_num() else view.job.tasks.values()
    edits = (*(f"Pod/{pod.key}:-" for pod in pods), f"PodGroup/{job}:-") if pods else ()
    removal = (answer.Advice.queue_admin(words, *edits),)
    tries = [attempt for visit in view.visits_of(action) for attempt in visit.tries]
    asked = (hooks.PREEMPTIVE.upstream, hooks.ALLOCATABLE.upstream)
    refusals = [(attempt, *call) for attempt in tries for point in asked for call in attempt.refusals(point)]
    if not refusals:
        return f"{job} could not reclaim", removal
    attempt, seq, event = refusals[-1]
    finding = queue_limits.not_preemptive_finding(view, view.tasks[attempt.task], seq, event)
    return f"{job} could not reclaim: {finding.headline.reason}", removal
