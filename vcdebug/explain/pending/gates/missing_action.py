"""An action that would evict is not configured, and the cycle with it shows that it would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import yaml

from vcdebug.actions import ALLOCATE, PREEMPT
from vcdebug.amount_text import count_noun, join_names
from vcdebug.explain.amounts import count
from vcdebug.explain.answer import Evidence, Finding, cluster_admin_advice, proof_of
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.gates.eviction import Gate, GateChance
from vcdebug.explain.pending.gates.gang import DISCARD_CAUSE
from vcdebug.explain.pending.gates.queue_limits import allocatable_refusals
from vcdebug.explain.pending.no_node import histogram_lines, search_evidence
from vcdebug.explain.pending.room_takers import room_takers
from vcdebug.model.names import JobId, NodeName, TaskKey
from vcdebug.model.task import TaskInfo
from vcdebug.recording.recording import Recording, disposing, per_recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edit_path import EditError
from vcdebug.snapshot.go_yaml import load_yaml

if TYPE_CHECKING:
    from vcdebug.recording.effects import Effects

EVICT_AFTER = (ALLOCATE, PREEMPT)


class ActionTrial(NamedTuple):
    """What a cycle with one more action does for a job."""

    action: str
    placed: tuple[tuple[TaskKey, NodeName], ...]
    evicted: tuple[TaskKey, ...]
    """Tasks of other jobs that leave for it."""


def replay_with_action(recording: Recording, action: str) -> Recording:
    """The cycle with the action inserted where it usually stands."""
    document, actions = load_yaml(recording.conf.text), recording.conf.actions
    place = max((actions.index(name) + 1 for name in EVICT_AFTER if name in actions), default=len(actions))
    raw = dict(document) if isinstance(document, dict) else {}
    raw["actions"] = ", ".join([*actions[:place], action, *actions[place:]])
    text = yaml.safe_dump(raw, sort_keys=False)
    snapshot = replace(recording.snapshot, scheduler_conf=text)
    return replay_cycle(snapshot, ask_extender=recording.session.ask_extender, beside=recording)


@per_recording()
def _effects_with(recording: Recording, action: str) -> Effects | None:
    """What came of the cycle with one more action, however many jobs ask."""
    from vcdebug.recording.effects import cycle_effects

    try:
        with disposing(replay_with_action(recording, action)) as run:
            return cycle_effects(run)
    except EditError:
        return None


def try_action(recording: Recording, job: JobId, action: str) -> ActionTrial | None:
    """None when the job would stay unplaced all the same, or a forced answer has no place in such a cycle."""
    done = _effects_with(recording, action)
    if done is None:
        return None
    placed = tuple((e.task, e.node) for e in (*done.bound, *done.pipelined) if e.job == job)
    summary = next((one for one in done.jobs if one.job == job), None)
    if not placed or summary is None or summary.ready + summary.waiting < summary.min_available:
        return None
    evicted = tuple(e.task for e in done.evicted if e.job != job and e.action == action)
    return ActionTrial(action, placed, evicted)


NOT_CONFIGURED_CAUSE = "action-not-configured"


def missing_action(
    view: JobView, task: TaskInfo, room: NodeFits, met: Sequence[Gate], said: list[Finding]
) -> list[Finding] | None:
    """Before all others where it would help on most nodes; none where an action that evicts task by task came near."""
    if room.free_nodes or any(
        gate.chance is GateChance.REAL and view.facts_of(gate.action).evicts_by_pod for gate in met
    ):
        return None
    for action in view.recording.conf.known:
        if action in view.actions or not view.facts_of(action).evicts_by_pod or not room.freeable_nodes(action):
            continue
        trial = try_action(view.recording, view.job.uid, action)
        if trial is not None and trial.evicted:
            helped = len(room.freeable_nodes(action))
            finding = _build_finding(view, task, room, trial, helped)
            first = 2 * helped > len(room.node_fits) and not room_takers(room) and said[0].cause != DISCARD_CAUSE
            return [finding, *said] if first else [said[0], finding, *said[1:]]
    return None


def no_allocate_finding(view: JobView, task: TaskInfo, room: NodeFits) -> Finding:
    """There is room, and no action that would use it."""
    have = "has" if len(room.free_nodes) == 1 else "have"
    sentence = (
        f"{count_noun(len(room.free_nodes), 'node')} {have} room for {task.name}, but allocate is not among the "
        "actions "
        f"({', '.join(view.actions)})."
    )
    evidence = proof_of(view.action_ends(view.actions[-1]), "the last action ends, and nothing was allocated")
    numbers = {"nodes.free": count(len(room.free_nodes), "nodes")}
    return Finding(
        NOT_CONFIGURED_CAUSE, sentence, numbers, evidence, (cluster_admin_advice("put allocate into actions"),)
    )


def _build_finding(view: JobView, task: TaskInfo, room: NodeFits, trial: ActionTrial, helped: int) -> Finding:
    where = join_names(dict.fromkeys(node for _, node in trial.placed))
    sentence = (
        f"No node has room for {task.name}, and {trial.action} is not among the actions ({', '.join(view.actions)}): "
        f"with it {count_noun(len(trial.placed), 'pod')} would go to {where}, evicting "
        f"{join_names(trial.evicted) or 'nobody'}."
    )
    numbers = {
        "nodes": count(len(room.node_fits), "nodes"),
        "nodes.helped": count(helped, "nodes"),
        "pods.placed": count(len(trial.placed), "pods"),
        "victims": count(len(trial.evicted), "pods"),
    }
    refused = tuple(
        Evidence(seq, f"{e.plugin}: the queue may not allocate it") for seq, e in allocatable_refusals(view)[:1]
    )
    last = proof_of(view.action_ends(view.actions[-1]), "the last action ends, and nothing was evicted")
    evidence = tuple(sorted((*(refused or search_evidence(view, task)), *last)))
    after = ", after allocate" if ALLOCATE in view.actions else ""
    advice = (cluster_admin_advice(f"put {trial.action} into actions{after}: the replay with it places the job"),)
    return Finding(NOT_CONFIGURED_CAUSE, sentence, numbers, evidence, advice, histogram_lines(room))
