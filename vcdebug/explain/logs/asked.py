"""Lines that plugins print while they answer.

Upstream: plugins gang, priority, drf, proportion; api/job_info (CheckTaskValid).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from vcdebug.explain.logs.story import Story, Teller, number
from vcdebug.framework.record import Event, HookEvent
from vcdebug.model.names import JobId
from vcdebug.model.queue import OPEN
from vcdebug.model.status import TaskStatus
from vcdebug.model.taskset import READY_STATUSES

CLAIMS = "DynamicResources"
FILTERS = ("NodeAffinity", "NodePorts", "NodeVolumeLimits", "VolumeZone", "PodTopologySpread", "VolumeBinding", CLAIMS)
"""All but InterPodAffinity, which may be wanted first and skipped later."""
_USABLE = (*READY_STATUSES, TaskStatus.PIPELINED, TaskStatus.PENDING)


class Asked(Teller):
    """One plugin's answer at a time."""

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self._answers: Mapping[tuple[str, str], Callable[[Mapping[str, Any], Any], None]] = {
            ("predicates", "PrePredicate"): self._filters,
            ("gang", "JobValid"): self._gang_valid,
            ("gang", "Preemptable"): self._gang_victims,
            ("gang", "Reclaimable"): self._gang_victims,
            ("priority", "Preemptable"): self._priority_victims,
            ("priority", "UnifiedEvictable"): self._priority_unified,
            ("drf", "Preemptable"): self._drf_victims,
            ("proportion", "Overused"): self._proportion_overused,
            ("proportion", "Allocatable"): self._proportion_refused,
            ("proportion", "Preemptive"): self._proportion_refused,
        }

    def behind(self, event: Event) -> None:
        if isinstance(event, HookEvent):
            answer = self._answers.get((event.plugin, event.point))
            if answer is not None:
                answer(dict(event.subject), event.result)

    @cached_property
    def _refusals(self) -> bool:
        """Whether PrePredicate of predicates failed at all: what it had skipped before is not part of a recording."""
        recording = self.story.recording
        events = (recording.event(seq) for seq in recording.index.at_point("PrePredicate"))
        return any(isinstance(e, HookEvent) and e.plugin == "predicates" and e.result is not None for e in events)

    def _filters(self, subject: Mapping[str, Any], result: Any) -> None:
        """Filters that PreFilter switches off for the task; one that was skipped once may be wanted later."""
        if self._refusals:
            return
        task = self.story.task(subject["task"])
        skipped = self.story.recording.session.cycle_state(task).skip
        notes = [note.text for note in self.story.recording.notes_at(self.story.seq)]
        for name in FILTERS:
            if name == CLAIMS and name in skipped and not task.pod.spec.get("resourceClaims"):
                self.story.say("filter.claims", task=task.key)
            if name in skipped and not any(text.startswith(f"{name} was skipped once") for text in notes):
                self.story.say("filter.skipped", filter=name, task=task.key)

    def _gang_valid(self, subject: Mapping[str, Any], result: Any) -> None:
        job, state = self.story.jobs.get(subject["job"]), self.story.before
        if job is None or job.min_available < job.task_min_available_total:
            return
        roles: dict[str, int] = {}
        for task in job.tasks.values():
            if state.tasks[task.key].status in _USABLE:
                roles[task.task_role] = roles.get(task.task_role, 0) + 1
        self.story.say(
            "job.valid",
            name=job.name,
            namespace=job.namespace,
            roles=_counts(roles),
            minima=_counts(job.task_min_available),
        )

    def _gang_victims(self, subject: Mapping[str, Any], result: Any) -> None:
        state = self.story.before
        left: dict[JobId, int] = {}
        for key in subject["candidates"]:
            job = self.story.jobs.get(self.story.task(key).job)
            if job is None:
                continue
            ready = left.setdefault(job.uid, state.job(job.uid).ready + state.job(job.uid).best_effort_pending)
            if ready > job.min_available:
                left[job.uid] = ready - 1
                continue
            self.story.say("gang.kept", task=key, job=job.name, ready=ready, minimum=job.min_available)
        preemptor = self.story.task_text(subject["task"], state)
        self.story.say("gang.victims", tasks=self.story.tasks_text(result, state), preemptor=preemptor)

    def _priority_victims(self, subject: Mapping[str, Any], result: Any) -> None:
        preemptor = self.story.task(subject["task"])
        for key in subject["candidates"]:
            candidate = self.story.task(key)
            if key in result or candidate.job not in self.story.jobs or preemptor.job not in self.story.jobs:
                continue
            if candidate.job == preemptor.job:
                self.story.say("priority.task", task=key, theirs=candidate.priority, ours=preemptor.priority)
                continue
            theirs, ours = self.story.jobs[candidate.job].priority, self.story.jobs[preemptor.job].priority
            self.story.say("priority.job", task=key, theirs=theirs, ours=ours)
        if preemptor.job in self.story.jobs:
            self.story.say("priority.victims", tasks=self.story.tasks_text(result, self.story.before))

    def _priority_unified(self, subject: Mapping[str, Any], result: Any) -> None:
        self.story.say("priority.unified", tasks=self.story.tasks_text(result, self.story.before))

    def _drf_victims(self, subject: Mapping[str, Any], result: Any) -> None:
        if self.story.task(subject["task"]).job in self.story.jobs:
            self.story.say("drf.victims", tasks=self.story.tasks_text(result, self.story.before))

    def _proportion_overused(self, subject: Mapping[str, Any], result: Any) -> None:
        if result:
            state, queue = self.story.before, subject["queue"]
            share = state.figure("proportion", queue, "share")
            deserved, allocated = (state.amount("proportion", queue, figure) for figure in ("deserved", "allocated"))
            self.story.say(
                "proportion.overused", queue=queue, deserved=deserved, allocated=allocated, share=number(share)
            )

    def _proportion_refused(self, subject: Mapping[str, Any], result: Any) -> None:
        queue = subject["queue"]
        if result or self.story.recording.session.queues[queue].state != OPEN:
            return
        state = self.story.before
        tasks = [subject["task"]] if "task" in subject else list(subject["candidates"])
        request = self.story.task(tasks[0]).resreq.clone()
        for task in tasks[1:]:
            request.add(self.story.task(task).resreq)
        deserved, allocated = (state.amount("proportion", queue, figure) for figure in ("deserved", "allocated"))
        self.story.say("proportion.refused", queue=queue, deserved=deserved, allocated=allocated, request=request)


def _counts(counts: Mapping[str, int]) -> str:
    """Go's %v of a map from names to numbers."""
    return f"map[{' '.join(f'{name}:{counts[name]}' for name in sorted(counts))}]"
