"""Changes about GPUs, NPUs and NUMA: the cards of a node, and when pods are charged for them.

Upstream: api/devices, plugins/deviceshare, plugins/numaaware.
"""

from vcdebug.releases.change import Change, name_changes

ASCEND = "Ascend cards of MindCluster are not replayed in any release."
MIG = (
    "Only dry runs remove pods from copied cards, and the effect on the original cards depends on how Go grows a slice."
)

NUMA_POD_LEVEL = Change(
    "Free cpusets are remembered per node from cycle to cycle, and spec.podAllocations is not read.",
    "NUMA placement over several cycles",
    "v1.16; #5504; M",
)
DEVICE_ANNOTATIONS_ON_POD = Change(
    "The chosen vGPU cards are written to the pod immediately, so rolling back a placement frees them.",
    "card availability for later tasks of the session",
    "v1.16; #5588; M",
)
VGPU_DUPLICATE_ALLOCATE = Change(
    "A pod that already names vGPU cards of the node gets no new cards.",
    "cards of a pod that is placed a second time",
    "v1.16; #5588; M",
    first_older_tag="v1.15.0",
)
VGPU_UUID_LISTS = Change(
    "The annotations that select or exclude vGPU cards are not read.",
    "pods with volcano.sh/vgpu-use-gpuuuid or volcano.sh/vgpu-nouse-gpuuuid",
    "v1.16; #5726; M",
)
VGPU_IDS_VALIDATION = Change(
    "Damaged entries of volcano.sh/vgpu-ids-new count as 0, or panic.",
    "charges of pods with a damaged annotation",
    "v1.16; #5404; L",
)
GPUSHARE_IDLE_WRAPS = Change(
    "An overcommitted shared GPU is treated as almost unlimited.",
    "pods on overcommitted cards",
    "v1.16; #5470; L",
)
GPUSHARE_RELEASE_BY_INDEX = Change(
    "A rolled-back placement keeps its shared GPU allocated.",
    "card availability for later tasks of the session",
    "v1.16; #5588; M",
)
GPUSHARE_MEMORY_AND_NUMBER = Change(
    "A pod that requests memory of a shared GPU and whole GPUs gets both if it fits.",
    "whether such a pod is placed, and its cards",
    "v1.16; #5588; L",
)
NIL_DEVICE_LEDGER = Change(
    "A node without cards has a nil device record: scoring it for a pod with virtual GPUs, or a pod on "
    "it that names a shared GPU, causes a panic.",
    "scheduler panic",
    "v1.16; #5414; M",
)
DEVICESHARE_NIL_LEDGER_BATCH = Change(
    "A node with unknown NPUs discards the scores of all nodes.",
    "the best node of pods with NPUs",
    "v1.16; #5217; L",
    replayed=False,
    unshown_reason=ASCEND,
)
HAMI_ASCEND = Change(
    "A lack of Ascend cards is an error, so preempt skips the node.",
    "which pods are evicted for pods with Ascend cards",
    "v1.16 v1.15.2; #5843; M",
    id="hami-ascend-filter-code",
)
HAMI_ASCEND_CORE_MODE = Change(
    "Ascend cards have no hami-core mode, and their cores are an ordinary resource.",
    "pods that request cores of Ascend cards, or with huawei.com/vnpu-mode",
    "v1.16; #5462; M",
)
HAMI_ASCEND_SPREAD_SCORE = Change(
    "The policy spread prefers Ascend cards with one user to unused ones; a card without memory causes a "
    "division by zero.",
    "which Ascend card a pod gets, and the best node",
    "v1.16; #5558; M",
)
HAMI_ASCEND_RELEASE_LEAKS = Change(
    "A rolled-back placement keeps its Ascend cards allocated, unless the pod named them before.",
    "card availability for later tasks of the session",
    "v1.16; #5588; M",
)
VGPU_MIG_COPY = Change(
    "Dry runs share the usage of GPUs in MIG mode with the session.",
    "topology-aware preemption with MIG",
    "v1.16; #5550; L",
    replayed=False,
    unshown_reason=MIG,
)
DEVICES_SHARED_WITH_CACHE = Change(
    "Session, dry runs and cache share one record of cards.",
    "cards of rolled-back attempts stay allocated",
    "v1.15.0; #5235; M",
)
NIL_LEDGER_ASKED = Change(
    "Placing a pod with a card request on a node without cards causes a panic.",
    "scheduler panic",
    "v1.15.0; #5290; M",
)
RELEASING_CHARGED_TO_DEVICES = Change(
    "A terminating pod keeps its cards until it is deleted, so preemption does not free cards in the same cycle.",
    "whether a node fits after evictions",
    "v1.15.0; #5235; M",
)
VGPU_LEDGER_LEAKS = Change(
    "A rolled-back placement keeps its virtual GPUs allocated; a failed attempt keeps those of its first containers.",
    "card availability for later tasks",
    "v1.15.0; #5235; M",
)
VGPU_DEVICE_ORDER = Change(
    "vGPU cards are tried from the last to the first, whatever the policy.",
    "which card a pod gets",
    "v1.15.0; #5252; M",
)
VGPU_SPREAD_SCORE = Change(
    "The spread score counts the cards that were unused.",
    "the best node with deviceshare.SchedulePolicy: spread",
    "v1.15.0; #5252; M",
)
VGPU_PODGROUP_SPREAD = Change(
    "volcano.sh/vgpu-podgroup-policy is not read.", "which card a pod gets", "v1.15.0; #5049; M"
)
GPU_EXCLUSIVE_RULES = Change(
    "deviceshare.GPUExclusiveRules does not exist.",
    "which pods can share a card",
    "v1.15.0; #5213; M",
)
MIG_MEMORY_FACTOR = Change(
    "The memory factor does not apply to templates of GPUs in MIG mode.",
    "pods on GPUs in MIG mode",
    "v1.15.0; #5318; L",
)
VGPU_HANDSHAKE = Change(
    "A node's vGPU cards count only while its device plugin answers the handshake; releasing a pod does "
    "not free its cards.",
    "whether a node has vGPU cards",
    "v1.15.1 v1.14.3 v1.13.4; #5433; M",
)
VGPU_SCALARS_IGNORED = Change(
    "Memory and cores of virtual GPUs are ignored in the resources of nodes and queues, and in requests "
    "of pods, except of pods that existed before the scheduler started and have not changed.",
    "node fit and quotas of pods with virtual GPUs",
    "v1.13.0; #4520; H",
)
VGPU_SECOND_CONTAINER_FREE = Change(
    "A pod's card is allocated for its first container only; removing a pod with further containers causes a panic.",
    "card availability for later tasks; scheduler panic",
    "v1.13.0; #4633; M",
    first_older_tag="v1.12.0",
)
VGPU_FIXED_NAMES = Change(
    "vGPU resource names are fixed: the device configuration cannot rename them.",
    "pods that request virtual GPUs by other names, or a percentage of a card's memory",
    "v1.13.0; #4520; L",
)
GPUSHARE_ALWAYS_CHARGED = Change(
    "Shared GPUs are allocated although their switch is off.",
    "scheduler panic if a pod names a shared GPU of a node without any",
    "v1.13.0; v1.13.0; L",
    replayed=False,
    unshown_reason="The panic happens while the cluster is read, before the first cycle.",
)
DEVICESHARE_SCORE_LOST = Change(
    "Cards are scored only with a policy, and the score is discarded.",
    "the best node with deviceshare.ScheduleWeight",
    "v1.13.0; 90ffca92c; M",
)
HAMI_ASCEND_LEDGER = Change(
    "Ascend cards are allocated by the pending allocations of their plugin, for each entry and repeatedly.",
    "pods with Ascend cards",
    "v1.15.1 v1.14.4; #5363; L",
)
HAMI_ASCEND_UNALLOCATABLE = Change(
    "Ascend cards that a node registers count although none is allocatable.",
    "nodes without a running device plugin for Ascend cards",
    "v1.15.1 v1.14.3; #5418; L",
)
HAMI_ASCEND_NO_RELEASE = Change(
    "Evicting a pod frees its Ascend cards only by its removal from the node, and its annotations stay.",
    "card availability for later tasks of the session",
    "v1.15.1 v1.14.3; 03a623827; L",
)
VNPUS_WRAPPER = Change(
    "The device configuration accepts vnpus only as a list; otherwise the built-in configuration is used.",
    "pods with Ascend cards, and with virtual GPUs of other names",
    "v1.15.1 v1.14.4; #5399; L",
)

VGPU_MEMORY_PERCENTAGE = Change(
    "A vGPU memory percentage below 100 requests 0, and 100 requests the memory of the first card that "
    "can take another user, for all cards of the container; an absolute amount overrides a percentage.",
    "pods that request cards by percentage, or without memory",
    "v1.14.0; #4714; H",
)
DEVICES_ALWAYS_REGISTERED = Change(
    "Nodes have their cards from the start: pods get cards in the first cycle, in which shared GPUs of "
    "running pods do not count.",
    "pods that request cards in the first cycle after a start",
    "v1.14.0; #4717; M",
)
DEVICE_MISSING_REFUSED = Change(
    "A node without cards rejects a pod that requests some, in addition to the resource check.",
    "nodes that have virtual or shared GPUs among their resources and register none",
    "v1.14.0; #4789; M",
)
ASCEND_ABSENT = Change(
    "deviceshare does not support Ascend cards: they are ordinary resources.",
    "pods with Ascend cards",
    "v1.14.0; #4717; L",
)
VGPU_CHARGED_TWICE = Change(
    "Virtual GPUs of a placed pod are allocated twice until the next cycle.",
    "card availability for later tasks of the session",
    "v1.14.0 v1.13.2 v1.12.3; fe1988d1b; M",
    first_older_tag="v1.12.0",
)
VGPU_MODES_ABSENT = Change(
    "Virtual GPUs have no modes: neither what a pod asks for nor MIG is read. Removing a pod from a card "
    "on which it is not counted causes a panic.",
    "feasible nodes and cards of pods with a mode, and cards in MIG mode",
    "v1.12.0; #4290; M",
)
VGPU_CHARGED_BY_NEWS = Change(
    "A bound pod is charged for its virtual GPUs once more, when the news of its annotations comes back: "
    "session and cache share the ledger.",
    "card availability for later tasks of the session",
    "v1.12.0; #4290; M",
)
VGPU_UNWANTED_TYPE_IGNORED = Change(
    "One unwanted type of cards is none: only a list of several counts.",
    "cards of pods with nvidia.com/nouse-gputype",
    "v1.12.0; #4149; M",
)
VGPU_REASON_SAID = Change(
    "The reason why a node has no cards for a pod is in its messages.",
    "messages",
    "v1.12.0; #4290; T",
)
GPUSHARE_NUMBER_UNCHARGED = Change(
    "A pod with whole shared GPUs is not charged for them once it is on its node.",
    "which later pods find shared GPUs there",
    "v1.12.0; #3901; M",
)
NUMA_POLICY_MISSPELT = Change(
    "numa-aware writes of a task topology polocy where a node's policy is another one.",
    "messages",
    "v1.12.0; a61fc90b8; T",
)
VGPU_CORES_WRAP = Change(
    "A card with more than 100 % of its cores in use counts as one with almost unlimited cores.",
    "pods on overcommitted virtual GPUs",
    "v1.11.0; #3774; L",
)
VGPU_REGISTER_PANICS = Change(
    "A node that registers its virtual GPUs by a text without `:` ends the process.",
    "scheduler panic",
    "v1.11.0; #3924; L",
    replayed=False,
    unshown_reason="The panic happens while the cluster is read, before the first cycle.",
)
VGPU_SCALARS_TILL_FIRST_HELD = Change(
    "Of the pods that existed before the scheduler started, only those up to the first that is on a node, by name, "
    "keep memory and cores of virtual GPUs in their requests.",
    "quotas and statuses of queues with virtual GPUs",
    "v1.11.0; #3717; M",
)

CHANGES = name_changes(globals())
