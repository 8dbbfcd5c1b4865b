"""Jobs and pods that the session never sees."""

from __future__ import annotations

from vcdebug.explain.advice import owner, sharers
from vcdebug.explain.amounts import count, listed, plural
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.subject import Subject
from vcdebug.framework.record import StateEvent
from vcdebug.model.pod import GROUP_ANNOTATION, Pod
from vcdebug.model.podgroup import PodGroup
from vcdebug.trace.recording import Recording

QUEUE_MISSING = "queue-missing"
OTHER_SCHEDULER = "other-scheduler"
POD_GROUP_MISSING = "podgroup-missing"
NOT_IN_SESSION = "not-in-session"
PLACES = "places"


def not_in_session(recording: Recording, subject: Subject) -> Finding:
    """Why a job or pod is not in the session."""
    pods = [pod for pod in _pods(recording) if _belongs(pod, subject)]
    group = next((g for g in _groups(recording) if f"{g.namespace}/{g.name}" == subject.job), None)
    if group is not None:
        queue = group.queue or recording.snapshot.flags.default_queue
        if queue not in recording.session.queues:
            return _queue_missing(recording, subject, queue)
        return _not_in_session(recording, subject)
    running = [pod for pod in pods if pod.node_name]
    if running and len(running) == len(pods):
        return _outside(recording, running)
    hidden = hidden_pods(recording, pods)
    if hidden:
        return other_scheduler(recording, subject.job or hidden[0].key, hidden)
    return _no_pod_group(recording, subject, pods)


def hidden_pods(recording: Recording, pods: list[Pod]) -> list[Pod]:
    """Waiting pods that name another scheduler."""
    names = recording.snapshot.flags.scheduler_names
    return [pod for pod in pods if not pod.node_name and pod.scheduler_name not in names]


def other_scheduler(recording: Recording, who: str, hidden: list[Pod]) -> Finding:
    """The pods wait for somebody else."""
    wanted = " or ".join(recording.snapshot.flags.scheduler_names)
    named = ", ".join(dict.fromkeys(pod.scheduler_name or "none" for pod in hidden))
    verb = "names" if len(hidden) == 1 else "name"
    sentence = (
        f"Volcano never sees {plural(len(hidden), 'pod')} of {who}: {listed(pod.name for pod in hidden)} {verb} "
        f"schedulerName {named}, this scheduler takes only {wanted}."
    )
    return Finding(
        OTHER_SCHEDULER,
        sentence,
        {"pods.hidden": count(len(hidden), "pods")},
        opened(recording, "the session opens without them"),
        (owner(f"create the pods with spec.schedulerName: {recording.snapshot.flags.scheduler_names[0]}"),),
    )


def opened(recording: Recording, text: str) -> tuple[Evidence, ...]:
    """The event that shows what the session starts from."""
    seqs = recording.index.of_type(StateEvent)
    return (Evidence(seqs[0], text),) if seqs else ()


def _pods(recording: Recording) -> list[Pod]:
    return [Pod(manifest) for manifest in recording.snapshot.of("Pod")]


def _groups(recording: Recording) -> list[PodGroup]:
    return [PodGroup(manifest) for manifest in recording.snapshot.of("PodGroup")]


def _belongs(pod: Pod, subject: Subject) -> bool:
    return pod.job_id == subject.job if subject.job else pod.key == subject.pod


def _queue_missing(recording: Recording, subject: Subject, queue: str) -> Finding:
    queues = list(recording.session.queues)
    from difflib import get_close_matches

    close = get_close_matches(queue, queues, 1, 0.6)
    meant = f"; did you mean {close[0]}?" if close else ""
    sentence = (
        f"{subject.job} is not in the session: its PodGroup names queue {queue}, which does not exist "
        f"(queues: {listed(queues, 6)}){meant}"
    )
    other = close[0] if close else "an existing queue"
    edits = (f"PodGroup/{subject.job}:spec.queue={close[0]}",) if close else ()
    advice = owner(f"set spec.queue of PodGroup {subject.job} to {other}", *edits)
    return Finding(
        QUEUE_MISSING,
        sentence if close else f"{sentence}.",
        {"queues": count(len(queues), "queues")},
        opened(recording, "the session opens without the job"),
        (advice, sharers(f"create queue {queue}")),
    )


def _not_in_session(recording: Recording, subject: Subject) -> Finding:
    lines = tuple(p.line() for p in recording.snapshot.problems if subject.job in p.object)
    return Finding(
        NOT_IN_SESSION,
        f"{subject.job} is not in the session: its PodGroup could not be read.",
        evidence=opened(recording, "the session opens without the job"),
        advice=(owner("see vcdebug inspect"),),
        lines=lines,
    )


def _outside(recording: Recording, running: list[Pod]) -> Finding:
    sentence = f"{running[0].key} already runs on {running[0].node_name}; it belongs to no job of Volcano's."
    return Finding(PLACES, sentence, evidence=opened(recording, "the session opens with the pod on its node"))


def _no_pod_group(recording: Recording, subject: Subject, pods: list[Pod]) -> Finding:
    if subject.job:
        verb = "names" if len(pods) == 1 else "name"
        sentence = (
            f"{plural(len(pods), 'pod')} {verb} PodGroup {subject.job}, which does not exist: no job is made of them"
            f"{_namesake(recording, subject)}."
        )
    else:
        sentence = f"{subject.pod} has no annotation {GROUP_ANNOTATION}: it belongs to no PodGroup, so no job has it."
    advice = "create the PodGroup; Volcano's controllers do so for Volcano Jobs and for plain pods"
    if subject.job and (there := _namespaces_with(recording, subject)):
        advice = f"create the pod in namespace {there[0]}, or a PodGroup in the pod's namespace"
    return Finding(
        POD_GROUP_MISSING,
        sentence,
        {"pods": count(len(pods), "pods")},
        opened(recording, "the session opens without a job for them"),
        (owner(advice),),
    )


def _namesake(recording: Recording, subject: Subject) -> str:
    """A PodGroup of that name in another namespace, or one of a similar name in the same."""
    namespace, _, name = subject.job.partition("/")
    groups, elsewhere = _groups(recording), _namespaces_with(recording, subject)
    if elsewhere:
        there = f"namespace {listed(elsewhere)} has a PodGroup {name}"
        return f"; {there}, but a pod's PodGroup must be in its own namespace, {namespace}"
    from difflib import get_close_matches

    close = get_close_matches(name, [group.name for group in groups if group.namespace == namespace], 1, 0.8)
    return f"; did you mean {namespace}/{close[0]}" if close else ""


def _namespaces_with(recording: Recording, subject: Subject) -> list[str]:
    """Namespaces with a PodGroup of the name."""
    name = subject.job.rpartition("/")[2]
    return [group.namespace for group in _groups(recording) if group.name == name]
