"""Lines of reclaim, and what preempt has in common with it.

Upstream: actions/reclaim, actions/preempt.
"""

from __future__ import annotations

from vcdebug.explain.logs.actions import ActionTeller, is_placement
from vcdebug.explain.logs.message import UNKNOWN
from vcdebug.explain.votes import Question
from vcdebug.framework.record import Event, Level, OpEvent, PopEvent, Span, StatementEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import TaskKey
from vcdebug.model.resource import Resource


class Evicting(ActionTeller):
    """What preempt and reclaim have in common: nodes one by one, victims, and whether they make room."""

    point = ""
    """The hook that names the victims."""

    def begins(self) -> None:
        self._victims: list[TaskKey] | None = None
        self._evicted: list[TaskKey] = []
        self._summed = False
        self._heap = 0

    def enter(self, span: Span) -> None:
        super().enter(span)
        if span.level is Level.NODE:
            self._victims, self._evicted, self._summed = None, [], False
            self.node_line(span.name)

    def node_line(self, node: str) -> None:
        """A node's turn."""
        self.story.say(f"{self.name}.node", task=self.task, node=node)

    def answered(self, asked: Question) -> None:
        if asked.point == self.point and self.node:
            self._victims = list(asked.outcome or ())
            error = self._shortage(self._victims)
            if error:
                self.story.say(f"{self.name}.no-victims", node=self.node, error=error)
                self._summed = True

    def _shortage(self, victims: list[TaskKey]) -> str:
        """ValidateVictims: FutureIdle with the victims gone must hold the task."""
        future = self.story.future_idle(self.story.before, self.node)
        for victim in victims:
            future.add(self.story.task(victim).resreq)
        task = self.story.task(self.task)
        if task.init_resreq.less_equal(future):
            return ""
        return f"not enough resources: requested <{task.init_resreq}>, but future idle <{future}>"

    def ahead(self, event: Event) -> None:
        super().ahead(event)
        if not self.node:
            return
        if is_placement(event, "evict"):
            self._evicted.append(event.task)
            self.story.say(f"{self.name}.victim", victim=event.task, task=self.task)
        elif not self._summed and (_discards(event) or is_placement(event, "pipeline") or _refused(event)):
            self._summed = True
            self.sums(self._freed(), self.node)

    def _freed(self) -> Resource:
        freed = Resource()
        for victim in self._evicted:
            freed.add(self.story.task(victim).resreq)
        return freed

    def sums(self, freed: Resource, node: str) -> None:
        """What was evicted, before the outcome."""

    def leave(self, span: Span) -> None:
        super().leave(span)
        if span.level is Level.JOB:
            self.job = ""


def _discards(event: Event) -> bool:
    return isinstance(event, StatementEvent) and event.what == "discard"


def _refused(event: Event) -> bool:
    return isinstance(event, OpEvent) and event.op == "unpipeline"


class Reclaim(Evicting):
    """Between queues."""

    name = "reclaim"
    point = "Reclaimable"

    def begins(self) -> None:
        super().begins()
        queues = self.story.recording.session.queues
        self.story.say("reclaim.total", jobs=len(self.story.jobs), queues=len(queues))
        self._queues: dict[str, None] = {}
        self._heaps: dict[str, int] = {}
        self._overused = self._draining = False

    def collected(self, job: JobInfo) -> None:
        if self.is_pending(job) or self.skip(job):
            return
        if job.queue not in self._queues:
            self._queues[job.queue] = None
            self.story.say("reclaim.queue", queue=job.queue, job=job.uid)
        if self.starving.get(job.uid):
            self._heaps[job.uid] = len([t for t in self.pending_tasks(job) if not self.story.task(t).sch_gated])

    def enter(self, span: Span) -> None:
        super().enter(span)
        if span.level is Level.QUEUE:
            self._overused = False
        elif span.level is Level.TASK:
            self._never(span)

    def _never(self, span: Span) -> None:
        if self.story.task(span.name).pod.preemption_policy == "Never":
            self.story.say("reclaim.never", task=span.name)

    def leave(self, span: Span) -> None:
        if span.level is Level.QUEUE and not self._overused:
            self.story.say("reclaim.no-jobs", queue=span.name)
        if span.level is Level.NODE and self._victims is None and not self._summed:
            self.story.say("reclaim.nobody", node=span.name)
        super().leave(span)

    def ahead(self, event: Event) -> None:
        super().ahead(event)
        if isinstance(event, PopEvent) and event.kind == "task" and self.job and not self.task:
            self._heaps[self.job] = event.left
            self.story.say("reclaim.tasks", count=event.left + 1, job=self.job)

    def answered(self, asked: Question) -> None:
        super().answered(asked)
        if asked.point == "Overused" and asked.outcome:
            self._overused = True
            self.story.say("reclaim.overused", queue=self.queue)
        elif asked.point == "Preemptive" and not asked.outcome:
            self.story.say("reclaim.refused", queue=self.queue, name=self.story.task(self.task).name)
        elif asked.point == "PrePredicate" and asked.outcome is not None:
            self.story.say("reclaim.pre-predicate", task=self.task, error=UNKNOWN)
        elif asked.point == "JobStarving" and asked.outcome and self.job and not self._heaps.get(self.job):
            self.story.say("reclaim.no-task", job=self.job)

    def sums(self, freed: Resource, node: str) -> None:
        available = self.story.future_idle(self.story.before, node)
        request = self.story.task(self.task).init_resreq
        self.story.say("reclaim.sum", amount=freed, task=self.task, request=request, node=node, available=available)
