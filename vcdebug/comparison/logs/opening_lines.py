"""Lines of a session that opens: the cluster's snapshot, the topology, and how proportion deals out the cluster.

Upstream: cache.Snapshot, framework/session (openSession), plugins/proportion.OnSessionOpen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vcdebug.comparison.logs.message import LogCall, LogContext, format_go_value, format_json_text
from vcdebug.explain.plugins.proportion import iter_counted_jobs, opening_rounds
from vcdebug.model.names import QueueName
from vcdebug.model.queue import ShareTotals
from vcdebug.plugins.proportion import DealRound, DealtShare, ProportionQueueAttr
from vcdebug.recording.recording import Recording
from vcdebug.releases.topology import HYPERNODES_NOT_READY
from vcdebug.snapshot.manifest import metadata_of, spec_of


def lines_of_session(recording: Recording) -> Iterator[LogCall]:
    """The snapshot, its HyperNodes, and the open session."""
    session = recording.session
    yield from _snapshot_lines(recording)
    unnamed = session.release.has_older_form(HYPERNODES_NOT_READY)
    for name, info in () if unnamed else sorted(session.hyper_nodes.by_name.items()):
        children = ",".join(f"{format_json_text(child)}:{{}}" for child in sorted(info.children))
        yield "session.hypernode", name, info.tier, info.parent, f"{{{children}}}"
    yield "session.open", len(session.jobs), len(session.queues), format_go_value(session.hyper_nodes.ready)


def _snapshot_lines(recording: Recording) -> Iterator[LogCall]:
    """Jobs that are left out, the priorities of the others, and how many of each there are."""
    session = recording.session
    for job in dict.fromkeys(task.job for task in session.cluster.orphans):
        if job not in _queue_by_group(recording):
            yield "cache.no-group", job, job
    for job, queue in _queue_by_group(recording).items():
        if job not in session.jobs and queue not in session.queues:
            yield "cache.no-queue", queue, job
    for one in session.jobs.values():
        yield "cache.priority", one.uid, one.pod_group.priority_class_name, one.priority
    yield "cache.snapshot", len(session.jobs), len(session.queues), len(session.nodes)


def _queue_by_group(recording: Recording) -> Mapping[str, QueueName]:
    """Every PodGroup of the snapshot, with the queue that it means."""
    found: dict[str, QueueName] = {}
    for manifest in recording.snapshot.objects_of("PodGroup"):
        metadata, spec = metadata_of(manifest), spec_of(manifest)
        job = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        found[job] = spec.get("queue") or recording.snapshot.flags.default_queue
    return found


def jobs_of_proportion(at: LogContext) -> Iterator[LogCall]:
    """Each job that is counted in, and what its queue adds up to then."""
    queues: dict[QueueName, None] = {}
    for job, attr in iter_counted_jobs(at.recording):
        yield "proportion.job", job.uid
        if job.queue not in queues:
            queues[job.queue] = None
            yield "proportion.added", job.queue
        yield "proportion.sums", job.queue, *(part.clone() for part in attr.job_sums())


def rounds_of_proportion(at: LogContext) -> Iterator[LogCall]:
    """Every round of dealing, queue by queue; those that take no more are only named."""
    played = opening_rounds(at.recording)
    for number, each in played.rounds:
        yield from _round_lines(each, played.attrs)
        if not each.last and number == len(played.rounds):
            yield ("proportion.no-weight",)
    if not played.rounds:
        yield ("proportion.no-weight",)


def _round_lines(each: DealRound, attrs: Mapping[QueueName, ProportionQueueAttr]) -> Iterator[LogCall]:
    dealt = {id(one.attr): one for one in each.dealt}
    for name, attr in attrs.items():
        yield "proportion.queue", name, attr.weight, each.weight
        one = dealt.get(id(attr))
        if one is not None:
            yield from _queue_lines(name, one)
    yield "proportion.remaining", each.left
    if each.last:
        yield "proportion.done", each.left


def _queue_lines(name: QueueName, one: DealtShare) -> Iterator[LogCall]:
    attr, deserved = one.attr, one.deserved
    yield "proportion.deserved", name, deserved
    if one.satisfied:
        yield "proportion.meet" if attr.request.less_equal(deserved) else "proportion.capped", name
    share = ShareTotals(deserved).calculate_share(attr.allocated)[1]
    yield (
        "proportion.attributes",
        name,
        deserved,
        attr.real_capability,
        attr.allocated,
        attr.request,
        attr.elastic,
        share,
    )
