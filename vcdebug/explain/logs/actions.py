"""What the tellers of actions share: the collection of jobs at an action's start, and questions that were answered.

Upstream: actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeGuard

from vcdebug.explain.logs.message import UNKNOWN
from vcdebug.explain.logs.story import Story, Teller
from vcdebug.explain.votes import Question, question
from vcdebug.framework.record import ActionEvent, Event, HookEvent, Level, OpEvent, PopEvent, Span
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.podgroup import PENDING
from vcdebug.model.status import TaskStatus


class ActionTeller(Teller):
    """One action from `Enter` to `Leaving`; every job is looked at once before the first queue is popped."""

    name: ClassVar[str]

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self.queue = ""
        self.job: JobId = ""
        self.task: TaskKey = ""
        self.node = ""
        self.invalid: dict[JobId, tuple[str, str]] = {}
        self.starving: dict[JobId, bool] = {}
        self._waiting: list[JobInfo] = []
        self._collecting = False

    # What an action adds

    def collected(self, job: JobInfo) -> None:
        """A job was looked at."""

    def collection_ends(self) -> None:
        """All jobs were looked at."""

    def answered(self, asked: Question) -> None:
        """A question's last answer was recorded."""

    def popped(self, event: PopEvent) -> None:
        """An element left a heap."""

    # Steps

    def enter(self, span: Span) -> None:
        if span.level is Level.QUEUE:
            self.queue = span.name
        elif span.level is Level.JOB:
            self.job = span.name
        elif span.level is Level.TASK:
            self.task = span.name
        elif span.level is Level.NODE:
            self.node = span.name

    def leave(self, span: Span) -> None:
        if span.level is Level.TASK:
            self.task = ""
        elif span.level is Level.NODE:
            self.node = ""

    def ahead(self, event: Event) -> None:
        if not self._collecting:
            return
        if isinstance(event, HookEvent):
            self._collect_until(self._job_of(dict(event.subject)))
        elif isinstance(event, ActionEvent | PopEvent):
            self._collect_until(None)
            self._collecting = False
            self.collection_ends()

    def behind(self, event: Event) -> None:
        if isinstance(event, ActionEvent):
            self._turn(event)
        elif isinstance(event, PopEvent):
            self.popped(event)
        elif isinstance(event, HookEvent):
            asked = question(self.story.recording, self.story.seq)
            if asked is not None and asked.last == self.story.seq:
                self._remember(asked, event)
                self.answered(asked)

    def _turn(self, event: ActionEvent) -> None:
        if event.what != "start":
            self.story.say(f"{self.name}.leave")
            return
        self.story.say(f"{self.name}.enter")
        self._waiting = list(self.story.jobs.values())
        self._collecting = True
        self.begins()

    def begins(self) -> None:
        """Right after `Enter`."""

    def _remember(self, asked: Question, event: HookEvent) -> None:
        subject = dict(asked.subject)
        if asked.point == "JobValid" and event.result is not None:
            self.invalid[subject["job"]] = (event.result["reason"], event.result["message"])
        elif asked.point == "JobStarving":
            self.starving[subject["job"]] = bool(asked.outcome)

    def _job_of(self, subject: Mapping[str, Any]) -> JobId | None:
        if "subjob" in subject:
            return self.story.recording.owners.sub_jobs.get(subject["subjob"])
        job: JobId | None = subject.get("job")
        return job

    def _collect_until(self, job: JobId | None) -> None:
        while self._waiting and self._waiting[0].uid != job:
            self.collected(self._waiting.pop(0))

    # Facts about jobs

    def is_pending(self, job: JobInfo) -> bool:
        """Whether the PodGroup waits for enqueue."""
        return self.story.before.phases[job.uid] in ("", PENDING)

    def skip(self, job: JobInfo) -> bool:
        """A job that is invalid is named and left out."""
        if job.uid not in self.invalid:
            return False
        reason, message = self.invalid[job.uid]
        self.story.say(f"{self.name}.invalid", job=job.uid, queue=job.queue, reason=reason, message=message)
        return True

    def pending_tasks(self, job: JobInfo) -> list[TaskKey]:
        """Pending tasks by UID."""
        state = self.story.before
        pending = (task for task in job.tasks.values() if state.tasks[task.key].status is TaskStatus.PENDING)
        return [task.key for task in sorted(pending, key=lambda task: task.uid)]


def is_placement(event: Event, op: str) -> TypeGuard[OpEvent]:
    """Whether an event is one kind of operation."""
    return isinstance(event, OpEvent) and event.op == op


class Enqueue(ActionTeller):
    """Queues of all jobs, and the pending ones."""

    name = "enqueue"

    def begins(self) -> None:
        self._queues: dict[str, bool] = {}

    def collected(self, job: JobInfo) -> None:
        if job.queue not in self._queues:
            self._queues[job.queue] = False
            self.story.say("enqueue.queue", queue=job.queue, job=job.uid)
        if self.is_pending(job):
            self._queues[job.queue] = True
            self.story.say("enqueue.job", job=job.uid, queue=job.queue)

    def collection_ends(self) -> None:
        self.story.say("enqueue.try", count=list(self._queues.values()).count(True))


class Backfill(ActionTeller):
    """Best-effort tasks, bound at once."""

    name = "backfill"

    def collected(self, job: JobInfo) -> None:
        if not self.is_pending(job):
            self.skip(job)

    def answered(self, asked: Question) -> None:
        if asked.point == "PrePredicate" and asked.outcome is not None and self.task:
            self.story.say("backfill.pre-predicate", task=self.task, error=UNKNOWN)

    def ahead(self, event: Event) -> None:
        super().ahead(event)
        if is_placement(event, "allocate") and self.task:
            self.story.say("backfill.binding", task=event.task, node=event.node)


class Bare(ActionTeller):
    """An action that prints little of its own."""

    def skip(self, job: JobInfo) -> bool:
        return job.uid in self.invalid


class GangPreempt(Bare):
    """gangpreempt."""

    name = "gangpreempt"


class GangReclaim(Bare):
    """gangreclaim."""

    name = "gangreclaim"

    def answered(self, asked: Question) -> None:
        if asked.point == "Preemptive" and not asked.outcome:
            self.story.say("gangreclaim.refused", queue=self.queue, job=self.job)


class Shuffle(Bare):
    """shuffle."""

    name = "shuffle"

    def ahead(self, event: Event) -> None:
        super().ahead(event)
        if is_placement(event, "evict"):
            task = self.story.task(event.task)
            self.story.say("shuffle.victim", name=task.name, namespace=task.namespace, job=task.job)
