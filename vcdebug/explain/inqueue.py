"""What Inqueue jobs hold without being placed: they may keep others from being admitted."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.explain import amounts
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.job_view import JobView
from vcdebug.model.inqueue import Reserving, reserved_resource
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.model.podgroup import INQUEUE
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.status import TaskStatus

HELD = "enqueue-held-by-inqueue"


def not_admitted(seq: Seq, plugin: str) -> tuple[Evidence, ...]:
    """The proof of a rejection."""
    return (Evidence(seq, f"{plugin} rejects the PodGroup (JobEnqueueable -1)"),)


def stuck_jobs(view: JobView, seq: Seq, *, same_queue: bool) -> list[JobInfo]:
    """Other jobs that were Inqueue at this moment and end the cycle without a place."""
    phases = view.recording.timeline.state_at(seq).phases
    return [
        job
        for uid, job in view.session.jobs.items()
        if uid != view.job.uid
        and phases[uid] == INQUEUE
        and job.pod_group.min_resources is not None
        and (not same_queue or job.queue == view.job.queue)
        and not job.count(TaskStatus.BINDING, TaskStatus.PIPELINED)
        and not job.is_ready()
    ]


def _reserved(job: JobInfo, form: Reserving) -> Resource:
    reserved = reserved_resource(job, form)
    return reserved if reserved is not None else job.deduct_sch_gated_resources(job.get_min_resources())


def without(view: JobView, total: Resource, stuck: Sequence[JobInfo]) -> Resource:
    """What would count if they were gone."""
    result, form = total.clone(), Reserving.of(view.recording.snapshot.release)
    for job in stuck:
        result.sub_without_assert(_reserved(job, form))
    return result


def held_by_stuck(
    view: JobView, seq: Seq, plugin: str, stuck: Sequence[JobInfo], lines: tuple[str, ...], limit: Resource
) -> Finding:
    """The job would fit without them."""
    held, minimum = Resource(), view.job.get_min_resources()
    form = Reserving.of(view.recording.snapshot.release)
    for job in stuck:
        held.add(_reserved(job, form))
    names = [name for name, value in minimum.items() if value > 0 and held.get(name) > 0 and name != PODS]
    who = amounts.listed(job.uid for job in stuck)
    holds = "holds" if len(stuck) == 1 else "hold"
    sentence = (
        f"{view.job.uid} is not admitted: it asks {amounts.resource(minimum)} as minResources and would fit, but {who} "
        f"{holds} {amounts.resource(held, names)} as Inqueue without being placed, so {plugin} rejects."
    )
    numbers = {
        **amounts.numbers("minResources", minimum, names),
        **amounts.numbers("held", held, names),
        **amounts.numbers("limit", limit, names),
        "jobs.holding": amounts.count(len(stuck), "jobs"),
    }
    advice = (
        f"find out why {stuck[0].uid} cannot be placed (vcdebug explain)",
        f"or delete it: that gives back {amounts.resource(_reserved(stuck[0], form), names)}",
    )
    more = tuple(f"{job.uid}: Inqueue, reserves {amounts.resource(_reserved(job, form), names)}" for job in stuck)
    return Finding(HELD, sentence, numbers, not_admitted(seq, plugin), advice, (*lines, *more))
