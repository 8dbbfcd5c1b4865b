"""Changes of what a node is worth and whether it fits: predicates, nodeorder, and the Kubernetes library behind them.

Upstream: plugins/predicates, plugins/nodeorder, capabilities, k8s framework plugins.
"""

from vcdebug.releases.change import Change

BALANCED_ALLOCATION_ABSOLUTE = Change(
    "balanced-allocation-absolute",
    "The balanced score is the final balance of the node, 0 to 100; not how much the pod improves it.",
    "the best node, in every configuration with nodeorder",
    "v1.16; #5287; H",
)
NODEORDER_POD_LEVEL_REQUESTS = Change(
    "nodeorder-pod-level-requests",
    "The balanced score does not see the pod-level requests of the pod that is placed.",
    "the best node of pods with pod-level requests",
    "v1.16; #5287; M",
)
IMAGE_VOLUME_SCORE = Change(
    "image-volume-score",
    "Images of volumes do not count for image locality.",
    "the best node of pods with image volumes",
    "v1.16; #5287; L",
)
DRA_SCORE = Change(
    "dra-score",
    "Resource claims are not scored: predicates gives each candidate 0, and a task that it never saw keeps its scores.",
    "the best node, where predicates is listed with enablePredicate: false",
    "v1.16; #5728; M",
)
PRESCORE_WRAPPING = Change(
    "prescore-wrapping",
    "A PreScore error names no plugin.",
    "what a trace shows",
    "v1.16; #5728; T",
    replayed=False,
    unshown="PreScore fails only with the gate StorageCapacityScoring, which is off in every release.",
)
VOLUMEBINDING_CAPACITY = Change(
    "volumebinding-capacity",
    "CSIStorageCapacity is looked at only with --csi-storage and the gate CSIStorage, both off by default.",
    "feasible nodes of pods whose volumes are provisioned on demand",
    "v1.16; #5287; M",
)
PORTWORX_MIGRATION_ANNOTATION = Change(
    "portworx-migration-annotation",
    "Portworx volumes count as CSI volumes only where the CSINode says that they are migrated.",
    "volume limits of nodes with in-tree Portworx volumes",
    "v1.16; #5287; L",
)
CSI_LIMIT_KEY = Change(
    "csi-limit-key",
    "A CSI driver's limit is named as Kubernetes once did: `/` is kept, and a long driver name is shortened by a hash.",
    "the name of the dimension in messages; limits of drivers with very long names",
    "v1.16; #5287; L",
)
DRA_TIMEOUT_CODE = Change(
    "dra-timeout-code",
    "A search for devices that takes too long makes the node unresolvable; it is no error.",
    "which nodes preempt and reclaim look at",
    "v1.16; #5287; L",
    replayed=False,
    unshown="A replay has no clock: no search takes too long.",
)
FEATURE_GATES_1_35 = Change(
    "feature-gate-ceiling-1.35",
    "Kubernetes' feature gates have at most the defaults of 1.35, whatever the server's version.",
    "quotas for claims, extended resources by device class",
    "v1.16; #5287; M",
)
FEATURE_GATES_1_34 = Change(
    "feature-gate-ceiling-1.34",
    "Kubernetes' feature gates have at most the defaults of 1.34, whatever the server's version.",
    "features of Kubernetes 1.35",
    "v1.15.0; k8s 1.34.1; M",
    unshown="Kubernetes 1.35 switches no gate on that a rule of the scheduler reads.",
)
FEATURE_GATES_1_33 = Change(
    "feature-gate-ceiling-1.33",
    "Kubernetes' feature gates have the defaults of 1.33, whatever the server's version.",
    "features of Kubernetes 1.34",
    "v1.14.0; k8s 1.33.2; M",
)
SIDECAR_HOST_PORTS = Change(
    "sidecar-host-ports",
    "Host ports of sidecars are neither asked for nor taken.",
    "feasible nodes of pods beside sidecars with host ports",
    "v1.14.0; k8s 1.33.2; M",
)
RESIZE_OF_NOTHING = Change(
    "resize-of-nothing",
    "A container that states no requests and whose status has some ends the process.",
    "the scheduler's process ends",
    "v1.14.0; k8s 1.33.2; L",
    replayed=False,
    unshown="No kubelet gives requests to a container that states none: a resize may not add the first one.",
)
DEVICE_FEATURES_1_33 = Change(
    "dra-1.33",
    "Of the features of resource claims only administrators' access is known, whatever the gates: a request with "
    "alternatives is refused.",
    "feasible nodes of pods with resource claims",
    "v1.14.0; k8s 1.33.2; M",
)
NODEORDER_WEIGHT_ZERO = Change(
    "nodeorder-weight-zero",
    "Pod affinity, taints and soft spread are asked even where they count nothing: an error there voids the others.",
    "the best node of pods with affinity or spread that cannot be read, where its weight is 0",
    "v1.14.0; #4983; L",
)
FEATURE_GATES_1_32 = Change(
    "feature-gate-ceiling-1.32",
    "Kubernetes' feature gates have the defaults of 1.32, whatever the server's version.",
    "requests of pods that are being resized in place",
    "v1.13.0; k8s 1.32.2; M",
)
FEATURE_GATES_1_31 = Change(
    "feature-gate-ceiling-1.31",
    "Kubernetes' feature gates have the defaults of 1.31, whatever the server's version.",
    "features of Kubernetes 1.32",
    "v1.12.0; k8s 1.31.3; L",
    unshown="Kubernetes 1.32 switches no gate on that a rule of the scheduler reads.",
)
SIDECARS_AS_INIT = Change(
    "sidecars-as-init",
    "Where a node's pods are counted with defaults for what they do not request, sidecars are init containers.",
    "the best node, beside pods with sidecars",
    "v1.12.0; k8s 1.31.3; M",
)
CSI_LIMITS_OF_NODES = Change(
    "csi-limits-of-nodes",
    "A limit of CSI volumes that a node's allocatable amounts state counts where its CSINode states none.",
    "feasible nodes of pods with CSI volumes",
    "v1.12.0; k8s 1.31.3; L",
    replayed=False,
    unshown="A task that needs more than the node states is refused before the filters.",
)
DRA_ABSENT = Change(
    "dra-absent",
    "Resource claims are not looked at, whatever the configuration says.",
    "feasible nodes of pods with resource claims",
    "v1.12.0; #3799; M",
)
HOSTNAME_SPREAD_COUNTS = Change(
    "hostname-spread-counts",
    "Soft spread over hosts counts the pods of a node, although scorers are asked node by node.",
    "the best node of pods with soft spread over kubernetes.io/hostname",
    "v1.13.0; k8s 1.32.2; M",
)
BALANCED_BEST_EFFORT = Change(
    "balanced-best-effort",
    "A pod that requests nothing is scored by the balance of nodes like any other.",
    "the best node of pods without requests",
    "v1.13.0; k8s 1.32.2; L",
)
SPREAD_CONSTRAINTS_SHARE_KEY = Change(
    "spread-constraints-share-key",
    "Spread constraints over the same topology key share their counts.",
    "feasible nodes of pods with two hard constraints over one key",
    "v1.13.0; k8s 1.32.2; L",
    replayed=False,
    unshown="An API server refuses pods with two constraints alike over one key.",
)
STORAGE_SCORING_OLD = Change(
    "storage-scoring-old",
    "Volumes are scored with the gate VolumeCapacityPriority, the fuller the better.",
    "the best node of pods with volumes",
    "v1.13.0; k8s 1.32.2; L",
    replayed=False,
    unshown="The gate is off in every release.",
)
VOLUME_AFFINITY_TEXT = Change(
    "volume-affinity-text",
    "A volume that does not reach a node is said to conflict with its affinity.",
    "messages",
    "v1.13.0; k8s 1.32.2; T",
)
VOLUME_ATTACHMENTS_UNREAD = Change(
    "volume-attachments-unread",
    "Volumes that are attached to a node and used by no pod there do not count for its limits.",
    "feasible nodes of pods with CSI volumes",
    "v1.13.0 v1.12.3; 2e96f0788; M",
)
BEST_ABOVE_MINUS_ONE = Change(
    "best-above-minus-one",
    "Scores of -1 and less win nothing: where all are, a task has no best node and a job no best HyperNode.",
    "tasks that fit several nodes, where plugins score below 0",
    "v1.13.0 v1.12.2; 2f2edcac5; M",
)
METRICS_UNREGISTERED = Change(
    "metrics-unregistered",
    "nodeorder ends the process where predicates is not configured, or its enablePredicate is off.",
    "the scheduler's process ends",
    "v1.13.0 v1.12.2; 981e18b26; L",
    since="v1.12.0",
)
PROPORTIONAL_PREDICATE = Change(
    "proportional-predicate",
    "predicates keeps cpu and memory idle in proportion to idle accelerators; there is no resource-strategy-fit.",
    "feasible nodes with predicate.ProportionalEnable, scores with resource-strategy-fit",
    "v1.13.0; #4430; M",
)
TAINT_TEXT = Change(
    "taint-text",
    "The text about taints names the first one that is not tolerated.",
    "messages, which have one entry per taint",
    "v1.15.0; k8s 1.34.1; T",
)
NODEORDER_TWO_KINDS = Change(
    "nodeorder-two-kinds",
    "Resource scores and node affinity are asked node by node and not normalised; soft spread over hosts sees no pods.",
    "the best node of pods with preferred node affinity or soft spread over hosts",
    "v1.15.1; #5497; H",
)
PREDICATES_BATCH_ALL_NODES = Change(
    "predicates-batch-all-nodes",
    "The batch score of predicates names every node of the session, each with 0.",
    "what a trace shows",
    "v1.15.1; #5497; T",
    since="v1.14.0",
)
PREFILTER_REGISTRATIONS = Change(
    "prefilter-registrations",
    "NodeAffinity, NodeVolumeLimits and VolumeZone have no PreFilter: what fails there fails node by node.",
    "texts of pods with missing volumes or conflicting node names; where preempt may look",
    "v1.15.1 v1.14.4; #5505; L",
)
STABLE_SKIP = Change(
    "stable-skip",
    "The filters that depend on the node alone run although PreFilter skipped them.",
    "nothing",
    "v1.15.1; #5542; T",
    replayed=False,
    unshown="What PreFilter skips has nothing to refuse.",
)
DRA_PREDICATE_SWITCH = Change(
    "dra-predicate-switch",
    "Resource claims are looked at only with predicate.DynamicResourceAllocationEnable: true.",
    "feasible nodes of pods with resource claims",
    "v1.15.0; #5198; M",
)
RESERVE_FAILURE_CONTINUES = Change(
    "reserve-failure-continues",
    "A refused reservation is an error, and yet the pod enters predicates' view of the node; a discarded eviction "
    "restores it there.",
    "host ports, pod affinity, spread and pod count of later tasks on that node",
    "v1.15.0; #5116; H",
)
POD_AFFINITY_UNRESOLVABLE = Change(
    "pod-affinity-unresolvable",
    "No eviction is thought to help where affinity between pods keeps a pod off a node; filters behind are not run.",
    "where preempt and reclaim look for victims; the reasons of such nodes",
    "v1.13.0; #4279; H",
)
SIMULATE_WITHOUT_DEVICES = Change(
    "simulate-without-devices",
    "Topology-aware preemption does not ask about devices in its dry run.",
    "who is evicted for a task that wants GPUs",
    "v1.15.0; #5235; M",
)
PREDICATE_ORDER = Change(
    "predicate-order",
    "Filters and reservations run in the order of a Go map, which changes from run to run; replayed by name.",
    "which of several reasons a node shows",
    "v1.15.0 v1.14.2; #5259; L",
    since="v1.14.0",
)
IMAGE_STATES = Change(
    "image-states",
    "Images on nodes are not known to the scorers: image locality is 0.",
    "the best node of pods whose image lies on some nodes only",
    "v1.15.0 v1.14.3; da013e545; M",
    since="v1.14.0",
)
SUBJOB_GRADIENT_SHORTCUT = Change(
    "subjob-gradient-shortcut",
    "A job without sub groups is tried in its hypernode as a whole; nothing narrows it to a lower one.",
    "hypernodes of jobs with hard topology",
    "v1.15.0; #5250; M",
)
USAGE_SHADOW_LOAD = Change(
    "usage-shadow-load",
    "The plugin usage knows measured load only: pods placed since the measurement count nothing, and no argument has "
    "a range.",
    "the best node, and which nodes are too busy",
    "v1.16; #5314; M",
)
NODEGROUP_RESOURCE_LIMITS = Change(
    "nodegroup-resource-limits",
    "Queues have no limits per node group.",
    "feasible nodes of queues with the annotation volcano.sh/nodegroup-resource-limits",
    "v1.16; #5461; M",
)
NODEGROUP_PREFERRED_ORDER = Change(
    "nodegroup-preferred-order",
    "All preferred node groups are worth the same; there is no enablePreferredOrder.",
    "the best node of queues with several preferred groups",
    "v1.15.0; #5110; M",
)
NODEGROUP_BY_POD_LABEL = Change(
    "nodegroup-by-pod-label",
    "nodegroup takes the queue from the pod's label or annotation: a pod without one fits everywhere, one whose queue "
    "has no affinity nowhere; there are neither strict nor inherited affinities.",
    "feasible nodes in every configuration with nodegroup",
    "v1.13.0; #4455; H",
)
NODEGROUP_NIL_ATTR = Change(
    "nodegroup-nil-attr",
    "A task whose job or queue is not known panics the plugin nodegroup.",
    "the scheduler's process ends",
    "v1.15.0; #4982; L",
    replayed=False,
    unshown="Actions hand plugins only tasks of jobs and queues that are in the session.",
)

CHANGES = tuple(value for value in globals().values() if isinstance(value, Change))
