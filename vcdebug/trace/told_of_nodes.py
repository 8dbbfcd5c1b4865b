"""What there is to tell about nodes at some event of the cycle, beside what they have and what is idle."""

from __future__ import annotations

from vcdebug.framework.record import EVICT_OP, PIPELINE_OP, OpEvent
from vcdebug.model.resource import PODS, Resource
from vcdebug.trace.input_problems import overfull_dimensions
from vcdebug.trace.memo import per_recording
from vcdebug.trace.odd_nodes import noteworthy_nodes
from vcdebug.trace.recording import Recording

RELEASING, PIPELINED, REMARKS = "releasing", "pipelined", "remarks"


@per_recording()
def optional_node_columns(recording: Recording) -> tuple[str, ...]:
    """Those of which some node has something."""
    opening = recording.timeline.opening_nodes.values()
    steps = (recording.event_at(seq) for seq in recording.index.seqs_of_type(OpEvent))
    done = {step.op: None for step in steps if isinstance(step, OpEvent)}
    told = {
        RELEASING: EVICT_OP in done or any(_has_room_amount(one.releasing) for one in opening),
        PIPELINED: PIPELINE_OP in done or any(_has_room_amount(one.pipelined) for one in opening),
        REMARKS: bool(noteworthy_nodes(recording)) or any(overfull_dimensions(one.idle) for one in opening),
    }
    return tuple(title for title, something in told.items() if something)


def _has_room_amount(resource: Resource) -> bool:
    scalars = resource.scalars or {}
    return bool(resource.milli_cpu or resource.memory or any(scalars[name] for name in scalars if name != PODS))
