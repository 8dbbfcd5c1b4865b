"""Where one stands, in one line."""

from __future__ import annotations

from vcdebug.framework.record import Level
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.names import bare

_PREFIX = {Level.QUEUE: "q "}


def path_words(recording: Recording, seq: Seq) -> list[str]:
    """`preempt`, `q research`, `job-13`, `worker-0`: the spans around the event below the cycle."""
    return [f"{_PREFIX.get(span.level, '')}{bare(span.name)}" for span in recording.tree.path(seq)[1:]]
