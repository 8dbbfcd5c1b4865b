"""The order in which jobs are listed."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.model.names import JobId
from vcdebug.model.status import TaskStatus
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording


@per_recording()
def jobs_pending_first(recording: Recording) -> Sequence[JobId]:
    """Jobs that begin with something pending first: their places stay the same throughout."""
    counts = recording.timeline.opening_counts
    return tuple(sorted(recording.session.jobs, key=lambda job: TaskStatus.PENDING not in counts[job]))
