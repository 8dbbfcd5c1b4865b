"""The actions of a cycle: one line per action, imported when a configuration names it."""

from vcdebug.framework.registry import OtherForms, Registry
from vcdebug.releases.change import Change
from vcdebug.releases.scheduling import ALLOCATE_FLAT_RETRY, GANG_EVICTION, RECLAIM_IMMEDIATE

ENQUEUE, ALLOCATE, BACKFILL = "enqueue", "allocate", "backfill"
PREEMPT, RECLAIM, GANG_PREEMPT, GANG_RECLAIM = "preempt", "reclaim", "gangpreempt", "gangreclaim"
"""Actions that rules elsewhere name; what an action does, its class states (framework/action)."""

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

OTHER_FORMS: OtherForms = {
    "allocate": ((ALLOCATE_FLAT_RETRY, "vcdebug.actions.allocate.flat_retry:RetryingAllocate"),),
    "reclaim": ((RECLAIM_IMMEDIATE, "vcdebug.actions.reclaim:ReclaimAtOnce"),),
}
"""Forms of older releases that share no code with the newest one: action → (change, class)."""

LATER_ACTIONS: dict[str, Change] = {"gangpreempt": GANG_EVICTION, "gangreclaim": GANG_EVICTION}
"""Actions that older releases do not have, and the change that brought them."""
