"""allocate on its way to a place for one task: which of its gates was shut, and when one should look."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.actions import ALLOCATE, BACKFILL
from vcdebug.explain.answer import Evidence, Finding, cluster_admin_advice, owner_advice, proof_of
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.gates import ALLOCATING, resolve_gates
from vcdebug.explain.pending.gates.gang import DISCARD_CAUSE, discarded_finding
from vcdebug.explain.pending.gates.queue_limits import allocatable_refusals, not_allocatable_finding
from vcdebug.explain.pending.no_node import no_best_node_finding, no_node_finding
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.model.task import TaskInfo

NOT_TRIED_CAUSE = "not-tried"


def failed_search_seq(view: JobView, task: TaskInfo) -> Seq:
    """The search that left the task without a node; else the end of allocate, when its discarded plans are undone."""
    attempts = [
        attempt for attempt in view.placing_tries if attempt.task == task.key and attempt.last_placement is None
    ]
    failed = [seq for attempt in attempts for seq, event in attempt.predicate_passes if not len(event.feasible)]
    if failed and discarded_finding(view, ALLOCATE) is None:
        return failed[-1]
    return view.action_ends(ALLOCATE) or len(view.recording)


def findings_of_gates(view: JobView, references: tuple[str, ...]) -> Iterator[Finding]:
    """What the gates of a list have to say."""
    return (finding for gate in resolve_gates(references) if (finding := gate(view)) is not None)


def allocate_findings(view: JobView, task: TaskInfo, room: NodeFits) -> list[Finding]:
    """What allocate said, the deciding gate first."""
    found = list(findings_of_gates(view, ALLOCATING))
    refused = [
        (seq, event) for seq, event in allocatable_refusals(view) if event.task == task.key
    ] or allocatable_refusals(view)
    if refused:
        found.append(_refused_finding(view, task, room, *refused[0]))
    if not room.free_nodes:
        lacking = no_node_finding(task, room)
        if found and found[0].cause == DISCARD_CAUSE:
            return [*found, lacking]
        return [lacking, *found]
    if found:
        return found
    if ALLOCATE not in view.actions and not task.best_effort:
        from vcdebug.explain.pending.gates.missing_action import no_allocate_finding

        return [no_allocate_finding(view, task, room)]
    return [no_best_node_finding(view, task) or not_tried_finding(view)]


def _refused_finding(view: JobView, task: TaskInfo, room: NodeFits, seq: Seq, event: HookEvent) -> Finding:
    """Allocatable's refusal, for the task that it was about."""
    about = view.tasks.get(event.task, task)
    return not_allocatable_finding(view, about, room if about is task else NodeFits(view, about, room.seq), seq, event)


def not_tried_finding(view: JobView) -> Finding:
    """Nobody got to it, although a node would take it; or nothing of it waits."""
    actions = ", ".join(view.actions)
    task = view.blocked_task
    if task is None:
        sentence = f"{view.job.uid} has no pod that waits for a place."
    elif task.best_effort and BACKFILL not in view.actions:
        return _no_backfill_finding(view, task)
    elif found := _passed_over_finding(view, task):
        return found
    else:
        sentence = f"No action ({actions}) tried to place {task.name}, although a node would take it."
    evidence = _last_action_evidence(view, "the last action ends")
    return Finding(
        NOT_TRIED_CAUSE, sentence, {}, evidence, (owner_advice("look at the actions and at the next cycle"),)
    )


def _last_action_evidence(view: JobView, text: str) -> tuple[Evidence, ...]:
    return proof_of(view.action_ends(view.actions[-1]) if view.actions else None, text)


def _passed_over_finding(view: JobView, task: TaskInfo) -> Finding | None:
    """allocate took it from the queue and did not look at a node, since a pod like it had found none."""
    own = [attempt for attempt in view.placing_tries if attempt.task == task.key]
    failed = [attempt for attempt in view.placing_tries if attempt.last_placement is None and attempt.predicate_passes]
    alike = [one for one in failed if view.tasks[one.task].task_role == task.task_role and one.task != task.key]
    if not alike or not own or any(attempt.events for attempt in own):
        return None
    name = view.tasks[alike[0].task].name
    role = f"role {task.task_role}" if task.task_role else "its job"
    sentence = (
        f"{task.name} was passed over, although a node would take it: once a pod of {role} finds no place, allocate "
        f"looks for none for the others, and {name} found none."
    )
    evidence = (
        Evidence(alike[0].predicate_passes[0][0], f"no node for {name}"),
        Evidence(own[0].first, f"{task.name} is taken up and let go without a look at any node"),
    )
    advice = (
        owner_advice(f"find out what {name} lacks: explain {name}"),
        owner_advice("give the pods roles of their own"),
    )
    return Finding(NOT_TRIED_CAUSE, sentence, {}, evidence, advice)


def _no_backfill_finding(view: JobView, task: TaskInfo) -> Finding:
    """Best effort, and nobody is there for it."""
    sentence = (
        f"{task.name} requests nothing (best effort): allocate leaves such pods to {BACKFILL}, which is not among the "
        f"actions ({', '.join(view.actions)})."
    )
    evidence = _last_action_evidence(view, "the last action ends, and nobody looked at it")
    advice = (
        owner_advice("let the pod request some cpu or memory"),
        cluster_admin_advice(f"add {BACKFILL} to the actions"),
    )
    return Finding(NOT_TRIED_CAUSE, sentence, {}, evidence, advice)
