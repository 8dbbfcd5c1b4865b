"""Changes of GPUs, NPUs and NUMA: what a node's cards hold, and which pod is charged when.

Upstream: api/devices, plugins/deviceshare, plugins/numaaware.
"""

from vcdebug.releases.change import Change

ASCEND = "Ascend cards of MindCluster are not replayed, in no release."
MIG = (
    "Only dry runs take pods off copied cards, and what that does to the cards themselves goes by how Go grows a slice."
)

NUMA_POD_LEVEL = Change(
    "numa-pod-level",
    "Free cpusets are remembered per node from cycle to cycle, and spec.podAllocations is not read.",
    "NUMA placement over several cycles",
    "v1.16; #5504; M",
)
DEVICE_ANNOTATIONS_ON_POD = Change(
    "device-annotations-on-pod",
    "The chosen vGPU cards are written on the pod object at once, so that taking a placement back frees them.",
    "which later tasks of the session find room on those cards",
    "v1.16; #5588; M",
)
VGPU_DUPLICATE_ALLOCATE = Change(
    "vgpu-duplicate-allocate",
    "A pod that already names vGPU cards of the node is not given cards again.",
    "which cards a pod holds that is placed a second time",
    "v1.16; #5588; M",
    since="v1.15.0",
)
VGPU_UUID_LISTS = Change(
    "vgpu-uuid-lists",
    "Lists of wanted and unwanted vGPU cards are not read.",
    "pods with volcano.sh/vgpu-use-gpuuuid or volcano.sh/vgpu-nouse-gpuuuid",
    "v1.16; #5726; M",
)
VGPU_IDS_VALIDATION = Change(
    "vgpu-ids-validation",
    "Damaged entries of volcano.sh/vgpu-ids-new count as 0, or panic.",
    "charges of pods with a damaged annotation",
    "v1.16; #5404; L",
)
GPUSHARE_IDLE_WRAPS = Change(
    "gpushare-idle-wraps",
    "A shared GPU that holds more than it has counts as nearly endless.",
    "pods on overcommitted cards",
    "v1.16; #5470; L",
)
GPUSHARE_RELEASE_BY_INDEX = Change(
    "gpushare-release-by-index",
    "A placement that is rolled back leaves its shared GPU charged.",
    "which later tasks of the session find room on those cards",
    "v1.16; #5588; M",
)
GPUSHARE_MEMORY_AND_NUMBER = Change(
    "gpushare-memory-and-number",
    "A pod that asks for memory of a shared GPU and for whole ones is given both, where it fits.",
    "whether such a pod is placed, and which cards are taken",
    "v1.16; #5588; L",
)
NIL_DEVICE_LEDGER = Change(
    "nil-device-ledger",
    "A node without cards has a ledger all the same, a nil one: scoring it for a pod that asks for virtual GPUs, or a "
    "pod there that names a shared GPU, ends the process.",
    "the scheduler's process ends",
    "v1.16; #5414; M",
)
DEVICESHARE_NIL_LEDGER_BATCH = Change(
    "deviceshare-nil-ledger-batch",
    "A node whose NPUs are not known loses the scores of all nodes.",
    "the best node of pods with NPUs",
    "v1.16; #5217; L",
    replayed=False,
    unshown=ASCEND,
)
HAMI_ASCEND = Change(
    "hami-ascend-filter-code",
    "A lack of Ascend cards is an error, so that preempt does not look at the node.",
    "who is evicted for pods with Ascend cards",
    "v1.16 v1.15.2; #5843; M",
)
HAMI_ASCEND_CORE_MODE = Change(
    "hami-ascend-core-mode",
    "Ascend cards have no hami-core mode, and their cores are a resource like others.",
    "pods that ask for cores of Ascend cards, or with huawei.com/vnpu-mode",
    "v1.16; #5462; M",
)
HAMI_ASCEND_SPREAD_SCORE = Change(
    "hami-ascend-spread-score",
    "The policy spread favours Ascend cards with one user over those without any; a card without memory is divided by.",
    "which Ascend card a pod gets, and the best node",
    "v1.16; #5558; M",
)
HAMI_ASCEND_RELEASE_LEAKS = Change(
    "hami-ascend-release-leaks",
    "A placement that is rolled back leaves its Ascend cards charged, unless the pod had named them before.",
    "which later tasks of the session find room on those cards",
    "v1.16; #5588; M",
)
VGPU_MIG_COPY = Change(
    "vgpu-mig-copy",
    "Dry runs share the usage of GPUs in MIG mode with the session.",
    "topology-aware preemption with MIG",
    "v1.16; #5550; L",
    replayed=False,
    unshown=MIG,
)
DEVICES_SHARED_WITH_CACHE = Change(
    "devices-shared-with-cache",
    "Session, dry runs and cache charge one and the same ledger of cards.",
    "cards of attempts that were rolled back stay charged",
    "v1.15.0; #5235; M",
)
NIL_LEDGER_ASKED = Change(
    "nil-ledger-asked",
    "Placing a pod that asks for cards on a node that has none ends the process.",
    "the scheduler's process ends",
    "v1.15.0; #5290; M",
)
RELEASING_CHARGED_TO_DEVICES = Change(
    "releasing-charged-to-devices",
    "A pod that is being evicted keeps its cards until it is gone: preemption for cards never helps at once.",
    "whether a node fits after evictions",
    "v1.15.0; #5235; M",
)
VGPU_LEDGER_LEAKS = Change(
    "vgpu-ledger-leaks",
    "A placement that is rolled back leaves its virtual GPUs charged, and a failed attempt its first containers.",
    "which later tasks find room on those cards",
    "v1.15.0; #5235; M",
)
VGPU_DEVICE_ORDER = Change(
    "vgpu-device-order",
    "vGPU cards are tried from the last to the first, whatever the policy.",
    "which card a pod gets",
    "v1.15.0; #5252; M",
)
VGPU_SPREAD_SCORE = Change(
    "vgpu-spread-score",
    "The spread score counts the cards that no pod used before.",
    "the best node with deviceshare.SchedulePolicy: spread",
    "v1.15.0; #5252; M",
)
VGPU_PODGROUP_SPREAD = Change(
    "vgpu-podgroup-spread", "volcano.sh/vgpu-podgroup-policy is not read.", "which card a pod gets", "v1.15.0; #5049; M"
)
GPU_EXCLUSIVE_RULES = Change(
    "gpu-exclusive-rules",
    "There are no deviceshare.GPUExclusiveRules.",
    "which pods may share a card",
    "v1.15.0; #5213; M",
)
MIG_MEMORY_FACTOR = Change(
    "mig-memory-factor",
    "The memory factor does not apply to templates of GPUs in MIG mode.",
    "pods on GPUs in MIG mode",
    "v1.15.0; #5318; L",
)
VGPU_HANDSHAKE = Change(
    "vgpu-handshake",
    "A node's vGPU cards count only while its device plugin answers the handshake; a release gives nothing back.",
    "whether a node has vGPU cards",
    "v1.15.1 v1.14.3 v1.13.4; #5433; M",
)
VGPU_SCALARS_IGNORED = Change(
    "vgpu-scalars-ignored",
    "Memory and cores of virtual GPUs are dropped from what nodes and queues have, and from what pods request unless "
    "they were there before the scheduler started and have not changed since.",
    "node fit and quotas of pods with virtual GPUs",
    "v1.13.0; #4520; H",
)
VGPU_SECOND_CONTAINER_FREE = Change(
    "vgpu-second-container-free",
    "A pod is charged for a card once, not for further containers, and ends the process when it leaves with these.",
    "which later tasks find room on those cards; the scheduler's process ends",
    "v1.13.0; #4633; M",
    since="v1.12.0",
)
VGPU_FIXED_NAMES = Change(
    "vgpu-fixed-names",
    "Virtual GPUs are asked for by fixed names: the device configuration renames none.",
    "pods that ask for virtual GPUs by other names, or for a part of a card's memory",
    "v1.13.0; #4520; L",
)
GPUSHARE_ALWAYS_CHARGED = Change(
    "gpushare-always-charged",
    "Shared GPUs are charged although their switch is off.",
    "the scheduler's process ends where a pod names a shared GPU of a node without any",
    "v1.13.0; v1.13.0; L",
    replayed=False,
    unshown="The process ends as it reads the cluster, before there is a cycle.",
)
DEVICESHARE_SCORE_LOST = Change(
    "deviceshare-score-lost",
    "Cards are scored only where there is a policy, and the score is thrown away.",
    "the best node with deviceshare.ScheduleWeight",
    "v1.13.0; 90ffca92c; M",
)
HAMI_ASCEND_LEDGER = Change(
    "hami-ascend-ledger",
    "Ascend cards are charged by what their plugin is yet to allocate, with each entry and every time again.",
    "pods with Ascend cards",
    "v1.15.1 v1.14.4; #5363; L",
)
HAMI_ASCEND_UNALLOCATABLE = Change(
    "hami-ascend-unallocatable",
    "Ascend cards that a node registers count although none of them is allocatable.",
    "nodes whose device plugin for Ascend cards is gone",
    "v1.15.1 v1.14.3; #5418; L",
)
HAMI_ASCEND_NO_RELEASE = Change(
    "hami-ascend-no-release",
    "Evicting a pod does not take its Ascend cards back beyond what leaving the node does, and keeps its annotations.",
    "which later tasks of the session find room on those cards",
    "v1.15.1 v1.14.3; 03a623827; L",
)
VNPUS_WRAPPER = Change(
    "vnpus-wrapper",
    "The device configuration takes vnpus as a list only: anything else voids it, and the built-in one is used.",
    "pods with Ascend cards, and with virtual GPUs of other names",
    "v1.15.1 v1.14.4; #5399; L",
)

VGPU_MEMORY_PERCENTAGE = Change(
    "vgpu-memory-percentage",
    "A part of a vGPU card's memory below 100 percent asks for none, and the whole of it is that of the first card "
    "with a user left, for all cards of the container; an amount of memory wins over a part.",
    "pods that ask for cards without an amount of memory, which is all of a card or a part of it",
    "v1.14.0; #4714; H",
)
DEVICES_ALWAYS_REGISTERED = Change(
    "devices-always-registered",
    "Nodes have their cards from the start: pods are given some in the first cycle, in which no running pod is "
    "charged for shared GPUs.",
    "pods that ask for cards in the first cycle after a start",
    "v1.14.0; #4717; M",
)
DEVICE_MISSING_REFUSED = Change(
    "device-missing-refused",
    "A node without cards refuses a pod that asks for some; not only its resources do.",
    "nodes that have virtual or shared GPUs among their resources and register none",
    "v1.14.0; #4789; M",
)
ASCEND_ABSENT = Change(
    "ascend-absent",
    "deviceshare does not know Ascend cards: they are resources like others.",
    "pods with Ascend cards",
    "v1.14.0; #4717; L",
)
VGPU_CHARGED_TWICE = Change(
    "vgpu-charged-twice",
    "A pod that is given virtual GPUs is charged for them twice until the next cycle.",
    "which later tasks of the session find room on those cards",
    "v1.14.0 v1.13.2 v1.12.3; fe1988d1b; M",
    since="v1.12.0",
)
VGPU_MODES_ABSENT = Change(
    "vgpu-modes-absent",
    "Virtual GPUs have no modes: neither what a pod asks for nor MIG is read. A pod that leaves a card on which it is "
    "not charged ends the process.",
    "feasible nodes and cards of pods with a mode, and cards in MIG mode",
    "v1.12.0; #4290; M",
)
VGPU_CHARGED_BY_NEWS = Change(
    "vgpu-charged-by-news",
    "A pod is charged for its virtual GPUs once more as it is bound, when the news of its annotations comes back: "
    "session and cache share the ledger.",
    "which later tasks of the session find room on those cards",
    "v1.12.0; #4290; M",
)
VGPU_UNWANTED_TYPE_IGNORED = Change(
    "vgpu-unwanted-type-ignored",
    "One unwanted type of cards is none: only a list of several counts.",
    "cards of pods with nvidia.com/nouse-gputype",
    "v1.12.0; #4149; M",
)
VGPU_REASON_SAID = Change(
    "vgpu-reason-said",
    "The reason why a node has no cards for a pod is in its messages.",
    "messages",
    "v1.12.0; #4290; T",
)
GPUSHARE_NUMBER_UNCHARGED = Change(
    "gpushare-number-uncharged",
    "A pod with whole shared GPUs is not charged for them once it is on its node.",
    "which later pods find shared GPUs there",
    "v1.12.0; #3901; M",
)
NUMA_POLICY_MISSPELT = Change(
    "numa-policy-misspelt",
    "numa-aware writes of a task topology polocy where a node's policy is another one.",
    "messages",
    "v1.12.0; a61fc90b8; T",
)

CHANGES = tuple(value for value in globals().values() if isinstance(value, Change))
