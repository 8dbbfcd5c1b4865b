"""The outcome of a cycle, in the terms in which upstream's unit tests state their expectations."""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.framework.record import StateEvent
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording


class Outcome(NamedTuple):
    """Binds and evictions by pod, nodes of pipelined tasks by job, PodGroup phases after the last action."""

    binds: dict[str, str]
    evicted: list[str]
    pipelined: dict[str, list[str]]
    phases: dict[str, str]

    @classmethod
    def of(cls, recording: Recording) -> Outcome:
        """The outcome of a recorded cycle."""
        done = cycle_effects(recording)
        pipelined: dict[str, list[str]] = {}
        for effect in done.pipelined:
            pipelined.setdefault(effect.job, []).append(effect.node)
        last = [event for event in recording.events if isinstance(event, StateEvent)][-1]
        phases = {uid: job.phase for uid, job in last.jobs.items()}
        binds = {effect.task: effect.node for effect in done.bound}
        return cls(binds, [effect.task for effect in done.evicted], pipelined, phases)
