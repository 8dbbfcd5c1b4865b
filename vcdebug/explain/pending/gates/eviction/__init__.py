"""preempt and reclaim: which gate, filter or plugin stopped an evicting action for the job."""

from collections.abc import Iterator
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from vcdebug import amount_text
from vcdebug.actions import RECLAIM
from vcdebug.amount_text import count_noun, join_names
from vcdebug.explain import answer
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.gates import queue_limits
from vcdebug.explain.pending.gates.eviction import entitlement, veto
from vcdebug.explain.pending.gates.eviction import veto as victim_filter
from vcdebug.explain.pending.no_node import MIXED_CAUSE, failure_facts, search_evidence
from vcdebug.explain.plugins import gang
from vcdebug.framework import hooks
from vcdebug.framework.record import HookEvent, Level
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.names import JobId, Seq
from vcdebug.model.task import TaskInfo
from vcdebug.recording.state_before import fits_without, requested_together
from vcdebug.recording.visits import JobVisit, NodeTry, TaskTry, is_rejection, spans_inside
from vcdebug.releases.scheduling import RECLAIM_IMMEDIATE

NEVER_PREEMPT = "Never"
UNDO_PIPELINE = "unpipeline"
MAX_VETO_EVIDENCE = 3
"""Events shown for the gate that stopped the first unplaced pod, if its whole statement was discarded."""
BLAME_BY_CAUSE = {
    MIXED_CAUSE: "every remaining node fails the predicates",
    queue_limits.NOT_ALLOCATABLE: "its queue has no quota left for it",
    victim_filter.KEPT: "no pod on those nodes is a candidate victim",
    victim_filter.UNRECLAIMABLE: "the queues of the pods on those nodes are not reclaimable",
    entitlement.POLICY_NEVER: "its preemptionPolicy is Never",
    queue_limits.PREEMPTIVE: "its queue is not entitled to reclaim",
    entitlement.NOT_ELIGIBLE: "it is not eligible to preempt",
    veto.NOT_ABOVE_DESERVED: "no queue on those nodes uses more than it deserves",
}
"""Cause code → the obstacle in a few words, for causes other than protected victims."""


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


def gates_of_tasks(view: JobView, task: TaskInfo, fits: NodeFits) -> Iterator[Gate]:
    """The gates of every configured action that evicts pod by pod."""
    for action in dict.fromkeys(view.actions):
        if view.facts_of(action).evicts_by_pod:
            yield from eviction_gates(view, action, task, fits)


def eviction_gates(view: JobView, action: str, task: TaskInfo, fits: NodeFits) -> list[Gate]:
    """The gates at which the action stopped for the job, the deciding one first; empty if the action never ran."""
    if view.action_starts(action) is None:
        return []
    visits = [
        visit for visit in view.visits_of(action) if visit.tries and (visit.end is not None or visit.has_no_statement)
    ]
    if not visits:
        return _not_entitled_gates(view, action, task, fits)
    # Older reclaim visits a job once per turn; a turn that placed nothing shows the obstacle, a later success does not.
    failed = [visit for visit in visits if visit.has_no_statement and not visit.planned_tasks]
    blocking_gate = _visited_gate(view, failed[-1] if failed else visits[-1], task, fits)
    discard = gang.discarded_finding(view, action, "" if blocking_gate is None else _blame_words(blocking_gate.finding))
    if (
        discard is None
        and visits[-1].planned_tasks
        and view.job.ready_task_num() + view.job.waiting_task_num() >= view.job.min_available
    ):
        return [Gate(action, GateChance.WEAK, entitlement.not_starving_finding(view, action, task))]
    if discard is None:
        return [] if blocking_gate is None else _with_spared_victims(view, action, visits[-1], blocking_gate)
    if blocking_gate is None:
        return [Gate(action, GateChance.REAL, discard)]
    # The discard is only the consequence, so the evidence includes that of the gate that caused it.
    proof = tuple(sorted(dict.fromkeys((*discard.evidence, *blocking_gate.finding.evidence[:MAX_VETO_EVIDENCE]))))
    facts = (*discard.facts, *blocking_gate.finding.facts[:1])
    discard_gate = Gate(action, GateChance.REAL, replace(discard, evidence=proof, facts=facts))
    return [discard_gate, replace(blocking_gate, chance=GateChance.WEAK)]


def _with_spared_victims(view: JobView, action: str, visit: JobVisit, gate: Gate) -> list[Gate]:
    """The gate, and the finding about the plugins that protected candidates whose eviction would free queue quota."""
    if gate.finding.cause != queue_limits.NOT_ALLOCATABLE:
        return [gate]
    calls = [(attempt, node) for attempt in visit.tries for node in attempt.nodes if node.victim_votes]
    names = [veto.protecting_plugins(view, node) for _, node in calls]
    veto_finding = veto.find_veto(view, calls[0][0], [calls[0][1]]) if calls and all(names) else None
    if veto_finding is None:
        return [gate]
    headline, plugins = gate.finding.headline, join_names(dict.fromkeys(name for some in names for name in some))
    long_headline = headline._replace(reason=f"{headline.reason}, and {action} may evict nothing ({plugins})")
    if len(str(long_headline)) <= answer.MAX_LINE_LENGTH:
        finding = replace(gate.finding, headline=long_headline)
    else:
        finding = replace(
            gate.finding, facts=(f"In its place {action} may evict nothing ({plugins}).", *gate.finding.facts)
        )
    return [replace(gate, finding=finding), Gate(action, GateChance.WEAK, veto_finding)]


def _blame_words(finding: answer.Finding) -> str:
    """What stopped the first unplaced pod, in a few words: the cause, or the plugin that protects victims."""
    victims = finding.numbers.get("victims")
    has_allowed = victims is not None and victims.value > 0
    protects = "allows too few victims" if has_allowed else "protects every candidate victim"
    return BLAME_BY_CAUSE.get(finding.cause, f"{finding.cause} {protects}")


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
    if tried and (gate := _visited_gate(view, tried[-1], task, fits)) is not None:
        return [gate]
    finding = queue_limits.overused_finding(view, action)
    if finding is None and view.unplaced_tasks:
        finding = turns_ended_finding(view, action, task) or entitlement.not_starving_finding(view, action, task)
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
        return Gate(visit.action, GateChance.REAL, _after_victims_finding(view, attempt, furthest_nodes, fits))
    if furthest is NodeStage.VETO:
        veto_finding = veto.find_veto(view, attempt, furthest_nodes)
        return None if veto_finding is None else Gate(visit.action, GateChance.REAL, veto_finding)
    finding, in_domain = victim_filter.filter_finding(view, attempt, [node for _, node in nodes])
    return Gate(visit.action, GateChance.REAL if in_domain else GateChance.WEAK, finding)


def _no_nodes_gate(view: JobView, visit: JobVisit, task: TaskInfo, fits: NodeFits) -> Gate | None:
    failed_tries = visit.unplaced or list(visit.tries)
    attempt = next((failed_try for failed_try in failed_tries if failed_try.task == task.key), failed_tries[0])
    tried_task = view.tasks[attempt.task]
    if tried_task.pod.preemption_policy == NEVER_PREEMPT:
        return Gate(
            visit.action,
            _chance_before_nodes(fits, visit.action),
            entitlement.never_preempt_finding(view, visit, tried_task),
        )
    if refusals := [*attempt.refusals(hooks.PREEMPTIVE.upstream), *attempt.refusals(hooks.ALLOCATABLE.upstream)]:
        finding = queue_limits.not_preemptive_finding(view, tried_task, *refusals[-1])
        return Gate(visit.action, _chance_before_nodes(fits, visit.action), finding)
    ineligible = entitlement.not_eligible_finding(view, failed_tries)
    return Gate(visit.action, GateChance.REAL, ineligible) if ineligible is not None else None


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
    task = view.tasks[attempt.task]
    fits = job_fits.for_task(task)
    for node in nodes:
        calls = node.node_calls(hooks.ALLOCATABLE.upstream, hooks.SIMULATE_ALLOCATABLE.upstream)
        predicates = node.node_calls(hooks.PREDICATE.upstream, hooks.SIMULATE_PREDICATE.upstream)
        objections = [(s, e) for s, e in predicates if is_rejection(e)]
        # Queue and predicate can both refuse in one try: the later refusal ended it.
        queue_refused = calls and is_rejection(calls[-1][1]) and (not objections or objections[-1][0] < calls[-1][0])
        if queue_refused and node.last >= calls[-1][0]:
            after = f"{attempt.action} could make room on {node.node}{_format_victims(node)}."
            return queue_limits.not_allocatable_finding(view, task, fits, *calls[-1], after=after)
        if objections:
            return _predicate_finding(view, attempt, node, fits, *objections[-1])
        undo_seqs = [s for s, e in node.operations if (e.op, e.task) == (UNDO_PIPELINE, task.key)]
        if undo_seqs:
            return _refused_reservation_finding(view, attempt, node, undo_seqs[-1])
    return _unused_victims_finding(view, attempt, nodes[0])


def _unused_victims_finding(view: JobView, attempt: TaskTry, node: NodeTry) -> answer.Finding:
    """All checks passed but no room was reserved: a dry run whose victims are all reprieved proposes no node."""
    task = view.tasks[attempt.task]
    reason = f"{attempt.action} did not place {task.name} on {node.node}, although no plugin rejected it"
    seq, event = node.later_calls[-1]
    evidence = (*search_evidence(view, task), answer.Evidence(seq, f"{event.plugin} accepts {node.node}"))
    advice = (answer.owner_advice(f"Step through what {attempt.action} does after event {seq}: vcdebug open."),)
    return _mixed_finding(view, attempt, reason, evidence, advice)


def _mixed_finding(
    view: JobView,
    attempt: TaskTry,
    reason: str,
    evidence: tuple[answer.Evidence, ...],
    advice: tuple[answer.Advice, ...],
    *facts: str,
) -> answer.Finding:
    """A finding about the node on which the action reached the last stage."""
    numbers = {"nodes.tried": answer.count(len(attempt.nodes), "nodes")}
    headline = answer.pending_headline(view.job.uid, reason)
    return answer.Finding(MIXED_CAUSE, headline, numbers, evidence, advice, facts=facts)


def _refused_reservation_finding(view: JobView, attempt: TaskTry, node: NodeTry, seq: Seq) -> answer.Finding:
    """The finding if a plugin's event handler rejected the reservation of a node that passed the predicates."""
    task = view.tasks[attempt.task]
    note_text = " ".join(note.text for note in view.recording.notes_at(seq))
    reason = (
        f"{attempt.action} reserved {node.node} for {task.name}{_format_victims(node)}, then a plugin rejected the "
        "reservation and it was rolled back"
    )
    evidence = (*search_evidence(view, task), answer.Evidence(seq, f"the reservation of {node.node} is rolled back"))
    advice = (answer.queue_admin_advice(f"Free room on {node.node}; idle room is allocated, not reserved."),)
    return _mixed_finding(view, attempt, reason, evidence, advice, *([f"{note_text}."] if note_text else []))


def _format_victims(node: NodeTry) -> str:
    """` by evicting a/x-0`: the victims of the plan on this node; empty if there are none."""
    return f" by evicting {join_names(node.evicted_tasks)}" if node.evicted_tasks else ""


def _predicate_finding(
    view: JobView, attempt: TaskTry, node: NodeTry, fits: NodeFits, seq: Seq, event: HookEvent
) -> answer.Finding:
    """The finding about a predicate that refuses the node even without the victims."""
    task = view.tasks[attempt.task]
    despite_evictions = " even without the victims" if any(e.result for _, e in node.victim_votes) else ""
    reason = f"{event.plugin} rejects {task.name} on {node.node}{despite_evictions}: {_format_objection(event)}"
    evidence = (
        *search_evidence(view, task),
        *(
            answer.Evidence(s, f"{e.plugin} allows {count_noun(len(e.result), 'victim')} on {node.node}")
            for s, e in node.victim_votes[-1:]
        ),
        answer.Evidence(seq, f"{event.plugin} rejects {node.node} after the evictions"),
    )
    advice = (answer.owner_advice(f"Correct what {event.plugin} rejects; evictions alone do not help."),)
    from vcdebug.explain.pending.constraint_failures import find_constraint_failures

    return _mixed_finding(view, attempt, reason, evidence, advice, *failure_facts(find_constraint_failures(fits)))


def _format_objection(event: HookEvent) -> str:
    if isinstance(event.result, list):
        return ", ".join(str(FitStatus(**status).reason) for status in event.result)
    return str(event.result.get("error")) if isinstance(event.result, dict) else str(event.result)


# In older releases reclaim evicts without a statement, one task per turn of a queue.

TURNS_ENDED = "queue-turns-ended"
FREED_TOO_LITTLE = "freed-too-little"


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
    numbers = {**answer.numbers("request", task.init_resreq, short), **answer.numbers("freed", freed, short)}
    evidence = tuple(answer.Evidence(seq, f"{key} is evicted on {node.node}") for key, seq in pods.items())
    advice = (answer.cluster_admin_advice("Upgrade Volcano; later releases count idle room."),)
    headline = answer.pending_headline(view.job.uid, reason)
    return answer.Finding(FREED_TOO_LITTLE, headline, numbers, evidence, advice, facts=facts)


def turns_ended_finding(view: JobView, action: str, task: TaskInfo) -> answer.Finding | None:
    """The finding if the job starves and its queue's turns in reclaim ended at another job; else None."""
    starving_answers = [event.result for _, event in view.calls_during(action, hooks.JOB_STARVING.upstream)]
    if not evicts_without_statement(view, action) or not starving_answers or not all(starving_answers):
        return None
    other_job, seq = _last_turn_of_queue(view, action)
    if not other_job or other_job == view.job.uid:
        return None
    queue = view.queue.name
    release = view.recording.snapshot.release.display_name()
    headline = answer.pending_headline(view.job.uid, f"{action} did not try it; {other_job} was first in queue {queue}")
    facts = (
        f"{other_job} could not reclaim; {release} then skips the rest of the queue.",
        f"No node has room for {task.name} ({amount_text.format_resource(task.init_resreq)}).",
    )
    advice = (answer.owner_advice(f"Give {view.job.uid} a higher priority than {other_job}, or use another queue."),)
    numbers = answer.numbers("request", task.init_resreq)
    evidence = answer.proof_of(seq, f"{other_job} is the last job of queue {queue} that is tried")
    return answer.Finding(TURNS_ENDED, headline, numbers, evidence, advice, facts=facts)


def _last_turn_of_queue(view: JobView, action: str) -> tuple[JobId, Seq]:
    """(job, first event) of the queue's last turn in the action; an empty job without a turn."""
    start, end = view.action_starts(action) or 0, view.action_ends(action) or len(view.recording)
    turns = view.recording.index.spans_of(Level.QUEUE, view.queue.name)
    action_turns = [turn for turn in turns if start < turn.first <= end]
    jobs = [span for turn in action_turns for span in spans_inside(view.recording, turn) if span.level is Level.JOB]
    return (jobs[-1].name, jobs[-1].first) if jobs else ("", 0)
