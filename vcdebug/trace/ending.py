"""How the session closed, step by step: what plugins write, the job updater, pods, queues.

Upstream: framework.CloseSession, framework/session (closeSession, jobStatus), framework/job_updater.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from vcdebug.amount_text import plural
from vcdebug.framework.closing import UNSCHEDULABLE_CONDITION, counted_for_phase
from vcdebug.framework.record import CloseEvent
from vcdebug.kube.cycle_state import CycleState
from vcdebug.model.job import JobInfo
from vcdebug.model.names import TaskKey
from vcdebug.model.podgroup import COMPLETED, INQUEUE, RUNNING, UNKNOWN, Condition, PodGroup
from vcdebug.plugins import GANG, NUMA_AWARE
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.trace.steps import Step
from vcdebug.trace.writes import Write, pod_group_changes, writes

NOTHING = "writes nothing"


@per_recording()
def ending(recording: Recording) -> Step | None:
    """The close as a whole, with its stages in order; None where the session never closes."""
    seq = len(recording)
    if not seq or not isinstance(recording.event(seq), CloseEvent):
        return None
    said = plural(len(recording.session.jobs), "job")
    return Step("session closes", said, seq=seq, parts=partial(_stages, recording))


@per_recording()
def _stages(recording: Recording) -> Sequence[Step]:
    return (_plugins(recording), _job_updater(recording), _pods(recording), _queues(recording), _states(recording))


# Plugins


def _plugins(recording: Recording) -> Step:
    names = sorted(recording.session.plugins)
    return Step(
        "plugins close",
        f"{plural(len(names), 'plugin')}, by name",
        seq=len(recording),
        parts=lambda: [_plugin(recording, name) for name in names],
    )


def _plugin(recording: Recording, name: str) -> Step:
    found = CLOSING[name](recording) if name in CLOSING else ()
    words = plural(len(found), "write") if found else NOTHING
    return Step(name, words, True if found else None, len(recording), parts=lambda: found)


def _gang(recording: Recording) -> Sequence[Step]:
    """The conditions of this session, of every PodGroup that has pods."""
    uid, seq = recording.session.uid, len(recording)
    return [
        Step(f"job {job.uid}", _condition_words(each), each.type != UNSCHEDULABLE_CONDITION, seq, ("job", job.uid))
        for job in recording.session.jobs.values()
        for each in job.pod_group.conditions
        if each.transition_id == uid
    ]


def _condition_words(condition: Condition) -> str:
    message = f": {condition.message}" if condition.message else ""
    return f"condition {condition.type}={condition.status} {condition.reason}{message}"


def _numa(recording: Recording) -> Sequence[Step]:
    """CPUs that the cache keeps for pods until a Numatopology shows them."""
    before = dict.fromkeys(recording.snapshot.process.reserved_cpus)
    seq = len(recording)
    return [
        Step(f"pod {one.pod}", f"CPUs {one.cpus} of {one.node} are kept", True, seq, ("task", one.pod))
        for one in recording.session.process.reserved_cpus
        if one not in before
    ]


CLOSING = {GANG: _gang, NUMA_AWARE: _numa}
"""Plugins that write when the session closes."""


# The job updater


def _job_updater(recording: Recording) -> Step:
    jobs = recording.session.jobs.values()
    written = len([job for job in jobs if pod_group_changes(job)])
    same = f", {len(jobs) - written} as before" if written < len(jobs) else ""
    said = f"{plural(written, 'PodGroup')} written{same}"
    return Step("JobUpdater", said, seq=len(recording), parts=partial(_jobs, recording))


@per_recording()
def _jobs(recording: Recording) -> Sequence[Step]:
    return [_job(recording, job) for job in recording.session.jobs.values()]


def _job(recording: Recording, job: JobInfo) -> Step:
    seq, about = len(recording), ("job", job.uid)
    before, changes = PodGroup(job.pod_group.manifest), pod_group_changes(job)
    phase = job.pod_group.phase
    moved = f"{before.phase or 'none'} → {phase}" if before.phase != phase else f"stays {phase}"
    parts = [
        Step("phase", f"{moved}: {_why(recording, job)}", seq=seq),
        Step("pods", _counts(job), seq=seq),
        *(
            Step("condition", _condition_words(each), each.type != UNSCHEDULABLE_CONDITION, seq)
            for each in job.pod_group.conditions
        ),
        Step(
            "written",
            "; ".join(changes) if changes else "nothing: status and conditions are as they were",
            bool(changes) or None,
            seq,
        ),
    ]
    return Step(f"job {job.uid}", f"phase {moved}", None if phase == before.phase else True, seq, about, lambda: parts)


def _counts(job: JobInfo) -> str:
    group = job.pod_group
    return f"running {group.running}, succeeded {group.succeeded}, failed {group.failed}"


def _why(recording: Recording, job: JobInfo) -> str:
    """The rule of the phase, with its figures."""
    group = job.pod_group
    scheduled, finished = counted_for_phase(job, recording.session.release), group.succeeded + group.failed
    if group.phase == UNKNOWN:
        return f"{group.running} running, and the gang is unschedulable in this session"
    compared = f"{scheduled} scheduled {'≥' if scheduled >= group.min_member else '<'} minMember {group.min_member}"
    if group.phase == COMPLETED:
        return f"{compared}, and all of them have finished"
    if group.phase == RUNNING:
        return f"{compared}, {finished} of them finished"
    return f"{compared}; {'Inqueue stays' if group.phase == INQUEUE else 'what was not Inqueue is Pending'}"


# What the cache writes


def _pods(recording: Recording) -> Step:
    found = _written(recording, "Pod", ("condition", "annotations"))
    return Step(
        "pods that wait",
        f"{plural(len(found), 'write')}, conditions and annotations" if found else NOTHING,
        seq=len(recording),
        parts=partial(_steps, found, "task"),
    )


def _queues(recording: Recording) -> Step:
    found = _written(recording, "Queue", ("status",))
    same = len(recording.session.queues) - len(found)
    said = f"{plural(len(found), 'queue')} written" + (f", {same} as before" if same else "")
    return Step("queues' status.allocated", said, seq=len(recording), parts=partial(_steps, found, "queue"))


def _written(recording: Recording, kind: str, verbs: Sequence[str]) -> Sequence[Write]:
    return [
        each for each in writes(recording) if each.kind == kind and each.verb in verbs and each.seq == len(recording)
    ]


def _steps(found: Sequence[Write], subject: str) -> Sequence[Step]:
    return [
        Step(f"{each.kind.lower()} {each.object}", each.text, seq=each.seq, subject=(subject, each.object))
        for each in found
    ]


# CycleStates


def _states(recording: Recording) -> Step:
    names = _names(recording)
    said = f"{plural(len(names), 'pod')}, given up with the session" if names else "no pod had a state with keys"
    return Step("CycleStates", said, seq=len(recording), parts=partial(_keys, recording))


@per_recording()
def _names(recording: Recording) -> Mapping[TaskKey, CycleState]:
    """The states that were written to, by pod."""
    states = recording.session.cycle_states
    tasks = [task for job in recording.session.jobs.values() for task in job.tasks.values()]
    found = {task.key: states[task.uid] for task in tasks if task.uid in states}
    return {key: state for key, state in found.items() if state.data or state.skip}


@per_recording()
def _keys(recording: Recording) -> Sequence[Step]:
    found: list[Step] = []
    for key, state in _names(recording).items():
        kept = ", ".join(state.data) or "none"
        skipped = f"; filters skipped: {', '.join(state.skip)}" if state.skip else ""
        found.append(Step(f"pod {key}", f"keys: {kept}{skipped}", seq=len(recording), subject=("task", key)))
    return found
