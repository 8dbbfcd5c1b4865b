"""What those who share queues can change: limits, shares, and what others hold."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import plural
from vcdebug.debugger.remedies.amounts import field, known, more_of, request_of, resources_of, unit_of, units
from vcdebug.debugger.remedies.lever import BLANK, Amount, Choice, Lever, Situation
from vcdebug.explain.answer import Harm
from vcdebug.grouping import by_key
from vcdebug.model.pod import PREEMPTABLE_KEY
from vcdebug.model.queue import OPEN, QueueInfo
from vcdebug.model.status import TaskStatus, allocated_status
from vcdebug.plugins import CAPACITY, DRF, GANG, PRIORITY, PROPORTION
from vcdebug.snapshot.manifest import name_of, spec_of
from vcdebug.trace.effects import effects

_LIMITS = ("queue-*", "enqueue-queue-quota", "gang-discard", "overused")
_SHARES = ("overused", "preemptive", "victims-not-above-deserved", "queue-*", "enqueue-queue-quota", "gang-discard")
_HOLDERS = (
    *_LIMITS,
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
_MOST_HOLDERS = 6
_WEIGHT = 100


def of_queues(situation: Situation) -> Iterator[Lever]:
    """Levers on queues, quotas and other jobs."""
    yield from _state(situation)
    queue = situation.recording.session.queues.get(situation.queue)
    if queue is not None:
        for one in _upwards(situation, queue):
            yield from _limits(situation, one)
        yield from _shares(situation, queue)
    yield from _own_queue(situation)
    yield from _reclaimable(situation)
    yield from _quotas(situation)
    yield from _spared(situation)
    yield from _breakable(situation)
    yield from _held_back(situation)
    yield from _holders(situation)


def _state(situation: Situation) -> Iterator[Lever]:
    names = [name_of(manifest) for manifest in situation.snapshot.of("Queue")]
    if situation.queue not in names:
        manifest = "{apiVersion: scheduling.volcano.sh/v1beta1, spec: {weight: 1}, status: {state: Open}}"
        edits = (f"Queue/{situation.queue}:+={manifest}",)
        words = f"create queue {situation.queue}"
        yield Lever(words, edits, Harm.QUEUE, ("queue-missing",), aspect="state")
        return
    queue = situation.recording.session.queues.get(situation.queue)
    if queue is not None and queue.state != OPEN:
        edits = (f"Queue/{queue.name}:status.state=Open",)
        causes = ("queue-closed", "queue-*", "gang-discard")
        yield Lever(f"open queue {queue.name}", edits, Harm.QUEUE, causes, aspect="state")


def _upwards(situation: Situation, queue: QueueInfo) -> Iterator[QueueInfo]:
    """The queue and its ancestors."""
    queues, seen = situation.recording.session.queues, dict.fromkeys([queue.name])
    while True:
        yield queue
        above = queues.get(queue.parent)
        if above is None or above.name in seen:
            return
        seen[above.name] = None
        queue = above


def _limits(situation: Situation, queue: QueueInfo) -> Iterator[Lever]:
    limited = known(queue.capability)
    for resource, present in limited.items():
        amount = more_of(resource, present, request_of(situation.waiting, resource))
        words = f"raise the capability of queue {queue.name} to {BLANK} {resource} (now {amount.text(present)})"
        edits = (f"Queue/{queue.name}:spec.capability{field(resource)}={BLANK}",)
        yield Lever(words, edits, Harm.QUEUE, _LIMITS, amount)
    if len(limited) > 1:
        words = f"take away the capability of queue {queue.name} ({', '.join(limited)})"
        yield Lever(words, (f"Queue/{queue.name}:spec.capability-",), Harm.QUEUE, _LIMITS)


def _own_queue(situation: Situation) -> Iterator[Lever]:
    """A queue that nobody shares, without limits."""
    name = f"{situation.explanation.job.partition('/')[2]}-own"
    if situation.group is None or any(name_of(m) == name for m in situation.snapshot.of("Queue")):
        return
    manifest = f"{{apiVersion: scheduling.volcano.sh/v1beta1, spec: {{weight: {_WEIGHT}}}, status: {{state: Open}}}}"
    edits = (f"Queue/{name}:+={manifest}", f"{situation.group_path}:spec.queue={name}")
    words = f"give it a queue of its own without limits ({name}, weight {_WEIGHT})"
    yield Lever(words, edits, Harm.QUEUE, _LIMITS, aspect="queue")


def _shares(situation: Situation, queue: QueueInfo) -> Iterator[Lever]:
    plugins = situation.recording.conf.plugin_names()
    if PROPORTION in plugins and queue.weight < _WEIGHT:
        words = f"give queue {queue.name} more weight: {BLANK} instead of {queue.weight}"
        edits = (f"Queue/{queue.name}:spec.weight={BLANK}",)
        yield Lever(words, edits, Harm.QUEUE, _SHARES, Amount(queue.weight, _WEIGHT))
    if CAPACITY in plugins:
        deserved = known(queue.deserved)
        for resource in resources_of(situation.waiting):
            amount = more_of(resource, deserved.get(resource, 0), request_of(situation.waiting, resource))
            words = f"let queue {queue.name} deserve {BLANK} {resource} (now {amount.text(amount.fails)})"
            edits = (f"Queue/{queue.name}:spec.deserved{field(resource)}={BLANK}",)
            yield Lever(words, edits, Harm.QUEUE, _SHARES, amount)


def _reclaimable(situation: Situation) -> Iterator[Lever]:
    causes = ("queue-not-reclaimable", "victims-*", "queue-*", "preemptive")
    for queue in situation.recording.session.queues.values():
        if not queue.reclaimable and queue.name != situation.queue:
            edits = (f"Queue/{queue.name}:spec.reclaimable=true",)
            yield Lever(f"make queue {queue.name} reclaimable", edits, Harm.QUEUE, causes)


def _quotas(situation: Situation) -> Iterator[Lever]:
    namespace = situation.explanation.job.partition("/")[0]
    for manifest in situation.snapshot.of("ResourceQuota"):
        metadata = manifest["metadata"]
        if metadata.get("namespace") != namespace:
            continue
        for resource, hard in (spec_of(manifest).get("hard") or {}).items():
            plain = resource.rpartition("requests.")[2].rpartition("limits.")[2]
            amount = more_of(plain, units(resource, hard), request_of(situation.waiting, plain))
            words = f"raise {resource} of ResourceQuota {metadata['name']} to {BLANK} (now {hard})"
            path = f"ResourceQuota/{namespace}/{metadata['name']}"
            edits = tuple(
                f"{path}:{part}.hard{field(resource)}={BLANK}"
                for part in ("spec", "status")
                if resource in ((manifest.get(part) or {}).get("hard") or {})
            )
            yield Lever(words, edits, Harm.QUEUE, ("enqueue-resourcequota", "enqueue-*"), amount)


def _spared(situation: Situation) -> Iterator[Lever]:
    """Pods of others that say they may not be evicted."""
    for job in situation.recording.session.jobs.values():
        spared = [task for task in job.tasks.values() if not task.preemptable and allocated_status(task.status)]
        if spared and job.uid != situation.explanation.job:
            edits = (
                f'PodGroup/{job.uid}:metadata.annotations[{PREEMPTABLE_KEY}]="true"',
                *(f'Pod/{task.key}:metadata.annotations[{PREEMPTABLE_KEY}]="true"' for task in spared),
            )
            words = f"let {plural(len(spared), 'pod')} of {job.uid} be evicted ({PREEMPTABLE_KEY} true)"
            yield Lever(words, edits, Harm.QUEUE, ("victims-not-preemptable",))


def _breakable(situation: Situation) -> Iterator[Lever]:
    """Gangs of others that hold just their minimum: with a smaller one, some of their pods may go."""
    found = []
    for job in situation.recording.session.jobs.values():
        running = job.count(TaskStatus.RUNNING)
        if job.uid != situation.explanation.job and running and 1 < job.min_available >= running:
            same = situation.queue == job.queue
            found.append((not same, job.priority, job.uid, job.min_available))
    for *_, job_id, least in sorted(found)[:_MOST_HOLDERS]:
        words = f"let {job_id} run with fewer pods: minMember {BLANK} instead of {least}"
        edits = (f"PodGroup/{job_id}:spec.minMember={BLANK}",)
        yield Lever(words, edits, Harm.QUEUE, (GANG, "victims-not-above-deserved"), Amount(least, 1))


def _held_back(situation: Situation) -> Iterator[Lever]:
    """Jobs that this cycle gave places to, as if their pods waited behind a gate."""
    own, placed = situation.explanation.job, effects(situation.recording)
    others = [effect for effect in (*placed.bound, *placed.pipelined) if effect.job != own]
    pods = by_key((effect.job, effect.task) for effect in others)
    for job, keys in list(pods.items())[:_MOST_HOLDERS]:
        edits = tuple(f"Pod/{key}:spec.schedulingGates=[{{name: later}}]" for key in keys)
        words = f"let {job}, which this cycle placed, wait behind a scheduling gate ({plural(len(keys), 'pod')})"
        yield Lever(words, edits, Harm.QUEUE, _HOLDERS)


def _holders(situation: Situation) -> Iterator[Lever]:
    """Other jobs of which pods could end: those of lower priority first, the smallest first."""
    needed = resources_of(situation.waiting)
    found = []
    for job in situation.recording.session.jobs.values():
        held = [task for task in job.tasks.values() if task.status is TaskStatus.RUNNING]
        if job.uid == situation.explanation.job or not held or not _holds(situation, job.uid, needed):
            continue
        same = situation.queue == job.queue
        places = sorted((task.node_name, task.key) for task in held)
        found.append((not same, job.priority, len(held), job.uid, tuple(key for _, key in places)))
    for *_, job_id, pods in sorted(found)[:_MOST_HOLDERS]:
        edits = [f"Pod/{key}:-" for key in pods]
        sizes = [Choice(_of(number, len(pods)), tuple(edits[:number])) for number in range(1, len(pods) + 1)]
        lever = Lever(f"end {BLANK} of {job_id}", (), Harm.QUEUE, _HOLDERS)
        yield lever.of_size(*sizes)


def _of(some: int, every: int) -> str:
    if some == every:
        return f"the {plural(every, 'running pod')}"
    return f"{some} of {every} running pods"


def _holds(situation: Situation, job: str, needed: list[str]) -> bool:
    """Whether it has any of the scarce resources that are asked for; cpu and memory where nothing else is."""
    devices = [name for name in needed if unit_of(name) == "count"] or needed
    allocated = situation.recording.session.jobs[job].allocated
    return any(allocated.get(name) > 0 for name in devices) or not needed
