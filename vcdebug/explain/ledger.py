"""Who holds more than it deserves while others lack it; who holds what is reserved for admitted jobs.

Upstream: plugins/proportion, plugins/capacity, plugins/overcommit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vcdebug.explain.plugins import explainer_for
from vcdebug.explain.queues import capacity_tree, finite_dimensions, sharing_plugin
from vcdebug.framework.hooks import JOB_ENQUEUEABLE, JOB_ENQUEUED
from vcdebug.framework.plugin import PERMIT
from vcdebug.model.inqueue import ReservationForm, minimum_without_gated, reserved_resource
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName, Seq
from vcdebug.model.podgroup import INQUEUE, RUNNING
from vcdebug.model.resource import MIN_RESOURCE, Resource
from vcdebug.plugins import OVERCOMMIT
from vcdebug.plugins.overcommit import reserved_at_open
from vcdebug.releases.queues import ENQUEUE_INQUEUE_AT_VOTE
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import job_before
from vcdebug.trace.timeline import ClusterState


class StarvedPair(NamedTuple):
    """A starved queue and one that holds too much of what it lacks."""

    starved: QueueName
    above: QueueName
    """Empty where nobody holds more than it deserves."""
    dimension: str
    lacks: float
    """Up to what it deserves, as far as it asks for it."""
    surplus: float
    """What the other one holds beyond what it deserves."""
    reclaimable: bool


def starved_pairs(recording: Recording, seq: Seq) -> tuple[StarvedPair, ...]:
    """Every pair after an event, the largest lack first within a queue's dimensions."""
    plugin, state = sharing_plugin(recording), recording.timeline.state_at(seq)
    names = [name for name in recording.timeline.figures.get(plugin, {}) if name and _is_leaf(recording, name)]
    return tuple(pair for name in names for pair in _pairs_of_queue(recording, state, plugin, name, names))


def _is_leaf(recording: Recording, queue: QueueName) -> bool:
    tree = capacity_tree(recording)
    return tree is None or queue not in tree.queues or not tree.queues[queue].children


def _pairs_of_queue(
    recording: Recording, state: ClusterState, plugin: str, queue: QueueName, names: list[QueueName]
) -> Iterator[StarvedPair]:
    deserved, allocated, request = (
        state.plugin_amount(plugin, queue, figure) for figure in ("deserved", "allocated", "request")
    )
    for dimension in finite_dimensions(deserved, request):
        wanted = min(deserved.get(dimension), request.get(dimension))
        lacks = wanted - allocated.get(dimension)
        if lacks < MIN_RESOURCE:
            continue
        rich = [(name, _surplus_after(state, plugin, name, dimension)) for name in names if name != queue]
        above = sorted(((name, more) for name, more in rich if more >= MIN_RESOURCE), key=lambda entry: -entry[1])
        for name, more in above:
            yield StarvedPair(queue, name, dimension, lacks, more, recording.session.queues[name].reclaimable)
        if not above:
            yield StarvedPair(queue, "", dimension, lacks, 0.0, reclaimable=False)


def _surplus_after(state: ClusterState, plugin: str, queue: QueueName, dimension: str) -> float:
    deserved, allocated = (state.plugin_amount(plugin, queue, figure) for figure in ("deserved", "allocated"))
    return surplus_of(plugin, deserved, allocated, dimension)


def surplus_of(plugin: str, deserved: Resource, allocated: Resource, dimension: str) -> float:
    """What is held beyond what is deserved, where the plugin looks at the dimension at all."""
    quota = explainer_for(plugin).quota
    return 0.0 if quota is None else quota.surplus(deserved, allocated, dimension)


REST, WHOLE = "minResources less what it has allocated", "its whole minResources"


class LedgerEntry(NamedTuple):
    """One PodGroup in a ledger."""

    job: JobId
    phase: str
    minimum: Resource | None
    created: str
    reserved: Resource | None
    """What it adds; None where it does not count."""
    why: str
    seq: Seq
    """The event of its admission; 0 where the session opened with it."""


def reservation_ledger(recording: Recording, seq: Seq, queue: QueueName = "") -> Sequence[LedgerEntry]:
    """The PodGroups of a queue and of those below it after an event; without a queue all, as overcommit counts them."""
    plugin = sharing_plugin(recording) if queue else OVERCOMMIT
    admitted = _admission_seqs(recording, plugin, seq)
    known = dict.fromkeys(_queue_family(recording, queue))
    jobs = [job for job in recording.session.jobs.values() if not queue or job.queue in known]
    entries = (_build_entry(recording, seq, job, plugin, admitted.get(job.uid, 0)) for job in jobs)
    return sorted(entries, key=lambda entry: entry.seq)


def total_reserved(entries: Sequence[LedgerEntry]) -> Resource:
    """What all of them reserve, added in the plugin's order."""
    found = Resource()
    for entry in entries:
        if entry.reserved is not None:
            found.add(entry.reserved)
    return found


def _queue_family(recording: Recording, queue: QueueName) -> Iterator[QueueName]:
    """The queue and, in capacity's tree, everything below it."""
    yield queue
    tree = capacity_tree(recording)
    if tree is not None and queue in tree.queues:
        for child in tree.queues[queue].children:
            yield from _queue_family(recording, child)


def _admission_seqs(recording: Recording, plugin: str, seq: Seq) -> dict[JobId, Seq]:
    """Jobs that the plugin was told of, with the last event of telling: what is reserved holds from the next one on."""
    if plugin != OVERCOMMIT and recording.snapshot.release.has_older_form(ENQUEUE_INQUEUE_AT_VOTE):
        return _permit_seqs(recording, plugin, seq)
    told: dict[JobId, None] = {}
    last: dict[JobId, Seq] = {}
    for at, event in recording.hook_calls(JOB_ENQUEUED.upstream):
        last[event.job] = at
        if event.plugin == plugin:
            told[event.job] = None
    return {job: last[job] for job in told if last[job] < seq}


def _permit_seqs(recording: Recording, plugin: str, seq: Seq) -> dict[JobId, Seq]:
    """Jobs that the plugin permitted: the older form reserves with its own vote, whatever becomes of the job."""
    votes = ((at, event) for at, event in recording.hook_calls(JOB_ENQUEUEABLE.upstream) if event.plugin == plugin)
    return {event.job: at for at, event in votes if event.result == PERMIT and at <= seq}


def _build_entry(recording: Recording, seq: Seq, job: JobInfo, plugin: str, at: Seq) -> LedgerEntry:
    minimum, phase = job.pod_group.min_resources, recording.timeline.state_at(seq).phases[job.uid]
    if minimum is None:
        reserved, why = None, "states no minResources"
    elif at:
        what = "admitted in this cycle" if phase == INQUEUE else "permitted in this cycle, and not admitted"
        reserved, why = minimum_without_gated(job), f"{what}: {WHOLE}"
    else:
        reserved, why = _reserved_at_open(recording, job, plugin)
    return LedgerEntry(job.uid, phase, minimum, job.creation_timestamp, reserved, why, at)


def _reserved_at_open(recording: Recording, job: JobInfo, plugin: str) -> tuple[Resource | None, str]:
    """(what the PodGroup reserved when the session opened, why or why not)."""
    phase = recording.timeline.opening_phases[job.uid]
    if phase not in (INQUEUE, RUNNING):
        return None, f"{phase or 'no phase'}: only Inqueue and Running ones count"
    then = job_before(recording, job.uid, 1)
    form = ReservationForm.for_release(recording.snapshot.release)
    reserved = reserved_at_open(then, form) if plugin == OVERCOMMIT else reserved_resource(then, form)
    if reserved is None:
        return None, f"Running with {then.allocated_task_num()} of minMember {then.pod_group.min_member} allocated"
    whole = phase == INQUEUE and (plugin == OVERCOMMIT or form.whole_minimum)
    return reserved, f"{phase}: {WHOLE if whole else REST}"
