"""What PreFilter left for a pod: which filters have nothing to say about it, and what the others counted.

Upstream: plugins/predicates (PrePredicate), k8s framework CycleState.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.amount_text import count_noun
from vcdebug.explain.asked import AskedNode
from vcdebug.kube.dynamic_resources import ClaimState
from vcdebug.kube.pod_affinity import AffinityState
from vcdebug.kube.ports import HostPort
from vcdebug.kube.volume_binding import VolumeState
from vcdebug.kube.volume_zone import ZoneLimit
from vcdebug.plugins.predicates import Predicates
from vcdebug.plugins.predicates.filters import InterPodAffinityFilter, NodePortsFilter, PodTopologySpreadFilter
from vcdebug.plugins.predicates.volume_filters import DynamicResourcesFilter, VolumeBindingFilter, VolumeZoneFilter

STATE_KEYS = {
    NodePortsFilter.name: NodePortsFilter.STATE,
    InterPodAffinityFilter.name: InterPodAffinityFilter.STATE,
    PodTopologySpreadFilter.name: PodTopologySpreadFilter.STATE,
    VolumeZoneFilter.name: VolumeZoneFilter.STATE,
    VolumeBindingFilter.name: VolumeBindingFilter.STATE,
    DynamicResourcesFilter.name: DynamicResourcesFilter.STATE,
}


class PreparedFilter(NamedTuple):
    """One filter after PreFilter."""

    filter: str
    key: str
    """Its entry in the CycleState; empty where it keeps none."""
    skipped: bool
    found: str
    """What it counted, in words."""


def prepared_filters(asked: AskedNode) -> Iterator[PreparedFilter]:
    """Every filter in the order in which they are asked."""
    if Predicates.name not in asked.session.plugins:
        return
    state = asked.cycle_state
    for one in asked.plugin_of_kind(Predicates).active_filters:
        key = STATE_KEYS.get(one.name, "")
        yield PreparedFilter(one.name, key, one.name in state.skip, _format_entry(state.data.get(key)))


def _format_entry(entry: object) -> str:
    if isinstance(entry, AffinityState):
        named = (("affinity", entry.affinity), ("anti-affinity", entry.anti), ("of placed pods", entry.existing_anti))
        told = [f"{what} by {', '.join(pairs)}" for what, pairs in named if pairs]
        return "; ".join(told)
    if isinstance(entry, VolumeState):
        return f"{count_noun(len(entry.bound), 'bound claim')}, {len(entry.delayed)} that wait for a node"
    if isinstance(entry, ClaimState):
        return (
            f"{len(entry.selectors)} allocated claims, {len(entry.unallocated)} to allocate"
            if _has_claims(entry)
            else ""
        )
    return ", ".join(_format_item(item) for item in entry) if isinstance(entry, tuple) else ""


def _has_claims(entry: ClaimState) -> bool:
    return bool(entry.selectors or entry.unallocated)


def _format_item(item: object) -> str:
    if isinstance(item, HostPort):
        return f"{item.port}/{item.protocol}"
    return f"{item.key} {' or '.join(item.values)}" if isinstance(item, ZoneLimit) else str(item)
