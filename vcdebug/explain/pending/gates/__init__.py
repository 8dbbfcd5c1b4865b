"""The gates that a job has to pass, in the order in which they are called; each gate is a function listed here.

A precondition fails before any task is tried: `(view) -> Finding | None`, as for ALREADY_PLACED and ALLOCATING.
An eviction gate covers the actions that evict in its way: `(view, task, fits) -> Iterator[Gate]`. An override reorders
the findings of the other gates: `(view, task, fits, met, said) -> list[Finding] | None`.
"""

from collections.abc import Callable, Iterator
from typing import Any

from vcdebug.framework.registry import resolve_reference

NOT_IN_SESSION = "vcdebug.explain.pending.gates.not_in_session:not_in_session"
"""For jobs and pods outside the session: `(recording, subject) -> Finding`."""
ALREADY_PLACED = (
    "vcdebug.explain.pending.gates.other_groups:ended_workload",
    "vcdebug.explain.pending.gates.validity:scaled_down",
    "vcdebug.explain.pending.gates.placed:phantom_pipelined",
    "vcdebug.explain.pending.gates.placed:placed_job",
    "vcdebug.explain.pending.gates.admission:admitted",
)
"""Gates of jobs with their minimum, with a bind elsewhere, pipelined for ever, or admitted without pods."""
PRECONDITIONS = (
    "vcdebug.explain.pending.gates.validity:all_hidden",
    "vcdebug.explain.pending.gates.other_groups:pods_elsewhere",
    "vcdebug.explain.pending.gates.other_groups:unused_group",
    "vcdebug.explain.pending.gates.validity:pods_outside",
    "vcdebug.explain.pending.gates.admission:admission",
    "vcdebug.explain.pending.gates.validity:validity",
    "vcdebug.explain.pending.gates.validity:gated_job",
    "vcdebug.explain.pending.gates.placed:bound_elsewhere",
)
"""Preconditions in the scheduler's order: a job that fails one reaches none of the later steps."""
ALLOCATING = (
    "vcdebug.explain.plugins.gang:discarded_finding",
    "vcdebug.explain.pending.gates.queue_limits:overused_finding",
    "vcdebug.explain.plugins.network_topology_aware:no_hyper_node",
    "vcdebug.explain.plugins.network_topology_aware:full_hyper_nodes",
    "vcdebug.explain.plugins.network_topology_aware:no_room_in_one",
    "vcdebug.explain.plugins.network_topology_aware:none_of_tier",
)
"""Gates of allocate for the whole job; the first finding dominates."""
EVICTION_GATES = (
    "vcdebug.explain.pending.gates.eviction:gates_of_tasks",
    "vcdebug.explain.pending.gates.gang_eviction:gates_of_gangs",
)
"""Gates of actions that evict pod by pod, and of actions that evict for the whole gang."""
OVERRIDES = (
    "vcdebug.explain.pending.gates.overrides:plan_lost",
    "vcdebug.explain.pending.gates.overrides:never_possible",
    "vcdebug.explain.pending.gates.overrides:missing_action",
)
"""The first override that applies reorders the findings; the rest are not asked."""
ALL_GATES = (NOT_IN_SESSION, *ALREADY_PLACED, *PRECONDITIONS, *ALLOCATING, *EVICTION_GATES, *OVERRIDES)


def resolve_gates(
    references: tuple[str, ...],
) -> Iterator[Callable[..., Any]]:  # Any: each kind of gate has its own form
    """The gate functions of a list, each imported when the iterator reaches it."""
    return (resolve_reference(reference) for reference in references)
