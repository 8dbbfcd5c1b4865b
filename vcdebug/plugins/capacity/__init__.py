"""capacity: quotas per queue, flat or in a tree, for admission and reclaim. Upstream: plugins/capacity."""

from collections.abc import Iterator

from vcdebug.errors import NIL_POINTER_TEXT, ProcessExit, SchedulerPanic, blame_objects
from vcdebug.framework import plugin_answers
from vcdebug.framework.accounts import QUEUE, WHOLE, Accounts, account_figures
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import JOB_ENQUEUED, PRE_PREDICATE, QUEUE_ORDER, VICTIM_QUEUE_ORDER
from vcdebug.framework.order import build_victims_queue
from vcdebug.framework.persistence import clamp_request, counted_request, limiting_queues
from vcdebug.framework.quirks import ANCESTORS_OVERWRITTEN, QUEUE_CYCLE, QUEUE_TREE_BROKEN
from vcdebug.framework.session import Event, Plugin, Session
from vcdebug.kube.node_view import CycleState
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import ReservationForm
from vcdebug.model.names import QueueName
from vcdebug.model.node import NodeInfo
from vcdebug.model.pod_claims import merge_task_dra
from vcdebug.model.queue import OPEN, ROOT_QUEUE, LimitCheck, QueueInfo, circle_text
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.capacity import queue_attr, queue_tree
from vcdebug.plugins.capacity.limits import LimitChecker
from vcdebug.plugins.capacity.reclaim import (
    NO_QUEUE,
    NO_QUEUE_UNNAMED,
    STATE_KEY,
    QueueStates,
    ReclaimAsker,
    ReclaimCall,
    WholeReclaimCall,
    simulated_queues,
)
from vcdebug.releases import queues as queue_changes
from vcdebug.releases.scheduling import LOG_NAMES, ORPHAN_NIL_PANICS, TOPOLOGY_PREEMPT_ABSENT

ANCESTOR_LEVEL_KEY = "ancestorReclaimLevel"

QUOTA_MESSAGE = "queue resource quota insufficient"
ENDLESS_COPY = "runtime: goroutine stack exceeds 1000000000-byte limit, fatal error: stack overflow"


class Capacity(Plugin):
    """Keeps the deserved, guaranteed and maximum amounts of each queue, and answers from these."""

    name = "capacity"
    accounts = (
        Accounts(WHOLE, "", account_figures("total")),
        Accounts(
            QUEUE,
            "queues",
            queue_attr.FIGURES,
            operation=("allocated", "share"),
            admission=("inqueue",),
            ancestors_attribute="ancestors",
            summed_figures=("allocated",),
        ),
    )
    later_methods = {
        JOB_ENQUEUED.method: queue_changes.ENQUEUE_INQUEUE_AT_VOTE,
        PRE_PREDICATE.method: TOPOLOGY_PREEMPT_ABSENT,
    }
    later_tree = queue_changes.CAPACITY_TREE_ABSENT
    later_arguments = {ANCESTOR_LEVEL_KEY: queue_changes.CAPACITY_ANCESTOR_LEVEL}
    ssn: Session
    limits: LimitChecker

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.total = Resource()
        self.queues: queue_attr.Attrs = {}
        self.tree = False
        self.ready = True
        """False if the queue tree is broken: the plugin then rejects every admission, allocation and reclaim."""
        self.claims_whole = False
        """Whether a queue may claim only if it deserves all of the claim; otherwise one dimension is enough."""
        self.ancestor_level = 0
        self.circular_queues: tuple[QueueName, ...] = ()
        """Queues that form a cycle of parents: upstream's copy of such a tree overflows the stack."""

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/capacity.OnSessionOpen."""
        self.ssn = ssn
        self._choose_forms(ssn)
        self.total.add(ssn.total_resource)
        ssn.log("capacity.total", self.total)
        self.limits = LimitChecker(ssn, self.arguments)
        self.tree = ssn.hierarchy_enabled(self.name)
        reserving = ReservationForm.for_release(ssn.release)
        form = queue_attr.CapacityForm.for_release(ssn.release, reserving=reserving)
        if self.tree:
            self.open_tree(ssn, form)
        else:
            attrs = queue_tree.build_flat(ssn.queues, ssn.jobs.values(), self.total, self.limits.demands, form)
            self.queues = {name: attrs[name] for name in sorted(attrs)}
            ssn.withdraw_hook(self, VICTIM_QUEUE_ORDER.method)

    def _choose_forms(self, ssn: Session) -> None:
        """Read once from the release which older forms apply."""
        has = ssn.release.has_older_form
        self.reserves_at_vote = has(queue_changes.ENQUEUE_INQUEUE_AT_VOTE)
        self.ignores_state = has(queue_changes.QUEUE_STATE_UNREAD)
        self.admits_by_leaf = has(queue_changes.CAPACITY_ADMISSION_LEAF_ONLY)
        self.heeds_limit = not has(queue_changes.CAPACITY_PREEMPTIVE_NO_CAP)
        self.claims_whole = ssn.persistence.is_on or has(queue_changes.CAPACITY_PREEMPTIVE_EVERY_DIMENSION)
        self.takes_as_listed = has(queue_changes.CAPACITY_RECLAIM_LIST_ORDER)
        self.reclaim: type[ReclaimCall] = (
            WholeReclaimCall if has(queue_changes.CAPACITY_RECLAIM_ALL_UNDER_DESERVED) else ReclaimCall
        )
        self.reclaims_whole = has(queue_changes.RECLAIM_WHOLE_REQUEST)
        self.no_queue = NO_QUEUE_UNNAMED if has(LOG_NAMES) else NO_QUEUE

    def open_tree(self, ssn: Session, form: queue_attr.CapacityForm) -> None:
        """Build the queue tree of the session."""
        self.ancestor_level = max(self.arguments.get_int(ANCESTOR_LEVEL_KEY, 0), 0)
        attrs: queue_attr.Attrs = {}
        jobs, demands = ssn.jobs.values(), self.limits.demands
        broken = queue_tree.build_tree(attrs, limiting_queues(ssn), jobs, self.total, demands, form)
        self.queues = {name: attrs[name] for name in sorted(attrs)}
        self.circular_queues = queue_tree.find_circle(self.queues)
        for name, other in queue_tree.mistaken_parents(self.queues).items():
            ssn.note_quirk(
                ANCESTORS_OVERWRITTEN, f"queue {name} takes {other} for its parent: their lists share memory"
            )
        if broken is not None:
            self.ready = False
            ssn.note_quirk(QUEUE_TREE_BROKEN, f"{broken}: capacity refuses all jobs and tasks of this cycle")
            ssn.withdraw_hook(self, QUEUE_ORDER.method)
            ssn.withdraw_hook(self, VICTIM_QUEUE_ORDER.method)

    # Orders

    def queue_order(self, left: QueueInfo, right: QueueInfo) -> int:
        """By priority, then by share. In the tree leaves go first; shares are compared where the branches differ."""
        if left.priority != right.priority:
            return right.priority - left.priority
        attrs = self.queues[left.name], self.queues[right.name]
        return queue_attr.compare_leaves_first(*attrs) or queue_attr.compare_share(*self.queues_to_compare(*attrs))

    def queues_to_compare(
        self, left: queue_attr.CapacityQueueAttr, right: queue_attr.CapacityQueueAttr
    ) -> tuple[queue_attr.CapacityQueueAttr, queue_attr.CapacityQueueAttr]:
        """The two queues whose shares are compared: two leaves are replaced by their ancestors below the common one."""
        if not self.tree or left.children:
            return left, right
        level = queue_attr.common_level(left, right) + 1
        return self.ancestor_at(left, level), self.ancestor_at(right, level)

    def ancestor_at(self, attr: queue_attr.CapacityQueueAttr, level: int) -> queue_attr.CapacityQueueAttr:
        """The queue's ancestor at a level, or the queue itself; an ancestor has the share of the session open."""
        return self.queues[attr.ancestors[level]] if level < len(attr.ancestors) else attr

    def victim_queue_order(self, left: QueueInfo, right: QueueInfo, preemptor: QueueInfo) -> int:
        """Orders the queue that is nearer to the preemptor's queue in the tree first."""
        attr = self.queues[preemptor.name]
        left_level = queue_attr.common_level(self.queues[left.name], attr)
        right_level = queue_attr.common_level(self.queues[right.name], attr)
        return (left_level < right_level) - (left_level > right_level)

    # Allocation

    def allocatable(self, queue: QueueInfo, task: TaskInfo) -> bool:
        """Whether the queue is an open leaf, and the task is within its limits and those of all ancestors.
        Upstream: plugins/capacity.queueAllocatableWithReserved, plugins/capacity.queueAllocatable,
        plugins/capacity.checkQueueAllocatableHierarchically.
        """
        if not self.is_served(queue) or not self.ready or self.queues[queue.name].children:
            return False
        if not all(
            self.limits.is_within_limits(attr, attr.allocated, attr.devices, task)
            for attr in self.queue_and_ancestors(queue.name)
        ):
            return False
        if self.limits.reservations is not None:
            self.limits.reservations.add_task(queue.name, task)
        return True

    def is_served(self, queue: QueueInfo) -> bool:
        """Whether the queue is open; True in releases that ignore the queue's state."""
        return queue.state == OPEN or self.ignores_state

    def queue_and_ancestors(self, name: QueueName) -> Iterator[queue_attr.CapacityQueueAttr]:
        """The queue and its ancestors, from the queue up to the root."""
        if self.queues[name].ancestors.would_overwrite(name):
            words = f"queue {name} is now the parent of its cousins one level deeper"
            self.ssn.note_quirk(ANCESTORS_OVERWRITTEN, words)
        # append_name behaves as Go's append: it may overwrite the parent of a cousin.
        names = list(self.queues[name].ancestors.append_name(name))
        return (self.queues[queue_name] for queue_name in reversed(names))

    # Reclaim

    def preemptive(self, queue: QueueInfo, tasks: list[TaskInfo]) -> bool:
        """Whether the queue or a near ancestor stays within its deserved amount in a dimension of the tasks."""
        if not self.ready or not self.is_served(queue):
            return False
        attr = self.queues[queue.name]
        request = Resource().add_all(task.resreq for task in tasks)
        if self.heeds_limit and not self.limits.check_room(attr, attr.allocated, request).is_within_limit:
            return False
        counted = counted_request(self.ssn, attr.name, request)
        return any(
            self.claim_counts(queue_attr.check_claim(claimant, request, counted))
            for claimant in self.iter_queue_and_ancestors(attr)
        )

    def claim_counts(self, claimed: LimitCheck) -> bool:
        """Whether the deserved amount covers the claim: in every dimension, or in one."""
        # Every dimension in v1.13.0 and with task state persistence: otherwise two queues that may each claim one
        # dimension from the other would repeatedly evict each other's pods.
        return claimed.is_within_limit if self.claims_whole else bool(queue_attr.deserves_more(claimed))

    def iter_queue_and_ancestors(self, attr: queue_attr.CapacityQueueAttr) -> Iterator[queue_attr.CapacityQueueAttr]:
        """Yield the queue and its nearest ancestors below the root."""
        yield attr
        for distance in range(1, min(self.ancestor_level, len(attr.ancestors)) + 1):
            name = attr.ancestor_at_depth(distance)
            if name is not None and name != ROOT_QUEUE and name in self.queues:
                yield self.queues[name]

    def reclaimable(self, reclaimer: TaskInfo, candidates: list[TaskInfo]) -> plugin_answers.VictimAnswer:
        """Candidates of queues that hold more than deserved. Upstream: plugins/capacity.OnSessionOpen."""
        queue = self.queue_of(reclaimer)
        if not self.ready or queue is None:
            return [], plugin_answers.REJECT
        reclaim = self.reclaim(self.queues, self.ancestor_level, ReclaimAsker(reclaimer, queue, self.reclaims_whole))
        victims = []
        for task in candidates if self.takes_as_listed else self.eviction_order(candidates, reclaimer):
            attr = self.queue_of(task)
            if attr is not None and not reclaim.judge_candidate(task, attr).rule:
                victims.append(task)
        return victims, plugin_answers.PERMIT

    def eviction_order(self, candidates: list[TaskInfo], reclaimer: TaskInfo) -> Iterator[TaskInfo]:
        """Yield the candidates in the order in which they would be evicted."""
        victims = build_victims_queue(self.ssn, candidates, reclaimer)
        while victims:
            yield victims.pop()

    def unified_evictable(
        self, context: plugin_answers.EvictionContext, candidates: list[TaskInfo]
    ) -> plugin_answers.VictimAnswer:
        """As reclaimable, without dimensions and ancestors. Upstream: plugins/capacity.OnSessionOpen."""
        if context.kind is plugin_answers.EvictionKind.GANG_PREEMPT:
            return candidates, plugin_answers.PERMIT
        if not self.ready:
            return [], plugin_answers.REJECT
        reclaim = ReclaimCall(self.queues)
        owners = ((task, self.queues[self.ssn.jobs[task.job].queue]) for task in candidates)
        return [task for task, attr in owners if not reclaim.judge_candidate(task, attr).rule], plugin_answers.PERMIT

    def queue_of(self, task: TaskInfo) -> queue_attr.CapacityQueueAttr | None:
        """The queue of the task's job; None if the session has no such job."""
        job = self.ssn.jobs.get(task.job)
        return None if job is None else self.queues.get(job.queue)

    # Admission

    def job_enqueueable(self, job: JobInfo) -> int:
        """Whether the minimum fits the limits of the queue and its ancestors, beside their inelastic allocations.
        Upstream: plugins/capacity.jobEnqueueable, plugins/capacity.checkJobEnqueueableHierarchically.
        """
        if not self.ready or self.queues[job.queue].children or not self.is_served(self.ssn.queues[job.queue]):
            return plugin_answers.REJECT
        attr = self.queues[job.queue]
        if job.pod_group.min_resources is None and self.limits.minimum_demand(attr, job) is None:
            return plugin_answers.PERMIT
        for queue in (attr,) if self.admits_by_leaf else self.queue_and_ancestors(job.queue):
            missing = self.limits.missing_dimensions(queue, job)
            if missing is not None:
                self.ssn.record_refusal(job, QUOTA_MESSAGE, "insufficient", missing)
                return plugin_answers.REJECT
        if self.reserves_at_vote:
            self.job_enqueued(job)
            self.ssn.record_reserved_at_vote(self, job)
        return plugin_answers.PERMIT

    def job_enqueued(self, job: JobInfo) -> None:
        """Reserve the job's minimum, without scheduling-gated pods, in the queue and its ancestors."""
        attr = self.queues.get(job.queue)
        devices = None if attr is None else self.limits.minimum_demand(attr, job)
        if attr is None or (job.pod_group.min_resources is None and devices is None):
            return
        reserved = job.deduct_sch_gated_resources(job.get_min_resources())
        for charged in (attr,) if self.admits_by_leaf else (attr, *self.ancestors_of(attr)):
            charged.inqueue.add(reserved)
            if devices is not None and charged.devices is not None:
                merge_task_dra(charged.devices.inqueue, devices)

    # Events

    def _queue_of_event(self, task: TaskInfo) -> queue_attr.CapacityQueueAttr | None:
        """The queue of an event's task; None for a queue that is missing because the tree is broken."""
        attr = self.queue_of(task)
        if attr is None and self.ssn.release.has_older_form(ORPHAN_NIL_PANICS):
            raise SchedulerPanic(NIL_POINTER_TEXT)
        return attr

    def allocate_func(self, event: Event) -> None:
        attr = self._queue_of_event(event.task)
        if attr is None:
            return
        for charged in (attr, *self.ancestors_of(attr)):
            charged.add_allocated_task(event.task, self.limits.device_demand(event.task))
        attr.update_share()
        if self.limits.reservations is not None:
            self.limits.reservations.remove_task(event.task.uid)

    def deallocate_func(self, event: Event) -> None:
        attr = self._queue_of_event(event.task)
        if attr is None:
            return
        for charged in (attr, *self.ancestors_of(attr)):
            released = clamp_request(self.ssn, self.name, charged.name, charged.allocated, event.task.resreq)
            charged.remove_allocated(released, self.limits.device_demand(event.task))
        attr.update_share()
        if self.limits.reservations is not None:
            self.limits.reservations.add_task(attr.name, event.task)

    def ancestors_of(self, attr: queue_attr.CapacityQueueAttr) -> list[queue_attr.CapacityQueueAttr]:
        """The queue's ancestors, root first; events do not update their shares."""
        return [self.queues[name] for name in attr.ancestors]

    # Simulation

    def pre_predicate(self, task: TaskInfo) -> plugin_answers.PluginError | None:
        """Copy the allocated amounts of all queues, for simulations of this task."""
        if self.circular_queues:
            self.ssn.note_quirk(QUEUE_CYCLE, f"{circle_text(self.circular_queues)}: copying the queues never ends")
            objects = tuple([("Queue", name) for name in self.circular_queues])
            change = f"give queue {self.circular_queues[0]} another spec.parent"
            raise blame_objects(ProcessExit(ENDLESS_COPY), objects, change)
        self.ssn.cycle_state(task).data[STATE_KEY] = QueueStates.copy_states(self.queues)
        return None

    def simulate_allocatable(self, state: CycleState, queue: QueueInfo, task: TaskInfo) -> bool:
        """As allocatable, simulated, in any queue state. Upstream: plugins/capacity.simulateQueueAllocatable."""
        states = state.data.get(STATE_KEY)
        if not isinstance(states, QueueStates) or not self.ready or self.queues[queue.name].children:
            return False
        names = [*states.ancestors_of(self.queues, queue.name), queue.name]
        return all(
            self.limits.is_within_limits(self.queues[name], states.allocated[name], states.devices.get(name), task)
            for name in reversed(names)
        )

    def simulate_add_task(self, state: CycleState, task: TaskInfo, other: TaskInfo, node: NodeInfo) -> str | None:
        states, queues, error = simulated_queues(state, self.ssn.jobs, self.queues, other, self.no_queue)
        states.add_task(queues, other, self.limits.device_demand(other))
        return error

    def simulate_remove_task(self, state: CycleState, task: TaskInfo, other: TaskInfo, node: NodeInfo) -> str | None:
        states, queues, error = simulated_queues(state, self.ssn.jobs, self.queues, other, self.no_queue)
        states.remove_task(queues, other, self.limits.device_demand(other))
        return error
