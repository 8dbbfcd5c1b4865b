"""The server's objects and their changes, as in etcd; volume binding; Prometheus' answers."""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

import yaml
from msgspec import Struct
from msgspec.structs import replace

from vcdebug.conformance.api_objects import ApiAddress, ApiReply, Body
from vcdebug.kube.listers import SELECTED_NODE
from vcdebug.kube.volume_zone import NO_PROVISIONER
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.pod import ENDED_PHASES
from vcdebug.recording.replay import parse_conf
from vcdebug.snapshot import manifest
from vcdebug.snapshot.go_yaml import edited_document
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import JsonDict, annotations_of, metadata_of, name_of, spec_of, status_of
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.next_cycle import BetweenCycles, bound_pod, freed_claim, iter_pods_after

FIRST_REVISION = 100


class StoreChange(NamedTuple):
    """One write: the object's body from a revision on; None deletes it."""

    revision: int
    path: str
    key: str
    body: Body | None


class ObjectStore(Struct):
    """Objects by list path and key; each write makes the next revision."""

    revision: int = FIRST_REVISION
    _changes: dict[str, list[StoreChange]] = {}
    _current: dict[str, dict[str, Body]] = {}

    def put_object(self, path: str, body: Body) -> int:
        """Create or replace an object; returns the new revision."""
        metadata = {**body.get("metadata", {}), "resourceVersion": str(self.revision + 1)}
        # A later in-place edit of the caller's object must not rewrite an earlier revision.
        stored = {**copy.deepcopy(body), "metadata": metadata}
        self._current.setdefault(path, {})[key_of(body)] = stored
        return self._note_change(path, key_of(body), stored)

    def delete_object(self, path: str, key: str) -> int:
        """Delete an object if it exists; returns the new revision."""
        self._current.setdefault(path, {}).pop(key, None)
        return self._note_change(path, key, None)

    def _note_change(self, path: str, key: str, body: Body | None) -> int:
        self.revision += 1
        self._changes.setdefault(path, []).append(StoreChange(self.revision, path, key, body))
        return self.revision

    def objects_of(self, path: str) -> list[Body]:
        """The objects of a list in order of their keys."""
        return [body for _, body in sorted(self._current.get(path, {}).items())]

    def get_object(self, path: str, key: str) -> Body | None:
        """The current object; None if it does not exist."""
        return self._current.get(path, {}).get(key)

    def changes_since(self, path: str, revision: int) -> list[StoreChange]:
        """The writes to a list after a revision, oldest first."""
        changes: list[StoreChange] = []
        # Searched from the newest write back: a watch needs only the last few of a long history.
        for change in reversed(self._changes.get(path, ())):
            if change.revision <= revision:
                break
            changes.append(change)
        return changes[::-1]

    def object_before(self, change: StoreChange) -> Body | None:
        """The object as it was before a change; None if it did not exist."""
        earlier = (write for write in reversed(self._changes[change.path]) if write.revision < change.revision)
        return next((write.body for write in earlier if write.key == change.key), None)


def key_of(body: Body) -> str:
    """`namespace/name`; the bare name of a cluster-scoped object."""
    return manifest.key_of(body).lstrip("/")


# The part of the volume controller for which a scheduler waits before it binds a pod.

VOLUMES_PATH, CLAIMS_PATH = (KIND_BY_NAME[name].api_path for name in ("PersistentVolume", "PersistentVolumeClaim"))
CLASSES_PATH: Final = KIND_BY_NAME["StorageClass"].api_path
BOUND_STATUS: Final = {"phase": "Bound"}
BIND_COMPLETED: Final = {"pv.kubernetes.io/bind-completed": "yes"}


def follow_up_write(store: ObjectStore, address: ApiAddress, body: Body) -> None:
    """Bind a volume to the claim that it names; provision a volume for a claim whose node is selected."""
    if address.collection_path == VOLUMES_PATH:
        reference = spec_of(body).get("claimRef") or {}
        claim = store.get_object(CLAIMS_PATH, f"{reference.get('namespace', '')}/{reference.get('name', '')}")
        if claim is not None:
            _bind_volume(store, body, claim)
    elif address.collection_path == CLAIMS_PATH and SELECTED_NODE in annotations_of(body):
        _provide_volume(store, body)


def _bind_volume(store: ObjectStore, volume: Body, claim: Body) -> None:
    """Set volume and claim to Bound, unless the claim is bound already or names another volume."""
    name = name_of(volume)
    if spec_of(claim).get("volumeName", name) != name or status_of(claim).get("phase") == "Bound":
        return
    annotations = {**annotations_of(claim), **BIND_COMPLETED}
    store.put_object(VOLUMES_PATH, {**volume, "status": {**status_of(volume), **BOUND_STATUS}})
    store.put_object(
        CLAIMS_PATH,
        {
            **claim,
            "metadata": {**claim["metadata"], "annotations": annotations},
            "spec": {**spec_of(claim), "volumeName": name},
            "status": {**status_of(claim), **BOUND_STATUS},
        },
    )


def _provide_volume(store: ObjectStore, claim: Body) -> None:
    """Create and bind a volume, if the claim's StorageClass has a provisioner."""
    spec = spec_of(claim)
    storage_class = store.get_object(CLASSES_PATH, str(spec.get("storageClassName") or "")) or {}
    if spec.get("volumeName") or storage_class.get("provisioner") in (None, "", NO_PROVISIONER):
        return
    metadata = claim["metadata"]
    reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "name": metadata["name"]}
    volume = {
        "kind": "PersistentVolume",
        "apiVersion": "v1",
        "metadata": {"name": f"made-{key_of(claim).replace('/', '-')}", "uid": f"made-{metadata.get('uid')}"},
        "spec": {
            "capacity": (spec.get("resources") or {}).get("requests") or {},
            "accessModes": spec.get("accessModes") or [],
            "storageClassName": spec.get("storageClassName"),
            "claimRef": {**reference, "namespace": metadata.get("namespace"), "uid": metadata.get("uid")},
            "csi": {"driver": storage_class["provisioner"], "volumeHandle": str(metadata.get("uid"))},
        },
    }
    _bind_volume(store, volume, claim)


# Changes between two cycles, by vcdebug's own rules.

PODS_PATH, DEVICE_CLAIMS_PATH = (KIND_BY_NAME[name].api_path for name in ("Pod", "ResourceClaim"))
CHANGING_KINDS: Final = ("Pod", "PodGroup", "Queue", "ResourceClaim", "PersistentVolume", "PersistentVolumeClaim")


def pass_between_cycles(
    store: ObjectStore, bound: Mapping[TaskKey, NodeName], now: datetime, between: BetweenCycles, number: int = 2
) -> None:
    """What happens before cycle `number`: bound pods start, others finish, deleted ones go when their grace period is
    over, or are recreated, unused claims are released, and objects arrive.
    """
    pods = store.objects_of(PODS_PATH)
    later = between.clock_after(now)
    finishing = between.finishing_pods(pods, (), number, later)
    for pod in pods:
        started = bound_pod(pod, bound[key_of(pod)], now) if key_of(pod) in bound else pod
        after = next(iter_pods_after(started, finishing, later, between), None)
        # A successor has the name of its predecessor: a watch must tell one from the other.
        if after is None or uid_of(after) != uid_of(pod):
            store.delete_object(PODS_PATH, key_of(pod))
        if after is not None and after is not pod:
            store.put_object(PODS_PATH, after)
    for kind, manifests in between.iter_arrivals_before(number):
        row = KIND_BY_NAME[kind]
        for body in manifests:
            store.put_object(row.api_path, {**body, "kind": kind, "apiVersion": row.api_version})
    uids = {uid_of(pod) for pod in store.objects_of(PODS_PATH) if status_of(pod).get("phase") not in ENDED_PHASES}
    for claim in store.objects_of(DEVICE_CLAIMS_PATH):
        after = freed_claim(claim, uids)
        if after is not claim:
            store.put_object(DEVICE_CLAIMS_PATH, after)


def uid_of(body: Body) -> str:
    """The object's UID as text."""
    return str(metadata_of(body).get("uid"))


def with_stored_objects(snapshot: Snapshot, store: ObjectStore, arrived: Iterable[str] = ()) -> Snapshot:
    """The snapshot with all changes in the store, by the scheduler and by the cluster; `arrived` are kinds."""
    stored = {kind: store.objects_of(KIND_BY_NAME[kind].api_path) for kind in (*CHANGING_KINDS, *arrived)}
    objects = snapshot.objects
    changed = {kind: bodies for kind, bodies in stored.items() if bodies or kind in objects}
    return replace(snapshot, objects={**objects, **changed})


# Prometheus' answers about nodes from the snapshot's measurements, and the configuration that queries it.

QUERY_PATH: Final = "/api/v1/query"
PERIOD: Final = "10m"
"""The only period that a scheduler queries."""
INTERVAL: Final = "1s"
ONE_INSTANCE: Final = re.compile(r'instance="([^"]*)"')
CPU_SERIES: Final = "node_cpu_seconds_total"
METRICS_SECTION: Final = "metrics"


class NodeMetrics(Struct):
    """Values of cpu and mem per node; a query about a node without a value has no result row."""

    values: Mapping[str, Mapping[str, float]]
    nodes: tuple[str, ...]
    _queries: dict[str, None] = {}
    _rounds: int = 0

    @property
    def is_round_complete(self) -> bool:
        """Whether a round of queries about all nodes is complete, so that the scheduler has cached the values."""
        return self._rounds > 0 or not self.nodes

    def answer_query(self, query: str) -> ApiReply:
        """The reply to a PromQL query about one node or all of them."""
        resource = "cpu" if CPU_SERIES in query else "mem"
        instance = ONE_INSTANCE.search(query)
        names = self.nodes if instance is None else (instance[1],)
        self._note_query(f"{resource} {instance[1] if instance is not None else ''}", every=instance is None)
        rows = [
            {"metric": {"instance": name}, "value": [0, repr(self.values[name][resource])]}
            for name in names
            if resource in self.values.get(name, {})
        ]
        return ApiReply(200, {"status": "success", "data": {"resultType": "vector", "result": rows}})

    def _note_query(self, query: str, *, every: bool) -> None:
        """Note a query: a repeated one begins the next round; a finished round counts if it covered all nodes."""
        if query in self._queries:
            self._rounds += every or len(self._queries) >= 2 * len(self.nodes)
            self._queries.clear()
        self._queries[query] = None


def metrics_of(snapshot: Snapshot) -> NodeMetrics | None:
    """The snapshot's measurements; None without any, or where the scheduler refuses its configuration.

    The built-in configuration, which it then runs on, names no source of measurements.
    """
    if not snapshot.usage or (
        snapshot.scheduler_conf and parse_conf(snapshot.scheduler_conf, snapshot.release).built_in
    ):
        return None
    names = tuple(name_of(node) for node in snapshot.objects_of("Node"))
    return NodeMetrics({name: dict(_iter_usage_values(snapshot.usage.get(name) or {})) for name in names}, names)


def _iter_usage_values(usage: JsonDict) -> Iterator[tuple[str, float]]:
    for resource in ("cpu", "mem"):
        value = (usage.get(resource) or {}).get(PERIOD)
        if value is not None:
            yield resource, float(value)


def with_metrics(snapshot: Snapshot, metrics: NodeMetrics | None, now: datetime) -> Snapshot:
    """The snapshot with the usage that a scheduler has right after its queries: 0 where nothing was measured."""
    if metrics is None:
        return snapshot
    usage: JsonDict = {
        name: {
            "time": now.isoformat().replace("+00:00", "Z"),
            **{resource: {PERIOD: metrics.values[name].get(resource, 0.0)} for resource in ("cpu", "mem")},
        }
        for name in metrics.nodes
    }
    return replace(snapshot, usage=usage)


def conf_with_metrics(conf: str, address: str) -> str:
    """The configuration with Prometheus at `address` as its metrics source, or without one if empty."""
    try:
        root = edited_document(conf)
    except (yaml.YAMLError, ValueError):
        return conf
    if not isinstance(root, yaml.MappingNode):
        return conf
    entries = [(key, value) for key, value in root.value if key.value != METRICS_SECTION]
    if not address and len(entries) == len(root.value):
        return conf
    # Edit the node tree: loading and dumping would rewrite scalars that YAML 1.1 and Go's parser read differently.
    root.value = entries
    text: str = yaml.serialize(root, Dumper=yaml.SafeDumper)
    if not address:
        return text
    return text + yaml.safe_dump({METRICS_SECTION: {"type": "prometheus", "address": address, "interval": INTERVAL}})
