"""The actions of a cycle: one line per action, imported when a configuration names it."""

ACTIONS = {
    "enqueue": "vcdebug.actions.enqueue:Enqueue",
    "allocate": "vcdebug.actions.allocate:Allocate",
    "backfill": "vcdebug.actions.backfill:Backfill",
    "preempt": "vcdebug.actions.preempt:Preempt",
    "reclaim": "vcdebug.actions.reclaim:Reclaim",
    "gangpreempt": "vcdebug.actions.gangpreempt:GangPreempt",
    "gangreclaim": "vcdebug.actions.gangreclaim:GangReclaim",
    "shuffle": "vcdebug.actions.shuffle:Shuffle",
}
