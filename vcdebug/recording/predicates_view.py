"""How many pods the Kubernetes view of nodes holds, operation by operation: what predicates' event handler changes.

Upstream: plugins/predicates (AllocateFunc, DeallocateFunc), framework/session (NodeMap).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from vcdebug.framework.quirks import VIEW_LOST_POD
from vcdebug.framework.record import CHARGING_OPS, RELEASING_OPS, OpEvent
from vcdebug.kube.dynamic_resources import ReservedClaim
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.plugins import PREDICATES
from vcdebug.plugins.predicates import Predicates
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.registrations import event_handlers

VIEW_PLUGIN: Final = PREDICATES
"""The plugin that keeps the view in step with the session."""


class PodCount(NamedTuple):
    """How many pods a node of the view holds around one operation."""

    before: int
    after: int


def pods_in_view(recording: Recording, seq: Seq) -> PodCount | None:
    """The count of the operation's node; None where nobody keeps the view, or it has no such node."""
    return _pod_counts(recording).get(seq)


@per_recording()
def _pod_counts(recording: Recording) -> Mapping[Seq, PodCount]:
    """From the counts that the cycle left, backward to those that it found."""
    if VIEW_PLUGIN not in dict(event_handlers(recording)):
        return {}
    steps = _pod_count_steps(recording)
    view = recording.session.view
    held: dict[NodeName, int] = {name: int(view.pod_count[row]) for name, row in view.row_of.items()}
    found: dict[Seq, PodCount] = {}
    for seq, node, step in reversed(steps):
        found[seq] = PodCount(held[node] - step, held[node])
        held[node] -= step
    return found


def _pod_count_steps(recording: Recording) -> list[tuple[Seq, NodeName, int]]:
    """(operation, node, pods more): a pod whose return was refused is not there to leave again."""
    steps: list[tuple[Seq, NodeName, int]] = []
    lost: dict[TaskKey, None] = {}
    rows = recording.session.view.row_of
    for seq in recording.index.seqs_of_type(OpEvent):
        event = recording.event_at(seq)
        if not isinstance(event, OpEvent) or event.node not in rows or event.op not in (*CHARGING_OPS, *RELEASING_OPS):
            continue
        if event.op in RELEASING_OPS:
            steps.append((seq, event.node, 0 if event.task in lost else -1))
        elif any(note.code == VIEW_LOST_POD for note in recording.notes_at(seq)):
            lost[event.task] = None
            steps.append((seq, event.node, 0))
        else:
            lost.pop(event.task, None)
            steps.append((seq, event.node, 1))
    return steps


# Resource claims that pods of a cycle are to have, and their devices.


def reserved_claims(recording: Recording) -> Mapping[str, ReservedClaim]:
    """What each claim gets that is still being allocated at the end, by namespace and name."""
    plugin = recording.session.plugins.get(Predicates.name)
    claims = plugin.claim_filter if isinstance(plugin, Predicates) else None
    return {} if claims is None else claims.in_flight_claims
