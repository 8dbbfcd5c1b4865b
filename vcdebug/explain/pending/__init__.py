"""Why is a job Pending: the answer and its causes; here, why an answer may be wrong."""

from collections.abc import Iterator, Mapping, Sequence

from vcdebug.amount_text import join_names
from vcdebug.explain.job_view import ExplainSubject, JobView
from vcdebug.model.devices import DeviceLedger
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.snapshot.kinds import ResourceKind
from vcdebug.snapshot.object_checks import join_kinds, needed_kinds, supplying_command, was_read


def doubts_about(recording: Recording, subject: ExplainSubject) -> Iterator[str]:
    """Yields why the answer about a job or pod may be wrong."""
    others = [kind for kind, _ in _kinds_needed_by_groups(recording)]
    own_kinds = [(kind, words) for kind, words in _kinds_needed_by(recording, subject) if kind not in others]
    doubts = (doubt_of_input(recording), _doubt_of_kinds(own_kinds), _doubt_of_process(recording, subject))
    yield from filter(None, doubts)


def what_may_change(recording: Recording, subject: ExplainSubject) -> str:
    """What the first line has to say to be true on its own: kinds that the job names and the snapshot lacks."""
    kinds = tuple(kind for kind, _ in _kinds_needed_by(recording, subject))
    return f"may change: the snapshot has {join_kinds(kinds)}" if kinds else ""


def _kinds_needed_by(recording: Recording, subject: ExplainSubject) -> list[tuple[ResourceKind, str]]:
    """Kinds that the snapshot has none of, though the job's PodGroup or a Pending pod of it names one."""
    if subject.job not in recording.session.jobs:
        return []
    view = JobView(recording, subject.job, subject.pod)
    pods = [task.pod.manifest for task in view.pending_at_open]
    if view.job.tasks and not pods:
        return []
    return needed_kinds(recording.snapshot, {"PodGroup": [view.job.pod_group.manifest], "Pod": pods})


@per_recording()
def _kinds_needed_by_groups(recording: Recording) -> list[tuple[ResourceKind, str]]:
    """Kinds that the snapshot has none of, though some PodGroup names one."""
    groups = [job.pod_group.manifest for job in recording.session.jobs.values()]
    return needed_kinds(recording.snapshot, {"PodGroup": groups})


def _doubt_of_kinds(needed: Sequence[tuple[ResourceKind, str]]) -> str:
    """What objects name although the snapshot has no such objects, with the command that adds them."""
    if not needed:
        return ""
    named, kinds = join_names(words for _, words in needed), tuple(kind for kind, _ in needed)
    return f"{named}, but the snapshot has {join_kinds(kinds)}: add the output of `{supplying_command(kinds)}`"


def _doubt_of_process(recording: Recording, subject: ExplainSubject) -> str:
    """The assumption about the scheduler process, if device ledgers of earlier cycles decide about the job."""
    if not recording.snapshot.process.assumed or subject.job not in recording.session.jobs:
        return ""
    ledgers = _ledgers_by_device(recording).values()
    tasks = JobView(recording, subject.job, subject.pod).pending_at_open if ledgers else ()
    if not any(ledger.has_device_request(task.pod) for task in tasks for ledger in ledgers):
        return ""
    return "nothing says when the scheduler started, and a running process is assumed (meta.json: scheduler.started)"


@per_recording()
def _ledgers_by_device(recording: Recording) -> Mapping[str, DeviceLedger]:
    """One ledger of each kind of device that nodes have."""
    return {device: ledger for node in recording.session.nodes.values() for device, ledger in node.devices.items()}


def doubt_of_input(recording: Recording) -> str:
    """Why any answer may be wrong: objects read at different times, missing namespaces, an assumed configuration."""
    provenance = recording.snapshot.provenance
    doubts = ["" if provenance is None else provenance.inconsistency_text()]
    if provenance is not None and provenance.namespace:
        doubts.append(
            f"only namespace {provenance.namespace} was read; pods of other namespaces use room that is not known"
        )
    if recording.snapshot.scheduler_conf is None and recording.session.jobs:
        actions = ", ".join(recording.conf.actions)
        doubts.append(f"the snapshot has no scheduler configuration; the built-in one is assumed (actions {actions})")
    doubts.append(_doubt_of_kinds(_kinds_needed_by_groups(recording)))
    if recording.session.jobs and not recording.snapshot.objects_of("Pod") and not was_read(recording.snapshot, "Pod"):
        doubts.append("the snapshot has no Pod: add the output of `kubectl get pods -A -o json`")
    return "; ".join(filter(None, doubts))
