"""What the close of a session writes: PodGroups whose status it changed, all of it, and what queues have allocated."""

from __future__ import annotations

from datetime import datetime

from vcdebug.framework.record import CloseEvent
from vcdebug.framework.session import Session
from vcdebug.gotime import api_time_text
from vcdebug.model.gofields import condition_fields
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.podgroup import Condition, PodGroup
from vcdebug.snapshot.manifest import name_of, status_of
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.trace.recording import Recording
from vcdebug.trace.writes import pod_group_changes


def next_pod_groups(recording: Recording) -> list[Manifest]:
    """All PodGroups of the next cycle, in their order."""
    return [_written_group(manifest, recording.session) for manifest in recording.snapshot.objects_of("PodGroup")]


def _written_group(manifest: Manifest, ssn: Session) -> Manifest:
    group = PodGroup(manifest)
    job = ssn.jobs.get(JobId(f"{group.namespace}/{group.name}"))
    return manifest if job is None or not pod_group_changes(job) else {**manifest, "status": _group_status(job, ssn)}


def _group_status(job: JobInfo, ssn: Session) -> Manifest:
    manifest, after = job.pod_group.manifest, job.pod_group
    times = {
        (raw.get("type"), raw.get("transitionID") or ""): raw.get("lastTransitionTime")
        for raw in status_of(manifest).get("conditions") or ()
    }
    now = ssn.snapshot.now
    return {
        **status_of(manifest),
        "phase": after.phase,
        "running": after.running,
        "succeeded": after.succeeded,
        "failed": after.failed,
        "conditions": [
            _written_condition(one, times.get((one.type, one.transition_id)), now) for one in after.conditions
        ],
    }


def _written_condition(condition: Condition, time: str | None, now: datetime) -> Manifest:
    """A condition of this session is as old as the session."""
    return {**condition_fields(condition), "lastTransitionTime": time or api_time_text(now)}


def next_queues(recording: Recording) -> list[Manifest]:
    """All queues of the next cycle, in their order."""
    close = recording.session.close
    assert close is not None
    return [_written_queue(manifest, close) for manifest in recording.snapshot.objects_of("Queue")]


def _written_queue(manifest: Manifest, close: CloseEvent) -> Manifest:
    allocated = close.queues.get(name_of(manifest))
    if allocated is None:
        return manifest
    return {**manifest, "status": {**status_of(manifest), "allocated": dict(allocated)}}
