"""Everything that could be tried for a job that waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from vcdebug.debugger.remedies.configuration import of_configuration
from vcdebug.debugger.remedies.job import of_job
from vcdebug.debugger.remedies.lever import Lever, Situation
from vcdebug.debugger.remedies.nodes import of_nodes, of_taints
from vcdebug.debugger.remedies.pods import of_pods
from vcdebug.debugger.remedies.queues import of_queues
from vcdebug.debugger.remedies.volumes import of_volumes

LEVERS: Final[tuple[Callable[[Situation], Iterator[Lever]], ...]] = (
    of_job,
    of_pods,
    of_volumes,
    of_queues,
    of_nodes,
    of_configuration,
    of_taints,
)
"""Whoever proposes levers, one line each."""


def levers(situation: Situation) -> list[Lever]:
    """All that could be tried, what was made for the dominant cause first."""
    return situation.priced(lever for propose in LEVERS for lever in propose(situation))
