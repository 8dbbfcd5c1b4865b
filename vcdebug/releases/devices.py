"""Changes about GPUs, NPUs and NUMA: the cards of a node, and when pods are charged for them.

Upstream: api/devices, plugins/deviceshare, plugins/numaaware.
"""

from vcdebug.releases.change import Change, name_changes

ASCEND = "Ascend cards of MindCluster are not replayed in any release."
MIG = (
    "Only dry runs remove pods from copied cards, and the effect on the original cards depends on how Go grows a slice."
)

NUMA_POD_LEVEL = Change.from_text("""v1.16; #5504; M
    Free cpusets are remembered per node from cycle to cycle, and spec.podAllocations is not read.
    decides: NUMA placement over several cycles""")
DEVICE_ANNOTATIONS_ON_POD = Change.from_text("""v1.16; #5588; M
    The chosen vGPU cards are written to the pod immediately, so rolling back a placement frees them.
    decides: card availability for later tasks of the session""")
VGPU_DUPLICATE_ALLOCATE = Change.from_text("""v1.16; #5588; M
    A pod that already names vGPU cards of the node gets no new cards.
    decides: cards of a pod that is placed a second time
    since: v1.15.0""")
VGPU_UUID_LISTS = Change.from_text("""v1.16; #5726; M
    The annotations that select or exclude vGPU cards are not read.
    decides: pods with volcano.sh/vgpu-use-gpuuuid or volcano.sh/vgpu-nouse-gpuuuid""")
VGPU_IDS_VALIDATION = Change.from_text("""v1.16; #5404; L
    Damaged entries of volcano.sh/vgpu-ids-new count as 0, or panic.
    decides: charges of pods with a damaged annotation""")
GPUSHARE_IDLE_WRAPS = Change.from_text("""v1.16; #5470; L
    An overcommitted shared GPU is treated as almost unlimited.
    decides: pods on overcommitted cards""")
GPUSHARE_RELEASE_BY_INDEX = Change.from_text("""v1.16; #5588; M
    A rolled-back placement keeps its shared GPU allocated.
    decides: card availability for later tasks of the session""")
GPUSHARE_MEMORY_AND_NUMBER = Change.from_text("""v1.16; #5588; L
    A pod that requests memory of a shared GPU and whole GPUs gets both if it fits.
    decides: whether such a pod is placed, and its cards""")
NIL_DEVICE_LEDGER = Change.from_text("""v1.16; #5414; M
    A node without cards has a nil device record: scoring it for a pod with virtual GPUs, or a pod on it that names
    a shared GPU, causes a panic.
    decides: scheduler panic""")
DEVICESHARE_NIL_LEDGER_BATCH = Change.from_text(f"""v1.16; #5217; L
    A node with unknown NPUs discards the scores of all nodes.
    decides: the best node of pods with NPUs
    not replayed: {ASCEND}""")
HAMI_ASCEND = Change.from_text("""v1.16 v1.15.2; #5843; M
    A lack of Ascend cards is an error, so preempt skips the node.
    decides: which pods are evicted for pods with Ascend cards
    id: hami-ascend-filter-code""")
HAMI_ASCEND_CORE_MODE = Change.from_text("""v1.16; #5462; M
    Ascend cards have no hami-core mode, and their cores are an ordinary resource.
    decides: pods that request cores of Ascend cards, or with huawei.com/vnpu-mode""")
HAMI_ASCEND_SPREAD_SCORE = Change.from_text("""v1.16; #5558; M
    The policy spread prefers Ascend cards with one user to unused ones; a card without memory causes a division by
    zero.
    decides: which Ascend card a pod gets, and the best node""")
HAMI_ASCEND_RELEASE_LEAKS = Change.from_text("""v1.16; #5588; M
    A rolled-back placement keeps its Ascend cards allocated, unless the pod named them before.
    decides: card availability for later tasks of the session""")
VGPU_MIG_COPY = Change.from_text(f"""v1.16; #5550; L
    Dry runs share the usage of GPUs in MIG mode with the session.
    decides: topology-aware preemption with MIG
    not replayed: {MIG}""")
DEVICES_SHARED_WITH_CACHE = Change.from_text("""v1.15.0; #5235; M
    Session, dry runs and cache share one record of cards.
    decides: cards of rolled-back attempts stay allocated""")
NIL_LEDGER_ASKED = Change.from_text("""v1.15.0; #5290; M
    Placing a pod with a card request on a node without cards causes a panic.
    decides: scheduler panic""")
RELEASING_CHARGED_TO_DEVICES = Change.from_text("""v1.15.0; #5235; M
    A terminating pod keeps its cards until it is deleted, so preemption does not free cards in the same cycle.
    decides: whether a node fits after evictions""")
VGPU_LEDGER_LEAKS = Change.from_text("""v1.15.0; #5235; M
    A rolled-back placement keeps its virtual GPUs allocated; a failed attempt keeps those of its first containers.
    decides: card availability for later tasks""")
VGPU_DEVICE_ORDER = Change.from_text("""v1.15.0; #5252; M
    vGPU cards are tried from the last to the first, whatever the policy.
    decides: which card a pod gets""")
VGPU_SPREAD_SCORE = Change.from_text("""v1.15.0; #5252; M
    The spread score counts the cards that were unused.
    decides: the best node with deviceshare.SchedulePolicy: spread""")
VGPU_PODGROUP_SPREAD = Change.from_text("""v1.15.0; #5049; M
    volcano.sh/vgpu-podgroup-policy is not read.
    decides: which card a pod gets""")
GPU_EXCLUSIVE_RULES = Change.from_text("""v1.15.0; #5213; M
    deviceshare.GPUExclusiveRules does not exist.
    decides: which pods can share a card""")
MIG_MEMORY_FACTOR = Change.from_text("""v1.15.0; #5318; L
    The memory factor does not apply to templates of GPUs in MIG mode.
    decides: pods on GPUs in MIG mode""")
VGPU_HANDSHAKE = Change.from_text("""v1.15.1 v1.14.3 v1.13.4; #5433; M
    A node's vGPU cards count only while its device plugin answers the handshake; releasing a pod does not free its
    cards.
    decides: whether a node has vGPU cards""")
VGPU_SCALARS_IGNORED = Change.from_text("""v1.13.0; #4520; H
    Memory and cores of virtual GPUs are ignored in the resources of nodes and queues, and in requests of pods,
    except of pods that existed before the scheduler started and have not changed.
    decides: node fit and quotas of pods with virtual GPUs""")
VGPU_SECOND_CONTAINER_FREE = Change.from_text("""v1.13.0; #4633; M
    A pod's card is allocated for its first container only; removing a pod with further containers causes a panic.
    decides: card availability for later tasks; scheduler panic
    since: v1.12.0""")
VGPU_FIXED_NAMES = Change.from_text("""v1.13.0; #4520; L
    vGPU resource names are fixed: the device configuration cannot rename them.
    decides: pods that request virtual GPUs by other names, or a percentage of a card's memory""")
GPUSHARE_ALWAYS_CHARGED = Change.from_text("""v1.13.0; v1.13.0; L
    Shared GPUs are allocated although their switch is off.
    decides: scheduler panic if a pod names a shared GPU of a node without any
    not replayed: The panic happens while the cluster is read, before the first cycle.""")
DEVICESHARE_SCORE_LOST = Change.from_text("""v1.13.0; 90ffca92c; M
    Cards are scored only with a policy, and the score is discarded.
    decides: the best node with deviceshare.ScheduleWeight""")
HAMI_ASCEND_LEDGER = Change.from_text("""v1.15.1 v1.14.4; #5363; L
    Ascend cards are allocated by the pending allocations of their plugin, for each entry and repeatedly.
    decides: pods with Ascend cards""")
HAMI_ASCEND_UNALLOCATABLE = Change.from_text("""v1.15.1 v1.14.3; #5418; L
    Ascend cards that a node registers count although none is allocatable.
    decides: nodes without a running device plugin for Ascend cards""")
HAMI_ASCEND_NO_RELEASE = Change.from_text("""v1.15.1 v1.14.3; 03a623827; L
    Evicting a pod frees its Ascend cards only by its removal from the node, and its annotations stay.
    decides: card availability for later tasks of the session""")
VNPUS_WRAPPER = Change.from_text("""v1.15.1 v1.14.4; #5399; L
    The device configuration accepts vnpus only as a list; otherwise the built-in configuration is used.
    decides: pods with Ascend cards, and with virtual GPUs of other names""")

VGPU_MEMORY_PERCENTAGE = Change.from_text("""v1.14.0; #4714; H
    A vGPU memory percentage below 100 requests 0, and 100 requests the memory of the first card that can take
    another user, for all cards of the container; an absolute amount overrides a percentage.
    decides: pods that request cards by percentage, or without memory""")
DEVICES_ALWAYS_REGISTERED = Change.from_text("""v1.14.0; #4717; M
    Nodes have their cards from the start: pods get cards in the first cycle, in which shared GPUs of running pods
    do not count.
    decides: pods that request cards in the first cycle after a start""")
DEVICE_MISSING_REFUSED = Change.from_text("""v1.14.0; #4789; M
    A node without cards rejects a pod that requests some, in addition to the resource check.
    decides: nodes that have virtual or shared GPUs among their resources and register none""")
ASCEND_ABSENT = Change.from_text("""v1.14.0; #4717; L
    deviceshare does not support Ascend cards: they are ordinary resources.
    decides: pods with Ascend cards""")
VGPU_CHARGED_TWICE = Change.from_text("""v1.14.0 v1.13.2 v1.12.3; fe1988d1b; M
    Virtual GPUs of a placed pod are allocated twice until the next cycle.
    decides: card availability for later tasks of the session
    since: v1.12.0""")
VGPU_MODES_ABSENT = Change.from_text("""v1.12.0; #4290; M
    Virtual GPUs have no modes: neither what a pod asks for nor MIG is read. Removing a pod from a card on which it
    is not counted causes a panic.
    decides: feasible nodes and cards of pods with a mode, and cards in MIG mode""")
VGPU_CHARGED_BY_NEWS = Change.from_text("""v1.12.0; #4290; M
    A bound pod is charged for its virtual GPUs once more, when the news of its annotations comes back: session and
    cache share the ledger.
    decides: card availability for later tasks of the session""")
VGPU_UNWANTED_TYPE_IGNORED = Change.from_text("""v1.12.0; #4149; M
    One unwanted type of cards is none: only a list of several counts.
    decides: cards of pods with nvidia.com/nouse-gputype""")
VGPU_REASON_SAID = Change.from_text("""v1.12.0; #4290; T
    The reason why a node has no cards for a pod is in its messages.
    decides: messages""")
GPUSHARE_NUMBER_UNCHARGED = Change.from_text("""v1.12.0; #3901; M
    A pod with whole shared GPUs is not charged for them once it is on its node.
    decides: which later pods find shared GPUs there""")
NUMA_POLICY_MISSPELT = Change.from_text("""v1.12.0; a61fc90b8; T
    numa-aware writes of a task topology polocy where a node's policy is another one.
    decides: messages""")
VGPU_CORES_WRAP = Change.from_text("""v1.11.0; #3774; L
    A card with more than 100 % of its cores in use counts as one with almost unlimited cores.
    decides: pods on overcommitted virtual GPUs""")
VGPU_REGISTER_PANICS = Change.from_text("""v1.11.0; #3924; L
    A node that registers its virtual GPUs by a text without `:` ends the process.
    decides: scheduler panic
    not replayed: The panic happens while the cluster is read, before the first cycle.""")
VGPU_SCALARS_TILL_FIRST_HELD = Change.from_text("""v1.11.0; #3717; M
    Of the pods that existed before the scheduler started, only those up to the first that is on a node, by name,
    keep memory and cores of virtual GPUs in their requests.
    decides: quotas and statuses of queues with virtual GPUs""")

CHANGES = name_changes(globals())
