"""Everything that could be tried for a job that waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from vcdebug.debugger.remedies.configuration import propose_configuration_fixes
from vcdebug.debugger.remedies.job import propose_job_fixes
from vcdebug.debugger.remedies.lever import Fix, FixSituation
from vcdebug.debugger.remedies.nodes import propose_node_fixes, propose_taint_fixes
from vcdebug.debugger.remedies.pods import propose_pod_fixes
from vcdebug.debugger.remedies.queues import propose_queue_fixes
from vcdebug.debugger.remedies.volumes import propose_volume_fixes

FIX_SOURCES: Final[tuple[Callable[[FixSituation], Iterator[Fix]], ...]] = (
    propose_job_fixes,
    propose_pod_fixes,
    propose_volume_fixes,
    propose_queue_fixes,
    propose_node_fixes,
    propose_configuration_fixes,
    propose_taint_fixes,
)
"""Whoever proposes levers, one line each."""


def propose_fixes(situation: FixSituation) -> list[Fix]:
    """All that could be tried, what was made for the dominant cause first."""
    return situation.rank_fixes(lever for propose in FIX_SOURCES for lever in propose(situation))
