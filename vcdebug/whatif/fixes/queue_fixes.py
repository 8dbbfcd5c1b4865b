"""Fixes of the queue admin: limits, shares, and what other jobs hold."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from vcdebug.amount_text import count_noun, join_names, quantity_text, value_in_units
from vcdebug.explain.answer import AdviceHarm
from vcdebug.explain.pending.gates.eviction.veto import KEPT
from vcdebug.explain.plugins.resourcequota import quota_edits
from vcdebug.explain.queue_index import (
    ENDED_STATUSES,
    find_left_behind,
    oversized_capabilities,
    queue_and_ancestors,
    suspended_owners,
)
from vcdebug.framework.quirks import QUEUE_TREE_BROKEN
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId
from vcdebug.model.pod import PREEMPTABLE_KEY
from vcdebug.model.pod_group import INQUEUE, PodGroup
from vcdebug.model.queue import OPEN, QueueInfo
from vcdebug.model.task import TaskStatus, is_allocated_status
from vcdebug.plugins import CAPACITY, DRF, GANG, PRIORITY, PROPORTION
from vcdebug.recording.effects import cycle_effects
from vcdebug.snapshot.edit_path import field_step
from vcdebug.snapshot.manifest import name_of, spec_of
from vcdebug.whatif.fixes import fix

_LIMIT_CAUSES = ("queue-*", "enqueue-queue-quota", "gang-discard", "overused")
_SHARE_CAUSES = (
    "overused",
    "preemptive",
    "victims-not-above-deserved",
    "queue-*",
    "enqueue-queue-quota",
    "gang-discard",
)
_HOLDER_CAUSES = (
    *_LIMIT_CAUSES,
    "predicates-mixed",
    "pod-count",
    "gang-discard",
    "enqueue-*",
    "action-not-configured",
    "victims-*",
    GANG,
    DRF,
    PRIORITY,
)
_MAX_HOLDERS = 6
_MAX_RELEASED = 16
_LARGE_WEIGHT = 100


def propose_queue_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes on queues, quotas and other jobs."""
    yield from _propose_state_fixes(situation)
    yield from _propose_tree_fixes(situation)
    queue = situation.recording.session.queues.get(situation.queue_name)
    if queue is not None:
        for one in queue_and_ancestors(situation.recording, queue):
            yield from _propose_capability_fixes(situation, one)
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
    yield from _propose_holder_fixes(situation)


def _propose_state_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    names = [name_of(manifest) for manifest in situation.snapshot.objects_of("Queue")]
    if situation.queue_name not in names:
        manifest = "{apiVersion: scheduling.volcano.sh/v1beta1, spec: {weight: 1}, status: {state: Open}}"
        edits = (f"Queue/{situation.queue_name}:+={manifest}",)
        words = f"Create queue {situation.queue_name} (weight 1, Open)"
        yield fix.Fix(
            words, edits, AdviceHarm.QUEUE, ("queue-missing",), stated_kind=fix.FixKind.REPAIR, aspect="state"
        )
        return
    queue = situation.recording.session.queues.get(situation.queue_name)
    if queue is not None and queue.state != OPEN:
        edits = (f"Queue/{queue.name}:status.state=Open",)
        causes = ("queue-closed", "queue-*", "gang-discard")
        yield fix.Fix(
            f"Open queue {queue.name}", edits, AdviceHarm.QUEUE, causes, stated_kind=fix.FixKind.REPAIR, aspect="state"
        )


def _propose_tree_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Capabilities lowered to what their ancestors have, where an error in the tree of queues blocks every job."""
    over = list(oversized_capabilities(situation.recording)) if QUEUE_TREE_BROKEN in situation.cause_codes else []
    edits, changes = [], []
    for one in over:
        stated, most = (quantity_text(one.resource, value) for value in (one.stated, one.most))
        edits.append(f"Queue/{one.queue}:spec.capability{field_step(one.resource)}={most}")
        changes.append(f"Queue {one.queue}: capability.{one.resource} {stated} -> {most}")
    if over:
        words, kind = join_names(changes), fix.FixKind.REPAIR
        yield fix.Fix(words, tuple(edits), AdviceHarm.QUEUE, (QUEUE_TREE_BROKEN,), stated_kind=kind, aspect="tree")


class _QueueLimit(NamedTuple):
    """One amount of a queue that could be raised."""

    words: str
    path: str
    present: int


def _limit_of(queue: QueueInfo, field: str, resource: str, amounts: Mapping[str, int]) -> _QueueLimit:
    words = f"Queue {queue.name}: {field}.{resource}"
    return _QueueLimit(words, f"Queue/{queue.name}:spec.{field}{field_step(resource)}", amounts.get(resource, 0))


def _iter_raise_fixes(
    situation: fix.FixSituation, limit: _QueueLimit, above: list[_QueueLimit], resource: str, causes: tuple[str, ...]
) -> Iterator[fix.Fix]:
    """A raised limit; beyond the limits that the webhook keeps above it, these are raised with it."""
    amount = fix.larger_amount(resource, limit.present, fix.total_request(situation.pending_pods, resource))
    # More than the cluster has is of no use, and capacity's tree of queues rejects it under a root that states less.
    total = value_in_units(resource, situation.recording.session.total_resource.get(resource))
    most = int(total * (1000 if amount.unit == "milli" else 1))
    amount = replace(amount, works=min(amount.works, max(most, limit.present + amount.step)))
    tight = [one for one in above if one.present < amount.works]
    room = min((one.present for one in tight), default=amount.works)
    if limit.present < room:
        words = f"{limit.words} {amount.format_amount(limit.present)} -> {fix.AMOUNT_BLANK}"
        alone = (f"{limit.path}={fix.AMOUNT_BLANK}",)
        yield fix.Fix(words, alone, AdviceHarm.QUEUE, causes, replace(amount, works=room))
    if tight:
        together = [limit, *tight]
        present = [f"{one.words} {amount.format_amount(one.present)}" for one in together]
        words = f"{' and '.join(present)} -> {fix.AMOUNT_BLANK} each"
        edits = tuple(f"{one.path}={fix.AMOUNT_BLANK}" for one in together)
        start = max(one.present for one in together)
        yield fix.Fix(words, edits, AdviceHarm.QUEUE, causes, replace(amount, fails=start, works=start + amount.works))


def _propose_capability_fixes(situation: fix.FixSituation, queue: QueueInfo) -> Iterator[fix.Fix]:
    limited = fix.known_amounts(queue.capability)
    parents = [(one, fix.known_amounts(one.capability)) for one in queue_and_ancestors(situation.recording, queue)[1:]]
    for resource in limited:
        above = [_limit_of(one, "capability", resource, stated) for one, stated in parents if stated.get(resource)]
        yield from _iter_raise_fixes(
            situation, _limit_of(queue, "capability", resource, limited), above, resource, _LIMIT_CAUSES
        )
    if len(limited) > 1:
        words = f"Bypass: remove spec.capability of queue {queue.name} ({', '.join(limited)})"
        edits = (f"Queue/{queue.name}:spec.capability-",)
        yield fix.Fix(words, edits, AdviceHarm.QUEUE, _LIMIT_CAUSES, stated_kind=fix.FixKind.BYPASS)


def _propose_own_queue_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    name = f"{situation.explanation.job.partition('/')[2]}-own"
    if situation.pod_group is None or any(name_of(m) == name for m in situation.snapshot.objects_of("Queue")):
        return
    manifest = (
        f"{{apiVersion: scheduling.volcano.sh/v1beta1, spec: {{weight: {_LARGE_WEIGHT}}}, status: {{state: Open}}}}"
    )
    edits = (f"Queue/{name}:+={manifest}", f"{situation.group_path}:spec.queue={name}")
    words = f"Bypass: move {situation.explanation.job} to a new queue {name} (weight {_LARGE_WEIGHT}, no limits)"
    yield fix.Fix(words, edits, AdviceHarm.QUEUE, _LIMIT_CAUSES, stated_kind=fix.FixKind.BYPASS, aspect="queue")


def _propose_share_fixes(situation: fix.FixSituation, queue: QueueInfo) -> Iterator[fix.Fix]:
    plugins = situation.recording.conf.plugin_names()
    if PROPORTION in plugins and queue.weight < _LARGE_WEIGHT:
        words = f"Queue {queue.name}: weight {queue.weight} -> {fix.AMOUNT_BLANK}"
        edits = (f"Queue/{queue.name}:spec.weight={fix.AMOUNT_BLANK}",)
        yield fix.Fix(words, edits, AdviceHarm.QUEUE, _SHARE_CAUSES, fix.AmountRange(queue.weight, _LARGE_WEIGHT))
    if CAPACITY in plugins:
        deserved, limited = fix.known_amounts(queue.deserved), fix.known_amounts(queue.capability)
        for resource in fix.resources_of(situation.pending_pods):
            above = [_limit_of(queue, "capability", resource, limited)] if limited.get(resource) else []
            yield from _iter_raise_fixes(
                situation, _limit_of(queue, "deserved", resource, deserved), above, resource, _SHARE_CAUSES
            )


def _propose_guarantee_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Smaller guarantees of other queues, whose unused part no other queue may use."""
    for queue in situation.recording.session.queues.values():
        if queue.name == situation.queue_name:
            continue
        for resource, present in fix.known_amounts(queue.guarantee).items():
            if not present:
                continue
            unit = fix.unit_of(resource)
            amount = fix.AmountRange(present, 0, unit, fix.coarsest_step(unit, present))
            words = f"Queue {queue.name}: guarantee.{resource} {amount.format_amount(present)} -> {fix.AMOUNT_BLANK}"
            edits = (f"Queue/{queue.name}:spec.guarantee.resource{field_step(resource)}={fix.AMOUNT_BLANK}",)
            yield fix.Fix(words, edits, AdviceHarm.QUEUE, _LIMIT_CAUSES, amount)


def _propose_reclaimable_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    causes = ("queue-not-reclaimable", "victims-*", "queue-*", "preemptive")
    for queue in situation.recording.session.queues.values():
        if not queue.reclaimable and queue.name != situation.queue_name:
            edits = (f"Queue/{queue.name}:spec.reclaimable=true",)
            yield fix.Fix(f"Queue {queue.name}: reclaimable -> true", edits, AdviceHarm.QUEUE, causes)


def _propose_quota_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    namespace = situation.explanation.job.partition("/")[0]
    for manifest in situation.snapshot.objects_of("ResourceQuota"):
        metadata = manifest["metadata"]
        if metadata.get("namespace") != namespace:
            continue
        for resource, hard in (spec_of(manifest).get("hard") or {}).items():
            # A quota's `requests.cpu` limits what containers call cpu.
            plain = resource.rpartition("requests.")[2].rpartition("limits.")[2]
            amount = fix.larger_amount(
                plain, fix.count_units(resource, hard), fix.total_request(situation.pending_pods, plain)
            )
            words = f"ResourceQuota {metadata['name']}: hard.{resource} {hard} -> {fix.AMOUNT_BLANK}"
            parts = [part for part in ("spec", "status") if resource in ((manifest.get(part) or {}).get("hard") or {})]
            edits = quota_edits(namespace, metadata["name"], resource, fix.AMOUNT_BLANK, parts)
            yield fix.Fix(words, edits, AdviceHarm.QUEUE, ("enqueue-resourcequota", "enqueue-*"), amount)


def _propose_preemptable_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    for job in situation.recording.session.jobs.values():
        spared = [task for task in job.tasks.values() if not task.preemptable and is_allocated_status(task.status)]
        if spared and job.uid != situation.explanation.job:
            edits = (
                f'PodGroup/{job.uid}:metadata.annotations[{PREEMPTABLE_KEY}]="true"',
                *(f'Pod/{task.key}:metadata.annotations[{PREEMPTABLE_KEY}]="true"' for task in spared),
            )
            words = f'{count_noun(len(spared), "pod")} of {job.uid}: {PREEMPTABLE_KEY} -> "true"'
            yield fix.Fix(words, edits, AdviceHarm.QUEUE, (KEPT,), stated_kind=fix.FixKind.OTHER_PODS)


def _propose_group_priority_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """The class of its pods for a PodGroup of a higher one, which protects them all."""
    if PRIORITY not in situation.cause_codes:
        return
    for manifest in situation.snapshot.objects_of("PodGroup"):
        group = PodGroup(manifest)
        job = situation.recording.session.jobs.get(JobId(f"{group.namespace}/{group.name}"))
        if job is None or job.uid == situation.explanation.job or not group.priority_class_name or not job.tasks:
            continue
        lowest = min(job.tasks.values(), key=lambda task: task.priority)
        own = lowest.pod.spec.get("priorityClassName") if lowest.priority < job.priority else None
        if own:
            above = [task.name for task in job.tasks.values() if task.priority > lowest.priority]
            also = f"; it then counts for {join_names(above)} too" if above else ""
            change = f"priorityClassName {group.priority_class_name} -> {own} (that of {lowest.name}{also})"
            edits = (f"PodGroup/{job.uid}:spec.priorityClassName={own}",)
            # Pods that say themselves that they may yield to this job are not protected by intent.
            yields = situation.job is not None and lowest.priority < situation.job.priority <= job.priority
            kind = fix.FixKind.ENTITLEMENT if yields else fix.FixKind.OTHER_PODS
            words = f"PodGroup {job.uid}: {change}"
            yield fix.Fix(words, edits, AdviceHarm.QUEUE, (PRIORITY,), stated_kind=kind)


def _propose_gang_minimum_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes that lower minMember of other gangs at their minimum, so that some of their pods can be evicted."""
    found = []
    for job in situation.recording.session.jobs.values():
        running = job.count_tasks(TaskStatus.RUNNING)
        if job.uid != situation.explanation.job and running and 1 < job.min_available >= running:
            same = situation.queue_name == job.queue
            # Gangs of the same queue first, then of low priority: the likeliest victims.
            found.append((not same, job.priority, job.uid, job.min_available))
    for *_, job_id, least in sorted(found)[:_MAX_HOLDERS]:
        words = f"{job_id}: minMember {least} -> {fix.AMOUNT_BLANK}"
        edits = (f"PodGroup/{job_id}:spec.minMember={fix.AMOUNT_BLANK}",)
        amount, kind = fix.AmountRange(least, 1), fix.FixKind.OTHER_PODS
        yield fix.Fix(words, edits, AdviceHarm.QUEUE, (GANG, "victims-not-above-deserved"), amount, stated_kind=kind)


def _propose_held_back_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Jobs that this cycle gave places to, as if their pods waited behind a gate."""
    own, placed = situation.explanation.job, cycle_effects(situation.recording)
    others = [effect for effect in (*placed.bound, *placed.pipelined) if effect.job != own]
    pods = group_by_key((effect.job, effect.task) for effect in others)
    for job, keys in list(pods.items())[:_MAX_HOLDERS]:
        edits = tuple(f"Pod/{key}:spec.schedulingGates=[{{name: later}}]" for key in keys)
        words = f"Hold back {job} (placed in this cycle) with a scheduling gate on {count_noun(len(keys), 'pod')}"
        yield fix.Fix(words, edits, AdviceHarm.QUEUE, _HOLDER_CAUSES, stated_kind=fix.FixKind.OTHER_PODS)


def _propose_released_minimum_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Inqueue PodGroups that reserve their minimum and have nothing placed, those that an update left behind first."""
    opening = situation.recording.timeline.opening_phases
    held = [
        job
        for uid, job in situation.recording.session.jobs.items()
        if uid != situation.explanation.job and opening.get(uid) == INQUEUE and job.pod_group.min_resources is not None
    ]
    ended = [job for job in held if job.tasks and job.count_tasks(*ENDED_STATUSES) == len(job.tasks)]
    idle = [job for job in held if job.count_tasks(TaskStatus.PENDING) == len(job.tasks)]
    left = find_left_behind(situation.recording, idle) | suspended_owners(situation.recording, idle)
    others = sorted((job for job in idle if job.uid not in left), key=lambda job: job.priority)
    causes = ("enqueue-held-*", "enqueue-overcommit", "enqueue-queue-quota", "queue-capability")
    for jobs, what, kind in (
        ([job for job in idle if job.uid in left], "PodGroups without pods", fix.FixKind.REPAIR),
        (ended, "PodGroups of ended pods", fix.FixKind.REPAIR),
        (others, "jobs without a place", fix.FixKind.OTHER_PODS),
    ):
        some = jobs[:_MAX_RELEASED]
        pods = [[] if job in ended else [f"Pod/{task.key}:-" for task in job.tasks.values()] for job in some]
        gone = [(f"PodGroup/{job.uid}:-", *own) for job, own in zip(some, pods, strict=True)]
        sizes = [
            fix.FixSize(f"{number} of {len(jobs)}", tuple(edit for edits in gone[:number] for edit in edits))
            for number in range(1, len(some) + 1)
        ]
        names = join_names(job.uid for job in some)
        words = f"Delete {fix.AMOUNT_BLANK} Inqueue {what} ({names})"
        change = fix.Fix(words, (), AdviceHarm.QUEUE, causes, stated_kind=kind, aspect=what)
        if sizes:
            yield change.with_sizes(*sizes)


def _propose_holder_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Other jobs of which pods could end: those of lower priority first, the smallest first."""
    needed = fix.resources_of(situation.pending_pods)
    found = []
    for job in situation.recording.session.jobs.values():
        running = [task for task in job.tasks.values() if task.status is TaskStatus.RUNNING]
        held = running or [task for task in job.tasks.values() if task.status is TaskStatus.BOUND]
        if job.uid == situation.explanation.job or not held or not _holds_needed(situation, job.uid, needed):
            continue
        same = situation.queue_name == job.queue
        places = sorted((task.node_name, task.key) for task in held)
        keys = tuple(key for _, key in places)
        found.append((not same, job.priority, len(held), job.uid, "running" if running else "bound", keys))
    # What an action would evict if it ran; that it has not started is all that protects it.
    owed = fix.FixKind.ENTITLEMENT if KEPT in situation.cause_codes[:1] else fix.FixKind.OTHER_PODS
    for *_, job_id, state, pods in sorted(found)[:_MAX_HOLDERS]:
        edits = [f"Pod/{key}:-" for key in pods]
        numbers = range(1, len(pods) + 1)
        sizes = [fix.FixSize(_some_of(number, len(pods), state), tuple(edits[:number])) for number in numbers]
        words = f"Delete {fix.AMOUNT_BLANK} of {job_id}"
        kind = owed if state == "bound" else fix.FixKind.OTHER_PODS
        yield fix.Fix(words, (), AdviceHarm.QUEUE, _HOLDER_CAUSES, stated_kind=kind).with_sizes(*sizes)


def _some_of(some: int, every: int, state: str) -> str:
    if some == every:
        return f"the {count_noun(every, f'{state} pod')}"
    return f"{some} of {every} {state} pods"


def _holds_needed(situation: fix.FixSituation, job: str, needed: list[str]) -> bool:
    """Whether it has any of the scarce resources that are asked for; cpu and memory where nothing else is."""
    devices = [name for name in needed if fix.unit_of(name) == "count"] or needed
    allocated = situation.recording.session.jobs[job].allocated
    return any(allocated.get(name) > 0 for name in devices) or not needed
