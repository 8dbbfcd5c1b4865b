"""Fixes: the mildest changes of the snapshot with which a replay places the job."""

from vcdebug.explain.answer import Cause, Flaw
from vcdebug.explain.pending.gates.admission import REJECTED_BY
from vcdebug.framework.quirks import QUEUE_TREE_BROKEN


class FixCauses:
    """Causes that several fixes address."""

    FILTER = (Cause.UNRESOLVABLE, Cause.MIXED)
    NODE = (*FILTER, Cause.GANG_DISCARD, Cause.LARGER, Cause.POD_COUNT, Cause.NO_HYPER_NODE, Flaw.REFUSED_LATER.value)
    TAKEN_ROOM = (Cause.MIXED, Cause.GANG_DISCARD, Cause.POD_COUNT)
    """Pods of other jobs may hold the room that the job needs."""
    RESERVED_ROOM = (Cause.OVERCOMMIT, Cause.HELD_BY_INQUEUE)
    VICTIM = (Cause.NOT_PREEMPTABLE, Cause.NOT_ABOVE_DESERVED)
    ENQUEUE = (REJECTED_BY, Cause.CAPABILITY)
    """A plugin, whichever, rejects the job in enqueue."""
    QUEUE = (
        Cause.QUEUE_MISSING,
        QUEUE_TREE_BROKEN,
        Cause.QUEUE_CLOSED,
        Cause.CAPABILITY,
        Cause.NOT_ALLOCATABLE,
        Cause.NOT_RECLAIMABLE,
        Cause.TURNS_ENDED,
    )
    LIMIT = (*QUEUE, Cause.QUEUE_QUOTA, Cause.OVERUSED, Cause.GANG_DISCARD)
    SHARE = (*LIMIT, Cause.PREEMPTIVE, Cause.NOT_ABOVE_DESERVED)
