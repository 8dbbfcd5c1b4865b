"""The gates between a job and its place, in the order in which they are asked; a gate is one file and one line here.

A door shuts before any task is tried: `(view) -> Finding | None`. What allocate may have met has the same form. An
eviction gate answers for the actions that evict in its way: `(view, task, fits) -> Iterator[Gate]`.
"""

from collections.abc import Callable, Iterator
from typing import Any

from vcdebug.framework.registry import resolve

DOORS = (
    "vcdebug.explain.gates.validity:all_hidden",
    "vcdebug.explain.gates.admission:admission",
    "vcdebug.explain.gates.validity:validity",
    "vcdebug.explain.gates.validity:gated",
)
"""In the scheduler's order: nothing gets past one that is shut."""
PLACING = (
    "vcdebug.explain.gates.gang:discarded_by_allocate",
    "vcdebug.explain.queue_quota:overused_in_allocate",
    "vcdebug.explain.gates.topology:no_hyper_node",
)
"""What keeps allocate from the job as a whole; the first one counts most."""
EVICTING = ("vcdebug.explain.gates.eviction:gates_of_tasks", "vcdebug.explain.gates.gang_eviction:gates_of_gangs")
"""Task by task, and for the whole gang."""


def gates(references: tuple[str, ...]) -> Iterator[Callable[..., Any]]:  # Any: each kind of gate has its own form
    """The gates of a list, imported when they are asked."""
    return (resolve(reference) for reference in references)
