"""The actions of a cycle; the module of an action is imported when a configuration names the action."""

from vcdebug.framework.registry import OtherForms, Registry
from vcdebug.releases.change import Change
from vcdebug.releases.scheduling import ALLOCATE_FLAT_RETRY, GANG_EVICTION, RECLAIM_IMMEDIATE

ENQUEUE, ALLOCATE, BACKFILL = "enqueue", "allocate", "backfill"
PREEMPT, RECLAIM, GANG_PREEMPT, GANG_RECLAIM = "preempt", "reclaim", "gangpreempt", "gangreclaim"
"""Names of actions to which rules outside this package refer; the action classes declare what actions do."""

ACTIONS: Registry = {
    "enqueue": "vcdebug.actions.enqueue:Enqueue",
    "allocate": "vcdebug.actions.allocate:Allocate",
    "backfill": "vcdebug.actions.backfill:Backfill",
    "preempt": "vcdebug.actions.preempt:Preempt",
    "reclaim": "vcdebug.actions.reclaim:Reclaim",
    "gangpreempt": "vcdebug.actions.gang_eviction:GangPreempt",
    "gangreclaim": "vcdebug.actions.gang_eviction:GangReclaim",
    "shuffle": "vcdebug.actions.shuffle:Shuffle",
}

OTHER_FORMS: OtherForms = {
    "allocate": ((ALLOCATE_FLAT_RETRY, "vcdebug.actions.allocate.flat_retry:RetryingAllocate"),),
    "reclaim": ((RECLAIM_IMMEDIATE, "vcdebug.actions.reclaim:ReclaimAtOnce"),),
}
"""Actions whose older form has its own class: action → (change, `module:Class`)."""

LATER_ACTIONS: dict[str, Change] = {"gangpreempt": GANG_EVICTION, "gangreclaim": GANG_EVICTION}
"""Action → the change that introduced it; releases with its older form lack the action."""
