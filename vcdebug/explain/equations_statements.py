"""Why a statement committed or was discarded: the answer that came just before."""

from __future__ import annotations

from dataclasses import replace

from vcdebug.explain.equation import Equation
from vcdebug.explain.equations_nodes import room_on
from vcdebug.framework.record import HookEvent, Level, OpEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording

GATES = ("JobPipelined", "JobReady", "SubJobPipelined", "SubJobReady", "Allocatable")


def gate(recording: Recording, seq: Seq) -> Seq | None:
    """The hook call on which a commit or discard depended: the last one before it that guards a statement."""
    while seq > 1:
        seq -= 1
        event = recording.event(seq)
        if isinstance(event, OpEvent | StatementEvent):
            return None
        if isinstance(event, HookEvent):
            return seq if event.point in GATES else None
    return None


def unfinished_trial(recording: Recording, seq: Seq, event: StatementEvent) -> Equation | None:
    """A trial on one node is discarded when the task does not fit there after all evictions."""
    task, node = recording.tree.around(seq, Level.TASK), recording.tree.around(seq, Level.NODE)
    if event.what != "discard" or task is None or node is None:
        return None
    room = room_on(recording, seq, task.name, node.name)
    return replace(room, title=f"discarded: {room.title} after the evictions")
