"""The gates between a job and its place, in the order in which they are asked; a gate is one file and one line here.

A door shuts before any task is tried: `(view) -> Finding | None`. What the job got, and what allocate may have met,
have the same form. An eviction gate answers for the actions that evict in its way: `(view, task, fits) ->
Iterator[Gate]`. A last gate is given what the others say: `(view, task, fits, met, said) -> list[Finding] | None`.
"""

from collections.abc import Callable, Iterator
from typing import Any

from vcdebug.framework.registry import resolve_reference

NOT_IN_SESSION = "vcdebug.explain.pending.gates.not_in_session:not_in_session"
"""Of what the session never sees: `(recording, subject) -> Finding`."""
ALREADY_PLACED = (
    "vcdebug.explain.pending.gates.placed:pipelined_for_ever",
    "vcdebug.explain.pending.gates.placed:placed",
)
"""Whether the job has what it needs, or something that looks like it."""
PRECONDITIONS = (
    "vcdebug.explain.pending.gates.validity:all_hidden",
    "vcdebug.explain.pending.gates.admission:admission",
    "vcdebug.explain.pending.gates.validity:validity",
    "vcdebug.explain.pending.gates.validity:gated",
    "vcdebug.explain.pending.gates.placed:bound_elsewhere",
)
"""In the scheduler's order: nothing gets past one that is shut."""
ALLOCATING = (
    "vcdebug.explain.plugins.gang:discarded_by_allocate",
    "vcdebug.explain.pending.gates.queue_limits:overused_in_allocate",
    "vcdebug.explain.pending.gates.topology:no_hyper_node",
)
"""What keeps allocate from the job as a whole; the first one counts most."""
EVICTION_GATES = (
    "vcdebug.explain.pending.gates.eviction:gates_of_tasks",
    "vcdebug.explain.pending.gates.gang_eviction:gates_of_gangs",
)
"""Task by task, and for the whole gang."""
OVERRIDES = (
    "vcdebug.explain.pending.gates.plan_lost:plan_lost",
    "vcdebug.explain.pending.gates.impossible:never",
    "vcdebug.explain.pending.gates.missing_action:missing_action",
)
"""The first that has something to say speaks last: it gives what is said by all of them another order."""
ALL_GATES = (NOT_IN_SESSION, *ALREADY_PLACED, *PRECONDITIONS, *ALLOCATING, *EVICTION_GATES, *OVERRIDES)


def resolve_gates(
    references: tuple[str, ...],
) -> Iterator[Callable[..., Any]]:  # Any: each kind of gate has its own form
    """The gates of a list, imported when they are asked."""
    return (resolve_reference(reference) for reference in references)
