"""Finds contradictions between explain's answer about a job and the recording."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vcdebug.explain.answer import Evidence, Explanation, Finding
from vcdebug.explain.decisions.evictions import planned_evictions
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.framework.record import Event, HookEvent, OpEvent, PredicateEvent, StatementEvent
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskStatus
from vcdebug.recording.effects import CARRIED_OUT_FATES, cycle_effects
from vcdebug.recording.recording import Recording

NO_EVICTION = ("No pod is evicted", "No evictions")
PLACED = (TaskStatus.RUNNING, TaskStatus.BOUND, TaskStatus.BINDING, TaskStatus.PIPELINED, TaskStatus.ALLOCATED)
WAITS = (TaskStatus.PENDING, TaskStatus.PIPELINED)
NOUGHT = re.compile(r"(?<![\d.])0 (short|over|more pods|pods? at the same time)")
MET = re.compile(r"has its minMember \((\d+) ready, (\d+) pipelined, minMember (\d+)\)")
KINDS: tuple[tuple[str, type[Event], str], ...] = (
    (r"^\S+ commits ", StatementEvent, "commit"),
    (r"^\S+ (discards|rolls back) ", StatementEvent, "discard"),
    (r"^(allocate|pipeline|bind) \S+ on ", OpEvent, ""),
    (r"^\w+: \S+ fits \d+ of \d+ nodes?$", PredicateEvent, ""),
    (r"rejects the PodGroup", HookEvent, "JobEnqueueable"),
    (r"may not allocate", HookEvent, "Allocatable"),
    (r"reserves \(pipelines\) it where no pod is terminating", OpEvent, "pipeline"),
)
"""(pattern of the evidence text, type of its event, expected value of the event's kind or "")."""


def contradictions(recording: Recording, found: Explanation) -> Iterator[str]:
    """Yield each contradiction between sentence, steps, evidence and recording."""
    for finding in (found.dominant, *found.contributing):
        yield from _proof(recording, finding)
        yield from _sentence(recording, found, finding)
        yield from _sums(finding)
    yield from _steps(recording, found)
    yield from _outcome(recording, found)


def missing_in_survey(recording: Recording) -> list[str]:
    """Jobs and pods without a PodGroup that do not fully run at the end and are missing in the survey."""
    entries = [
        one.explanation
        for one in survey_jobs(recording).explained
        if one.shown_finding.cause and one.shown_finding.full_text
    ]
    listed = dict.fromkeys([*(one.job for one in entries), *(one.pod for one in entries)])
    return [name for name in dict.fromkeys(_not_whole(recording)) if name not in listed]


def differing_in_survey(recording: Recording) -> list[str]:
    """Jobs of which the survey, which leaves out details, has another cause or other advice than the whole answer."""
    surveyed = [one.explanation for one in survey_jobs(recording).explained]
    whole = [explain_by_name(recording, one.pod or one.job) for one in surveyed]
    return [one.job for one, other in zip(surveyed, whole, strict=True) if _listed(one) != _listed(other)]


def _listed(found: Explanation) -> tuple[object, ...]:
    """What lists of jobs show of an answer."""
    causes = [(finding.cause, finding.headline) for finding in (found.dominant, *found.contributing)]
    # That a job can wait follows from the order of its queue, which only the whole answer compares.
    advised = tuple(line for line in found.advised if not line.comes_first)
    return causes, advised, found.scheduled, found.doubt


def _not_whole(recording: Recording) -> Iterator[str]:
    """Yield jobs, named PodGroups and single pods of which some pod has no node and is not done."""
    jobs, names = recording.session.jobs, recording.snapshot.flags.scheduler_names
    for manifest in recording.snapshot.objects_of("PodGroup"):
        name = f"{manifest['metadata']['namespace']}/{manifest['metadata']['name']}"
        if name not in jobs or not jobs[name].tasks:
            yield name
    for pod in map(Pod, recording.snapshot.objects_of("Pod")):
        if pod.job_id and pod.job_id not in jobs:
            yield pod.job_id
        elif not pod.job_id and not pod.node_name and pod.scheduler_name in names:
            yield pod.key
    opening = recording.timeline.opening_tasks
    for uid, job in jobs.items():
        waits = any(task.status in WAITS for task in job.tasks.values())
        lost = any(
            task.status is TaskStatus.RELEASING and opening[task.key].status is not TaskStatus.RELEASING
            for task in job.tasks.values()
        )
        if waits or lost:
            yield uid


def _proof(recording: Recording, finding: Finding) -> Iterator[str]:
    for evidence in finding.evidence:
        if not 1 <= evidence.seq <= len(recording):
            yield f"{evidence.seq} is no event"
        elif not _is_of_its_kind(recording, evidence):
            yield f"{evidence.seq} is {recording.event_at(evidence.seq)!r:.60}, not {evidence.text}"


def _is_of_its_kind(recording: Recording, evidence: Evidence) -> bool:
    event = recording.event_at(evidence.seq)
    for words, kind, what in KINDS:
        if re.search(words, evidence.text):
            named = {StatementEvent: "what", OpEvent: "op", HookEvent: "point"}.get(kind, "")
            return isinstance(event, kind | HookEvent if kind is PredicateEvent else kind) and (
                not what or getattr(event, named) == what
            )
    return True


def _sentence(recording: Recording, found: Explanation, finding: Finding) -> Iterator[str]:
    own = {task.key for task in recording.session.jobs[found.job].tasks.values()}
    victims = [
        one
        for one in planned_evictions(recording)
        if one.statement_end in CARRIED_OUT_FATES and one.preemptor in (*own, found.job)
    ]
    sentence = finding.full_text
    if victims and any(words in sentence for words in NO_EVICTION):
        yield f"{victims[0].victim} is evicted for it, and yet: {sentence}"
    if NOUGHT.search(" ".join((sentence, *(line.text for line in finding.advice)))):
        yield f"nought too few: {sentence} {[line.text for line in finding.advice]}"
    if finding.cause == "evicted" and not any(one.job == found.job for one in cycle_effects(recording).evicted):
        yield f"nobody of {found.job} is evicted, and yet: {sentence}"
    if (
        "waiting for pods to terminate" in sentence
        and "not idle yet" not in sentence
        and not _releasing(recording, own)
    ):
        yield f"nothing is Releasing, and yet: {sentence}"
    if "no pod there is terminating" in sentence and _releasing(recording, own):
        yield f"room is being released where it waits, and yet: {sentence}"
    yield from (
        f"{name} was not Releasing before this cycle, and yet: {sentence}"
        for name in _wrongly_called_releasing(recording, sentence)
    )
    for one in _evicted_in(sentence):
        if one not in [effect.task.rpartition("/")[2] for effect in cycle_effects(recording).evicted]:
            yield f"{one} is not evicted, and yet: {sentence}"


def _wrongly_called_releasing(recording: Recording, sentence: str) -> Iterator[str]:
    """Yield pods that this cycle evicted but the sentence calls Releasing before the cycle."""
    if "Releasing before this cycle" in sentence:
        opening = recording.timeline.opening_tasks
        for effect in cycle_effects(recording).evicted:
            name = effect.task.rpartition("/")[2]
            early = opening[effect.task].status is TaskStatus.RELEASING
            if not early and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", sentence):
                yield effect.task


def _evicted_in(sentence: str) -> list[str]:
    """The names of the pods that a sentence calls evicted in this cycle."""
    # A trial with another action has its verb behind a semicolon and is not matched.
    found = re.search(r"\b[a-z]+ evicts (.+?)(?: for |[;:.]|$)", sentence)
    names = re.split(r", | and ", found[1]) if found else []
    return [name.rpartition("/")[2] for name in names if "/" in name]


def _releasing(recording: Recording, own: set[str]) -> bool:
    """Whether a node on which one of these pods is pipelined has a Releasing task."""
    nodes = recording.session.nodes
    waiting = [recording.timeline.tasks[key] for key in own]
    places = [nodes[task.node_name] for task in waiting if task.status is TaskStatus.PIPELINED and task.node_name]
    return any(task.status is TaskStatus.RELEASING for node in places for task in node.tasks_in_order())


def _sums(finding: Finding) -> Iterator[str]:
    """Yield dimensions in which short is not request - nearest, and a minimum that is claimed to be met."""
    numbers = finding.numbers
    if met := MET.search(finding.sentence):
        ready, waiting, minimum = map(int, met.groups())
        if ready + waiting < minimum:
            yield f"{ready} + {waiting} pods are below the minimum of {minimum}"
    for name, number in numbers.items():
        figure, _, dimension = name.partition(".")
        request, nearest = numbers.get(f"request.{dimension}"), numbers.get(f"nearest.{dimension}")
        if figure != "short" or request is None or nearest is None or nearest.value <= 0:
            continue
        if abs(request.value - nearest.value - number.value) > 1e-6 * max(1.0, abs(request.value)):
            yield f"{request.value} - {nearest.value} is not {number.value} ({dimension})"


def _steps(recording: Recording, found: Explanation) -> Iterator[str]:
    for step in found.steps:
        for words, what in (("committed", "commit"), ("rolled back", "discard")):
            if step.text.endswith(f"placed, {words}"):
                event = recording.event_at(step.seqs[0])
                if not isinstance(event, StatementEvent) or event.what != what:
                    yield f"step {step.name}: {event!r:.60} is no statement that is {words}"


def _outcome(recording: Recording, found: Explanation) -> Iterator[str]:
    """Yield an outcome that disagrees with the task states at the end."""
    job = recording.session.jobs[found.job]
    states = [task.status for task in job.tasks.values()]
    opening = recording.timeline.opening_tasks
    waited = [task for task in job.tasks.values() if opening[task.key].status in WAITS]
    if found.scheduled and waited and not any(task.status in PLACED for task in waited):
        yield f"{found.job} is called scheduled, and each of its pods waits ({found.cause_code})"
    whole = bool(states) and all(state is TaskStatus.RUNNING for state in states)
    summary = next(one for one in cycle_effects(recording).jobs if one.job == found.job)
    if not found.scheduled and summary.outcome == "done":
        yield f"{found.job} is called unscheduled, and done in the list of jobs ({found.cause_code})"
    if not found.scheduled and whole and len(states) >= job.min_available and job.check_task_valid():
        yield f"{found.job} is called unscheduled, and all of it runs ({found.cause_code})"
