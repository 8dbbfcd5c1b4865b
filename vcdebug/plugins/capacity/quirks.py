"""Notes about upstream's oddities in capacity, left at the event where they act.

Upstream: plugins/capacity.
"""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.framework.quirks import ANCESTORS_OVERWRITTEN, QUEUE_CYCLE, QUEUE_TREE_BROKEN
from vcdebug.framework.session import Session
from vcdebug.model.names import QueueName
from vcdebug.model.queue import circle_text
from vcdebug.plugins.capacity.attr import Attrs
from vcdebug.plugins.capacity.tree import mistaken_parents


def note_broken_tree(ssn: Session, reason: str) -> None:
    """Everything is refused from here on."""
    ssn.note_quirk(QUEUE_TREE_BROKEN, f"{reason}: capacity refuses all jobs and tasks of this cycle")


def note_endless_copy(ssn: Session, circle: Sequence[QueueName]) -> None:
    """The first PrePredicate never returns."""
    ssn.note_quirk(QUEUE_CYCLE, f"{circle_text(circle)}: copying the queues never ends")


def note_mistaken_parents(ssn: Session, attrs: Attrs) -> None:
    """Linking the queues has overwritten names."""
    for name, other in mistaken_parents(attrs).items():
        ssn.note_quirk(ANCESTORS_OVERWRITTEN, f"queue {name} takes {other} for its parent: their lists share memory")


def note_mistaken_cousins(ssn: Session, name: QueueName) -> None:
    """Asking about a queue overwrites names."""
    ssn.note_quirk(ANCESTORS_OVERWRITTEN, f"queue {name} now stands for the parent of its cousins one level deeper")
