"""Which jobs stay unscheduled, each with its dominant cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending import explain_subject
from vcdebug.explain.subject import NotFoundError, Subject, find_subject
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.pod import Pod
from vcdebug.model.podgroup import PodGroup
from vcdebug.model.status import TaskStatus
from vcdebug.trace.recording import Recording


class Surveyed(NamedTuple):
    """One job, and how much of it waits."""

    explanation: Explanation
    queue: QueueName
    """Empty for a job that names none."""
    pending: int
    """Pods that are Pending when the cycle ends."""


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


def survey(recording: Recording) -> Survey:
    """Every job that stays unscheduled in this cycle, in the order of names."""
    subjects, homeless = sorted(_subjects(recording)), _homeless(recording)
    explained = [_surveyed(recording, one, homeless) for one in subjects if _may_wait(recording, one.job)]
    waiting = tuple(one for one in explained if not one.explanation.scheduled)
    return Survey(len(subjects), waiting, len(recording.problems), doubt=_doubt(recording))


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


def _may_wait(recording: Recording, job: JobId) -> bool:
    """False only where all pods of a job had their places before the cycle."""
    info = recording.session.jobs.get(job)
    if info is None or not info.tasks:
        return True
    opening = recording.timeline.opening_tasks
    return any(opening[task.key].status is TaskStatus.PENDING for task in info.tasks.values())


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
