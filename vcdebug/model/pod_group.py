"""PodGroup: a job's specification, and the status a session changes. Upstream: api (PodGroup), apis/scheduling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from vcdebug.grouping import split_names
from vcdebug.model.pod_resources import StatedAmounts
from vcdebug.model.resource_list import drop_ignored
from vcdebug.snapshot.manifest import JsonObject, metadata_of, owners_of, spec_of, status_of

PENDING = "Pending"
WAITING_PHASES = (PENDING, "")
INQUEUE = "Inqueue"
RUNNING = "Running"
UNKNOWN = "Unknown"
COMPLETED = "Completed"


class Condition(NamedTuple):
    """A PodGroup condition, without its times."""

    type: str
    status: str
    reason: str
    message: str
    transition_id: str = ""


class NetworkTopology(Struct):
    """The network topology that the pods of a job or sub job require or prefer."""

    mode: str
    highest_tier_allowed: int | None
    highest_tier_name: str

    @classmethod
    def from_manifest(cls, raw: JsonObject | None) -> NetworkTopology | None:
        """From spec.networkTopology; None when absent."""
        if raw is None:
            return None
        return cls(raw.get("mode") or "", raw.get("highestTierAllowed"), raw.get("highestTierName") or "")

    def clone(self) -> NetworkTopology:
        """An independent copy."""
        return NetworkTopology(self.mode, self.highest_tier_allowed, self.highest_tier_name)

    def convert_to_hard(self, tier: int) -> None:
        """Turn a soft topology into a hard one with this tier; any other mode is unchanged."""
        if self.mode != "soft":
            return
        self.mode = "hard"
        self.highest_tier_allowed = tier
        self.highest_tier_name = ""


def hard_tier_of(topology: NetworkTopology | None) -> int | None:
    """The highest tier that a hard topology allows; None without one, or if it states no tier."""
    return topology.highest_tier_allowed if topology is not None and topology.mode == "hard" else None


class SubGroupPolicy(Struct, frozen=True):
    """One entry of spec.subGroupPolicy."""

    name: str
    sub_group_size: int | None
    min_sub_groups: int
    match_label_keys: tuple[str, ...]
    label_selector: JsonObject | None
    network_topology: NetworkTopology | None

    @classmethod
    def from_manifest(cls, raw: JsonObject) -> SubGroupPolicy:
        """Reads a policy from a list entry."""
        return cls(
            raw.get("name") or "",
            raw.get("subGroupSize"),
            raw.get("minSubGroups") or 0,
            tuple(raw.get("matchLabelKeys") or ()),
            raw.get("labelSelector"),
            NetworkTopology.from_manifest(raw.get("networkTopology")),
        )


class GroupStatus(NamedTuple):
    """The fields of a PodGroup's status that scheduling reads."""

    phase: str
    conditions: tuple[Condition, ...]
    running: int
    failed: int
    succeeded: int

    @classmethod
    def from_manifest(cls, manifest: JsonObject) -> GroupStatus:
        """Reads the status before the cycle from a manifest."""
        status = status_of(manifest)
        return cls(
            status.get("phase") or "",
            tuple([_read_condition(raw) for raw in status.get("conditions") or ()]),
            status.get("running") or 0,
            status.get("failed") or 0,
            status.get("succeeded") or 0,
        )


PLAIN_OWNERS = ("ReplicaSet", "StatefulSet", "DaemonSet", "Pod")
"""Owner kinds for whose pods Volcano's controller creates a PodGroup that it never updates."""


class PodGroup:
    """The parts of a PodGroup that scheduling reads; `phase`, `conditions` and the counters are this session's."""

    __slots__ = split_names(
        "annotations conditions creation_timestamp failed labels manifest min_member min_resource_list min_resources "
        "min_task_member name namespace network_topology phase priority_class_name queue running sub_group_policies "
        "succeeded uid"
    )

    def __init__(self, manifest: JsonObject, amounts: StatedAmounts | None = None) -> None:
        """`amounts`: a cache of amounts that all PodGroups share."""
        metadata, spec, amounts = metadata_of(manifest), spec_of(manifest), amounts or StatedAmounts()
        status = GroupStatus.from_manifest(manifest)
        self.manifest = manifest
        self.name: str = metadata.get("name", "")
        self.namespace: str = metadata.get("namespace", "")
        self.uid: str = metadata.get("uid", "")
        self.labels: Mapping[str, str] = metadata.get("labels") or {}
        self.annotations: Mapping[str, str] = metadata.get("annotations") or {}
        self.creation_timestamp: str = metadata.get("creationTimestamp") or ""
        self.min_member: int = spec.get("minMember") or 0
        self.queue: str = spec.get("queue") or ""
        self.priority_class_name: str = spec.get("priorityClassName") or ""
        self.min_task_member: Mapping[str, int] = spec.get("minTaskMember") or {}
        minimum: Mapping[str, object] | None = spec.get("minResources")
        self.min_resource_list = drop_ignored(minimum, amounts.ignored)
        self.min_resources = None if minimum is None else amounts.amounts_of(minimum)
        self.network_topology = NetworkTopology.from_manifest(spec.get("networkTopology"))
        self.sub_group_policies = tuple([SubGroupPolicy.from_manifest(p) for p in spec.get("subGroupPolicy") or ()])
        self.phase = status.phase
        self.conditions = list(status.conditions)
        self.running, self.failed, self.succeeded = status.running, status.failed, status.succeeded

    def is_made_for_pods(self) -> bool:
        """Whether Volcano's controller created the PodGroup for existing pods, with their requests as minResources."""
        return any(owner.get("kind") in PLAIN_OWNERS for owner in owners_of(self.manifest))

    def drop_sub_groups(self) -> None:
        """Drop the fields that releases without sub jobs do not read."""
        self.sub_group_policies = ()
        if self.network_topology is not None:
            self.network_topology.highest_tier_name = ""

    def set_condition(self, condition: Condition) -> None:
        """Replace the condition of the same type, or append."""
        for index, present in enumerate(self.conditions):
            if present.type == condition.type:
                self.conditions[index] = condition
                return
        self.conditions.append(condition)


def _read_condition(raw: JsonObject) -> Condition:
    return Condition(
        raw.get("type") or "",
        raw.get("status") or "",
        raw.get("reason") or "",
        raw.get("message") or "",
        raw.get("transitionID") or "",
    )
