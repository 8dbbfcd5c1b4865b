"""Overrides, which reorder the other findings: a lost plan, pods that no node can take, a missing action."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import yaml
from msgspec import Struct
from msgspec.structs import replace

from vcdebug.actions import ALLOCATE, PREEMPT
from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain.answer import Advice, Cause, Evidence, Finding, counts, first_that_fits, proof_of, reason_lines
from vcdebug.explain.decisions.evictions import elsewhere_facts, queue_use_words
from vcdebug.explain.job_view import ExplainSubject, JobView, view_of
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending import no_node
from vcdebug.explain.pending.gates import queue_limits
from vcdebug.explain.pending.gates.eviction import Gate, GateChance
from vcdebug.explain.pending.room_takers import room_takers, template_key
from vcdebug.explain.plugins.gang import operation_lines
from vcdebug.framework.record import PLACING_OPS, UNALLOCATE_OP, UNPIPELINE_OP, Level, OpEvent, StatementEvent
from vcdebug.framework.replay_options import WorkBound, work_of_events
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId, NodeName, Seq, TaskKey
from vcdebug.model.task import TaskInfo
from vcdebug.recording.recording import Recording, disposing, per_recording, store_answer
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.visits import JobVisit
from vcdebug.snapshot.edit_path import EditError
from vcdebug.snapshot.go_yaml import load_yaml

if TYPE_CHECKING:
    from vcdebug.recording.effects import Effects


EVICT_AFTER = (ALLOCATE, PREEMPT)


class ActionTrial(Struct, frozen=True):
    """The effects for a job of a cycle that has one more action."""

    action: str
    placements: tuple[tuple[TaskKey, NodeName], ...]
    evicted: tuple[TaskKey, ...]
    """Tasks of other jobs that the action evicts for this job."""
    evicted_for_others: int
    """Tasks that the action evicts in the same cycle for other jobs."""


def replay_with_action(recording: Recording, action: str) -> Recording:
    """The cycle replayed with the action inserted at its usual position."""
    document, actions = load_yaml(recording.conf.text), recording.conf.actions
    position = max((actions.index(name) + 1 for name in EVICT_AFTER if name in actions), default=len(actions))
    raw = dict(document) if isinstance(document, dict) else {}
    raw["actions"] = ", ".join([*actions[:position], action, *actions[position:]])
    text = yaml.safe_dump(raw, sort_keys=False)
    snapshot, max_work = replace(recording.snapshot, scheduler_conf=text), trial_work(recording)
    bound = WorkBound(max_work) if max_work is not None else None
    return replay_cycle(snapshot, ask_extender=recording.session.ask_extender, bound=bound, reuse_from=recording)


MIN_TRIAL_WORK = 50_000
"""In units of work_of_events; a replay of this size takes about 0.2 s."""
LOOKS_PER_OBJECT = 3
"""The estimated work of reading one object, in the unit of work_of_events."""


@per_recording()
def trial_work(recording: Recording) -> int | None:
    """The maximum work of one trial, as much as reading and replaying the snapshot; None for no limit."""
    objects = sum(map(len, recording.snapshot.objects.values()))  # exact: ints
    return max(work_of_events(recording.events) + LOOKS_PER_OBJECT * objects, MIN_TRIAL_WORK)


def allow_any_trial(recording: Recording) -> None:
    """Remove the work limit of trials for this recording."""
    store_answer(recording, trial_work, lambda: None)


class _ActionOutcome(NamedTuple):
    """What a cycle with one more action does."""

    effects: Effects
    victims: Mapping[TaskKey, JobId]
    """Victim → the job for which the action evicts it."""
    refused: frozenset[JobId]
    """Jobs with a pod that its node will refuse once the victims are gone."""


TOO_LARGE: Final = "too large"


@per_recording()
def _outcome_with(recording: Recording, action: str) -> _ActionOutcome | Literal["too large"] | None:
    """The outcome of a replay with one more action; cached for all jobs."""
    from vcdebug.explain.decisions.evictions import carried_out
    from vcdebug.recording.effects import cycle_effects

    try:
        with disposing(replay_with_action(recording, action)) as run:
            if run.cut_event is not None:
                return TOO_LARGE
            owners = run.owners.jobs
            by_action = [eviction for eviction in carried_out(run) if eviction.action == action]
            victims = {eviction.victim: owners.get(eviction.preemptor, eviction.preemptor) for eviction in by_action}
            return _ActionOutcome(cycle_effects(run), victims, frozenset(_jobs_refused_later(run, victims)))
    except EditError:
        return None


def _jobs_refused_later(run: Recording, victims: Mapping[TaskKey, JobId]) -> Iterator[JobId]:
    from vcdebug.explain.pending.constraint_failures import lasting_failures

    for job, evicted in group_by_key((job, victim) for victim, job in victims.items()).items():
        view = view_of(run, ExplainSubject(job, detailed=False))
        if any(lasting_failures(view, view.pipelined_tasks, evicted)):
            yield job


def try_action(recording: Recording, job: JobId, action: str) -> ActionTrial | None:
    """The action's effects for the job; None if the job stays unplaced, or a forced answer does not fit the cycle."""
    outcome = _outcome_with(recording, action)
    if outcome is None or outcome == TOO_LARGE or job in outcome.refused:
        return None
    effects, victims = outcome.effects, outcome.victims
    placed = tuple((e.task, e.node) for e in (*effects.bound, *effects.pipelined) if e.job == job)
    summary = next((job_summary for job_summary in effects.jobs if job_summary.job == job), None)
    if not placed or summary is None or not summary.has_minimum:
        return None
    evicted = tuple(task for task, preemptor in victims.items() if preemptor == job)
    return ActionTrial(action, placed, evicted, len(victims) - len(evicted))


def missing_action(
    view: JobView, task: TaskInfo, fits: NodeFits, gates: Sequence[Gate], findings: list[Finding]
) -> list[Finding] | None:
    """Insert the finding about a missing action; None if a configured action had a real chance.

    It comes first if the action would free room on most nodes, else second.
    """
    real = (gate for gate in gates if gate.chance is GateChance.REAL)
    if fits.free_nodes or any(view.facts_of(gate.action).evicts_by_pod for gate in real):
        return None
    first, *others = findings
    untried: list[str] = []
    for action in view.recording.conf.registry:
        if action in view.actions or not view.facts_of(action).evicts_by_pod or not fits.freeable_nodes(action):
            continue
        if _outcome_with(view.recording, action) == TOO_LARGE:
            untried.append(action)
            continue
        trial = try_action(view.recording, view.job.uid, action)
        if trial is not None and (trial.evicted or trial.evicted_for_others):
            helped_nodes = len(fits.freeable_nodes(action))
            finding = _action_finding(view, task, fits, trial, helped_nodes)
            # On fewer nodes the missing action is one of several causes and does not explain the Pending job.
            helps_most = 2 * helped_nodes > len(fits.node_fits) and not room_takers(fits).tasks
            is_first = helps_most and first.cause != Cause.GANG_DISCARD
            if not is_first:
                return [first, finding, *others]
            shortage = next((one for one in findings if one.cause in no_node.SHORTAGES), first)
            reason = f"{shortage.reason}, and {action} is not in {view.actions_field}"
            headline = first_that_fits([finding.headline._replace(reason=reason), finding.headline])
            return [replace(finding, headline=headline), *findings]
    if not untried:
        return None
    too_large = "the replay is too large for this answer; explain --prove runs it"
    return [first.with_additions(f"Not tried: {' or '.join(untried)} in actions ({too_large})."), *others]


def _last_action_end(view: JobView) -> Seq | None:
    return view.action_ends(view.actions[-1]) if view.actions else None


def no_allocate_finding(view: JobView, task: TaskInfo, fits: NodeFits) -> Finding:
    """The finding if a node has room and the configuration lacks the action allocate."""
    reason = f"the configuration lacks the allocate action (actions: {', '.join(view.actions) or 'none'})"
    free = len(fits.free_nodes)
    facts = (f"{count_noun(free, 'node')} {verb_for(free, 'has')} room for {task.name}.",)
    evidence = proof_of(_last_action_end(view), "the last action ends, and nothing was allocated")
    numbers = counts({"nodes.free": len(fits.free_nodes)})
    advice = (Advice.cluster_admin("Add allocate to actions."),)
    return view.pending(Cause.NOT_CONFIGURED, reason, numbers, evidence, advice, facts=facts)


def _action_finding(view: JobView, task: TaskInfo, fits: NodeFits, trial: ActionTrial, helped_nodes: int) -> Finding:
    nodes = join_names(dict.fromkeys(node for _, node in trial.placements))
    reason = f"no node has free room for {task.name}, and {trial.action} is not in {view.actions_text}"
    pods = count_noun(len(trial.placements), "pod")
    effect = f"reserves room for {pods} on {nodes}" if trial.evicted else f"{pods} placed on {nodes}"
    placed = f"With {trial.action} (replayed): {effect}"
    other_pods = count_noun(trial.evicted_for_others, "pod")
    other_evictions = f", and {other_pods} for other jobs" if trial.evicted_for_others else ""
    evictions = f"evicts {join_names(trial.evicted) or 'no pod'} for it{_victim_queue_words(view, task, trial)}"
    facts = (f"{placed}; {evictions}{other_evictions}.",)
    numbers = counts(
        {
            "nodes": len(fits.node_fits),
            "nodes.helped": helped_nodes,
            "pods.placed": len(trial.placements),
            "victims": len(trial.evicted),
            "victims.ofOthers": trial.evicted_for_others,
        }
    )
    refusal_evidence = tuple(
        Evidence(seq, f"{e.plugin}: the queue has no quota left for it")
        for seq, e in queue_limits.allocatable_refusals(view)[:1]
    )
    last_evidence = proof_of(_last_action_end(view), "the last action ends, and nothing was evicted")
    evidence = tuple(sorted((*(refusal_evidence or no_node.search_evidence(view, task)), *last_evidence)))
    position = " after allocate" if ALLOCATE in view.actions else ""
    advice = (Advice.cluster_admin(f"Add {trial.action} to actions{position} (tested: places the job)."),)
    lines = reason_lines(fits.reason_histogram, "node")
    return view.pending(Cause.NOT_CONFIGURED, reason, numbers, evidence, advice, lines, facts)


def _victim_queue_words(view: JobView, task: TaskInfo, trial: ActionTrial) -> str:
    """The first victims' queue above what it deserves: ` (queue q1 uses 3 nvidia.com/gpu and deserves 1)`; or empty."""
    owners = view.recording.owners.jobs
    queues = dict.fromkeys(view.session.jobs[owners[key]].queue for key in trial.evicted if key in owners)
    dimensions = [name for name, value in task.init_resreq.items() if value > 0]
    seq, others = len(view.recording), (each for each in queues if each != view.queue.name)
    words = next(filter(None, (queue_use_words(view.recording, one, dimensions, seq) for one in others)), "")
    return f" ({words})" if words else ""


# A committed statement evicted pods for a job, and a later step rolled back its placements.

MAX_VICTIMS = 6


def plan_lost(
    view: JobView, task: TaskInfo, fits: NodeFits, gates: Sequence[Gate], findings: list[Finding]
) -> list[Finding] | None:
    """The finding if pods were evicted for tasks that are Pending again when the cycle ends; else None."""
    pending_keys = [task.key for task in view.unplaced_tasks]
    # The last committed plan explains the final state; earlier ones were replaced by it.
    for visit in reversed(view.job_visits):
        commits = [(s, e) for s, e in visit.events if isinstance(e, StatementEvent) and e.what == "commit"]
        for seq, statement in commits:
            victims = [task for kind, task, _ in statement.ops if kind == "evict"]
            lost_tasks = [task for kind, task, _ in statement.ops if kind in PLACING_OPS and task in pending_keys]
            if victims and lost_tasks:
                return [_lost_plan_finding(view, visit, seq, statement, victims, lost_tasks)]
    return None


def _lost_plan_finding(
    view: JobView,
    visit: JobVisit,
    seq: Seq,
    statement: StatementEvent,
    victims: Sequence[TaskKey],
    lost_tasks: Sequence[TaskKey],
) -> Finding:
    lost_places = [(node, key) for kind, key, node in statement.ops if kind in PLACING_OPS and key in lost_tasks]
    undo_seq, action = _find_undoing(view, seq, lost_tasks)
    cost, pods = count_noun(len(victims), "eviction"), count_noun(len(lost_tasks), "pod")
    reason = f"{action or 'a later action'} later in this cycle released the room reserved for its {pods}"
    freed = (node for kind, _, node in statement.ops if kind == "evict")
    places = ((node, view.tasks[key].init_resreq) for node, key in lost_places)
    nodes = join_names(dict.fromkeys(node for node, _ in lost_places))
    evicted = f"Evicted: {join_names(victims, MAX_VICTIMS)}; reserved on {nodes}."
    facts = (evicted, *elsewhere_facts(view, seq, freed, places))
    lost = {"pods.evicted": len(victims), "pods.lost": len(lost_tasks), "job.minAvailable": view.job.min_available}
    evidence = proof_of(seq, f"{visit.action} commits {cost}")
    evidence += proof_of(undo_seq, f"{action} releases the reservation of {lost_tasks[0]}")
    words = "Step to the event that releases the reservation: vcdebug open."
    if action and view.actions.index(action) > view.actions.index(visit.action):
        words = f"Put {action} before {visit.action} in actions, so that the reservation is kept."
    lines, advice = operation_lines(statement), (Advice.cluster_admin(words),)
    state = f"is Pending although {visit.action} committed {cost} for it"
    return view.pending(Cause.PLAN_LOST, reason, counts(lost), evidence, advice, lines, facts, state=state)


def _find_undoing(view: JobView, after: Seq, lost_tasks: Sequence[TaskKey]) -> tuple[Seq | None, str]:
    """(event, action) that rolled back the first placement; None and empty if no event did."""
    for seq, event in view.recording.events_of_type(OpEvent):
        if seq > after and event.op in (UNALLOCATE_OP, UNPIPELINE_OP) and event.task in lost_tasks:
            return seq, view.recording.span_tree.name_around(seq, Level.ACTION)
    return None, ""


# Causes that neither time nor evictions remove: pods too large for every node, or for their queue's limit.

VOID_CAUSES = (Cause.GANG_DISCARD, Cause.NOT_STARVING)
MAX_KINDS = 8
"""Kinds of pods examined per job."""


def never_possible(
    view: JobView, task: TaskInfo, fits: NodeFits, gates: Sequence[Gate], findings: list[Finding]
) -> list[Finding] | None:
    """Put a lasting cause first, and drop advice to make room from the other findings; None without a lasting cause."""
    impossible = impossible_finding(view, task, fits) or _beyond_limit_finding(view, fits)
    if impossible is None:
        return None
    too_large = impossible.cause == Cause.LARGER
    causes = (*VOID_CAUSES, Cause.NOT_ALLOCATABLE) if too_large else VOID_CAUSES
    return [impossible, *(replace(one, advice=()) if one.cause in causes else one for one in findings)]


def _beyond_limit_finding(view: JobView, fits: NodeFits) -> Finding | None:
    refusal = queue_limits.impossible_refusal(view)
    if refusal is None:
        return None
    task = view.tasks[refusal[1].task]
    return queue_limits.not_allocatable_finding(view, task, fits.for_task(task), *refusal)


def impossible_finding(view: JobView, task: TaskInfo, fits: NodeFits) -> Finding | None:
    """The finding if so many pods fit no node ever that the job cannot reach minMember; else None."""
    job, pending_tasks = view.job, view.unplaced_tasks
    placed_count = job.ready_task_num() + job.waiting_task_num()
    if placed_count >= job.min_available:
        return no_node.hopeless_finding(task, fits.for_task(task))
    # Pods of one template fail for the same reason, so one per kind is tested; the bound limits unusual jobs.
    kinds = group_by_key((template_key(task), task) for task in pending_tasks)
    for kind in list(kinds.values())[:MAX_KINDS]:
        # The gang reaches its minimum without pods of this kind, so they do not make the job impossible.
        if placed_count + len(pending_tasks) - len(kind) >= job.min_available:
            continue
        finding = no_node.hopeless_finding(kind[0], fits.for_task(kind[0]))
        if finding is not None:
            return finding
    return None
