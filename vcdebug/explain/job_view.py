"""What the gates read of one job, and the subject of a question: a job or a pod."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partialmethod
from typing import Final, NamedTuple

from msgspec import Struct

from vcdebug.actions import ALLOCATE, BACKFILL
from vcdebug.amount_text import count_noun
from vcdebug.explain.answer import Advice, CauseHeadline, Evidence, Finding, Number
from vcdebug.framework.hooks import OVERUSED
from vcdebug.framework.record import ActionEvent
from vcdebug.framework.registry import ActionFacts
from vcdebug.framework.subject import JOB, name_in
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName, Seq, TaskKey
from vcdebug.model.pod import Pod, PodIdentity
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.visits import JobVisit, NumberedCall, TaskTry, job_visits
from vcdebug.snapshot.manifest import (
    GROUP_ANNOTATION,
    QUEUE_ANNOTATION,
    QUEUE_LABEL,
    JsonObject,
    WorkloadFacts,
    name_of,
    namespace_of,
    owner_names,
    workload_key,
)
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.reported_events import CONTROLLER_KINDS

PLACED_STATUSES = (TaskStatus.BINDING, TaskStatus.PIPELINED, TaskStatus.ALLOCATED)


class ExplainSubject(NamedTuple):
    """The job or pod that a question is about."""

    job: JobId
    """The job; empty for a pod without a PodGroup."""
    pod: TaskKey | None = None
    detailed: bool = True
    """Whether the answer needs more than its headline and advice, which are all that a list of many jobs shows."""


class JobView:
    """One job of a recording, with the tasks, visits and hook calls that explain its state."""

    def __init__(self, recording: Recording, job: JobId, pod: TaskKey | None = None, *, detailed: bool = True) -> None:
        self.recording = recording
        self.session = recording.session
        self.job: JobInfo = recording.session.jobs[job]
        self.queue: QueueInfo = recording.session.queues[self.job.queue]
        self.pod = pod
        self.detailed = detailed
        """As in ExplainSubject: whether findings need more than their headlines and advice."""
        self.actions = recording.conf.actions
        self.actions_field = "actions" if recording.snapshot.scheduler_conf is not None else "the assumed actions"
        """The configured field, or that it is assumed, since the snapshot has no configuration."""

    def facts_of(self, action: str) -> ActionFacts:
        """The facts about an action, such as whether it places or evicts."""
        return self.recording.conf.facts_of(action)

    @property
    def actions_text(self) -> str:
        """`actions (enqueue, allocate)`: the field with the actions themselves."""
        return f"{self.actions_field} ({', '.join(self.actions)})"

    @cached_property
    def tasks(self) -> dict[TaskKey, TaskInfo]:
        """The job's tasks, by name."""
        return {task.key: task for task in sorted(self.job.tasks.values(), key=lambda task: task.key)}

    @cached_property
    def pending_at_open(self) -> list[TaskInfo]:
        """Tasks that were Pending or Pipelined when the session opened."""
        statuses, opening_task = (TaskStatus.PENDING, TaskStatus.PIPELINED), self.recording.timeline.opening_task
        return [task for key, task in self.tasks.items() if opening_task(key).status in statuses]

    @cached_property
    def placed_tasks(self) -> list[TaskInfo]:
        """Tasks without a node at the opening that this cycle bound, allocated or pipelined."""
        return [task for task in self.pending_at_open if task.status in PLACED_STATUSES]

    @property
    def pipelined_tasks(self) -> list[TaskInfo]:
        """Those of placed_tasks that have only reserved room on a node."""
        return [task for task in self.placed_tasks if task.status is TaskStatus.PIPELINED]

    @cached_property
    def unplaced_tasks(self) -> list[TaskInfo]:
        """Tasks that were without a node at the opening and are not placed when the cycle ends."""
        return [task for task in self.pending_at_open if task.status not in PLACED_STATUSES]

    @cached_property
    def hidden_pods(self) -> list[Pod]:
        """The job's pods that name another scheduler and have no node; the session does not contain them."""
        return _hidden_pods(self.recording).get((self.job.namespace, self.job.name), [])

    @cached_property
    def job_visits(self) -> Sequence[JobVisit]:
        """Every visit of every action."""
        return job_visits(self.recording, self.job.uid)

    def visits_of(self, action: str) -> list[JobVisit]:
        """Visits of one action, without later ones of allocate that end as they do since an earlier one failed."""
        visits = [visit for visit in self.job_visits if visit.action == action]
        while action == ALLOCATE and len(visits) > 1 and visits[-1].is_explained_by(visits[-2]):
            visits.pop()
        return visits

    @cached_property
    def placing_tries(self) -> list[TaskTry]:
        """The tries to place tasks in allocate's last visit and in all of backfill's visits."""
        visits = [*self.visits_of(ALLOCATE)[-1:], *self.visits_of(BACKFILL)]
        return [attempt for visit in visits for attempt in visit.tries]

    def failed_tries(self, task: TaskKey = "") -> list[TaskTry]:
        """The tries that gave a task no node; without a task, those of the whole job."""
        failed = (attempt for attempt in self.placing_tries if attempt.last_placement is None)
        return [attempt for attempt in failed if task in ("", attempt.task)]

    @cached_property
    def blocked_task(self) -> TaskInfo | None:
        """The named pod, else the first task that a try did not place, else the first unplaced one; else None."""
        if self.pod in self.tasks:
            return self.tasks[self.pod]
        failed_keys = [self.tasks[attempt.task] for attempt in self.failed_tries() if attempt.task in self.tasks]
        unplaced = [task for task in failed_keys if task.status not in PLACED_STATUSES]
        pending = [task for task in self.unplaced_tasks if not task.sch_gated] or self.unplaced_tasks
        return unplaced[0] if unplaced else (pending[0] if pending else None)

    def action_starts(self, action: str) -> Seq | None:
        """The event with which an action starts; None if it never ran."""
        return action_seqs(self.recording, "start").get(action)

    def action_ends(self, action: str) -> Seq | None:
        """The event with which an action ends; None if it never ran, or never ended."""
        return action_seqs(self.recording, "end").get(action)

    def calls_during(self, action: str, point: str) -> list[NumberedCall]:
        """Calls of a hook about the job during the first run of an action."""
        return self._during(action, self.calls_about(point))

    def calls_about(self, point: str) -> Sequence[NumberedCall]:
        """Calls of one hook about the job, in order."""
        return _calls_by_job(self.recording, point).get(self.job.uid, ())

    @property
    def overused_calls(self) -> Sequence[NumberedCall]:
        """The calls in which a plugin calls the job's queue overused."""
        return _overused_by_queue(self.recording).get(self.queue.name, ())

    def overused_during(self, action: str) -> list[NumberedCall]:
        """Those of overused_calls that lie in the first run of an action."""
        return self._during(action, self.overused_calls)

    def _during(self, action: str, calls: Iterable[NumberedCall]) -> list[NumberedCall]:
        start, end = self.action_starts(action) or 0, self.action_ends(action)
        return [(seq, event) for seq, event in calls if seq > start and (end is None or seq < end)]

    def pending(
        self,
        cause: str,
        reason: str,
        numbers: Mapping[str, Number] = {},
        evidence: tuple[Evidence, ...] = (),
        advice: tuple[Advice, ...] = (),
        lines: tuple[str, ...] = (),
        facts: tuple[str, ...] = (),
        stated_problems: tuple[Problem, ...] = (),
        *,
        state: str = "is Pending",
    ) -> Finding:
        """The finding that the job is Pending, or in the given state, for a reason."""
        headline = CauseHeadline(self.job.uid, state, reason)
        return Finding(cause, headline, numbers, evidence, advice, lines, facts, stated_problems)

    rejected = partialmethod(pending, state="is not admitted")
    """The finding that the job's PodGroup was not admitted, for a reason."""

    def plugin_message(self, seq: Seq) -> str:
        """The message that plugins wrote about the PodGroup up to an event; empty for none."""
        events = self.recording.record.pod_group_events
        return next((e.message for e in reversed(events) if e.job == self.job.uid and e.seq <= seq), "")


# Kept for the questions that an answer asks about the same job, one after the other.
@per_recording(most=2)
def view_of(recording: Recording, subject: ExplainSubject) -> JobView:
    """The job of a subject, which must be in the session."""
    return JobView(recording, subject.job, subject.pod, detailed=subject.detailed)


@per_recording()
def action_seqs(recording: Recording, moment_name: str) -> Mapping[str, Seq]:
    """The event with which each action first starts, or ends."""
    first_seqs: dict[str, Seq] = {}
    for seq, event in recording.events_of_type(ActionEvent):
        if event.what == moment_name:
            first_seqs.setdefault(event.action, seq)
    return first_seqs


@per_recording()
def _hidden_pods(recording: Recording) -> Mapping[tuple[str, str], list[Pod]]:
    """(namespace, PodGroup) → pods that name another scheduler and have no node."""
    names = recording.snapshot.flags.scheduler_names
    # The identity alone is much cheaper than a Pod, and most pods of a cluster have a node.
    identities = ((one, PodIdentity.of_manifest(one)) for one in recording.snapshot.objects_of("Pod"))
    hidden = (Pod(one) for one, identity in identities if not identity.node and identity.scheduler not in names)
    return group_by_key(((pod.namespace, pod.annotations.get(GROUP_ANNOTATION, "")), pod) for pod in hidden)


@per_recording()
def _calls_by_job(recording: Recording, point: str) -> Mapping[JobId, Sequence[NumberedCall]]:
    return group_by_key((name_in(event.subject, JOB), (seq, event)) for seq, event in recording.hook_calls(point))


@per_recording()
def _overused_by_queue(recording: Recording) -> Mapping[QueueName, Sequence[NumberedCall]]:
    """The calls that answer yes: there are as many others as jobs are tried, and each job of the queue asks."""
    calls = recording.hook_calls(OVERUSED.upstream)
    return group_by_key((event.queue, (seq, event)) for seq, event in calls if event.result)


# Facts about the owner of a job, which is usually an object of another operator


@per_recording()
def _known_workloads(recording: Recording) -> Mapping[str, WorkloadFacts]:
    """Workloads by `namespace/Kind name`, including Volcano Jobs and the controllers of a Deployment's pods."""
    objects = ((kind, one) for kind in ("Job", *CONTROLLER_KINDS) for one in recording.snapshot.objects_of(kind))
    named = ((workload_key(namespace_of(one), kind, name_of(one)), one) for kind, one in objects)
    return {**recording.snapshot.workloads, **{name: WorkloadFacts.of_manifest(one) for name, one in named}}


def workloads_of(recording: Recording, manifest: JsonObject) -> Iterator[tuple[str, WorkloadFacts]]:
    """Yields (`PyTorchJob mnist`, facts of that workload) for each owner of an object that the snapshot contains."""
    facts_by_name = _known_workloads(recording)
    for name in owner_names(manifest):
        if facts := facts_by_name.get(f"{namespace_of(manifest)}/{name}"):
            yield name, facts


class MissingRole(Struct, frozen=True):
    """A role for which the job's owner has not created any pod."""

    owner: str
    role: str
    required_count: int
    earlier_role: str
    """The role that has to run before this one; empty if none is known."""

    def order_words(self, state: str = "runs") -> str:
        """`Job a creates its role audio (2 pods) only once first runs`."""
        pods = count_noun(self.required_count, "pod")
        return f"{self.owner} creates its role {self.role} ({pods}) only once {self.earlier_role} {state}"

    def without_order(self) -> str:
        """Advice to create the role's pods at once, with the operator's setting if it is known."""
        operator = OPERATORS.get(self.owner.partition(" ")[0], Operator(()))
        how = f" ({operator.unordered})" if operator.unordered else ""
        return f"Or let {self.owner} create {self.role} without waiting for {self.earlier_role}{how}."


def missing_roles(recording: Recording, job: JobInfo) -> Iterator[MissingRole]:
    """The roles of the job's owner without pods; roles that depend on another role come first."""
    present = [(task.task_role.lower(), f"-{task.name}-".lower()) for task in job.tasks.values()]
    missing = [
        MissingRole(owner, role, replicas, facts.after.get(role, ""))
        for owner, facts in workloads_of(recording, job.pod_group.manifest)
        for role, replicas in facts.replicas.items()
        if present
        and replicas
        and not any(role.lower() == pod_role or f"-{role.lower()}-" in name for pod_role, name in present)
    ]
    return iter(sorted(missing, key=lambda missing_role: not missing_role.earlier_role))


class Operator(Struct, frozen=True):
    """Names in a controller's image or pod, and settings: its pods to Volcano, minMember, all roles at once, queue."""

    names: tuple[str, ...]
    setting: str = ""
    minimum: str = ""
    unordered: str = ""
    queue: str = ""


_KUBERAY: Final = Operator(("kuberay",), "batchScheduler.name=volcano", queue=f"label {QUEUE_LABEL}")
_POLICY_QUEUE: Final = "runPolicy.schedulingPolicy.queue"
MINIMUM_FIELD: Final = "schedulingPolicy.minAvailable"
_KUBEDL: Final = "KubeDL's --feature-gates=DAGScheduling=false"
_TRAINING: Final = Operator(
    ("training-operator",), "--gang-scheduler-name=volcano", MINIMUM_FIELD, _KUBEDL, _POLICY_QUEUE
)
_MPI: Final = "--gang-scheduling=volcano (mpi-operator) or --gang-scheduler-name=volcano (training-operator)"
_FLINK_SETTING: Final = f"schedulerName and annotation {GROUP_ANNOTATION} in its podTemplate"
OPERATORS: Final = {
    "Job": Operator(("vc-controller-manager", "volcano-controller"), unordered="without dependsOn", queue="spec.queue"),
    "RayCluster": _KUBERAY,
    "RayJob": _KUBERAY,
    "SparkApplication": Operator(
        ("spark-operator",),
        "its webhook for this namespace (webhook.enable=true) and batch schedulers enabled",
        queue="spec.batchSchedulerOptions.queue",
    ),
    "PyTorchJob": _TRAINING,
    "TFJob": _TRAINING,
    "MPIJob": Operator(
        ("mpi-operator", "training-operator"), _MPI, MINIMUM_FIELD, "launcherCreationPolicy: AtStartup", _POLICY_QUEUE
    ),
    "ModelServing": Operator(("kthena",), queue=f"annotation {QUEUE_ANNOTATION} (kthena v1.0 or later)"),
    "TrainJob": Operator(("trainer-controller",), "podGroupPolicy.volcano in its runtime"),
    "FlinkDeployment": Operator(("flink-kubernetes-operator",), _FLINK_SETTING),
    "LeaderWorkerSet": Operator((), "gangSchedulingManagement.schedulerProvider: volcano"),
}
"""Kind of workload → its operator; Job is Volcano's own."""
