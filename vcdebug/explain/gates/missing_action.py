"""An action that would evict is not configured, and the cycle with it shows that it would help."""

from __future__ import annotations

from vcdebug.explain.amounts import count, listed, plural
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.gates.nodes import histogram_lines, search_evidence
from vcdebug.explain.job_view import EVICTING_ACTIONS, JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.queue_quota import refusals
from vcdebug.explain.what_if import Trial, try_action
from vcdebug.model.task import TaskInfo

NOT_CONFIGURED = "action-not-configured"


def missing_action(view: JobView, task: TaskInfo, room: NodeFits) -> tuple[Finding, bool] | None:
    """(finding, whether it would help on most nodes), or None if no missing action would place the job."""
    for action in EVICTING_ACTIONS:
        if action in view.actions or not room.could_free(action):
            continue
        trial = try_action(view.recording, view.job.uid, action)
        if trial is not None and trial.evicted:
            helped = len(room.could_free(action))
            return _finding(view, task, room, trial, helped), 2 * helped > len(room.nodes)
    return None


def no_allocate(view: JobView, task: TaskInfo, room: NodeFits) -> Finding:
    """There is room, and no action that would use it."""
    have = "has" if len(room.free) == 1 else "have"
    sentence = (
        f"{plural(len(room.free), 'node')} {have} room for {task.name}, but allocate is not among the actions "
        f"({', '.join(view.actions)})."
    )
    end = view.action_ends(view.actions[-1])
    evidence = (Evidence(end, "the last action ends, and nothing was allocated"),) if end is not None else ()
    numbers = {"nodes.free": count(len(room.free), "nodes")}
    return Finding(NOT_CONFIGURED, sentence, numbers, evidence, ("put allocate into actions",))


def _finding(view: JobView, task: TaskInfo, room: NodeFits, trial: Trial, helped: int) -> Finding:
    where = listed(dict.fromkeys(node for _, node in trial.placed))
    sentence = (
        f"No node has room for {task.name}, and {trial.action} is not among the actions ({', '.join(view.actions)}): "
        f"with it {plural(len(trial.placed), 'pod')} would go to {where}, evicting {listed(trial.evicted) or 'nobody'}."
    )
    numbers = {
        "nodes": count(len(room.nodes), "nodes"),
        "nodes.helped": count(helped, "nodes"),
        "pods.placed": count(len(trial.placed), "pods"),
        "victims": count(len(trial.evicted), "pods"),
    }
    refused = tuple(Evidence(seq, f"{e.plugin}: the queue may not allocate it") for seq, e in refusals(view)[:1])
    end = view.action_ends(view.actions[-1])
    last = (Evidence(end, "the last action ends, and nothing was evicted"),) if end is not None else ()
    evidence = tuple(sorted((*(refused or search_evidence(view, task)), *last)))
    after = ", after allocate" if "allocate" in view.actions else ""
    advice = (f"put {trial.action} into actions{after}: the replay with it places the job",)
    return Finding(NOT_CONFIGURED, sentence, numbers, evidence, advice, histogram_lines(room))
