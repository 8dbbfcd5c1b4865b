"""Lines of allocate for jobs without hard topology and sub groups, and of its loop over tasks.

Upstream: actions/allocate.
"""

from __future__ import annotations

from vcdebug.explain.logs.actions import ActionTeller, is_placement
from vcdebug.explain.logs.domains import DomainState, DomainVisit, Plan
from vcdebug.explain.logs.message import UNKNOWN
from vcdebug.explain.logs.story import Story
from vcdebug.explain.votes import Question
from vcdebug.framework.record import Event, HookEvent, Level, PopEvent, PredicateEvent, Span
from vcdebug.model.hypernode import TOP_HYPER_NODE
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.model.subjob import SubJobInfo

ENQUEUE = "enqueue"
NOMINATING = ("gangpreempt", "gangreclaim")


class Allocate(ActionTeller):
    """Queue by queue, job by job, task by task."""

    name = "allocate"

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self._queues: dict[str, None] = {}
        self._overused = self._had_job = False
        self.loop = TaskLoop(story)
        self._domains = DomainState(story)
        self._plan: Plan | None = None

    # Collection

    def collected(self, job: JobInfo) -> None:
        story, names = self.story, {"job": job.uid, "queue": job.queue}
        if self.is_pending(job):
            if ENQUEUE in story.recording.conf.actions:
                story.say("allocate.pending", **names)
                return
            story.say("allocate.inqueue", **names)
        if self.skip(job):
            return
        if not story.recording.session.hyper_nodes.ready and job.contains_network_topology():
            story.say("allocate.topology", **names)
        elif any(self._placeable(job, sub_job) for sub_job in job.sub_jobs_in_order()):
            self._queues[job.queue] = None
            story.say("allocate.job", **names)

    def _placeable(self, job: JobInfo, sub_job: SubJobInfo) -> int:
        """How many tasks of a sub job enter its heap; the others are named."""
        count = 0
        for key in self.pending_tasks(job):
            task = self.story.task(key)
            if task.uid not in sub_job.tasks:
                continue
            if task.sch_gated and not task.pod.only_volcano_gate:
                self.story.say("allocate.gate", task=key)
            elif task.resreq.is_empty():
                self.story.say("allocate.best-effort", task=key)
            else:
                count += 1
        return count

    def collection_ends(self) -> None:
        self.story.say("allocate.try", count=len(self._queues))

    # Visits

    def enter(self, span: Span) -> None:
        super().enter(span)
        if span.level is Level.QUEUE:
            self._overused = self._had_job = False
        elif span.level is Level.JOB:
            self._visit(self.story.jobs[span.name], span)
        self.loop.enter(span)

    def _visit(self, job: JobInfo, span: Span) -> None:
        self._had_job = True
        self._plan = None
        if job.contains_hard_topology() or job.pod_group.sub_group_policies:
            self._plan = DomainVisit(self.story, self._domains, self.queue, job, span).plan()
            self._say_planned(span.first - 1)
            return
        sub_job = job.default_sub_job()
        first = self.story.recording.event(span.first) if span.last >= span.first else None
        if sub_job is None or not isinstance(first, PopEvent):
            return
        self.loop.begin(self.queue, job, sub_job, TOP_HYPER_NODE)
        actions = list(self.story.recording.conf.actions)
        earlier = actions[: actions.index(self.name)]
        nominated = UNKNOWN if any(name in earlier for name in NOMINATING) else ""
        self.story.say("allocate.flat", queue=self.queue, job=job.uid, nominated=nominated, count=first.left + 1)

    def _say_planned(self, seq: Seq) -> None:
        for key, fields in self._plan.lines.get(seq, ()) if self._plan is not None else ():
            self.story.say(key, **fields)

    def leave(self, span: Span) -> None:
        if span.level is Level.JOB:
            self._plan = None
        if span.level is Level.QUEUE and not self._overused and not self._had_job:
            self.story.say("allocate.no-jobs", queue=span.name)
        self.loop.leave(span)
        super().leave(span)

    def ahead(self, event: Event) -> None:
        super().ahead(event)
        if self._plan is not None and self.story.seq in self._plan.loops:
            sub_job, hyper_node = self._plan.loops[self.story.seq]
            self.loop.begin(self.queue, self.story.jobs[self.job], sub_job, hyper_node)
        self.loop.ahead(event)

    def behind(self, event: Event) -> None:
        super().behind(event)
        self.loop.behind(event)
        self._say_planned(self.story.seq)

    def answered(self, asked: Question) -> None:
        if asked.point == "Overused" and asked.outcome:
            self._overused = True
            self.story.say("allocate.overused", queue=self.queue)
        self.loop.answered(asked)


class TaskLoop:
    """One sub job's tasks in one hypernode."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._queue = self._hyper_node = ""
        self._job: JobInfo | None = None
        self._sub_job: SubJobInfo | None = None
        self._task = ""
        self._allowed = True
        self._counted = False
        self._open = False

    def begin(self, queue: str, job: JobInfo, sub_job: SubJobInfo, hyper_node: str) -> None:
        """A loop over tasks starts."""
        self._queue, self._job, self._sub_job, self._hyper_node = queue, job, sub_job, hyper_node

    def enter(self, span: Span) -> None:
        """A task's turn begins."""
        if span.level is Level.TASK:
            self._task, self._allowed, self._counted, self._open = span.name, True, False, True

    def leave(self, span: Span) -> None:
        """A task's turn ends: one that was not even tried is gated, or stands in for a task that failed."""
        if span.level is not Level.TASK or self._job is None:
            return
        task = self._story.task(self._task)
        if self._allowed and not self._counted and not task.sch_gated:
            self._story.say("allocate.again", name=task.name, role=task.task_role)
        self._task = ""

    def ahead(self, event: Event) -> None:
        """The task is tried on the hypernode's nodes, or placed."""
        if not self._task or self._job is None:
            return
        searching = isinstance(event, PredicateEvent) or (
            isinstance(event, HookEvent) and event.point == "PrePredicate"
        )
        if searching and not self._counted:
            self._counted = True
            rows = self._story.recording.session.hyper_node_rows(self._hyper_node)
            self._story.say("allocate.nodes", count=0 if rows is None else len(rows), job=self._job.uid)
        elif is_placement(event, "allocate"):
            self._story.say("allocate.binding", task=event.task, node=event.node)
        elif is_placement(event, "pipeline"):
            task = self._story.task(event.task)
            releasing = self._story.before.nodes[event.node].releasing
            self._story.say("allocate.limited", task=event.task, node=event.node)
            self._story.say(
                "allocate.pipelining", task=event.task, node=event.node, request=task.init_resreq, releasing=releasing
            )

    def behind(self, event: Event) -> None:
        """The search is over."""
        if self._task and isinstance(event, PredicateEvent) and len(event.feasible):
            candidate_lines(self._story, event)

    def answered(self, asked: Question) -> None:
        """The queue refuses the task, PrePredicate fails, or the loop's end is judged."""
        story = self._story
        if self._job is None or self._sub_job is None:
            return
        if self._task and asked.point == "Allocatable" and not asked.outcome:
            self._allowed = False
            story.say("allocate.lost", queue=self._queue, name=story.task(self._task).name)
        elif self._task and asked.point == "PrePredicate" and asked.outcome is not None:
            story.say("allocate.pre-predicate", task=self._task, error=UNKNOWN)
        elif self._open and not self._task and asked.point in ("JobReady", "SubJobReady"):
            self._end("allocate.ready", ended=bool(asked.outcome))
        elif self._open and not self._task and asked.point in ("JobPipelined", "SubJobPipelined"):
            self._end("allocate.pipelined", ended=bool(asked.outcome))
            self._open = False

    def _end(self, key: str, *, ended: bool) -> None:
        if ended and self._job is not None and self._sub_job is not None:
            self._open = False
            self._story.say(key, job=self._job.uid, sub_job=self._sub_job.uid)


def candidate_lines(story: Story, event: PredicateEvent) -> None:
    """The nodes of the first group that is not empty: idle ones, else those with room in future."""
    state, task = story.before, story.task(event.task)
    names = [story.recording.node_names[row] for row in event.feasible.tolist()]
    futures = {name: story.future_idle(state, name) for name in names}
    idle = [name for name in names if task.init_resreq.less_equal(state.nodes[name].idle)]
    soon = [name for name in names if name not in idle and task.init_resreq.less_equal(futures[name])]
    for index, group in enumerate((idle, [], soon, [])):
        if not group:
            story.say("allocate.no-match", name=task.name, index=index)
            continue
        for name in group:
            story.say("allocate.node", node=name, idle=state.nodes[name].idle, future=futures[name])
        return
