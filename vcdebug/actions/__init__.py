"""The actions of a cycle: one line per action, imported when a configuration names it."""

from vcdebug.framework.registry import Registry
from vcdebug.releases.change import Change
from vcdebug.releases.scheduling import GANG_EVICTION

ACTIONS: Registry = {
    "enqueue": "vcdebug.actions.enqueue:Enqueue",
    "allocate": "vcdebug.actions.allocate:Allocate",
    "backfill": "vcdebug.actions.backfill:Backfill",
    "preempt": "vcdebug.actions.preempt:Preempt",
    "reclaim": "vcdebug.actions.reclaim:Reclaim",
    "gangpreempt": "vcdebug.actions.gangpreempt:GangPreempt",
    "gangreclaim": "vcdebug.actions.gangreclaim:GangReclaim",
    "shuffle": "vcdebug.actions.shuffle:Shuffle",
}

LATER: dict[str, Change] = {"gangpreempt": GANG_EVICTION, "gangreclaim": GANG_EVICTION}
"""Actions that older releases do not have, and the change that brought them."""
