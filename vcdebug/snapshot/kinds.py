"""The one table of Kubernetes kinds that a snapshot holds: load, save and capture read it."""

from msgspec import Struct


class ResourceKind(Struct, frozen=True):
    """One Kubernetes kind: its API path, its file in a snapshot, and its use in the replay."""

    name: str
    group: str
    version: str
    plural: str
    namespaced: bool
    if_missing: str
    """What may be wrong in a replay if objects of this kind are missing."""
    required: bool = False
    """Whether a replay is impossible without it."""
    settings: bool = False
    """Whether the kind only holds the scheduler's settings, so that its objects are not in the snapshot."""
    is_awaited: bool = False
    """Whether the scheduler starts no cycle until the API server serves this kind."""
    gated: bool = False
    """Whether the scheduler reads the kind only with a feature gate that is off by default."""
    is_read: bool = True
    """Whether the scheduler reads the kind; other kinds are used only for explanations."""
    selectors: tuple[str, ...] = ()
    """Field selectors of a capture's list requests; empty to list all objects."""

    @property
    def api_version(self) -> str:
        """`group/version` as manifests write it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def file_name(self) -> str:
        """The name of the kind's file in a saved snapshot."""
        return f"{self.plural}.json"

    @property
    def api_path(self) -> str:
        """The API path of the list over all namespaces."""
        return self.list_path()

    def list_path(self, namespace: str = "") -> str:
        """API path of the list in a namespace; of the whole cluster without one, or for a cluster-wide kind."""
        prefix = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        namespace_part = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{prefix}{namespace_part}/{self.plural}"

    @property
    def kubectl_resource(self) -> str:
        """The resource as kubectl names it, `podgroups.scheduling.volcano.sh`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def needed_permission(self) -> str:
        """The permission capture needs, as `kubectl auth can-i` takes it."""
        return f"{'get' if self.name == 'ConfigMap' else 'list'} {self.kubectl_resource}"


_VOLCANO, _STORAGE, _DRA = "scheduling.volcano.sh", "storage.k8s.io", "resource.k8s.io"
_VOLUMES = "volume checks and CSI volume limits"
_DEVICES = "pods with resource claims"
_TOPOLOGY, _NUMA = "network topology placement", "NUMA-aware placement"
_SPREAD = "default topology spread of its pods"
_WARNINGS = ("involvedObject.kind=Pod,type=Warning", "involvedObject.kind!=Pod,involvedObject.kind!=Node,type=Warning")

KINDS: tuple[ResourceKind, ...] = (
    ResourceKind(*("Node", "", "v1", "nodes", False, "every placement"), required=True),
    ResourceKind("Pod", "", "v1", "pods", True, "every placement", required=True),
    ResourceKind("PodGroup", _VOLCANO, "v1beta1", "podgroups", True, "every job", required=True),
    ResourceKind("Queue", _VOLCANO, "v1beta1", "queues", False, "all jobs (queue unknown)", required=True),
    ResourceKind("PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", False, "job priorities"),
    ResourceKind("Namespace", "", "v1", "namespaces", False, "namespace selectors in pod affinity; default queues"),
    ResourceKind("ResourceQuota", "", "v1", "resourcequotas", True, "answers of plugin resourcequota"),
    ResourceKind(
        "PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets", True, "victims protected by plugin pdb"
    ),
    ResourceKind(*("HyperNode", "topology.volcano.sh", "v1alpha1", "hypernodes", False, _TOPOLOGY), is_awaited=True),
    ResourceKind(*("Numatopology", "nodeinfo.volcano.sh", "v1alpha1", "numatopologies", False, _NUMA), is_awaited=True),
    ResourceKind("NodeShard", "shard.volcano.sh", "v1alpha1", "nodeshards", False, "sharded scheduling"),
    ResourceKind("CSINode", _STORAGE, "v1", "csinodes", False, _VOLUMES),
    ResourceKind("PersistentVolume", "", "v1", "persistentvolumes", False, _VOLUMES),
    ResourceKind("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims", True, _VOLUMES),
    ResourceKind("StorageClass", _STORAGE, "v1", "storageclasses", False, _VOLUMES),
    ResourceKind("CSIDriver", _STORAGE, "v1", "csidrivers", False, _VOLUMES),
    ResourceKind("CSIStorageCapacity", _STORAGE, "v1", "csistoragecapacities", True, _VOLUMES),
    ResourceKind("VolumeAttachment", _STORAGE, "v1", "volumeattachments", False, _VOLUMES),
    ResourceKind("Service", "", "v1", "services", True, _SPREAD),
    ResourceKind("ReplicationController", "", "v1", "replicationcontrollers", True, _SPREAD),
    ResourceKind("ReplicaSet", "apps", "v1", "replicasets", True, _SPREAD),
    ResourceKind("StatefulSet", "apps", "v1", "statefulsets", True, _SPREAD),
    ResourceKind("ResourceClaim", _DRA, "v1", "resourceclaims", True, _DEVICES),
    ResourceKind("ResourceSlice", _DRA, "v1", "resourceslices", False, _DEVICES),
    ResourceKind("DeviceClass", _DRA, "v1", "deviceclasses", False, _DEVICES),
    ResourceKind(*("DeviceTaintRule", _DRA, "v1beta2", "devicetaintrules", False, _DEVICES), gated=True),
    ResourceKind(
        *("Job", "batch.volcano.sh", "v1alpha1", "jobs", True, "nothing; answers lack Volcano Jobs without a PodGroup"),
        is_read=False,
    ),
    ResourceKind(
        *("JobFlow", "flow.volcano.sh", "v1alpha1", "jobflows", True, "nothing; answers do not know it by name"),
        is_read=False,
    ),
    ResourceKind(
        *("Event", "", "v1", "events", True, "nothing; answers lack what other components report about Pending pods"),
        is_read=False,
        selectors=_WARNINGS,
    ),
    ResourceKind("ConfigMap", "", "v1", "configmaps", True, "actions, tiers and plugins", settings=True),
    ResourceKind("Deployment", "apps", "v1", "deployments", True, "the scheduler's command line flags", settings=True),
)

_WORKLOADS = (
    ("RayCluster", "ray.io", "v1", "rayclusters"),
    ("RayJob", "ray.io", "v1", "rayjobs"),
    ("SparkApplication", "sparkoperator.k8s.io", "v1beta2", "sparkapplications"),
    ("PyTorchJob", "kubeflow.org", "v1", "pytorchjobs"),
    ("TFJob", "kubeflow.org", "v1", "tfjobs"),
    ("MPIJob", "kubeflow.org", "v2beta1", "mpijobs"),
    ("TrainJob", "trainer.kubeflow.org", "v1alpha1", "trainjobs"),
    ("FlinkDeployment", "flink.apache.org", "v1beta1", "flinkdeployments"),
    ("Job", "batch", "v1", "jobs"),
)
WORKLOAD_KINDS: tuple[ResourceKind, ...] = tuple(
    ResourceKind(*each, True, "nothing; answers know less about their pods", is_read=False) for each in _WORKLOADS
)
"""Kinds whose objects own PodGroups or pods; a snapshot keeps only WorkloadFacts of them."""

_SHORT_NAMES = {
    "no": "Node",
    "po": "Pod",
    "pg": "PodGroup",
    "q": "Queue",
    "ns": "Namespace",
    "pc": "PriorityClass",
    "quota": "ResourceQuota",
    "pdb": "PodDisruptionBudget",
    "hn": "HyperNode",
    "sc": "StorageClass",
    "pv": "PersistentVolume",
    "pvc": "PersistentVolumeClaim",
    "svc": "Service",
    "rc": "ReplicationController",
    "rs": "ReplicaSet",
    "sts": "StatefulSet",
    "deploy": "Deployment",
    "cm": "ConfigMap",
    "jf": "JobFlow",
    "vcjob": "Job",
    "vj": "Job",
}
KIND_BY_WORD: dict[str, str] = _SHORT_NAMES | {
    word.lower(): kind.name for kind in (*KINDS, *WORKLOAD_KINDS) for word in (kind.name, kind.plural)
}
"""Lower-case word for a kind, as kubectl takes it (`pods`, `po`), → the kind's name."""

KIND_BY_NAME: dict[str, ResourceKind] = {kind.name: kind for kind in KINDS}
# Not Job: the Job of a CronJob shares its name with Volcano's, which a snapshot keeps as an object.
WORKLOAD_NAMES = tuple(kind.name for kind in WORKLOAD_KINDS if kind.name not in KIND_BY_NAME)


def find_kind(name: str, api_version: str) -> ResourceKind | None:
    """The row for a manifest's kind and apiVersion; a missing apiVersion matches any group."""
    kind = KIND_BY_NAME.get(name)
    if kind is None or not api_version:
        return kind
    group = api_version.rpartition("/")[0]
    return kind if group == kind.group else None
