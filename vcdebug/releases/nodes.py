"""Changes about filtering and scoring nodes: predicates, nodeorder, and the Kubernetes library that they use.

Upstream: plugins/predicates, plugins/nodeorder, capabilities, k8s framework plugins.
"""

from vcdebug.releases.change import Change, name_changes

BALANCED_ALLOCATION_ABSOLUTE = Change(
    "The balanced score is the resulting balance of the node (0 to 100), not the improvement by the pod.",
    "the best node, in every configuration with nodeorder",
    "v1.16; #5287; H",
)
NODEORDER_POD_LEVEL_REQUESTS = Change(
    "The balanced score ignores the pod-level requests of the pod.",
    "the best node of pods with pod-level requests",
    "v1.16; #5287; M",
)
IMAGE_VOLUME_SCORE = Change(
    "Images of volumes do not count for image locality.",
    "the best node of pods with image volumes",
    "v1.16; #5287; L",
)
DRA_SCORE = Change(
    "Resource claims are not scored: predicates gives each candidate 0, and a task without a PreFilter "
    "result keeps its scores.",
    "the best node, where predicates is listed with enablePredicate: false",
    "v1.16; #5728; M",
)
PRESCORE_WRAPPING = Change(
    "A PreScore error names no plugin.",
    "trace output",
    "v1.16; #5728; T",
    replayed=False,
    unshown_reason="PreScore fails only with the gate StorageCapacityScoring, which is off in every release.",
)
VOLUMEBINDING_CAPACITY = Change(
    "CSIStorageCapacity is checked only with --csi-storage and the gate CSIStorage, both off by default.",
    "feasible nodes of pods with volumes provisioned on demand",
    "v1.16; #5287; M",
)
PORTWORX_MIGRATION_ANNOTATION = Change(
    "Portworx volumes count as CSI volumes only if the CSINode lists them as migrated.",
    "volume limits of nodes with in-tree Portworx volumes",
    "v1.16; #5287; L",
)
CSI_LIMIT_KEY = Change(
    "A CSI driver's limit has the old Kubernetes name: with `/`, and with a hash for a long driver name.",
    "the resource name in messages; limits of drivers with long names",
    "v1.16; #5287; L",
)
DRA_TIMEOUT_CODE = Change(
    "A device search that times out makes the node unresolvable and is not an error.",
    "nodes that preempt and reclaim check",
    "v1.16; #5287; L",
    replayed=False,
    unshown_reason="A replay has no clock: no search times out.",
)
FEATURE_GATES_1_35 = Change(
    "Kubernetes' feature gates have at most the defaults of 1.35, whatever the server's version.",
    "quotas for claims, extended resources by device class",
    "v1.16; #5287; M",
    id="feature-gate-ceiling-1.35",
)
FEATURE_GATES_1_34 = Change(
    "Kubernetes' feature gates have at most the defaults of 1.34, whatever the server's version.",
    "features of Kubernetes 1.35",
    "v1.15.0; k8s 1.34.1; M",
    unshown_reason="Kubernetes 1.35 enables no gate that a rule of the scheduler reads.",
    id="feature-gate-ceiling-1.34",
)
FEATURE_GATES_1_33 = Change(
    "Kubernetes' feature gates have the defaults of 1.33, whatever the server's version.",
    "features of Kubernetes 1.34",
    "v1.14.0; k8s 1.33.2; M",
    id="feature-gate-ceiling-1.33",
)
SIDECAR_HOST_PORTS = Change(
    "Host ports of sidecars are neither required nor reserved.",
    "feasible nodes of pods next to sidecars with host ports",
    "v1.14.0; k8s 1.33.2; M",
)
RESIZE_OF_NOTHING = Change(
    "A container without requests in the spec but with requests in the status causes a panic.",
    "scheduler panic",
    "v1.14.0; k8s 1.33.2; L",
    replayed=False,
    unshown_reason="No kubelet adds requests to a container without any: a resize cannot add the first one.",
)
DEVICE_FEATURES_1_33 = Change(
    "The only supported feature of resource claims is adminAccess, whatever the gates: a request with "
    "alternatives is rejected.",
    "feasible nodes of pods with resource claims",
    "v1.14.0; k8s 1.33.2; M",
    id="dra-1.33",
)
NODEORDER_WEIGHT_ZERO = Change(
    "Pod affinity, taints and soft spread are evaluated even with weight 0: their errors discard the other scores.",
    "the best node of pods with invalid affinity or spread of weight 0",
    "v1.14.0; #4983; L",
)
FEATURE_GATES_1_32 = Change(
    "Kubernetes' feature gates have the defaults of 1.32, whatever the server's version.",
    "requests of pods that are being resized in place",
    "v1.13.0; k8s 1.32.2; M",
    id="feature-gate-ceiling-1.32",
)
FEATURE_GATES_1_31 = Change(
    "Kubernetes' feature gates have the defaults of 1.31, whatever the server's version.",
    "features of Kubernetes 1.32",
    "v1.12.0; k8s 1.31.3; L",
    unshown_reason="Kubernetes 1.32 switches no gate on that a rule of the scheduler reads.",
    id="feature-gate-ceiling-1.31",
)
SIDECARS_AS_INIT = Change(
    "Where a node's pods are counted with defaults for what they do not request, sidecars are init containers.",
    "the best node, next to pods with sidecars",
    "v1.12.0; k8s 1.31.3; M",
)
CSI_LIMITS_OF_NODES = Change(
    "A limit of CSI volumes that a node's allocatable amounts state counts where its CSINode states none.",
    "feasible nodes of pods with CSI volumes",
    "v1.12.0; k8s 1.31.3; L",
    replayed=False,
    unshown_reason="A task that needs more than the node states is refused before the filters.",
)
DRA_ABSENT = Change(
    "Resource claims are not checked, whatever the configuration says.",
    "feasible nodes of pods with resource claims",
    "v1.12.0; #3799; M",
)
HOSTNAME_SPREAD_COUNTS = Change(
    "Soft spread over hosts counts the pods of a node, although scorers run node by node.",
    "the best node of pods with soft spread over kubernetes.io/hostname",
    "v1.13.0; k8s 1.32.2; M",
)
BALANCED_BEST_EFFORT = Change(
    "A pod without requests is scored by the balance of nodes, as any other.",
    "the best node of pods without requests",
    "v1.13.0; k8s 1.32.2; L",
)
SPREAD_CONSTRAINTS_SHARE_KEY = Change(
    "Spread constraints over the same topology key share their counts.",
    "feasible nodes of pods with two hard constraints over one key",
    "v1.13.0; k8s 1.32.2; L",
    replayed=False,
    unshown_reason="An API server rejects pods with two identical constraints over one key.",
)
STORAGE_SCORING_OLD = Change(
    "Volumes are scored with the gate VolumeCapacityPriority, the fuller the better.",
    "the best node of pods with volumes",
    "v1.13.0; k8s 1.32.2; L",
    replayed=False,
    unshown_reason="The gate is off in every release.",
)
VOLUME_AFFINITY_TEXT = Change(
    "The message for a volume that is not reachable from a node is about a node affinity conflict.",
    "messages",
    "v1.13.0; k8s 1.32.2; T",
)
VOLUME_ATTACHMENTS_UNREAD = Change(
    "Volumes that are attached to a node without a pod that uses them do not count for its limits.",
    "feasible nodes of pods with CSI volumes",
    "v1.13.0 v1.12.3; 2e96f0788; M",
)
BEST_ABOVE_MINUS_ONE = Change(
    "Scores of -1 and less never win: if all are negative, a task has no best node and a job no best HyperNode.",
    "tasks that fit several nodes, where plugins score below 0",
    "v1.13.0 v1.12.2; 2f2edcac5; M",
)
METRICS_UNREGISTERED = Change(
    "nodeorder panics if predicates is not configured, or its enablePredicate is off.",
    "scheduler panic",
    "v1.13.0 v1.12.2; 981e18b26; L",
    first_older_tag="v1.12.0",
)
PROPORTIONAL_PREDICATE = Change(
    "predicates reserves cpu and memory in proportion to idle accelerators; resource-strategy-fit does not exist.",
    "feasible nodes with predicate.ProportionalEnable, scores with resource-strategy-fit",
    "v1.13.0; #4430; M",
)
TAINT_TEXT = Change(
    "The message about taints names the first untolerated taint.",
    "messages, which have one entry per taint",
    "v1.15.0; k8s 1.34.1; T",
)
NODEORDER_TWO_KINDS = Change(
    "Resource scores and node affinity run node by node and are not normalized; soft spread over hosts sees no pods.",
    "the best node of pods with preferred node affinity or soft spread over hosts",
    "v1.15.1; #5497; H",
)
PREDICATES_BATCH_ALL_NODES = Change(
    "The batch score of predicates names every node of the session, each with 0.",
    "trace output",
    "v1.15.1; #5497; T",
    first_older_tag="v1.14.0",
)
PREFILTER_REGISTRATIONS = Change(
    "NodeAffinity, NodeVolumeLimits and VolumeZone have no PreFilter: their checks fail node by node.",
    "messages of pods with missing volumes or conflicting node names; nodes that preempt checks",
    "v1.15.1 v1.14.4; #5505; L",
)
STABLE_SKIP = Change(
    "Filters that depend only on the node run although PreFilter skipped them.",
    "nothing",
    "v1.15.1; #5542; T",
    replayed=False,
    unshown_reason="Filters that PreFilter skips never reject.",
)
DRA_PREDICATE_SWITCH = Change(
    "Resource claims are checked only with predicate.DynamicResourceAllocationEnable: true.",
    "feasible nodes of pods with resource claims",
    "v1.15.0; #5198; M",
)
RESERVE_FAILURE_CONTINUES = Change(
    "A rejected Reserve is an error, but predicates still adds the pod to its view of the node; a "
    "discarded eviction restores it there.",
    "host ports, pod affinity, spread and pod count of later tasks on that node",
    "v1.15.0; #5116; H",
)
POD_AFFINITY_UNRESOLVABLE = Change(
    "Nodes that inter-pod affinity rejects are treated as not helped by evictions; later filters do not run.",
    "nodes on which preempt and reclaim search for victims; the reasons of such nodes",
    "v1.13.0; #4279; H",
    first_older_tag="v1.10.1",
)
SIMULATE_WITHOUT_DEVICES = Change(
    "Topology-aware preemption ignores devices in its dry run.",
    "which pods are evicted for a task with GPUs",
    "v1.15.0; #5235; M",
)
PREDICATE_ORDER = Change(
    "Filters and Reserve run in Go map order, which changes from run to run; replayed by name.",
    "which of several reasons a node shows",
    "v1.15.0 v1.14.2; #5259; L",
    first_older_tag="v1.14.0",
)
IMAGE_STATES = Change(
    "Scorers do not know the images on nodes: image locality is 0.",
    "the best node of pods with an image on some nodes only",
    "v1.15.0 v1.14.3; da013e545; M",
    first_older_tag="v1.14.0",
)
SUBJOB_GRADIENT_SHORTCUT = Change(
    "A job without sub groups is tried in its HyperNode as a whole; it is never narrowed to a lower one.",
    "HyperNodes of jobs with hard topology",
    "v1.15.0; #5250; M",
)
USAGE_SHADOW_LOAD = Change(
    "Plugin usage knows only measured load: pods placed since the measurement do not count, and "
    "arguments have no valid range.",
    "the best node, and which nodes are too busy",
    "v1.16; #5314; M",
)
NODEGROUP_RESOURCE_LIMITS = Change(
    "Queues have no limits per node group.",
    "feasible nodes of queues with the annotation volcano.sh/nodegroup-resource-limits",
    "v1.16; #5461; M",
)
NODEGROUP_PREFERRED_ORDER = Change(
    "All preferred node groups have the same score; enablePreferredOrder does not exist.",
    "the best node of queues with several preferred groups",
    "v1.15.0; #5110; M",
)
NODEGROUP_BY_POD_LABEL = Change(
    "nodegroup reads the queue from the pod's label or annotation: a pod without one fits every node, a "
    "pod of a queue without affinity none; strict and inherited affinities do not exist.",
    "feasible nodes in every configuration with nodegroup",
    "v1.13.0; #4455; H",
)
NODEGROUP_NIL_ATTR = Change(
    "nodegroup panics for a task with unknown job or queue.",
    "scheduler panic",
    "v1.15.0; #4982; L",
    replayed=False,
    unshown_reason="Actions pass only tasks of jobs and queues in the session to plugins.",
)
FEATURE_GATES_1_30 = Change(
    "Kubernetes' feature gates have the defaults of 1.30, whatever the server's version.",
    "volume limits of nodes with in-tree Portworx volumes",
    "v1.11.0; k8s 1.30.2; L",
    id="feature-gate-ceiling-1.30",
)
NODE_NOT_READY_ABSENT = Change(
    "A node that is not ready does not exist: neither what it has nor the pods on it count, whatever pods tolerate.",
    "total resources, shares, and pods that tolerate nodes that are not ready",
    "v1.11.0; #3756; H",
)
NODEGROUP_ENDS_PREDICATES = Change(
    "A node that nodegroup accepts is accepted: plugins listed behind it are not asked.",
    "feasible nodes where nodegroup is not the last that checks nodes",
    "v1.11.0; #3886; H",
)
VOLUME_ATTRIBUTES_UNREAD = Change(
    "A claim is bound to a volume whatever their volumeAttributesClassName.",
    "which volume a claim gets, and which nodes have one",
    "v1.11.0; k8s 1.30.2; L",
)
FILTERS_END_AT_FIRST = Change(
    "The first filter of predicates that rejects a node ends the check. The maximum number of pods alone rejects none.",
    "pods without requests on nodes with their maximum number of pods; reasons of nodes",
    "v1.11.0 v1.10.1; 26ead3347; M",
)

CHANGES = name_changes(globals())
