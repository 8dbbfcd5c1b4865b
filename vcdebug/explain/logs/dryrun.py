"""Lines of topology-aware preemption: one dry run per node, then the winner's victims.

Upstream: actions/preempt (topology_aware).
"""

from __future__ import annotations

from vcdebug.explain.logs.story import Story, boolean
from vcdebug.explain.votes import Question
from vcdebug.framework.record import Event, HookEvent, PopEvent, PredicateEvent, RandomEvent
from vcdebug.model.names import NodeName, TaskKey

EVICTING, CHECK, REPRIEVE, OVER = "evicting", "check", "reprieve", "over"


class DryRun:
    """SelectVictimsOnNode, node after node."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._task: TaskKey = ""
        self._node: NodeName = ""
        self._reset()

    def _reset(self) -> None:
        self._named = self._tested = False
        self._phase = EVICTING
        self._allowed = True
        self._potential: list[TaskKey] = []
        self._added: list[TaskKey] = []
        self._chosen: list[TaskKey] = []
        self._judged = 0

    def task_begins(self, task: TaskKey) -> None:
        """A preemptor's turn."""
        self._task, self._node = task, ""
        self._nothing_feasible = False

    def node_begins(self, node: NodeName) -> None:
        """A node's dry run."""
        self._node = node
        self._reset()

    def gives_up(self) -> None:
        """No node of the first group, and the second group is empty without soft sharding."""
        if self._nothing_feasible:
            self._story.say("preempt.no-nodes", task=self._task)
        self._story.say("preempt.no-nodes", task=self._task)

    def ahead(self, event: Event) -> None:
        """The candidates of a node are named before anybody is asked."""
        if self._node and isinstance(event, HookEvent) and event.point == "Preemptable" and not self._named:
            self._named = True
            candidates = dict(event.subject)["candidates"]
            self._story.say("preempt.candidates", tasks=self._story.tasks_text(candidates, self._story.before))

    def behind(self, event: Event) -> None:
        """The search's size, and victims leaving the heap."""
        if isinstance(event, PredicateEvent):
            self._nothing_feasible = not len(event.feasible)
        elif isinstance(event, RandomEvent):
            self._story.say("preempt.count", count=event.n)
        elif self._node and isinstance(event, PopEvent) and event.kind == "task":
            self._potential.append(event.name)
            self._allowed, self._tested = True, False

    def answered(self, asked: Question, victims: list[TaskKey], *, short: bool) -> None:
        """What the simulation says."""
        if not self._node:
            return
        if asked.point == "Preemptable" and not short:
            self._story.say("preempt.victims", tasks=self._text(victims))
        elif asked.point == "SimulateAllocatable":
            self._allowed = bool(asked.outcome)
        elif asked.point == "SimulatePredicate":
            self._predicate(fits=asked.outcome is None)
        elif asked.point == "SimulateAddTask":
            self._added.append(dict(asked.subject)["other"])
            self._allowed = True
        elif asked.point == "SimulateRemoveTask" and self._phase == REPRIEVE:
            self._gone()

    def _text(self, tasks: list[TaskKey]) -> str:
        return self._story.tasks_text(tasks, self._story.before)

    def _predicate(self, *, fits: bool) -> None:
        if self._phase == EVICTING and self._allowed and not self._tested and self._has_room():
            self._tested = True
            if fits:
                self._phase = CHECK
                place = {"task": self._task, "node": self._node, "victim": self._potential[-1]}
                self._story.say("preempt.enough", **place)
        elif self._phase in (EVICTING, CHECK):
            self._phase = REPRIEVE if fits else OVER
            if fits:
                self._story.say("preempt.potential", tasks=self._text(self._potential), node=self._node)
        elif self._phase == REPRIEVE and fits:
            self._judge(self._added[-1], fits=True)

    def _has_room(self) -> bool:
        future = self._story.future_idle(self._story.before, self._node)
        for victim in self._potential:
            future.add(self._story.task(victim).resreq)
        return self._story.task(self._task).init_resreq.less_equal(future)

    def _gone(self) -> None:
        victim = self._added[-1]
        self._chosen.append(victim)
        self._story.say("preempt.kept", victim=victim, node=self._node)
        self._judge(victim, fits=False)

    def _judge(self, victim: TaskKey, *, fits: bool) -> None:
        self._story.say("preempt.reprieve", name=self._story.task(victim).name, fits=boolean(fits))
        self._judged += 1
        if self._judged == len(self._potential):
            self._story.say("preempt.chosen", tasks=self._text(self._chosen))
            self._phase = OVER
