"""Changes about filtering and scoring nodes: predicates, nodeorder, and the Kubernetes library that they use.

Upstream: plugins/predicates, plugins/nodeorder, capabilities, k8s framework plugins.
"""

from vcdebug.releases.change import Change, name_changes

BALANCED_ALLOCATION_ABSOLUTE = Change.from_text("""v1.16; #5287; H
    The balanced score is the resulting balance of the node (0 to 100), not the improvement by the pod.
    decides: the best node, in every configuration with nodeorder""")
NODEORDER_POD_LEVEL_REQUESTS = Change.from_text("""v1.16; #5287; M
    The balanced score ignores the pod-level requests of the pod.
    decides: the best node of pods with pod-level requests""")
IMAGE_VOLUME_SCORE = Change.from_text("""v1.16; #5287; L
    Images of volumes do not count for image locality.
    decides: the best node of pods with image volumes""")
DRA_SCORE = Change.from_text("""v1.16; #5728; M
    Resource claims are not scored: predicates gives each candidate 0, and a task without a PreFilter result keeps
    its scores.
    decides: the best node, where predicates is listed with enablePredicate: false""")
PRESCORE_WRAPPING = Change.from_text("""v1.16; #5728; T
    A PreScore error names no plugin.
    decides: trace output
    not replayed: PreScore fails only with the gate StorageCapacityScoring, which is off in every release.""")
VOLUMEBINDING_CAPACITY = Change.from_text("""v1.16; #5287; M
    CSIStorageCapacity is checked only with --csi-storage and the gate CSIStorage, both off by default.
    decides: feasible nodes of pods with volumes provisioned on demand""")
PORTWORX_MIGRATION_ANNOTATION = Change.from_text("""v1.16; #5287; L
    Portworx volumes count as CSI volumes only if the CSINode lists them as migrated.
    decides: volume limits of nodes with in-tree Portworx volumes""")
CSI_LIMIT_KEY = Change.from_text("""v1.16; #5287; L
    A CSI driver's limit has the old Kubernetes name: with `/`, and with a hash for a long driver name.
    decides: the resource name in messages; limits of drivers with long names""")
DRA_TIMEOUT_CODE = Change.from_text("""v1.16; #5287; L
    A device search that times out makes the node unresolvable and is not an error.
    decides: nodes that preempt and reclaim check
    not replayed: A replay has no clock: no search times out.""")
FEATURE_GATES_1_35 = Change.from_text("""v1.16; #5287; M
    Kubernetes' feature gates have at most the defaults of 1.35, whatever the server's version.
    decides: quotas for claims, extended resources by device class
    id: feature-gate-ceiling-1.35""")
FEATURE_GATES_1_34 = Change.from_text("""v1.15.0; k8s 1.34.1; M
    Kubernetes' feature gates have at most the defaults of 1.34, whatever the server's version.
    decides: features of Kubernetes 1.35
    not shown: Kubernetes 1.35 enables no gate that a rule of the scheduler reads.
    id: feature-gate-ceiling-1.34""")
FEATURE_GATES_1_33 = Change.from_text("""v1.14.0; k8s 1.33.2; M
    Kubernetes' feature gates have the defaults of 1.33, whatever the server's version.
    decides: features of Kubernetes 1.34
    id: feature-gate-ceiling-1.33""")
SIDECAR_HOST_PORTS = Change.from_text("""v1.14.0; k8s 1.33.2; M
    Host ports of sidecars are neither required nor reserved.
    decides: feasible nodes of pods next to sidecars with host ports""")
RESIZE_OF_NOTHING = Change.from_text("""v1.14.0; k8s 1.33.2; L
    A container without requests in the spec but with requests in the status causes a panic.
    decides: scheduler panic
    not replayed: No kubelet adds requests to a container without any: a resize cannot add the first one.""")
DEVICE_FEATURES_1_33 = Change.from_text("""v1.14.0; k8s 1.33.2; M
    The only supported feature of resource claims is adminAccess, whatever the gates: a request with alternatives is
    rejected.
    decides: feasible nodes of pods with resource claims
    id: dra-1.33""")
NODEORDER_WEIGHT_ZERO = Change.from_text("""v1.14.0; #4983; L
    Pod affinity, taints and soft spread are evaluated even with weight 0: their errors discard the other scores.
    decides: the best node of pods with invalid affinity or spread of weight 0""")
FEATURE_GATES_1_32 = Change.from_text("""v1.13.0; k8s 1.32.2; M
    Kubernetes' feature gates have the defaults of 1.32, whatever the server's version.
    decides: requests of pods that are being resized in place
    id: feature-gate-ceiling-1.32""")
FEATURE_GATES_1_31 = Change.from_text("""v1.12.0; k8s 1.31.3; L
    Kubernetes' feature gates have the defaults of 1.31, whatever the server's version.
    decides: features of Kubernetes 1.32
    not shown: Kubernetes 1.32 switches no gate on that a rule of the scheduler reads.
    id: feature-gate-ceiling-1.31""")
SIDECARS_AS_INIT = Change.from_text("""v1.12.0; k8s 1.31.3; M
    Where a node's pods are counted with defaults for what they do not request, sidecars are init containers.
    decides: the best node, next to pods with sidecars""")
CSI_LIMITS_OF_NODES = Change.from_text("""v1.12.0; k8s 1.31.3; L
    A limit of CSI volumes that a node's allocatable amounts state counts where its CSINode states none.
    decides: feasible nodes of pods with CSI volumes
    not replayed: A task that needs more than the node states is refused before the filters.""")
DRA_ABSENT = Change.from_text("""v1.12.0; #3799; M
    Resource claims are not checked, whatever the configuration says.
    decides: feasible nodes of pods with resource claims""")
HOSTNAME_SPREAD_COUNTS = Change.from_text("""v1.13.0; k8s 1.32.2; M
    Soft spread over hosts counts the pods of a node, although scorers run node by node.
    decides: the best node of pods with soft spread over kubernetes.io/hostname""")
BALANCED_BEST_EFFORT = Change.from_text("""v1.13.0; k8s 1.32.2; L
    A pod without requests is scored by the balance of nodes, as any other.
    decides: the best node of pods without requests""")
SPREAD_CONSTRAINTS_SHARE_KEY = Change.from_text("""v1.13.0; k8s 1.32.2; L
    Spread constraints over the same topology key share their counts.
    decides: feasible nodes of pods with two hard constraints over one key
    not replayed: An API server rejects pods with two identical constraints over one key.""")
STORAGE_SCORING_OLD = Change.from_text("""v1.13.0; k8s 1.32.2; L
    Volumes are scored with the gate VolumeCapacityPriority, the fuller the better.
    decides: the best node of pods with volumes
    not replayed: The gate is off in every release.""")
VOLUME_AFFINITY_TEXT = Change.from_text("""v1.13.0; k8s 1.32.2; T
    The message for a volume that is not reachable from a node is about a node affinity conflict.
    decides: messages""")
VOLUME_ATTACHMENTS_UNREAD = Change.from_text("""v1.13.0 v1.12.3; 2e96f0788; M
    Volumes that are attached to a node without a pod that uses them do not count for its limits.
    decides: feasible nodes of pods with CSI volumes""")
BEST_ABOVE_MINUS_ONE = Change.from_text("""v1.13.0 v1.12.2; 2f2edcac5; M
    Scores of -1 and less never win: if all are negative, a task has no best node and a job no best HyperNode.
    decides: tasks that fit several nodes, where plugins score below 0""")
METRICS_UNREGISTERED = Change.from_text("""v1.13.0 v1.12.2; 981e18b26; L
    nodeorder panics if predicates is not configured, or its enablePredicate is off.
    decides: scheduler panic
    since: v1.12.0""")
PROPORTIONAL_PREDICATE = Change.from_text("""v1.13.0; #4430; M
    predicates reserves cpu and memory in proportion to idle accelerators; resource-strategy-fit does not exist.
    decides: feasible nodes with predicate.ProportionalEnable, scores with resource-strategy-fit""")
TAINT_TEXT = Change.from_text("""v1.15.0; k8s 1.34.1; T
    The message about taints names the first untolerated taint.
    decides: messages, which have one entry per taint""")
NODEORDER_TWO_KINDS = Change.from_text("""v1.15.1; #5497; H
    Resource scores and node affinity run node by node and are not normalized; soft spread over hosts sees no pods.
    decides: the best node of pods with preferred node affinity or soft spread over hosts""")
PREDICATES_BATCH_ALL_NODES = Change.from_text("""v1.15.1; #5497; T
    The batch score of predicates names every node of the session, each with 0.
    decides: trace output
    since: v1.14.0""")
PREFILTER_REGISTRATIONS = Change.from_text("""v1.15.1 v1.14.4; #5505; L
    NodeAffinity, NodeVolumeLimits and VolumeZone have no PreFilter: their checks fail node by node.
    decides: messages of pods with missing volumes or conflicting node names; nodes that preempt checks""")
STABLE_SKIP = Change.from_text("""v1.15.1; #5542; T
    Filters that depend only on the node run although PreFilter skipped them.
    decides: nothing
    not replayed: Filters that PreFilter skips never reject.""")
DRA_PREDICATE_SWITCH = Change.from_text("""v1.15.0; #5198; M
    Resource claims are checked only with predicate.DynamicResourceAllocationEnable: true.
    decides: feasible nodes of pods with resource claims""")
RESERVE_FAILURE_CONTINUES = Change.from_text("""v1.15.0; #5116; H
    A rejected Reserve is an error, but predicates still adds the pod to its view of the node; a discarded eviction
    restores it there.
    decides: host ports, pod affinity, spread and pod count of later tasks on that node""")
POD_AFFINITY_UNRESOLVABLE = Change.from_text("""v1.13.0; #4279; H
    Nodes that inter-pod affinity rejects are treated as not helped by evictions; later filters do not run.
    decides: nodes on which preempt and reclaim search for victims; the reasons of such nodes
    since: v1.10.1""")
SIMULATE_WITHOUT_DEVICES = Change.from_text("""v1.15.0; #5235; M
    Topology-aware preemption ignores devices in its dry run.
    decides: which pods are evicted for a task with GPUs""")
PREDICATE_ORDER = Change.from_text("""v1.15.0 v1.14.2; #5259; L
    Filters and Reserve run in Go map order, which changes from run to run; replayed by name.
    decides: which of several reasons a node shows
    since: v1.14.0""")
IMAGE_STATES = Change.from_text("""v1.15.0 v1.14.3; da013e545; M
    Scorers do not know the images on nodes: image locality is 0.
    decides: the best node of pods with an image on some nodes only
    since: v1.14.0""")
SUBJOB_GRADIENT_SHORTCUT = Change.from_text("""v1.15.0; #5250; M
    A job without sub groups is tried in its HyperNode as a whole; it is never narrowed to a lower one.
    decides: HyperNodes of jobs with hard topology""")
USAGE_SHADOW_LOAD = Change.from_text("""v1.16; #5314; M
    Plugin usage knows only measured load: pods placed since the measurement do not count, and arguments have no
    valid range.
    decides: the best node, and which nodes are too busy""")
NODEGROUP_RESOURCE_LIMITS = Change.from_text("""v1.16; #5461; M
    Queues have no limits per node group.
    decides: feasible nodes of queues with the annotation volcano.sh/nodegroup-resource-limits""")
NODEGROUP_PREFERRED_ORDER = Change.from_text("""v1.15.0; #5110; M
    All preferred node groups have the same score; enablePreferredOrder does not exist.
    decides: the best node of queues with several preferred groups""")
NODEGROUP_BY_POD_LABEL = Change.from_text("""v1.13.0; #4455; H
    nodegroup reads the queue from the pod's label or annotation: a pod without one fits every node, a pod of a
    queue without affinity none; strict and inherited affinities do not exist.
    decides: feasible nodes in every configuration with nodegroup""")
NODEGROUP_NIL_ATTR = Change.from_text("""v1.15.0; #4982; L
    nodegroup panics for a task with unknown job or queue.
    decides: scheduler panic
    not replayed: Actions pass only tasks of jobs and queues in the session to plugins.""")
FEATURE_GATES_1_30 = Change.from_text("""v1.11.0; k8s 1.30.2; L
    Kubernetes' feature gates have the defaults of 1.30, whatever the server's version.
    decides: volume limits of nodes with in-tree Portworx volumes
    id: feature-gate-ceiling-1.30""")
NODE_NOT_READY_ABSENT = Change.from_text("""v1.11.0; #3756; H
    A node that is not ready does not exist: neither what it has nor the pods on it count, whatever pods tolerate.
    decides: total resources, shares, and pods that tolerate nodes that are not ready""")
NODEGROUP_ENDS_PREDICATES = Change.from_text("""v1.11.0; #3886; H
    A node that nodegroup accepts is accepted: plugins listed behind it are not asked.
    decides: feasible nodes where nodegroup is not the last that checks nodes""")
VOLUME_ATTRIBUTES_UNREAD = Change.from_text("""v1.11.0; k8s 1.30.2; L
    A claim is bound to a volume whatever their volumeAttributesClassName.
    decides: which volume a claim gets, and which nodes have one""")
FILTERS_END_AT_FIRST = Change.from_text("""v1.11.0 v1.10.1; 26ead3347; M
    The first filter of predicates that rejects a node ends the check. The maximum number of pods alone rejects
    none.
    decides: pods without requests on nodes with their maximum number of pods; reasons of nodes""")

CHANGES = name_changes(globals())
