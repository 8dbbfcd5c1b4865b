"""Everything that could be tried for a job that waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from vcdebug.debugger.remedies.cluster import of_cluster
from vcdebug.debugger.remedies.job import of_job
from vcdebug.debugger.remedies.lever import Lever, Situation
from vcdebug.debugger.remedies.pods import of_pods
from vcdebug.debugger.remedies.queues import of_queues

LEVERS: Final[tuple[Callable[[Situation], Iterator[Lever]], ...]] = (of_job, of_pods, of_queues, of_cluster)
"""Whoever proposes levers, one line each."""


def levers(situation: Situation) -> list[Lever]:
    """All that could be tried, what was made for the dominant cause first."""
    return situation.priced(lever for propose in LEVERS for lever in propose(situation))
