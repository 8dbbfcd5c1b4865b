"""How a release counts, chooses and gives back Ascend NPUs.

Upstream: api/devices/ascend/hami.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vcdebug.model.devices.notes import PodAnnotations
from vcdebug.model.ordering import ASCENDING, MapOrder
from vcdebug.releases.devices import (
    DEVICES_SHARED_WITH_CACHE,
    HAMI_ASCEND,
    HAMI_ASCEND_CORE_MODE,
    HAMI_ASCEND_LEDGER,
    HAMI_ASCEND_NO_RELEASE,
    HAMI_ASCEND_RELEASE_LEAKS,
    HAMI_ASCEND_SPREAD_SCORE,
    HAMI_ASCEND_UNALLOCATABLE,
    VNPUS_WRAPPER,
)
from vcdebug.releases.release import Release
from vcdebug.snapshot.npu_config import NpuConfig


class NpuRules(NamedTuple):
    """What the newest release does, and where older ones differ."""

    lack_is_error: bool = False
    """A lack of cards is an error, as a request is that no card could ever serve."""
    cores_known: bool = True
    """Pods ask for cores, and cards may be cut by hami-core."""
    spread_idle: bool = True
    """The policy spread favours cards without users; else those with one."""
    leaks: bool = False
    """A charge is given back only by the pod's annotations."""
    once: bool = True
    """A pod is charged for a card once, by what it was allocated; else for each entry of what is to be allocated."""
    allocatable: bool = True
    """Cards count only while some are allocatable."""
    gives_back: bool = True
    """The end of a placement gives its cards back; where charges leak it erases the pod's annotations too."""
    shared: bool = False
    """Copies of a node charge one and the same ledger."""
    list_only: bool = False
    """A device configuration has to list the kinds."""

    @classmethod
    def for_release(cls, release: Release) -> NpuRules:
        """As the release has them."""
        return cls(
            release.has_older_form(HAMI_ASCEND),
            not release.has_older_form(HAMI_ASCEND_CORE_MODE),
            not release.has_older_form(HAMI_ASCEND_SPREAD_SCORE),
            release.has_older_form(HAMI_ASCEND_RELEASE_LEAKS),
            not release.has_older_form(HAMI_ASCEND_LEDGER),
            not release.has_older_form(HAMI_ASCEND_UNALLOCATABLE),
            not release.has_older_form(HAMI_ASCEND_NO_RELEASE),
            release.has_older_form(DEVICES_SHARED_WITH_CACHE),
            release.has_older_form(VNPUS_WRAPPER),
        )


NEWEST_NPU_RULES = NpuRules()


class NpuSettings(NamedTuple):
    """What all nodes of a session have in common."""

    config: NpuConfig
    rules: NpuRules = NEWEST_NPU_RULES
    notes: PodAnnotations | None = None
    ordering: MapOrder = ASCENDING
    drawn: Mapping[str, str] = {}
    """Pod → the cards that it is known to have been given, separated by semicolons."""
