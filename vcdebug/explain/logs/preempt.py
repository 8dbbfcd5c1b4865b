"""Lines of preempt.

Upstream: actions/preempt.
"""

from __future__ import annotations

from vcdebug.explain.logs.actions import is_placement
from vcdebug.explain.logs.dryrun import DryRun
from vcdebug.explain.logs.evicting import Evicting
from vcdebug.explain.logs.message import UNKNOWN
from vcdebug.explain.logs.story import Story
from vcdebug.explain.votes import Question
from vcdebug.framework.record import Event, Level, PopEvent, Span, StatementEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo

NEVER = "Never"
TOPOLOGY_AWARE = "enableTopologyAwarePreemption"
INELIGIBLE = "not eligible to preempt other tasks due to preemptionPolicy is Never"
NO_CANDIDATES = "no candidates that fit the pod, the status of the nodes are map[]"


class Preempt(Evicting):
    """Within a queue: between its jobs, then within each of them."""

    name = "preempt"
    point = "Preemptable"

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        arguments = story.recording.conf.arguments_of(self.name)
        self._dry_run = DryRun(story) if arguments.get_bool(TOPOLOGY_AWARE, default=False) else None

    def begins(self) -> None:
        super().begins()
        self._heaps: dict[str, int] = {}
        self._drained = self._placed = False
        self._search: bool | None = None

    def collected(self, job: JobInfo) -> None:
        if self.is_pending(job) or self.skip(job) or not self.starving.get(job.uid):
            return
        if job.contains_network_topology():
            self.story.say("preempt.topology", job=job.uid, queue=job.queue)
            return
        self._heaps[job.uid] = len([t for t in self.pending_tasks(job) if not self.story.task(t).sch_gated])

    def enter(self, span: Span) -> None:
        if span.level is Level.QUEUE:
            self._drained = False
        elif span.level is Level.JOB and not self._popped_job(span):
            self._drain()
        elif span.level is Level.TASK:
            self._placed, self._search = False, None
            if self._dry_run is not None:
                self._dry_run.task_begins(span.name)
        elif span.level is Level.NODE and self._dry_run is not None:
            self._dry_run.node_begins(span.name)
        super().enter(span)

    def node_line(self, node: str) -> None:
        if self._dry_run is None:
            super().node_line(node)

    def _popped_job(self, span: Span) -> bool:
        """Between jobs each one is popped; within jobs they are gone through."""
        if span.first < 2:
            return False
        event = self.story.recording.event(span.first - 1)
        return isinstance(event, PopEvent) and event.kind == "job" and event.name == span.name

    def _drain(self) -> None:
        if not self._drained:
            self._drained = True
            self.story.say("preempt.no-jobs", queue=self.queue)

    def leave(self, span: Span) -> None:
        if span.level is Level.QUEUE:
            self._drain()
        elif span.level is Level.TASK:
            self._conclude()
        super().leave(span)

    def _conclude(self) -> None:
        """The attempt is over: without success, the error is printed before a statement of its own is discarded."""
        if self.task and not self._placed:
            self._placed = True
            self._failed(self.story.task(self.task))

    def _failed(self, task: TaskInfo) -> None:
        """Not eligible, refused by PrePredicate, or (topology-aware only) without a candidate."""
        if self._search is None and (task.pod.preemption_policy == NEVER or task.pod.nominated_node_name):
            error = INELIGIBLE if task.pod.preemption_policy == NEVER else UNKNOWN
            self.story.say("preempt.failed", task=task.key, error=error)
        elif self._search is False:
            self.story.say("preempt.failed", task=task.key, error=UNKNOWN)
        elif self._dry_run is not None:
            self._dry_run.gives_up()
            self.story.say("preempt.failed", task=task.key, error=NO_CANDIDATES)

    def ahead(self, event: Event) -> None:
        super().ahead(event)
        if self._dry_run is not None:
            self._dry_run.ahead(event)
        if isinstance(event, StatementEvent) and event.what == "discard" and not self.node:
            self._conclude()
        if isinstance(event, PopEvent) and event.kind == "task" and self.job and not self.task and not self._drained:
            self._heaps[self.job] = event.left

    def behind(self, event: Event) -> None:
        super().behind(event)
        if self.task and is_placement(event, "pipeline"):
            self._placed = True
        if self._dry_run is not None:
            self._dry_run.behind(event)

    def answered(self, asked: Question) -> None:
        if asked.point == "PrePredicate" and self.task:
            self._search = asked.outcome is None
        super().answered(asked)
        if self._dry_run is not None:
            self._dry_run.answered(asked, self._victims or [], short=self._summed)
        if asked.point == "JobStarving" and asked.outcome and self.job and not self._heaps.get(self.job):
            self.story.say("preempt.no-task", job=self.job)

    def sums(self, freed: Resource, node: str) -> None:
        if self._dry_run is not None:
            return
        request = self.story.task(self.task).init_resreq
        self.story.say("preempt.sum", amount=freed, task=self.task, request=request)
