"""What a finished cycle began with, for one on nearly the same objects.

Upstream: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.record import StateEvent
from vcdebug.model.cluster import ReusableCluster

if TYPE_CHECKING:
    from vcdebug.framework.session import Session


def is_sparing(conf: SchedulerConf) -> bool:
    """Whether a cycle changes no task that is on a node already, but copies of it."""
    facts = map(conf.facts_of, conf.actions)
    return all(each.evicts_copies or not each.evicts for each in facts)


def opening_of(before: Session, conf: SchedulerConf) -> ReusableCluster | None:
    """None where one of the two cycles may change what it began with, or the earlier one never opened."""
    if not (is_sparing(before.conf) and is_sparing(conf)):
        return None
    opened = next((event for event in before.record.events if isinstance(event, StateEvent)), None)
    if opened is None:
        return None
    return ReusableCluster(before.cluster, dict(zip(before.node_table.names, opened.nodes, strict=True)))
