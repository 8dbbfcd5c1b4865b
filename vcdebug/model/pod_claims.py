"""What pods request through claims: devices per class (ResourceClaims) and CSI volumes (PersistentVolumeClaims).

Upstream: cache (buildTaskDRAInfo, addDRAResource), api (DRAResource), cache/event_handlers (CSI volume counting).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from vcdebug.errors import SchedulerPanic
from vcdebug.gomath import MAX_INT64, MIN_INT64, wrap_int64
from vcdebug.model.pod import Pod
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.releases.nodes import CSI_LIMIT_KEY
from vcdebug.releases.queues import DRA_CAPACITY_MUL, DRA_COUNT_WRAPS
from vcdebug.releases.release import Release
from vcdebug.releases.scheduling import PVC_MISSING_DROPS_POD
from vcdebug.snapshot.manifest import JsonObject, annotations_of, key_of, name_of, owners_of, spec_of
from vcdebug.snapshot.quantity import nano_value
from vcdebug.snapshot.snapshot import SchedulerFlags, Snapshot

ALL_DEVICES = "All"
CLASS_COUNT_PREFIX = "deviceclass/"
"""Prefix of a device class in a queue's lists, for a number of devices."""
CLASS_CAPACITY_SEPARATOR = ".deviceclass/"
"""Separator between a dimension and a device class, for an amount of the devices' shared capacity."""
NIL_MAP_PANIC = "assignment to entry in nil map"

DeviceClass = str
ClaimKey = str


class DeviceAmount:
    """A number of devices, and amounts of their shared capacity in 10^-9 units."""

    __slots__ = ("capacity", "count", "first_texts", "wraps")

    def __init__(self, count: int = 0, capacity: Mapping[str, int] | None = None, *, wraps: bool = False) -> None:
        self.count = count
        self.wraps = wraps
        """Whether sums wrap around at the ends of int64 (old releases) or saturate there."""
        self.capacity: dict[str, int] = dict(capacity or {})
        self.first_texts: dict[str, str] = {}
        """Dimension → text of the first quantity of a sum, in whose units the sum is written."""

    def add(self, other: DeviceAmount) -> None:
        """Add, within int64."""
        self.wraps = self.wraps or other.wraps
        self.count = self._limit_count(self.count + other.count)
        for name, amount in other.capacity.items():
            if not self.capacity.get(name) and name in other.first_texts:
                self.first_texts[name] = other.first_texts[name]
            self.capacity[name] = self.capacity.get(name, 0) + amount

    def sub(self, other: DeviceAmount) -> None:
        """Subtract, never below 0."""
        self.count = max(self.count - other.count, 0)
        for name, amount in other.capacity.items():
            if name in self.capacity:
                self.capacity[name] = max(self.capacity[name] - amount, 0)

    def multiplied_by(self, factor: int) -> DeviceAmount:
        capacity = {name: amount * factor for name, amount in self.capacity.items()}
        return DeviceAmount(self._limit_count(self.count * factor), capacity, wraps=self.wraps)

    def difference_from(self, other: DeviceAmount) -> DeviceAmount:
        """The difference, which may be negative."""
        names = dict.fromkeys([*self.capacity, *other.capacity])
        capacity = {name: self.capacity.get(name, 0) - other.capacity.get(name, 0) for name in names}
        return DeviceAmount(self.count - other.count, capacity)

    def _limit_count(self, count: int) -> int:
        return wrap_int64(count) if self.wraps else min(max(count, MIN_INT64), MAX_INT64)


DeviceDemand = dict[DeviceClass, DeviceAmount]


def merge_task_dra(total: DeviceDemand, addition: Mapping[DeviceClass, DeviceAmount]) -> None:
    """Add every class of `addition` to the total. Upstream: plugins/capacity.mergeTaskDRA."""
    for name in sorted(addition):
        total.setdefault(name, DeviceAmount()).add(addition[name])


class TaskDemand:
    """Devices of one task: in total, and per claim, since tasks may share a claim that counts once."""

    __slots__ = ("by_claim", "total")

    def __init__(self, by_claim: dict[ClaimKey, DeviceDemand]) -> None:
        self.by_claim = {key: by_claim[key] for key in sorted(by_claim)}
        self.total: DeviceDemand = {}
        for demand in self.by_claim.values():
            merge_task_dra(self.total, demand)


class ClaimPendingError(Exception):
    """Raised if the claim from the pod's template does not exist yet."""


class ClaimMissingError(Exception):
    """Raised for a pod with a claim that does not exist: upstream ignores such a pod."""


class DeviceClaims:
    """Reads a pod's device requests from its claims."""

    def __init__(self, claims: Mapping[ClaimKey, JsonObject], flags: SchedulerFlags) -> None:
        self._claims = claims
        self._enabled = flags.is_gate_on("DynamicResourceAllocation")
        self._consumable = flags.is_gate_on("DRAConsumableCapacity")
        self._wraps = flags.release.has_older_form(DRA_COUNT_WRAPS)
        self._requests_at_least_one = flags.release.has_older_form(DRA_CAPACITY_MUL)

    def build_task_dra_info(self, pod: Pod) -> TaskDemand | None:
        """The pod's demand, or None without one; raises ClaimPendingError, ClaimMissingError and SchedulerPanic.
        Upstream: cache.buildTaskDRAInfo.
        """
        if not self._enabled or not pod.spec.get("resourceClaims"):
            return None
        by_claim: dict[ClaimKey, DeviceDemand] = {}
        with_capacity: dict[DeviceClass, bool] = {}
        for key, templated in _claim_keys(pod):
            if key in by_claim:
                continue
            claim = self._claims.get(key)
            if claim is None and templated:
                raise ClaimPendingError
            if claim is None:
                raise ClaimMissingError(
                    f"ResourceClaim {key} does not exist" if key else "a resource claim has no name"
                )
            demand = self._claim_demand(claim, with_capacity)
            if demand:
                by_claim[key] = demand
        return TaskDemand(by_claim) if by_claim else None

    def _claim_demand(self, claim: JsonObject, with_capacity: dict[DeviceClass, bool]) -> DeviceDemand:
        """Panics at a capacity if the first request of its class names none. Upstream: cache.addDRAResource."""
        result: DeviceDemand = {}
        in_claim: dict[DeviceClass, bool] = {}
        for name, exactly in _exact_requests(claim):
            count = exactly.get("count") or 1
            capacity = (exactly.get("capacity") or {}).get("requests") or {} if self._consumable else {}
            # The maps of a class are made by its first request: one without capacity leaves a nil map, and Go panics
            # at a write to it. Reading order therefore decides whether the process survives.
            for classes in (in_claim, with_capacity):
                if not classes.setdefault(name, bool(capacity)) and capacity:
                    raise SchedulerPanic(NIL_MAP_PANIC)
            times = max(count, 1) if self._requests_at_least_one else count
            amounts = {dim: nano_value(text) * times for dim, text in capacity.items()}
            amount = DeviceAmount(count, amounts, wraps=self._wraps)
            amount.first_texts = {dim: str(text) for dim, text in capacity.items()}
            result.setdefault(name, DeviceAmount()).add(amount)
        return result


def _exact_requests(claim: JsonObject) -> Iterator[tuple[DeviceClass, JsonObject]]:
    """(class, request) of every request for a stated number of devices; upstream does not track other kinds."""
    for request in (spec_of(claim).get("devices") or {}).get("requests") or ():
        exactly = request.get("exactly")
        if exactly is None or request.get("firstAvailable") is not None:
            continue
        if exactly.get("deviceClassName") and exactly.get("allocationMode") != ALL_DEVICES:
            yield exactly["deviceClassName"], exactly


def _claim_keys(pod: Pod) -> Iterator[tuple[ClaimKey, bool]]:
    """(key, whether from a template); the key is empty without a name. Upstream: cache.resolvePodClaimName."""
    statuses = {entry.get("name"): entry for entry in pod.status.get("resourceClaimStatuses") or ()}
    for entry in pod.spec.get("resourceClaims") or ():
        name = entry.get("resourceClaimName") or statuses.get(entry.get("name"), {}).get("resourceClaimName")
        yield f"{pod.namespace}/{name}" if name else "", entry.get("resourceClaimTemplateName") is not None


LIMIT_PREFIX = "attachable-volumes-csi-"
"""Prefix of the resources that count attached volumes of a CSI driver."""
MAX_NAME_LENGTH = 63
STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
DRIVER_PARAMETER = "csi.storage.k8s.io/csi-driver-name"


def csi_drivers(snapshot: Snapshot, resources: Iterable[str]) -> list[str]:
    """The drivers whose attached volumes some of these resources count (they have `-` for `/`)."""
    prefixed = [name for name in resources if name.startswith(LIMIT_PREFIX)]
    if not prefixed:
        return []
    stated = [str(_driver_of_class(one) or "") for one in snapshot.objects_of("StorageClass")]
    stated += [
        str((spec_of(one).get("csi") or {}).get("driver") or "") for one in snapshot.objects_of("PersistentVolume")
    ]
    limit_key = limit_key_function(snapshot.release)
    names = {limit_key(driver): driver for driver in stated}
    return list(dict.fromkeys(names.get(name, name.removeprefix(LIMIT_PREFIX)) for name in prefixed))


def _driver_of_class(storage_class: JsonObject) -> str | None:
    """The driver for which volumes of a StorageClass count."""
    parameters = storage_class.get("parameters") or {}
    if DRIVER_PARAMETER in parameters:
        return str(parameters[DRIVER_PARAMETER])
    return storage_class.get("provisioner") or None


def limit_key_function(release: Release) -> Callable[[str], str]:
    """The function from a CSI driver's name to the name of its limit, for a release."""
    return _hashed_limit_key if release.has_older_form(CSI_LIMIT_KEY) else _limit_key


def _limit_key(driver: str) -> str:
    return LIMIT_PREFIX + driver.replace("/", "-")


def _hashed_limit_key(driver: str) -> str:
    """Upstream: k8s volume util (GetCSIAttachLimitKey)."""
    if len(LIMIT_PREFIX) + len(driver) < MAX_NAME_LENGTH:
        return LIMIT_PREFIX + driver
    from hashlib import sha1

    digest = sha1(driver.encode(), usedforsecurity=False).hexdigest()
    return f"{LIMIT_PREFIX}{driver[:23]}{digest[:16]}"


class VolumeLookupError(Exception):
    """Raised if the pod's volumes cannot be read: upstream ignores such a pod."""


class CsiVolumes:
    """Adds `attachable-volumes-csi-<driver>` to the requests of tasks that use CSI-backed claims."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._claims = {key_of(m): m for m in snapshot.objects_of("PersistentVolumeClaim")}
        self._volumes = {name_of(m): m for m in snapshot.objects_of("PersistentVolume")}
        self._classes = {name_of(m): m for m in snapshot.objects_of("StorageClass")}
        self._limit_key = limit_key_function(snapshot.release)
        self._needs_claims = snapshot.release.has_older_form(PVC_MISSING_DROPS_POD)
        self._ignored = snapshot.flags.ignored_provisioners

    def add_volume_counts(self, task: TaskInfo) -> bool:
        """Add the counts to the task's request; False where a claim is missing, and then nothing is added.

        Raises VolumeLookupError where upstream drops the pod.
        """
        counts: dict[str, float] = {}
        for claim in self._claims_of(task):
            if claim is None and self._needs_claims:
                raise VolumeLookupError("a PersistentVolumeClaim does not exist")
            if claim is None:
                return False
            driver = self._find_driver(claim)
            if driver is not None and driver not in self._ignored:
                name = self._limit_key(driver)
                counts[name] = counts.get(name, 0.0) + 1.0
        if counts:
            request = task.resreq.clone().add(Resource(scalars=counts))
            task.resreq = task.init_resreq = request
            task.best_effort = request.is_empty()
        return True

    def _claims_of(self, task: TaskInfo) -> Iterator[JsonObject | None]:
        for volume in task.pod.spec.get("volumes") or ():
            source = volume.get("persistentVolumeClaim")
            if source is not None:
                if not source.get("claimName"):
                    raise VolumeLookupError("a PersistentVolumeClaim has no name")
                yield self._claims.get(f"{task.namespace}/{source['claimName']}")
            elif volume.get("ephemeral") is not None:
                yield self._ephemeral_claim(task, volume)

    def _ephemeral_claim(self, task: TaskInfo, volume: JsonObject) -> JsonObject | None:
        claim = self._claims.get(f"{task.namespace}/{task.name}-{volume.get('name', '')}")
        if claim is None:
            return None
        owners = owners_of(claim)
        if not any(owner.get("controller") and owner.get("uid") == task.uid for owner in owners):
            raise VolumeLookupError(f"PersistentVolumeClaim {claim['metadata']['name']} is not owned by the pod")
        return claim

    def _find_driver(self, claim: JsonObject) -> str | None:
        spec = spec_of(claim)
        volume = self._volumes.get(spec.get("volumeName") or "")
        if volume is not None:
            csi = spec_of(volume).get("csi")
            return csi.get("driver") if csi else None
        name = annotations_of(claim).get(STORAGE_CLASS_ANNOTATION, spec.get("storageClassName"))
        storage_class = self._classes.get(name or "")
        return None if storage_class is None else _driver_of_class(storage_class)
