"""What there is to tell about nodes at some event of the cycle, beside what they have and what is idle."""

from __future__ import annotations

from vcdebug.framework.record import OpEvent
from vcdebug.model.node import NodeInfo
from vcdebug.model.resource import PODS, Resource
from vcdebug.trace.effects import EVICT, PIPELINE
from vcdebug.trace.input_problems import overfull
from vcdebug.trace.left_out import not_ready
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

RELEASING, PIPELINED, REMARKS = "releasing", "pipelined", "remarks"


@per_recording()
def told_of_nodes(recording: Recording) -> tuple[str, ...]:
    """Those of which some node has something."""
    opening = recording.timeline.opening_nodes.values()
    steps = (recording.event(seq) for seq in recording.index.of_type(OpEvent))
    done = {step.op: None for step in steps if isinstance(step, OpEvent)}
    told = {
        RELEASING: EVICT in done or any(_has_some(one.releasing) for one in opening),
        PIPELINED: PIPELINE in done or any(_has_some(one.pipelined) for one in opening),
        REMARKS: any(map(_is_odd, recording.session.nodes.values())) or any(overfull(one.idle) for one in opening),
    }
    return tuple(title for title, something in told.items() if something)


def _has_some(resource: Resource) -> bool:
    return any(value for name, value in resource.items() if name != PODS)


def _is_odd(node: NodeInfo) -> bool:
    return bool(node.unschedulable or node.taints or not_ready(node))
