"""Which jobs are not whole when the cycle ends, each with its cause: without anything, or waiting in part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from vcdebug.collector import collector_paused
from vcdebug.explain.answer import Explanation, Finding
from vcdebug.explain.pending import explain_subject
from vcdebug.explain.subject import NotFoundError, Subject, find_subject
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.pod import Pod
from vcdebug.model.podgroup import PodGroup
from vcdebug.model.status import TaskStatus
from vcdebug.trace.recording import Recording

WHOLE = (
    TaskStatus.RUNNING,
    TaskStatus.BOUND,
    TaskStatus.BINDING,
    TaskStatus.SUCCEEDED,
    TaskStatus.FAILED,
)
"""What a pod that has its node, or is done, ends the cycle as."""


class Surveyed(NamedTuple):
    """One job, and how much of it waits."""

    explanation: Explanation
    queue: QueueName
    """Empty for a job that names none."""
    pending: int
    """Pods that are Pending when the cycle ends."""

    @property
    def finding(self) -> Finding:
        """What to say about it: of a job that got its minimum, what keeps its other pods waiting."""
        found = self.explanation
        beside = found.contributing if found.scheduled and self.pending else ()
        return beside[0] if beside else found.dominant


@dataclass(frozen=True, slots=True)
class Survey:
    """All jobs of one recording; those that wait are explained."""

    jobs: int
    """Those of the session and those it never sees."""
    explained: tuple[Surveyed, ...]
    problems: int
    """Problems of the input, which may falsify it all."""
    named: bool = False
    """Whether somebody asked about one job or pod: the only one that counts, and explained whatever came of it."""
    doubt: str = ""
    """Why every answer may be wrong: the input does not show one moment."""

    @property
    def unscheduled(self) -> list[Surveyed]:
        """The jobs that stay unscheduled."""
        return [one for one in self.explained if not one.explanation.scheduled]

    @property
    def partly(self) -> list[Surveyed]:
        """The jobs that have what they need, but not all of their pods run."""
        return [] if self.named else [one for one in self.explained if one.explanation.scheduled]


def survey(recording: Recording, tell: Callable[[int, int], object] | None = None) -> Survey:
    """Every job that is not whole after this cycle, in the order of names; `tell` hears how many are explained."""
    with collector_paused():
        return _survey(recording, tell or _nobody)


def _nobody(done: int, total: int) -> None:
    """Nobody wants to hear it."""


def _survey(recording: Recording, tell: Callable[[int, int], object]) -> Survey:
    subjects, homeless, invalid = sorted(_subjects(recording)), _homeless(recording), _invalid(recording)
    broken = [one for one in subjects if one.job in invalid or not _whole(recording, one.job)]
    waiting: list[Surveyed] = []
    for one in broken:
        tell(len(waiting), len(broken))
        waiting.append(_surveyed(recording, one, homeless))
    return Survey(len(subjects), tuple(waiting), len(recording.problems), doubt=_doubt(recording))


def survey_one(recording: Recording, word: str) -> Survey:
    """The named job or pod, whatever came of it; nobody where there is none of that name."""
    try:
        subject = find_subject(recording.snapshot, word)
    except NotFoundError:
        return Survey(0, (), len(recording.problems), named=True, doubt=_doubt(recording))
    surveyed = _surveyed(recording, subject, _homeless(recording))
    return Survey(1, (surveyed,), len(recording.problems), named=True, doubt=_doubt(recording))


def _doubt(recording: Recording) -> str:
    provenance = recording.snapshot.provenance
    return "" if provenance is None else provenance.torn()


def _subjects(recording: Recording) -> Iterator[Subject]:
    """Jobs of PodGroups, of pods that name a missing PodGroup, and waiting pods of this scheduler without any."""
    groups = (PodGroup(manifest) for manifest in recording.snapshot.of("PodGroup"))
    jobs = dict.fromkeys(f"{group.namespace}/{group.name}" for group in groups)
    names = recording.snapshot.flags.scheduler_names
    for pod in (Pod(manifest) for manifest in recording.snapshot.of("Pod")):
        if pod.job_id:
            jobs[pod.job_id] = None
        elif not pod.node_name and pod.scheduler_name in names:
            yield Subject("", pod.key)
    yield from (Subject(job) for job in jobs)


def _invalid(recording: Recording) -> dict[JobId, None]:
    """Jobs that lacked pods of their gang before anything happened in this cycle."""
    first: dict[JobId, HookEvent] = {}
    for seq in recording.index.at_point("JobValid"):
        event = recording.event(seq)
        if isinstance(event, HookEvent):
            first.setdefault(event.job, event)
    return dict.fromkeys(job for job, event in first.items() if event.result and not event.result["pass"])


def _whole(recording: Recording, job: JobId) -> bool:
    """Whether each pod of a job has its node, or is done; one that was being deleted before is nobody's matter."""
    info = recording.session.jobs.get(job)
    if info is None or not info.tasks:
        return False
    opening = recording.timeline.opening_tasks
    return all(task.status in WHOLE or opening[task.key].status is TaskStatus.RELEASING for task in info.tasks.values())


def _homeless(recording: Recording) -> dict[str, int]:
    """How many pods of a job, or pods that belong to none, have no node before the cycle."""
    found: dict[str, int] = {}
    for pod in (Pod(manifest) for manifest in recording.snapshot.of("Pod")):
        if not pod.node_name:
            who = pod.job_id or pod.key
            found[who] = found.get(who, 0) + 1
    return found


def _surveyed(recording: Recording, subject: Subject, homeless: Mapping[str, int]) -> Surveyed:
    explanation = explain_subject(recording, subject)
    info = recording.session.jobs.get(subject.job)
    if info is None:
        return Surveyed(explanation, "", homeless.get(subject.job or subject.pod or "", 0))
    tasks = [task for task in info.tasks.values() if subject.pod in (None, task.key)]
    return Surveyed(explanation, info.queue, len([task for task in tasks if task.status is TaskStatus.PENDING]))
