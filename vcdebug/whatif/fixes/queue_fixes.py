"""Fixes of the queue admin: limits, shares, and pods of other jobs."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import count_noun, join_names, quantity_text, resource_of_quota, value_in_units
from vcdebug.explain import queue_index
from vcdebug.explain.answer import Cause
from vcdebug.explain.pending.gates.admission import REJECTED_BY
from vcdebug.explain.pending.gates.other_groups import is_same_application
from vcdebug.explain.plugins.resourcequota import quota_edits
from vcdebug.explain.queue_index import oversized_capabilities, queue_and_ancestors
from vcdebug.explain.stuck_jobs import find_left_behind, has_ended, idle_owners
from vcdebug.framework.quirks import QUEUE_TREE_BROKEN
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import PREEMPTABLE_KEY, Pod
from vcdebug.model.pod_group import INQUEUE, PodGroup
from vcdebug.model.queue import OPEN, ROOT_QUEUE, QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, TaskStatus, is_allocated_status
from vcdebug.plugins import CAPACITY, DRF, GANG, PDB, PRIORITY, PROPORTION
from vcdebug.plugins.conformance import is_critical
from vcdebug.plugins.pdb import DisruptionBudget, charge_budgets, read_budget
from vcdebug.recording.effects import cycle_effects
from vcdebug.snapshot.edit_path import field_step
from vcdebug.snapshot.manifest import key_of, name_of, namespace_in, spec_of
from vcdebug.whatif.fixes import FixCauses, fix

_HOLDER_CAUSES = (
    *FixCauses.LIMIT,
    *FixCauses.TAKEN_ROOM,
    *FixCauses.ENQUEUE,
    *FixCauses.VICTIM,
    Cause.NO_HYPER_NODE,
    Cause.NOT_CONFIGURED,
    GANG,
    DRF,
    PRIORITY,
)
_MAX_HOLDERS = 6
_MAX_RELEASED = 16
_LARGE_WEIGHT = 100
_TIMES_OTHERS = 10
"""A weight that is this many times all weights leaves the other queues little."""


def propose_queue_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes on queues, quotas and other jobs."""
    yield from _propose_state_fixes(situation)
    yield from _propose_tree_fixes(situation)
    queue = situation.recording.session.queues.get(situation.queue_name)
    if queue is not None:
        for queue_or_ancestor in queue_and_ancestors(situation.recording, queue):
            yield from _propose_capability_fixes(situation, queue_or_ancestor)
        yield from _propose_share_fixes(situation, queue)
    yield from _propose_own_queue_fixes(situation)
    yield from _propose_guarantee_fixes(situation)
    yield from _propose_reclaimable_fixes(situation)
    yield from _propose_quota_fixes(situation)
    yield from _propose_preemptable_fixes(situation)
    yield from _propose_group_priority_fixes(situation)
    yield from _propose_gang_minimum_fixes(situation)
    yield from _propose_held_back_fixes(situation)
    yield from _propose_released_minimum_fixes(situation)
    yield from _propose_oversized_fixes(situation)
    yield from _propose_budget_fixes(situation)
    yield from _propose_holder_fixes(situation)


def _propose_state_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    names = [name_of(manifest) for manifest in situation.snapshot.objects_of("Queue")]
    if situation.queue_name not in names:
        words = f"Create queue {situation.queue_name} (weight 1, Open)"
        edit = f"Queue/{situation.queue_name}:+={queue_manifest(1)}"
        yield fix.queue_fix(words, edit, causes=(Cause.QUEUE_MISSING,), kind=fix.FixKind.REPAIR, aspect="state")
        return
    queue = situation.recording.session.queues.get(situation.queue_name)
    if queue is not None and queue.state != OPEN:
        words, edit = f"Open queue {queue.name}", f"Queue/{queue.name}:status.state=Open"
        causes = (*FixCauses.QUEUE, Cause.GANG_DISCARD)
        yield fix.queue_fix(words, edit, causes=causes, kind=fix.FixKind.REPAIR, aspect="state")


def queue_manifest(weight: int) -> str:
    """A new Open queue with this weight, as an edit creates it."""
    return f"{{apiVersion: scheduling.volcano.sh/v1beta1, spec: {{weight: {weight}}}, status: {{state: Open}}}}"


def _propose_tree_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to lower capabilities to those of ancestors, if an invalid queue tree blocks every job."""
    oversized = list(oversized_capabilities(situation.recording)) if QUEUE_TREE_BROKEN in situation.cause_codes else []
    edits, changes = [], []
    for excess in oversized:
        old, new = (quantity_text(excess.resource, value) for value in (excess.stated_amount, excess.ancestor_limit))
        edits.append(f"Queue/{excess.queue}:spec.capability{field_step(excess.resource)}={new}")
        changes.append(f"Queue {excess.queue}: capability.{excess.resource} {old} -> {new}")
    if oversized:
        words, kind = join_names(changes), fix.FixKind.REPAIR
        yield fix.queue_fix(words, *edits, causes=(QUEUE_TREE_BROKEN,), kind=kind, aspect="tree")


class _QueueLimit(Struct, frozen=True):
    """One amount of a queue that could be raised."""

    text: str
    path: str
    current_amount: int


def _limit_of(queue: QueueInfo, field: str, resource: str, amounts: Mapping[str, int]) -> _QueueLimit:
    words = f"Queue {queue.name}: {field}.{resource}"
    return _QueueLimit(words, f"Queue/{queue.name}:spec.{field}{field_step(resource)}", amounts.get(resource, 0))


def _iter_raise_fixes(
    situation: fix.FixSituation,
    limit: _QueueLimit,
    ceilings: list[_QueueLimit],
    resource: str,
    wanted: int,
    causes: tuple[str, ...],
) -> Iterator[fix.Fix]:
    """Yields fixes that raise a limit, up to the limits above it, or together with those limits."""
    request = situation.total_request(situation.pending_pods, resource)
    amount = fix.larger_amount(resource, limit.current_amount, request)
    # A limit above the cluster's total is useless, and capacity's queue tree rejects it under a root that states less;
    # but pods that want more than the total get it from added nodes.
    total = value_in_units(resource, situation.recording.session.total_resource.get(resource))
    max_useful = max(int(total * (1000 if amount.unit == "milli" else 1)), wanted)
    amount = replace(amount, working=min(amount.working, max(max_useful, limit.current_amount + amount.step)))
    blocking = [queue_limit for queue_limit in ceilings if queue_limit.current_amount < amount.working]
    max_alone = min((queue_limit.current_amount for queue_limit in blocking), default=amount.working)
    if limit.current_amount < max_alone:
        alone = replace(amount, working=max_alone)
        yield fix.queue_fix(*alone.change_of(limit.text, limit.path), causes=causes, amount=alone)
    if blocking:
        limits = [limit, *blocking]
        present = [f"{queue_limit.text} {amount.format_amount(queue_limit.current_amount)}" for queue_limit in limits]
        words = f"{' and '.join(present)} -> {fix.AMOUNT_BLANK} each"
        edits = (f"{queue_limit.path}={fix.AMOUNT_BLANK}" for queue_limit in limits)
        start = max(queue_limit.current_amount for queue_limit in limits)
        together = replace(amount, failing=start, working=start + amount.working)
        yield fix.queue_fix(words, *edits, causes=causes, amount=together)


def _propose_capability_fixes(situation: fix.FixSituation, queue: QueueInfo) -> Iterator[fix.Fix]:
    capability = fix.known_amounts(queue.capability)
    parents = [(one, fix.known_amounts(one.capability)) for one in queue_and_ancestors(situation.recording, queue)[1:]]
    pods = _wanted_pods(situation, queue)
    for resource in capability:
        limits = [_limit_of(one, "capability", resource, amounts) for one, amounts in parents if amounts.get(resource)]
        limit, wanted = _limit_of(queue, "capability", resource, capability), situation.total_request(pods, resource)
        yield from _iter_raise_fixes(situation, limit, limits, resource, wanted, FixCauses.LIMIT)
    if len(capability) > 1:
        words = f"Bypass: remove spec.capability of queue {queue.name} ({', '.join(capability)})"
        edit, kind = f"Queue/{queue.name}:spec.capability-", fix.FixKind.BYPASS
        yield fix.queue_fix(words, edit, causes=FixCauses.LIMIT, kind=kind)


def _propose_own_queue_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    name = situation.own_queue
    if situation.pod_group is None or not name:
        return
    edits = (f"Queue/{name}:+={queue_manifest(_LARGE_WEIGHT)}", f"{situation.group_path}:spec.queue={name}")
    words = f"Bypass: move {situation.explanation.job} to a new queue {name} (weight {_LARGE_WEIGHT}, no limits)"
    yield fix.queue_fix(words, *edits, causes=FixCauses.LIMIT, kind=fix.FixKind.BYPASS, aspect="queue")


def _propose_share_fixes(situation: fix.FixSituation, queue: QueueInfo) -> Iterator[fix.Fix]:
    plugins = situation.recording.conf.plugin_names()
    weights = sum(each.weight for each in situation.recording.session.queues.values())  # exact: ints
    large_weight = max(_LARGE_WEIGHT, _TIMES_OTHERS * weights)
    if PROPORTION in plugins and queue.weight < large_weight:
        amount = fix.AmountRange(queue.weight, large_weight)
        change = amount.change_of(f"Queue {queue.name}: weight", f"Queue/{queue.name}:spec.weight")
        yield fix.queue_fix(*change, causes=FixCauses.SHARE, amount=amount)
    if CAPACITY in plugins:
        deserved, capability = fix.known_amounts(queue.deserved), fix.known_amounts(queue.capability)
        lineage = queue_and_ancestors(situation.recording, queue)[1:]
        parents = [(one, fix.known_amounts(one.deserved)) for one in lineage]
        for resource in fix.resources_of(situation.pending_pods):
            limits = [_limit_of(queue, "capability", resource, capability)] if capability.get(resource) else []
            # capacity rejects children that deserve more than their parent.
            limits += [_limit_of(one, "deserved", resource, stated) for one, stated in parents if stated.get(resource)]
            limit = _limit_of(queue, "deserved", resource, deserved)
            yield from _iter_raise_fixes(situation, limit, limits, resource, 0, FixCauses.SHARE)
        yield from _propose_whole_share_fixes(situation, queue, deserved)


def _propose_whole_share_fixes(
    situation: fix.FixSituation, queue: QueueInfo, deserved: Mapping[str, int]
) -> Iterator[fix.Fix]:
    """Proposes what the queue's pods and those that the job still needs ask, where several dimensions are short."""
    changes, edits, capability = [], [], fix.known_amounts(queue.capability)
    pods = _wanted_pods(situation, queue)
    for resource in fix.resources_of(_needed_pods(situation)):
        limit = _limit_of(queue, "deserved", resource, deserved)
        wanted = situation.total_request(pods, resource)
        # Upstream refuses more than the capability; what spec.deserved does not name has advice of its own.
        if wanted > capability.get(resource, wanted):
            return
        if resource in deserved and wanted > limit.current_amount:
            old, new = (fix.format_units(resource, each) for each in (limit.current_amount, wanted))
            changes.append(f"deserved.{resource} {old} -> {new}")
            edits.append(f"{limit.path}={new}")
    if len(changes) > 1:
        words = f"Queue {queue.name}: {join_names(changes)}"
        yield fix.queue_fix(words, *edits, causes=FixCauses.SHARE, aspect=f"deserved of {queue.name}")


def _needed_pods(situation: fix.FixSituation) -> tuple[Pod, ...]:
    """The Pending pods that the job still needs, at least one; none for a job that is not in the session."""
    job = situation.job
    return () if job is None else situation.pending_pods[: max(job.min_available - job.ready_task_num(), 1)]


def _wanted_pods(situation: fix.FixSituation, queue: QueueInfo) -> list[Pod]:
    """The queue's own pods that hold resources, and those that the job still needs."""
    own_jobs = [job for job in situation.recording.session.jobs.values() if job.queue == queue.name]
    running = [task.pod for job in own_jobs for task in job.tasks.values() if is_allocated_status(task.status)]
    return [*running, *_needed_pods(situation)]


def _propose_guarantee_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes smaller guarantees of other queues, whose unused part no other queue may use."""
    for queue in situation.recording.session.queues.values():
        if queue.name == situation.queue_name:
            continue
        for resource, present in fix.known_amounts(queue.guarantee).items():
            if not present:
                continue
            unit = fix.unit_of(resource)
            amount = fix.AmountRange(present, 0, unit, fix.coarsest_step(unit, present))
            path = f"Queue/{queue.name}:spec.guarantee.resource{field_step(resource)}"
            change = amount.change_of(f"Queue {queue.name}: guarantee.{resource}", path)
            yield fix.queue_fix(*change, causes=FixCauses.LIMIT, amount=amount)


def _propose_reclaimable_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    causes = (*FixCauses.QUEUE, *FixCauses.VICTIM, Cause.PREEMPTIVE)
    for queue in situation.recording.session.queues.values():
        if not queue.reclaimable and queue.name != situation.queue_name:
            words, edit = f"Queue {queue.name}: reclaimable -> true", f"Queue/{queue.name}:spec.reclaimable=true"
            yield fix.queue_fix(words, edit, causes=causes)


def _propose_quota_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    namespace = namespace_in(situation.explanation.job)
    for manifest in situation.snapshot.objects_of("ResourceQuota"):
        metadata = manifest["metadata"]
        if metadata.get("namespace") != namespace:
            continue
        for resource, hard in (spec_of(manifest).get("hard") or {}).items():
            # A quota's `requests.cpu` limits the cpu requests of containers.
            base_resource = resource_of_quota(resource)
            request = situation.total_request(situation.pending_pods, base_resource)
            amount = fix.larger_amount(base_resource, fix.count_units(resource, hard), request)
            words = f"ResourceQuota {metadata['name']}: hard.{resource} {hard} -> {fix.AMOUNT_BLANK}"
            parts = [part for part in ("spec", "status") if resource in ((manifest.get(part) or {}).get("hard") or {})]
            edits = quota_edits(namespace, metadata["name"], resource, fix.AMOUNT_BLANK, parts)
            yield fix.queue_fix(words, *edits, causes=(REJECTED_BY,), amount=amount)


def _propose_preemptable_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    for job in situation.recording.session.jobs.values():
        ordinary = (task for task in job.tasks.values() if not is_critical(task))
        protected = [task for task in ordinary if not task.preemptable and is_allocated_status(task.status)]
        if protected and job.uid != situation.explanation.job:
            edits = (
                f'PodGroup/{job.uid}:metadata.annotations[{PREEMPTABLE_KEY}]="true"',
                *(f'Pod/{task.key}:metadata.annotations[{PREEMPTABLE_KEY}]="true"' for task in protected),
            )
            words = f'{count_noun(len(protected), "pod")} of {job.uid}: {PREEMPTABLE_KEY} -> "true"'
            yield fix.queue_fix(words, *edits, causes=(Cause.NOT_PREEMPTABLE,), kind=fix.FixKind.OTHER_PODS)


def _propose_group_priority_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes the lower PriorityClass of its pods for a PodGroup whose higher class protects them."""
    if PRIORITY not in situation.cause_codes:
        return
    for manifest in situation.snapshot.objects_of("PodGroup"):
        group = PodGroup(manifest)
        job = situation.recording.session.jobs.get(JobId(f"{group.namespace}/{group.name}"))
        if job is None or job.uid == situation.explanation.job or not group.priority_class_name or not job.tasks:
            continue
        lowest = min(job.tasks.values(), key=lambda task: task.priority)
        pod_class = lowest.pod.spec.get("priorityClassName") if lowest.priority < job.priority else None
        if pod_class:
            higher_pods = [task.name for task in job.tasks.values() if task.priority > lowest.priority]
            note = f"; it then counts for {join_names(higher_pods)} too" if higher_pods else ""
            change = f"priorityClassName {group.priority_class_name} -> {pod_class} (that of {lowest.name}{note})"
            # Pods whose own priority is below this job's are not protected on purpose.
            yields = situation.job is not None and lowest.priority < situation.job.priority <= job.priority
            kind = fix.FixKind.ENTITLEMENT if yields else fix.FixKind.OTHER_PODS
            words, edit = f"PodGroup {job.uid}: {change}", f"PodGroup/{job.uid}:spec.priorityClassName={pod_class}"
            yield fix.queue_fix(words, edit, causes=(PRIORITY,), kind=kind)


def _propose_gang_minimum_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes that lower minMember of other gangs at their minimum, so that some of their pods can be evicted."""
    candidates = []
    for job in situation.recording.session.jobs.values():
        running = job.count_tasks(TaskStatus.RUNNING)
        if job.uid != situation.explanation.job and running and 1 < job.min_available >= running:
            same_queue = situation.queue_name == job.queue
            # Gangs of the same queue first, then of low priority: the likeliest victims.
            candidates.append((not same_queue, job.priority, job.uid, job.min_available))
    for *_, job_id, min_member in sorted(candidates)[:_MAX_HOLDERS]:
        amount, kind = fix.AmountRange(min_member, 1), fix.FixKind.OTHER_PODS
        change = amount.change_of(f"{job_id}: minMember", f"PodGroup/{job_id}:spec.minMember")
        yield fix.queue_fix(*change, causes=(GANG, Cause.NOT_ABOVE_DESERVED), amount=amount, kind=kind)


def _propose_held_back_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to hold back other jobs that this cycle placed, by scheduling gates on their pods."""
    own_job, effects = situation.explanation.job, cycle_effects(situation.recording)
    placements = [effect for effect in (*effects.bound, *effects.pipelined) if effect.job != own_job]
    pods = group_by_key((effect.job, effect.task) for effect in placements)
    for job, keys in list(pods.items())[:_MAX_HOLDERS]:
        edits = (f"Pod/{key}:spec.schedulingGates=[{{name: later}}]" for key in keys)
        words = f"Hold back {job} (placed in this cycle) with a scheduling gate on {count_noun(len(keys), 'pod')}"
        yield fix.queue_fix(words, *edits, causes=_HOLDER_CAUSES, kind=fix.FixKind.OTHER_PODS)


def _propose_released_minimum_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to delete Inqueue PodGroups without placed pods that reserve their minimum; left-behind ones first."""
    phases = situation.recording.timeline.opening_phases
    holders = [
        job
        for uid, job in situation.recording.session.jobs.items()
        if uid != situation.explanation.job and phases.get(uid) == INQUEUE and job.pod_group.min_resources is not None
    ]
    ended = [job for job in holders if has_ended(job)]
    idle = [job for job in holders if job.count_tasks(TaskStatus.PENDING) == len(job.tasks)]
    left_behind = find_left_behind(situation.recording, idle) | idle_owners(situation.recording, idle)
    other_jobs = sorted((job for job in idle if job.uid not in left_behind), key=lambda job: job.priority)
    causes = (Cause.HELD_BY_INQUEUE, Cause.OVERCOMMIT, Cause.QUEUE_QUOTA, Cause.CAPABILITY)
    for jobs, group_words, kind in (
        ([job for job in idle if job.uid in left_behind], "PodGroups without pods", fix.FixKind.REPAIR),
        (ended, "PodGroups of ended pods", fix.FixKind.REPAIR),
        (other_jobs, "jobs without a place", fix.FixKind.OTHER_PODS),
    ):
        batch = jobs[:_MAX_RELEASED]
        pod_edits = [[] if job in ended else [f"Pod/{task.key}:-" for task in job.tasks.values()] for job in batch]
        deletions = [(f"PodGroup/{job.uid}:-", *own) for job, own in zip(batch, pod_edits, strict=True)]
        sizes = [
            fix.FixSize(f"{number} of {len(jobs)}", tuple(edit for edits in deletions[:number] for edit in edits))
            for number in range(1, len(batch) + 1)
        ]
        names = join_names(job.uid for job in batch)
        words = f"Delete {fix.AMOUNT_BLANK} Inqueue {group_words} ({names})"
        if sizes:
            yield fix.queue_fix(words, causes=causes, kind=kind, aspect=group_words).with_sizes(*sizes)


def _propose_oversized_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to delete jobs of other queues whose pods no node can hold, but for whose queue a share is kept."""
    session, largest = situation.recording.session, Resource()
    for node in session.nodes.values():
        largest.set_max_resource(node.allocatable)
    others = [job for job in session.jobs.values() if job.tasks and job.queue != situation.queue_name]
    waiting = [[*job.tasks.values()] for job in others if job.count_tasks(TaskStatus.PENDING) == len(job.tasks)]
    hopeless = (tasks for tasks in waiting if not any(task.init_resreq.less_equal(largest) for task in tasks))
    for tasks in islice(hopeless, _MAX_HOLDERS):
        edits, pods = [f"Pod/{task.key}:-" for task in tasks], count_noun(len(tasks), "Pending pod")
        words = f"Delete {tasks[0].job} ({pods} that no node can hold)"
        edits.append(f"PodGroup/{tasks[0].job}:-")
        yield fix.queue_fix(words, *edits, causes=FixCauses.LIMIT, kind=fix.FixKind.OTHER_PODS)


def _propose_budget_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes a lower minAvailable of budgets that plugin pdb applies, with the disruptions that it then allows."""
    for manifest in situation.snapshot.objects_of("PodDisruptionBudget") if PDB in situation.cause_codes else ():
        budget, minimum = read_budget(manifest), spec_of(manifest).get("minAvailable")
        path = f"PodDisruptionBudget/{key_of(manifest)}"
        if budget is not None and budget.allowed <= 0 and isinstance(minimum, int) and minimum > 0:
            sizes = [
                fix.FixSize(
                    str(minimum - count),
                    (f"{path}:spec.minAvailable={minimum - count}", f"{path}:status.disruptionsAllowed={count}"),
                )
                for count in range(1, minimum + 1)
            ]
            words = f"PodDisruptionBudget {budget.name}: minAvailable {minimum} -> {fix.AMOUNT_BLANK}"
            yield fix.queue_fix(words, causes=(PDB,), kind=fix.FixKind.OTHER_PODS).with_sizes(*sizes)


class _Holder(NamedTuple):
    """Another job whose pods use what the job needs; holders sort as they are proposed."""

    keeps_share: bool
    """Whether its queue is within what it deserves, or the job's own queue is above it."""
    other_queue: bool
    priority: int
    size: int
    job: JobId
    state: str
    pods: tuple[TaskKey, ...]


def _propose_holder_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to delete pods of other jobs: first of queues above what they deserve, then of the same queue, of low
    priority, and of small jobs.
    """
    # Bound pods that an action would evict are protected only because they do not run yet.
    is_protected = situation.explanation.cause_code == Cause.NOT_PREEMPTABLE
    bound_kind = fix.FixKind.ENTITLEMENT if is_protected else fix.FixKind.OTHER_PODS
    for holder in sorted(_iter_holders(situation))[:_MAX_HOLDERS]:
        kind = bound_kind if holder.state == "bound" else fix.FixKind.OTHER_PODS
        aspect = f"pods of {holder.job}"
        holder_fix = fix.queue_fix(f"End {fix.AMOUNT_BLANK}", causes=_HOLDER_CAUSES, kind=kind, aspect=aspect)
        yield holder_fix.with_sizes(*_sizes_of_deletion(situation, holder))


def _iter_holders(situation: fix.FixSituation) -> Iterator[_Holder]:
    """Yields the jobs whose pods may be deleted to make room."""
    needed, above = fix.resources_of(situation.pending_pods), queue_index.queues_above_deserved(situation.recording)
    is_lender = situation.queue_name not in above
    budgets = [one for one in map(read_budget, situation.snapshot.objects_of("PodDisruptionBudget")) if one is not None]
    for job in situation.recording.session.jobs.values():
        tasks = _deletable_tasks(situation, job, budgets)
        if job.uid == situation.explanation.job or not tasks or not _holds_needed(situation, job.uid, needed):
            continue
        keeps_share = not (is_lender and any(name in above.get(job.queue, ()) for name in needed))
        pods = tuple(key for _, key in sorted((task.node_name, task.key) for task in tasks))
        state = "running" if tasks[0].status is TaskStatus.RUNNING else "bound"
        yield _Holder(keeps_share, situation.queue_name != job.queue, job.priority, len(tasks), job.uid, state, pods)


def _deletable_tasks(situation: fix.FixSituation, job: JobInfo, budgets: Sequence[DisruptionBudget]) -> list[TaskInfo]:
    """The job's running tasks, else its bound ones, that may be deleted to make room."""
    own = situation.pending_pods[0] if len(situation.own_pods) == 1 == len(situation.pending_pods) else None
    # Pods of the cluster itself, such as its DNS, are not deleted to make room.
    ordinary = [task for task in job.tasks.values() if not is_critical(task)]
    # A pod of the same application is no other job, even if its PodGroup is another one; gangs may share labels.
    if own is not None:
        ordinary = [task for task in ordinary if not is_same_application(own, task.pod, lone=len(job.tasks) == 1)]
    # Deleting a pod that its PodDisruptionBudget protects would break a rule of its owner.
    ordinary = [one.task for one in charge_budgets(budgets, ordinary) if all(left > 0 for _, left in one.budgets)]
    running = [task for task in ordinary if task.status is TaskStatus.RUNNING]
    return running or [task for task in ordinary if task.status is TaskStatus.BOUND]


def _sizes_of_deletion(situation: fix.FixSituation, holder: _Holder) -> Iterator[fix.FixSize]:
    """Yields the deletion of one pod, of two and so on, and last of the job's Pending pods with them."""
    edits, total, state = [f"Pod/{key}:-" for key in holder.pods], len(holder.pods), holder.state
    for number in range(1, total):
        words = f"{number} of {total} {state} pods of {holder.job}"
        yield fix.FixSize(words, tuple(edits[:number]))
    # The job and not its pods: a controller would create them again.
    all_pods = f"{holder.job} ({count_noun(total, f'{state} pod')}"
    yield fix.FixSize(f"{all_pods})", tuple(edits))
    # The job's Pending pods would take the room themselves.
    tasks = situation.recording.session.jobs[holder.job].tasks.values()
    if pending := [f"Pod/{task.key}:-" for task in tasks if task.status is TaskStatus.PENDING]:
        yield fix.FixSize(f"{all_pods} and {count_noun(len(pending), 'Pending pod')})", (*edits, *pending))


def _holds_needed(situation: fix.FixSituation, job: str, needed: list[str]) -> bool:
    """Whether the job holds any of the needed devices; of cpu and memory if no device is needed."""
    devices = [name for name in needed if fix.unit_of(name) == "count"] or needed
    allocated = situation.recording.session.jobs[job].allocated
    return any(allocated.get(name) > 0 for name in devices) or not needed


def propose_one_quota_plugin_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to keep only one of capacity and proportion: the one whose fields the queues state."""
    conf = situation.recording.conf
    if not all(name in conf.plugin_names() for name in (CAPACITY, PROPORTION)):
        return
    queues = situation.recording.session.queues.values()
    is_capacity_used = any(queue.deserved or queue.parent not in ("", ROOT_QUEUE) for queue in queues)
    kept, removed = (CAPACITY, PROPORTION) if is_capacity_used else (PROPORTION, CAPACITY)
    words = f"Configuration: remove plugin {removed} ({kept} limits queues too, by other rules)"
    causes, kind = (*FixCauses.SHARE, Cause.NOT_PREEMPTABLE, Cause.PHANTOM), fix.FixKind.REPAIR
    yield fix.cluster_fix(words, f"conf:plugins.{removed}-", causes=causes, kind=kind, aspect="quota")
