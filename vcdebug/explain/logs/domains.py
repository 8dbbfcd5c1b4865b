"""Lines of allocate for jobs with hard topology or sub groups: hypernode by hypernode, sub job by sub job.

Upstream: actions/allocate (allocateForJob, allocateForSubJob), actions/allocate (recorder).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vcdebug.explain.logs.message import UNKNOWN
from vcdebug.explain.logs.story import Story, escaped, number
from vcdebug.explain.votes import Question, question
from vcdebug.framework.record import BestEvent, Event, HookEvent, Level, OpEvent, PopEvent, Record, Span, StatementEvent
from vcdebug.framework.session import Session
from vcdebug.framework.topology import open_topology
from vcdebug.model.hypernode import TOP_HYPER_NODE
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq, SubJobId
from vcdebug.model.subjob import SubJobInfo


@dataclass(slots=True)
class Plan:
    """Lines of one visit by the event that they follow, and the loops over tasks by the pop that begins them."""

    lines: dict[Seq, list[tuple[str, dict[str, Any]]]] = field(default_factory=dict)
    loops: dict[Seq, tuple[SubJobInfo, str]] = field(default_factory=dict)


class DomainState:
    """Hypernodes that jobs and sub jobs hold, and the decisions of the action so far."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._opened = False
        self.jobs: dict[JobId, str] = {}
        self.sub_jobs: dict[SubJobId, str] = {}
        self.decided: dict[JobId, str] = {}
        self.sub_decided: dict[tuple[JobId, str], dict[SubJobId, str]] = {}

    def open(self) -> None:
        """As the session opened: read again from the snapshot, because jobs have moved on."""
        if self._opened:
            return
        self._opened = True
        session = Session(self._story.recording.snapshot, self._story.recording.conf, Record())
        open_topology(session)
        for job in session.jobs.values():
            self.jobs[job.uid] = job.allocated_hyper_node
            self.sub_jobs.update({uid: sub_job.allocated_hyper_node for uid, sub_job in job.sub_jobs.items()})

    def widen(self, held: str, hyper_node: str) -> str:
        """The lowest hypernode above both."""
        return self._story.recording.session.hyper_nodes.lca(held, hyper_node)


class Loop(NamedTuple):
    """What a loop over tasks came to."""

    placed: bool
    left: int


class DomainVisit:
    """Reads the events of one job's visit again, as the action made them."""

    def __init__(self, story: Story, state: DomainState, queue: str, job: JobInfo, span: Span) -> None:
        self._recording = story.recording
        self._state = state
        self._queue = queue
        self._job = job
        self._next: Seq = span.first
        self._last: Seq = span.last
        self._plan = Plan()
        self._task_ends = {
            inner.first: inner.last
            for inner in story.recording.spans
            if inner.level is Level.TASK and span.first <= inner.first <= span.last + 1
        }
        state.open()

    def plan(self) -> Plan:
        """The lines of the visit."""
        pops = (self._recording.event(seq) for seq in range(self._next, self._last + 1))
        first = next((event for event in pops if isinstance(event, PopEvent) and event.kind == "subjob"), None)
        self._say(
            "allocate.domains",
            queue=self._queue,
            allocated=self._state.jobs[self._job.uid],
            count=first.left + 1 if first is not None else UNKNOWN,
        )
        chosen = self._job_rows()
        if chosen and self._ask("JobReady") is not False and self._statement("commit"):
            self._commit()
        return self._plan

    # Reading

    def _say(self, key: str, **fields: object) -> None:
        self._plan.lines.setdefault(self._next - 1, []).append((key, {"job": self._job.uid, **fields}))

    def _peek(self) -> Event | None:
        return self._recording.event(self._next) if self._next <= self._last else None

    def _asked(self, *points: str) -> Question | None:
        event = self._peek()
        if not isinstance(event, HookEvent) or event.point not in points:
            return None
        asked = question(self._recording, self._next)
        if asked is not None:
            self._next = asked.last + 1
        return asked

    def _ask(self, *points: str) -> bool | None:
        """The combined answer; None where nobody has one."""
        asked = self._asked(*points)
        return None if asked is None else bool(asked.outcome)

    def _rows(self, point: str, hyper_node: str) -> list[list[str]]:
        asked = self._asked(point)
        if asked is None or asked.outcome is None:
            return [[hyper_node]]
        return [list(row) for row in asked.outcome]

    def _statement(self, what: str) -> bool:
        """Whether this comes next; its operations are passed over."""
        event = self._peek()
        if not isinstance(event, StatementEvent) or event.what != what:
            return False
        self._next += 1
        while isinstance(self._peek(), OpEvent):
            self._next += 1
        return True

    # allocateForJob

    def _job_rows(self) -> str:
        for gradient, row in enumerate(self._rows("HyperNodeGradientForJob", TOP_HYPER_NODE)):
            solutions = {name: score for name in row if (score := self._try_job(name)) is not None}
            if solutions:
                return self._recover_job(solutions)
            self._say("allocate.domain-fail", gradient=gradient)
        self._say("allocate.job-fail")
        return ""

    def _recover_job(self, solutions: dict[str, float]) -> str:
        best, best_score = "", float("-inf")
        for name in sorted(solutions):
            if solutions[name] > best_score:
                best, best_score = name, solutions[name]
        self._statement("recover")
        self._state.decided[self._job.uid] = best
        self._say("allocate.domain-success", hyper_node=best)
        return best

    def _try_job(self, hyper_node: str) -> float | None:
        self._say("allocate.domain", hyper_node=hyper_node)
        held = dict(self._state.sub_jobs)
        total, statements = self._sub_jobs(hyper_node)
        self._state.sub_jobs.update(held)
        if not statements:
            return None
        while self._statement("save"):
            pass
        solved = self._ask("JobReady") is not False or bool(self._ask("JobPipelined"))
        for _ in range(statements):
            self._statement("discard")
        return total if solved else None

    def _sub_jobs(self, hyper_node: str) -> tuple[float, int]:
        """(sum of scores, number of statements with operations)."""
        total, statements, waiting = 0.0, 0, 1
        while waiting:
            event = self._peek()
            if not isinstance(event, PopEvent) or event.kind != "subjob":
                break
            self._next += 1
            waiting = event.left
            found = self._sub_job(self._job.sub_jobs[event.name], hyper_node)
            if found is None:
                continue
            score, left = found
            total, statements = total + score, statements + 1
            waiting += bool(left)
            if self._ask("JobReady") is not False:
                break
        return total, statements

    # allocateForSubJob

    def _sub_job(self, sub_job: SubJobInfo, hyper_node: str) -> tuple[float, int] | None:
        """(score, tasks left) of the winner."""
        count = self._tasks_ahead()
        names = {"sub_job": sub_job.uid}
        held = self._state.sub_jobs[sub_job.uid]
        self._say("allocate.sub-job", allocated=held, nominated="", count=count, **names)
        for gradient, row in enumerate(self._rows("HyperNodeGradientForSubJob", hyper_node)):
            loops = {}
            for candidate in row:
                self._say("allocate.tasks", count=count, hyper_node=candidate, **names)
                loops[candidate] = self._tasks(sub_job, candidate)
            solved = {name: loop.left for name, loop in loops.items() if loop.placed}
            if solved:
                return self._recover_sub_job(sub_job, hyper_node, solved)
            self._say("allocate.sub-job-row", gradient=gradient, **names)
        self._say("allocate.sub-job-fail", **names)
        return None

    def _tasks_ahead(self) -> int | str:
        """How many tasks the sub job's heap holds: the next pop tells."""
        for seq in range(self._next, self._last + 1):
            event = self._recording.event(seq)
            if isinstance(event, PopEvent):
                return event.left + 1 if event.kind == "task" else UNKNOWN
        return UNKNOWN

    def _tasks(self, sub_job: SubJobInfo, hyper_node: str) -> Loop:
        rows = self._recording.session.hyper_node_rows(hyper_node)
        if rows is None or not len(rows):
            self._say("allocate.no-nodes", rest=UNKNOWN)
            return Loop(False, 0)
        self._plan.loops[self._next] = (sub_job, hyper_node)
        placed, left = False, 0
        while isinstance(event := self._peek(), PopEvent) and event.kind == "task":
            left = event.left
            self._next += 1
            end = self._task_ends.get(self._next, self._next - 1)
            events = (self._recording.event(seq) for seq in range(self._next, end + 1))
            placed = any(isinstance(one, OpEvent) and one.op in ("allocate", "pipeline") for one in events) or placed
            self._next = end + 1
        ready = self._ask("JobReady", "SubJobReady") is not False or bool(self._ask("JobPipelined", "SubJobPipelined"))
        if not ready:
            self._statement("discard")
            return Loop(False, left)
        if placed:
            self._statement("save")
            self._statement("discard")
        return Loop(placed, left)

    def _recover_sub_job(self, sub_job: SubJobInfo, hyper_node: str, left: dict[str, int]) -> tuple[float, int] | None:
        self._scores(sub_job, sorted(left))
        best = self._peek()
        if not isinstance(best, BestEvent):
            return None
        self._next += 1
        self._statement("recover")
        held = self._state.widen(self._state.sub_jobs[sub_job.uid], best.name)
        self._state.sub_jobs[sub_job.uid] = held
        self._state.sub_decided.setdefault((self._job.uid, hyper_node), {})[sub_job.uid] = held
        self._say(
            "allocate.sub-job-success",
            sub_job=sub_job.uid,
            hyper_node=best.name,
            score=number(best.score),
            allocated=held,
        )
        return best.score, left[best.name]

    def _scores(self, sub_job: SubJobInfo, candidates: list[str]) -> None:
        totals = dict.fromkeys(candidates, 0.0)
        answers: dict[str, dict[str, float]] = {}
        while isinstance(event := self._peek(), HookEvent) and event.point == "HyperNodeOrder":
            answers[event.plugin] = dict(event.result)
            self._next += 1
        for plugin in sorted(answers):
            for name in sorted(name for name in answers[plugin] if name in totals):
                score = answers[plugin][name]
                totals[name] += score
                self._say("score.plugin", sub_job=sub_job.uid, plugin=plugin, hyper_node=name, score=number(score))
        shown = ",".join(f"{escaped(name)}:{number(totals[name])}" for name in sorted(totals))
        self._say("score.domains", sub_job=sub_job.uid, scores=f"{{{shown}}}")

    # The recorder

    def _commit(self) -> None:
        """UpdateDecisionToJob: hypernodes that become wider are named."""
        state, job = self._state, self._job.uid
        chosen = state.decided[job]
        old, state.jobs[job] = state.jobs[job], state.widen(state.jobs[job], chosen)
        if old != state.jobs[job]:
            self._say("recorder.job", old=old, new=state.jobs[job])
        for uid, hyper_node in sorted(state.sub_decided.get((job, chosen), {}).items()):
            old, state.sub_jobs[uid] = state.sub_jobs[uid], state.widen(state.sub_jobs[uid], hyper_node)
            if old != state.sub_jobs[uid]:
                self._say("recorder.sub-job", sub_job=uid, old=old, new=state.sub_jobs[uid])
