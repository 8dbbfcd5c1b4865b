"""Pipelined tasks that an earlier cycle left in pods' annotations.

Upstream: none; the design is "task state persistence across sessions".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vcdebug.model.names import NodeName
from vcdebug.model.pod import ENDED_PHASES, Pod
from vcdebug.snapshot.manifest import annotations_of
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.snapshot import Snapshot

STATUS_ANNOTATION = "volcano.sh/pipelined-status"
NODE_ANNOTATION = "volcano.sh/pipelined-node"
EVICTION_ANNOTATION = "volcano.sh/eviction-occurred"
ANNOTATIONS = (STATUS_ANNOTATION, NODE_ANNOTATION, EVICTION_ANNOTATION)
TRUE = "true"
_PENDING_EFFECT = "the task counts as Pending"


class PersistedPlacement(NamedTuple):
    """Where a task was pipelined, and whether victims had been evicted for it."""

    node: NodeName
    eviction: bool


def _count_carriers(snapshot: Snapshot) -> int:
    """How many pods carry one of the annotations; pods that state the same share theirs."""
    stated = [annotations_of(manifest) for manifest in snapshot.objects_of("Pod")]
    distinct = {id(notes): notes for notes in stated}
    told = {number: any(name in notes for name in ANNOTATIONS) for number, notes in distinct.items()}
    return sum(told[id(notes)] for notes in stated) if any(told.values()) else 0  # exact: ints


class TaskStatePersistence:
    """Whether state is restored, why, and what is wrong with the annotations."""

    __slots__ = ("nodes", "on", "problems", "why")

    def __init__(self, snapshot: Snapshot, nodes: Mapping[NodeName, object]) -> None:
        self.nodes = nodes
        self.problems: list[Problem] = []
        carriers = _count_carriers(snapshot)
        self.on = snapshot.persistence == "on" or (snapshot.persistence == "auto" and carriers > 0)
        pods = "1 pod carries" if carriers == 1 else f"{carriers or 'no'} pods carry"
        said = "set in meta.json" if not snapshot.process.sessions else "as in the cycles before"
        self.why = f"{pods} its annotations" if snapshot.persistence == "auto" else said

    @property
    def setting_text(self) -> str:
        """The setting in words."""
        return f"task state persistence: {'on' if self.on else 'off'} ({self.why})"

    def find_placement(self, pod: Pod) -> PersistedPlacement | None:
        """Where an unbound, living pod was pipelined; None leaves its status to its phase."""
        notes = pod.annotations
        if (
            not self.on
            or pod.node_name
            or pod.deleting
            or pod.phase in ENDED_PHASES
            or not (STATUS_ANNOTATION in notes or NODE_ANNOTATION in notes)
        ):
            return None
        if notes.get(STATUS_ANNOTATION) != TRUE:
            self._add_problem(
                pod,
                STATUS_ANNOTATION,
                f"is {notes[STATUS_ANNOTATION]!r}, not 'true'" if STATUS_ANNOTATION in notes else "is missing",
            )
            return None
        node = notes.get(NODE_ANNOTATION, "")
        if node not in self.nodes:
            self._add_problem(
                pod, NODE_ANNOTATION, f"names {node}, which is no node of the snapshot" if node else "is missing"
            )
            return None
        return PersistedPlacement(node, notes.get(EVICTION_ANNOTATION) == TRUE)

    def _add_problem(self, pod: Pod, annotation: str, what: str) -> None:
        field = f"metadata.annotations[{annotation}]"
        self.problems.append(Problem("", f"Pod {pod.key}", field, what, _PENDING_EFFECT))
