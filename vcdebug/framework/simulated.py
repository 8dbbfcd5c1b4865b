"""What a dry run changes freely, for whoever looks at it while it goes on.

Upstream: actions/preempt.
"""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.kube.cycle_state import CycleState
from vcdebug.model.node import NodeInfo
from vcdebug.model.task import TaskInfo


class DryRunState(NamedTuple):
    """Copies of one node and of what PreFilter found for the task that wants it."""

    state: CycleState
    task: TaskInfo
    node: NodeInfo
