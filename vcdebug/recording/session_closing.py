"""How the session closed, step by step: plugins, the job updater, pods, queues.

Upstream: framework.CloseSession, framework/session (closeSession, jobStatus), framework/job_updater.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from vcdebug.amount_text import count_noun
from vcdebug.framework.record import CloseEvent, PanicEvent
from vcdebug.framework.session_close import UNSCHEDULABLE_CONDITION, counted_for_phase
from vcdebug.kube.node_view import CycleState
from vcdebug.model.job import JobInfo
from vcdebug.model.names import TaskKey
from vcdebug.model.pod_group import COMPLETED, INQUEUE, RUNNING, UNKNOWN, Condition, PodGroup
from vcdebug.plugins import GANG, NUMA_AWARE, PREDICATES
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.session_steps import SessionStep
from vcdebug.recording.writes import ClusterWrite, api_writes, pod_group_changes

WRITES_NOTHING = "writes nothing"


@per_recording()
def closing_step(recording: Recording) -> SessionStep | None:
    """The close as a whole, with its stages in order; None where the session never closes."""
    if not isinstance(recording.last_event, CloseEvent):
        return None
    job_count = count_noun(len(recording.session.jobs), "job")
    return SessionStep("session closes", job_count, seq=len(recording), make_steps=partial(_closing_stages, recording))


@per_recording()
def _closing_stages(recording: Recording) -> Sequence[SessionStep]:
    return (
        _plugins_step(recording),
        _job_updater_step(recording),
        _pod_writes_step(recording),
        _queue_writes_step(recording),
        _cycle_states_step(recording),
    )


# Plugins


def _plugins_step(recording: Recording) -> SessionStep:
    names = sorted(recording.session.plugins)
    return SessionStep(
        "plugins close",
        f"{count_noun(len(names), 'plugin')}, by name",
        seq=len(recording),
        make_steps=lambda: [_plugin_step(recording, name) for name in names],
    )


def _plugin_step(recording: Recording, name: str) -> SessionStep:
    writes = CLOSING_PLUGINS[name](recording) if name in CLOSING_PLUGINS else ()
    words = count_noun(len(writes), "write") if writes else WRITES_NOTHING
    return SessionStep(name, words, True if writes else None, len(recording), make_steps=lambda: writes)


def _gang_condition_steps(recording: Recording) -> Sequence[SessionStep]:
    """A step per condition that this session writes to a PodGroup."""
    seq = len(recording)
    return [
        SessionStep(
            f"job {job.uid}", _format_condition(item), item.type != UNSCHEDULABLE_CONDITION, seq, ("job", job.uid)
        )
        for job, item in closing_conditions(recording)
    ]


def closing_conditions(recording: Recording) -> list[tuple[JobInfo, Condition]]:
    """The conditions that gang writes to PodGroups when this session closes, with their jobs."""
    uid, jobs = recording.session.uid, recording.session.jobs.values()
    return [(job, item) for job in jobs for item in job.pod_group.conditions if item.transition_id == uid]


def _format_condition(condition: Condition) -> str:
    message = f": {condition.message}" if condition.message else ""
    return f"condition {condition.type}={condition.status} {condition.reason}{message}"


def _reserved_cpu_steps(recording: Recording) -> Sequence[SessionStep]:
    """A step per new CPU reservation, which the cache keeps until the Numatopology shows the CPUs as used."""
    before = dict.fromkeys(recording.snapshot.process.reserved_cpus)
    seq = len(recording)
    return [
        SessionStep(
            f"pod {reservation.pod}",
            f"CPUs {reservation.cpus} of {reservation.node} are kept",
            True,
            seq,
            ("task", reservation.pod),
        )
        for reservation in recording.session.process.reserved_cpus
        if reservation not in before
    ]


CLOSING_PLUGINS = {GANG: _gang_condition_steps, NUMA_AWARE: _reserved_cpu_steps}
"""Plugins that write when the session closes."""


# The job updater


def _job_updater_step(recording: Recording) -> SessionStep:
    jobs = recording.session.jobs.values()
    written = len([job for job in jobs if pod_group_changes(job)])
    same = f", {len(jobs) - written} as before" if written < len(jobs) else ""
    text = f"{count_noun(written, 'PodGroup')} written{same}"
    return SessionStep("JobUpdater", text, seq=len(recording), make_steps=partial(_job_steps, recording))


@per_recording()
def _job_steps(recording: Recording) -> Sequence[SessionStep]:
    return [_job_step(recording, job) for job in recording.session.jobs.values()]


def _job_step(recording: Recording, job: JobInfo) -> SessionStep:
    seq, subject = len(recording), ("job", job.uid)
    before, changes = PodGroup(job.pod_group.manifest), pod_group_changes(job)
    group = job.pod_group
    phase = group.phase
    moved = f"{before.phase or 'none'} → {phase}" if before.phase != phase else f"stays {phase}"
    parts = [
        SessionStep("phase", f"{moved}: {_phase_reason(recording, job)}", seq=seq),
        SessionStep("pods", f"running {group.running}, succeeded {group.succeeded}, failed {group.failed}", seq=seq),
        *(
            SessionStep("condition", _format_condition(item), item.type != UNSCHEDULABLE_CONDITION, seq)
            for item in group.conditions
        ),
        SessionStep(
            "written",
            "; ".join(changes) if changes else "nothing: status and conditions are as they were",
            bool(changes) or None,
            seq,
        ),
    ]
    return SessionStep(
        f"job {job.uid}", f"phase {moved}", None if phase == before.phase else True, seq, subject, lambda: parts
    )


def _phase_reason(recording: Recording, job: JobInfo) -> str:
    """The rule by which the phase was chosen, with its figures."""
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


def _pod_writes_step(recording: Recording) -> SessionStep:
    writes = _writes_of_kind(recording, "Pod", ("condition", "annotations"))
    return SessionStep(
        "Pending pods",
        f"{count_noun(len(writes), 'write')}, conditions and annotations" if writes else WRITES_NOTHING,
        seq=len(recording),
        make_steps=partial(_write_steps, writes, "task"),
    )


def _queue_writes_step(recording: Recording) -> SessionStep:
    writes = _writes_of_kind(recording, "Queue", ("status",))
    same = len(recording.session.queues) - len(writes)
    text = f"{count_noun(len(writes), 'queue')} written" + (f", {same} as before" if same else "")
    return SessionStep(
        "queues' status.allocated", text, seq=len(recording), make_steps=partial(_write_steps, writes, "queue")
    )


def _writes_of_kind(recording: Recording, kind: str, verbs: Sequence[str]) -> Sequence[ClusterWrite]:
    return [
        item
        for item in api_writes(recording)
        if item.kind == kind and item.verb in verbs and item.seq == len(recording)
    ]


def _write_steps(writes: Sequence[ClusterWrite], subject: str) -> Sequence[SessionStep]:
    return [
        SessionStep(f"{write.kind.lower()} {write.object}", write.text, seq=write.seq, subject=(subject, write.object))
        for write in writes
    ]


# CycleStates


def _cycle_states_step(recording: Recording) -> SessionStep:
    names = _written_states(recording)
    text = f"{count_noun(len(names), 'pod')}, discarded with the session" if names else "no pod had a state with keys"
    return SessionStep("CycleStates", text, seq=len(recording), make_steps=partial(_state_key_steps, recording))


@per_recording()
def _written_states(recording: Recording) -> Mapping[TaskKey, CycleState]:
    states = recording.session.cycle_states
    tasks = [task for job in recording.session.jobs.values() for task in job.tasks.values()]
    task_states = {task.key: states[task.uid] for task in tasks if task.uid in states}
    return {key: state for key, state in task_states.items() if state.data or state.skip}


@per_recording()
def _state_key_steps(recording: Recording) -> Sequence[SessionStep]:
    steps: list[SessionStep] = []
    for key, state in _written_states(recording).items():
        keys = ", ".join(state.data) or "none"
        skipped = f"; filters skipped: {', '.join(state.skip)}" if state.skip else ""
        steps.append(SessionStep(f"pod {key}", f"keys: {keys}{skipped}", seq=len(recording), subject=("task", key)))
    return steps


# The panic that ends a recording: the function, the release, the objects to blame, what to change.

CALLS_SHOWN: Final = 4
_PLUGINS: Final = "plugins/"


def find_crash(recording: Recording) -> PanicEvent | None:
    """The panic that ends the recording; None where the process goes on."""
    return recording.last_event if isinstance(recording.last_event, PanicEvent) else None


def crash_lines(recording: Recording, event: PanicEvent) -> tuple[str, ...]:
    """What is known of the panic besides Go's message, one sentence per line."""
    release = recording.snapshot.release
    innermost, *outer = event.calls[:CALLS_SHOWN] or ("a function that the replay does not name",)
    called = f", called by {', '.join(outer)}" if outer else ""
    lines = [f"{innermost} panics{called} (release {release.name})"]
    if event.objects:
        lines.append(f"objects: {', '.join(f'{kind} {name}' for kind, name in event.objects)}")
    return (*lines, f"change: {crash_change(event)}")


def crash_report(recording: Recording) -> tuple[str, ...]:
    """The panic that ends the recording and what is known of it, one sentence per line; empty where there is none."""
    event = find_crash(recording)
    if event is None:
        return ()
    return f"the real scheduler panics at event {len(recording)}: {event.message}", *crash_lines(recording, event)


def crash_change(event: PanicEvent) -> str:
    """The change that avoids the panic: the known one, else removing the plugin, else removing the objects."""
    if event.change:
        return event.change
    plugin = next((name.removeprefix(_PLUGINS).partition("/")[0] for name in event.calls if _PLUGINS in name), "")
    # Without predicates a scheduler places pods on nodes that refuse them.
    if plugin and plugin.partition(".")[0] != PREDICATES:
        return f"take plugin {plugin.partition('.')[0]} out of the configuration"
    return "remove or repair these objects" if event.objects else "remove what makes it panic"
