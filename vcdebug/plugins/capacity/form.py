"""How capacity goes about it in a release.

Upstream: plugins/capacity.
"""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.model.inqueue import NEWEST_FORM as RESERVING
from vcdebug.model.inqueue import ReservationForm
from vcdebug.releases.queues import (
    CAPACITY_BEST_EFFORT_FIRST,
    CAPACITY_ROOT_ALWAYS_CLUSTER,
    CAPACITY_SCALARS_NOT_INHERITED,
    CAPACITY_TREE_DESERVED_CLAMPED,
    CAPACITY_TREE_DESERVED_RAW,
    CAPACITY_TREE_VIOLATION_FATAL,
    ROOT_INFINITE,
    ZERO_DESERVED_DROPPED,
)
from vcdebug.releases.release import Release


class CapacityForm(NamedTuple):
    """What differs between releases where queues are put together."""

    reserving: ReservationForm = RESERVING
    nothing_first: bool = False
    """A queue that deserves nothing has the share 0, and no disadvantage among equals."""
    bounded: bool = False
    """The root has what the cluster has."""
    raw_deserved: bool = False
    """A guarantee does not raise what a queue in a tree deserves."""
    fatal: bool = False
    """A child with more than its parent spoils the whole tree."""
    root_states_nothing: bool = False
    """The root has what the cluster has whatever it states, where it is bounded at all."""
    clamped: bool = False
    """What a queue in a tree deserves is within its limit, and at least its guarantee."""
    scalars_inherited: bool = True
    """A queue without a limit of an accelerator has its parent's."""
    keeps_zeros: bool = True
    """Who states that he deserves nothing of an accelerator states something."""

    @classmethod
    def for_release(cls, release: Release) -> CapacityForm:
        """As the release does it."""
        has = release.has_older_form
        return cls(
            ReservationForm.for_release(release),
            has(CAPACITY_BEST_EFFORT_FIRST),
            has(ROOT_INFINITE),
            has(CAPACITY_TREE_DESERVED_RAW),
            has(CAPACITY_TREE_VIOLATION_FATAL),
            has(CAPACITY_ROOT_ALWAYS_CLUSTER),
            has(CAPACITY_TREE_DESERVED_CLAMPED),
            not has(CAPACITY_SCALARS_NOT_INHERITED),
            not has(ZERO_DESERVED_DROPPED),
        )


NEWEST_FORM = CapacityForm()
