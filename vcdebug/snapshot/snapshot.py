"""Snapshot: all inputs of one scheduling cycle, as plain manifests and settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from vcdebug.errors import EngineError
from vcdebug.releases.change import Change
from vcdebug.releases.nodes import FEATURE_GATES_1_33, VOLUMEBINDING_CAPACITY
from vcdebug.releases.release import NEWEST, Release
from vcdebug.releases.scheduling import NO_SHARDS, QUEUE_ALLOCATION_GATE
from vcdebug.snapshot.cycle_inputs import ChanceSettings, ForcedAnswer, PersistenceSetting, SchedulerProcess
from vcdebug.snapshot.manifest import JsonDict, WorkloadFacts, key_of
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.provenance import Provenance

Manifest = JsonDict

DEFAULT_NOW = datetime(2026, 11, 1, tzinfo=UTC)

VOLCANO_GATES: Mapping[str, bool] = MappingProxyType(
    {
        **dict.fromkeys(("WorkLoadSupport", "VolcanoJobSupport", "PodDisruptionBudgetsSupport"), True),
        **dict.fromkeys(("QueueCommandSync", "PriorityClass", "ResourceTopology", "CronVolcanoJobSupport"), True),
        **dict.fromkeys(("CSIStorage", "SchedulingGatesQueueAdmission"), False),
    }
)
"""Volcano's own feature gates and their defaults."""

LATER_GATES: Mapping[str, Change] = MappingProxyType({"SchedulingGatesQueueAdmission": QUEUE_ALLOCATION_GATE})
"""Volcano's feature gates that older releases lack → the change that added each."""

NEVER_ON = (99, 0)
"""Version for gates that are off by default in all supported server versions."""

_GATES_BY_VERSION = {
    (1, 26): "NodeInclusionPolicyInPodTopologySpread",
    (1, 27): "MatchLabelKeysInPodTopologySpread PodSchedulingReadiness",
    (1, 29): "SidecarContainers",
    (1, 31): "CSIMigrationPortworx",
    (1, 33): "InPlacePodVerticalScaling DRAResourceClaimDeviceStatus",
    (1, 34): "PodLevelResources VolumeAttributesClass DynamicResourceAllocation DRAPrioritizedList DRAAdminAccess "
    "DRASchedulerFilterTimeout",
    (1, 36): "InPlacePodLevelResourcesVerticalScaling DRAExtendedResource DRAConsumableCapacity "
    "DRADeviceBindingConditions DRADeviceTaints DRAPartitionableDevices",
    NEVER_ON: "DRADeviceTaintRules StorageCapacityScoring TaintTolerationComparisonOperators "
    "DRANodeAllocatableResources VolumeLimitScaling",
}
KUBERNETES_GATES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {name: version for version, names in _GATES_BY_VERSION.items() for name in names.split()}
)
"""Kubernetes feature gates with the first server version that has them on by default."""


class SchedulerFlags(Struct, frozen=True):
    """The scheduler's command line, with upstream's defaults."""

    default_queue: str = "default"
    scheduler_names: tuple[str, ...] = ("volcano",)
    priority_class: bool = True
    minimum_feasible_nodes: int = 100
    minimum_percentage_nodes_to_find: int = 5
    percentage_nodes_to_find: int = 0
    node_selector: tuple[str, ...] = ()
    """`key:value` pairs; a node takes part if it has any one of the labels."""
    ignored_provisioners: tuple[str, ...] = ()
    csi_storage: bool | None = None
    """None if the command line does not state it."""
    sharding_mode: str = "none"
    sharding_name: str = "volcano"
    server_version: tuple[int, int] = (1, 36)
    """The API server's version: Kubernetes' gate defaults follow it."""
    feature_gates: Mapping[str, bool] = {}
    """Gates set on the command line, which override every default."""
    panic_on_error: bool = True
    release: Release = NEWEST
    """The release that is replayed."""

    def changed_values(self) -> dict[str, Any]:
        """The flags that differ from upstream's defaults, without the release."""
        default = SchedulerFlags()
        values = {name: getattr(self, name) for name in self.__struct_fields__ if name != "release"}
        return {name: value for name, value in values.items() if value != getattr(default, name)}

    @property
    def is_csi_storage_on(self) -> bool:
        """Whether the scheduler watches CSIDriver and so checks capacity. Upstream: cache.addEventHandler."""
        if not self.release.has_older_form(VOLUMEBINDING_CAPACITY):
            return self.csi_storage is not False
        return self.csi_storage is True and self.is_gate_on("CSIStorage")

    @property
    def effective_sharding_mode(self) -> str:
        """The sharding mode, `none` for releases without shards."""
        return "none" if self.release.has_older_form(NO_SHARDS) else self.sharding_mode

    def is_gate_on(self, name: str) -> bool:
        """Whether a feature gate is on: set explicitly, else Volcano's or the server version's default."""
        if name in LATER_GATES and self.release.has_older_form(LATER_GATES[name]):
            return False
        if name in self.feature_gates:
            return self.feature_gates[name]
        if name in VOLCANO_GATES:
            return VOLCANO_GATES[name]
        if name not in KUBERNETES_GATES:
            raise EngineError(f"feature gate {name} is unknown")
        # Up to the library of 1.33 the defaults follow the library alone, whatever the server's version.
        library = self.release.kubernetes_version
        version = library if self.release.has_older_form(FEATURE_GATES_1_33) else min(self.server_version, library)
        return version >= KUBERNETES_GATES[name]


class Snapshot(Struct, dict=True):
    """One cluster at one moment: its objects, the scheduler's configuration, flags and clock."""

    name: str
    objects: dict[str, list[Manifest]] = {}
    """Manifests by kind name, each list in input order."""
    scheduler_conf: str | None = None
    """The text of volcano-scheduler.conf; None for upstream's built-in default."""
    now: datetime = DEFAULT_NOW
    flags: SchedulerFlags = field(default_factory=SchedulerFlags)
    chance: ChanceSettings = field(default_factory=ChanceSettings)
    """Random choices of the real scheduler."""
    answers: tuple[ForcedAnswer, ...] = ()
    """Answers that a user forces on plugins."""
    usage: Mapping[str, Any] = {}
    """Measured node usage: node name -> time, cpu {period: percent}, mem {period: percent}."""
    extender: Mapping[str, Any] = {}
    """Recorded answers of the extender's webhook: verb -> key -> answer or answers in order."""
    device_config: str | None = None
    """The text of device-config.yaml; None for the built-in configuration."""
    process: SchedulerProcess = field(default_factory=SchedulerProcess)
    """The scheduler's memory of earlier cycles."""
    persistence: PersistenceSetting = "auto"
    """Whether task state is restored from pods' annotations."""
    bound: Mapping[str, str] = {}
    """Pod → node to which another client binds it during the cycle, unseen by the scheduler."""
    workloads: Mapping[str, WorkloadFacts] = {}
    """`namespace/Kind name` → facts from operators' objects, whose kinds the scheduler does not read."""
    problems: list[Problem] = []
    description: str = ""
    origin: str = ""
    """The path or name of its source."""
    provenance: Provenance | None = None
    """The origin of a captured snapshot; None for one of manifests."""

    @property
    def release(self) -> Release:
        return self.flags.release

    def with_release(self, release: Release) -> Snapshot:
        """The snapshot, to be replayed with the rules of a release that it does not state."""
        return replace(self, flags=replace(self.flags, release=release))

    def shares_list(self, kind: str, other: Snapshot) -> bool:
        """Whether both snapshots share the list object of a kind; an edit of a kind makes a new list."""
        return self.objects.get(kind) is other.objects.get(kind)

    def objects_of(self, kind: str) -> list[Manifest]:
        """The manifests of one kind, in input order."""
        return self.objects.get(kind, [])

    @cached_property
    def _objects_by_key(self) -> dict[str, dict[str, Manifest]]:
        """Kind → `namespace/name` → manifest, for the kinds in which an object was looked for."""
        return {}

    def find_object(self, kind: str, key: str) -> Manifest | None:
        """The first manifest of a kind with this `namespace/name` (`/name` without a namespace); None without one."""
        found = self._objects_by_key.get(kind)
        if found is None:
            # Reversed, so that the first of several objects of one name is the one that stays.
            found = {key_of(manifest): manifest for manifest in reversed(self.objects_of(kind))}
            self._objects_by_key[kind] = found
        return found.get(key)
