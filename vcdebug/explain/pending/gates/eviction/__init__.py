"""preempt and reclaim: how far an evicting action came for the job, and which filter or plugin stopped it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

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
from vcdebug.recording.visits import POST_VICTIM_POINTS, JobVisit, NodeTry, TaskTry, says_no, spans_inside
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
"""Cause code → a few words, for gates other than a plugin's veto."""


class GateChance(IntEnum):
    """Whether the job could still have been placed at this gate."""

    NONE = 0
    WEAK = 1
    REAL = 2


class NodeStage(IntEnum):
    """How far the action came on a node."""

    TOO_SMALL = 0
    FILTER = 1
    VETO = 2
    AFTER = 3
    PLACED = 4


@dataclass(frozen=True, slots=True)
class Gate:
    """The finding about one evicting action, and how near the action came."""

    action: str
    chance: GateChance
    finding: answer.Finding


def gates_of_tasks(view: JobView, task: TaskInfo, room: NodeFits) -> Iterator[Gate]:
    """The gates of every configured action that evicts pod by pod."""
    for action in dict.fromkeys(view.actions):
        if view.facts_of(action).evicts_by_pod:
            yield from eviction_gates(view, action, task, room)


def eviction_gates(view: JobView, action: str, task: TaskInfo, room: NodeFits) -> list[Gate]:
    """The gates at which the action stopped for the job, the deciding one first; empty if the action never ran."""
    if view.action_starts(action) is None:
        return []
    visits = [
        visit for visit in view.visits_of(action) if visit.tries and (visit.end is not None or visit.has_no_statement)
    ]
    if not visits:
        return _not_entitled_gates(view, action, task, room)
    # Older reclaim visits a job once per turn; a turn that placed nothing shows the obstacle, a later success does not.
    failed = [visit for visit in visits if visit.has_no_statement and not visit.planned_tasks]
    stuck = _visited_gate(view, failed[-1] if failed else visits[-1], task, room)
    discard = gang.discarded_finding(view, action, "" if stuck is None else _blame_words(stuck.finding))
    if (
        discard is None
        and visits[-1].planned_tasks
        and view.job.ready_task_num() + view.job.waiting_task_num() >= view.job.min_available
    ):
        return [Gate(action, GateChance.WEAK, entitlement.not_starving_finding(view, action, task))]
    if discard is None:
        return [] if stuck is None else _with_spared_victims(view, action, visits[-1], stuck)
    if stuck is None:
        return [Gate(action, GateChance.REAL, discard)]
    # The discard is only the consequence: without the first veto the proof would not show its reason.
    proof = tuple(sorted(dict.fromkeys((*discard.evidence, *stuck.finding.evidence[:MAX_VETO_EVIDENCE]))))
    facts = (*discard.facts, *stuck.finding.facts[:1])
    decided = Gate(action, GateChance.REAL, replace(discard, evidence=proof, facts=facts))
    return [decided, replace(stuck, chance=GateChance.WEAK)]


def _with_spared_victims(view: JobView, action: str, visit: JobVisit, stuck: Gate) -> list[Gate]:
    """The gate, and the veto that spared the pods whose end would have given the queue its room."""
    if stuck.finding.cause != queue_limits.NOT_ALLOCATABLE:
        return [stuck]
    asked = [(attempt, node) for attempt in visit.tries for node in attempt.nodes if node.victim_votes]
    names = [veto.protecting_plugins(view, node) for _, node in asked]
    found = veto.find_veto(view, asked[0][0], [asked[0][1]]) if asked and all(names) else None
    if found is None:
        return [stuck]
    said, by = stuck.finding.headline, join_names(dict.fromkeys(name for some in names for name in some))
    longer = said._replace(reason=f"{said.reason}, and {action} may evict nothing ({by})")
    if len(str(longer)) <= answer.MAX_LINE_LENGTH:
        blamed = replace(stuck.finding, headline=longer)
    else:
        blamed = replace(
            stuck.finding, facts=(f"In its place {action} may evict nothing ({by}).", *stuck.finding.facts)
        )
    return [replace(stuck, finding=blamed), Gate(action, GateChance.WEAK, found)]


def _blame_words(finding: answer.Finding) -> str:
    """What stopped the first pod without a place, in a few words."""
    victims = finding.numbers.get("victims")
    some = victims is not None and victims.value > 0
    protects = "allows too few victims" if some else "protects every candidate victim"
    return BLAME_BY_CAUSE.get(finding.cause, f"{finding.cause} {protects}")


def _chance_before_nodes(room: NodeFits, action: str) -> GateChance:
    """The chance at a gate that comes before the search over nodes."""
    if room.freeable_nodes(action):
        return GateChance.REAL
    # Where every node only objects and no victim would change that, the objection is the cause.
    return GateChance.WEAK if room.of_kind("pods", "short") else GateChance.NONE


def _not_entitled_gates(view: JobView, action: str, task: TaskInfo, room: NodeFits) -> list[Gate]:
    found = queue_limits.overused_finding(view, action)
    if found is None and view.left_over:
        found = turns_ended_finding(view, action, task) or entitlement.not_starving_finding(view, action, task)
    return [] if found is None else [Gate(action, _chance_before_nodes(room, action), found)]


def _visited_gate(view: JobView, visit: JobVisit, task: TaskInfo, room: NodeFits) -> Gate | None:
    tries = [attempt for attempt in visit.tries if attempt.task not in visit.planned_tasks]
    staged = [(attempt, [(_node_stage(view, attempt, node), node) for node in attempt.nodes]) for attempt in tries]
    furthest = max((stage for _, nodes in staged for stage, _ in nodes), default=NodeStage.TOO_SMALL)
    if furthest is NodeStage.TOO_SMALL:
        return _no_nodes_gate(view, visit, task, room)
    attempt, nodes = next((attempt, nodes) for attempt, nodes in staged if furthest in dict(nodes))
    there = [node for stage, node in nodes if stage is furthest]
    if furthest is NodeStage.AFTER:
        return Gate(visit.action, GateChance.REAL, _after_victims_finding(view, attempt, there, room))
    if furthest is NodeStage.VETO:
        vetoed = veto.find_veto(view, attempt, there)
        return None if vetoed is None else Gate(visit.action, GateChance.REAL, vetoed)
    finding, in_domain = victim_filter.filter_finding(view, attempt, [node for _, node in nodes])
    return Gate(visit.action, GateChance.REAL if in_domain else GateChance.WEAK, finding)


def _no_nodes_gate(view: JobView, visit: JobVisit, task: TaskInfo, room: NodeFits) -> Gate | None:
    missed = [attempt for attempt in visit.tries if attempt.task not in visit.planned_tasks] or list(visit.tries)
    attempt = next((one for one in missed if one.task == task.key), missed[0])
    tried = view.tasks[attempt.task]
    if tried.pod.preemption_policy == NEVER_PREEMPT:
        return Gate(
            visit.action,
            _chance_before_nodes(room, visit.action),
            entitlement.never_preempt_finding(view, visit, tried),
        )
    if refused := [*attempt.refusals(hooks.PREEMPTIVE.upstream), *attempt.refusals(hooks.ALLOCATABLE.upstream)]:
        finding = queue_limits.not_preemptive_finding(view, tried, *refused[-1])
        return Gate(visit.action, _chance_before_nodes(room, visit.action), finding)
    left_out = entitlement.not_eligible_finding(view, missed)
    return Gate(visit.action, GateChance.REAL, left_out) if left_out is not None else None


def _node_stage(view: JobView, attempt: TaskTry, node: NodeTry) -> NodeStage:
    if node.task_placed:
        return NodeStage.PLACED
    if node.node_calls(*POST_VICTIM_POINTS) or (node.evicted_tasks and evicts_at_once(view, attempt.action)):
        return NodeStage.AFTER
    offered = node.candidates
    if offered and fits_without(view.recording, node.first, attempt.task, node.node, offered):
        return NodeStage.VETO
    whole = view.tasks[attempt.task].init_resreq.less_equal(view.session.nodes[node.node].allocatable)
    return NodeStage.FILTER if whole else NodeStage.TOO_SMALL


def _after_victims_finding(view: JobView, attempt: TaskTry, nodes: list[NodeTry], room: NodeFits) -> answer.Finding:
    """Victims were found or not needed, and then the queue or a predicate refused."""
    if evicts_at_once(view, attempt.action):
        return freed_too_little_finding(view, attempt, nodes[-1])
    task = view.tasks[attempt.task]
    fits = room.for_task(task)
    for node in nodes:
        asked = node.node_calls(hooks.ALLOCATABLE.upstream, hooks.SIMULATE_ALLOCATABLE.upstream)
        objections = [
            (s, e)
            for s, e in node.node_calls(hooks.PREDICATE.upstream, hooks.SIMULATE_PREDICATE.upstream)
            if says_no(e)
        ]
        # Both can refuse in one try: the later refusal is the one that ended it.
        refused = asked and says_no(asked[-1][1]) and (not objections or objections[-1][0] < asked[-1][0])
        if refused and node.last >= asked[-1][0]:
            after = f"{attempt.action} could make room on {node.node}{_format_victims(node)}."
            return queue_limits.not_allocatable_finding(view, task, fits, *asked[-1], after=after)
        if objections:
            return _predicate_finding(view, attempt, node, fits, *objections[-1])
        taken_back = [s for s, e in node.operations if (e.op, e.task) == (UNDO_PIPELINE, task.key)]
        if taken_back:
            return _refused_reservation_finding(view, attempt, node, taken_back[-1])
    return _not_kept_finding(view, attempt, nodes[0])


def _not_kept_finding(view: JobView, attempt: TaskTry, node: NodeTry) -> answer.Finding:
    """No plugin refused, yet no place was kept: a dry run whose victims are all reprieved proposes no node."""
    task = view.tasks[attempt.task]
    reason = f"{attempt.action} did not place {task.name} on {node.node}, although no plugin rejected it"
    seq, event = node.node_calls(*POST_VICTIM_POINTS)[-1]
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
    """A finding about the node on which the action came furthest."""
    numbers = {"nodes.tried": answer.count(len(attempt.nodes), "nodes")}
    headline = answer.pending_headline(view.job.uid, reason)
    return answer.Finding(MIXED_CAUSE, headline, numbers, evidence, advice, facts=facts)


def _refused_reservation_finding(view: JobView, attempt: TaskTry, node: NodeTry, seq: Seq) -> answer.Finding:
    """No predicate refused the node, but an event handler refused the reservation."""
    task = view.tasks[attempt.task]
    why = " ".join(note.text for note in view.recording.notes_at(seq))
    reason = (
        f"{attempt.action} reserved {node.node} for {task.name}{_format_victims(node)}, then a plugin rejected the "
        "reservation and it was rolled back"
    )
    evidence = (*search_evidence(view, task), answer.Evidence(seq, f"the reservation of {node.node} is rolled back"))
    advice = (answer.queue_admin_advice(f"Free room on {node.node}; idle room is allocated, not reserved."),)
    return _mixed_finding(view, attempt, reason, evidence, advice, *([f"{why}."] if why else []))


def _format_victims(node: NodeTry) -> str:
    """` by evicting a/x-0`: the victims of the plan on this node; empty if there are none."""
    return f" by evicting {join_names(node.evicted_tasks)}" if node.evicted_tasks else ""


def _predicate_finding(
    view: JobView, attempt: TaskTry, node: NodeTry, fits: NodeFits, seq: Seq, event: HookEvent
) -> answer.Finding:
    """The evictions would make room, but a predicate still refuses the node."""
    task = view.tasks[attempt.task]
    votes = node.victim_votes
    gone = " even without the victims" if any(e.result for _, e in votes) else ""
    reason = f"{event.plugin} rejects {task.name} on {node.node}{gone}: {_format_objection(event)}"
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


def evicts_at_once(view: JobView, action: str) -> bool:
    """Whether the action is reclaim of a release that evicts without a statement."""
    return action == RECLAIM and view.recording.snapshot.release.has_older_form(RECLAIM_IMMEDIATE)


def freed_too_little_finding(view: JobView, attempt: TaskTry, node: NodeTry) -> answer.Finding:
    """The evicted pods of a node free less than the task requests."""
    task, gone = view.tasks[attempt.task], node.evicted_tasks
    freed = requested_together(view.recording, gone)
    short = task.init_resreq.less_equal_with_resources_name(freed)[1]
    parts = [
        f"{less} of {asked} {name}"
        for name in short
        for less, asked in [amount_text.format_amounts_apart(name, freed.get(name), task.init_resreq.get(name))]
    ]
    release = view.recording.snapshot.release.display_name()
    reason = f"{attempt.action} evicted {join_names(gone)} on {node.node} for {task.name}, but reserved no room for it"
    facts = (f"The evictions free {join_names(parts)}; {release} ignores idle room on the node.",)
    numbers = {**answer.numbers("request", task.init_resreq, short), **answer.numbers("freed", freed, short)}
    evidence = tuple(answer.Evidence(seq, f"{key} is evicted on {node.node}") for key, seq in gone.items())
    advice = (answer.cluster_admin_advice("Upgrade Volcano; later releases count idle room."),)
    headline = answer.pending_headline(view.job.uid, reason)
    return answer.Finding(FREED_TOO_LITTLE, headline, numbers, evidence, advice, facts=facts)


def turns_ended_finding(view: JobView, action: str, task: TaskInfo) -> answer.Finding | None:
    """None unless the job starves and its queue's turns ended at another job."""
    starves = [event.result for _, event in view.calls_during(action, hooks.JOB_STARVING.upstream)]
    if not evicts_at_once(view, action) or not starves or not all(starves):
        return None
    other, seq = _last_turn_of_queue(view, action)
    if not other or other == view.job.uid:
        return None
    queue = view.queue.name
    release = view.recording.snapshot.release.display_name()
    headline = answer.pending_headline(view.job.uid, f"{action} did not try it; {other} was first in queue {queue}")
    facts = (
        f"{other} could not reclaim; {release} then skips the rest of the queue.",
        f"No node has room for {task.name} ({amount_text.format_resource(task.init_resreq)}).",
    )
    advice = (answer.owner_advice(f"Give {view.job.uid} a higher priority than {other}, or use another queue."),)
    numbers = answer.numbers("request", task.init_resreq)
    evidence = answer.proof_of(seq, f"{other} is the last job of queue {queue} that is tried")
    return answer.Finding(TURNS_ENDED, headline, numbers, evidence, advice, facts=facts)


def _last_turn_of_queue(view: JobView, action: str) -> tuple[JobId, Seq]:
    """The job to which the queue's last turn went while the action ran, and the first event of that."""
    start, end = view.action_starts(action) or 0, view.action_ends(action) or len(view.recording)
    turns = view.recording.index.spans_of(Level.QUEUE, view.queue.name)
    own = [turn for turn in turns if start < turn.first <= end]
    jobs = [inner for turn in own for inner in spans_inside(view.recording, turn) if inner.level is Level.JOB]
    return (jobs[-1].name, jobs[-1].first) if jobs else ("", 0)
