"""Pseudonyms for the names of a snapshot, and the words that stay: those that the scheduler itself knows.

Pseudonyms sort as the names do, so that everything that compares names decides the same in a redacted snapshot.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from vcdebug.snapshot.kinds import KINDS


def _split_words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ANNOTATIONS = _split_words("""
scheduling.k8s.io/group-name scheduling.volcano.sh/group-name scheduling.volcano.sh/queue-name
scheduling.volcano.sh/queue-allocation-gate volcano.sh/cooldown-time volcano.sh/eviction-occurred
volcano.sh/gpu-index volcano.sh/gpu-memory volcano.sh/gpu-number volcano.sh/gpu-unhealthy-ids volcano.sh/hierarchy
volcano.sh/hierarchy-weights volcano.sh/jdb-max-unavailable volcano.sh/jdb-min-available
volcano.sh/node-vgpu-register volcano.sh/nodegroup-name volcano.sh/nodegroup-resource-limits
volcano.sh/numa-topology-policy volcano.sh/offline-job-evicting volcano.sh/oversubscription
volcano.sh/oversubscription-cpu volcano.sh/oversubscription-memory volcano.sh/pipelined-node
volcano.sh/pipelined-status volcano.sh/preemptable volcano.sh/resource-strategy-scoring-type
volcano.sh/resource-strategy-weight volcano.sh/revocable-zone volcano.sh/sla-waiting-time sla-waiting-time
volcano.sh/task-index volcano.sh/task-priority volcano.sh/task-spec volcano.sh/task-topology-affinity
volcano.sh/task-topology-anti-affinity volcano.sh/task-topology-task-order volcano.sh/template-uid
volcano.sh/vgpu-cores volcano.sh/vgpu-ids-new volcano.sh/vgpu-memory volcano.sh/vgpu-mode volcano.sh/vgpu-node
volcano.sh/vgpu-nouse-gpuuuid volcano.sh/vgpu-number volcano.sh/vgpu-podgroup-policy volcano.sh/vgpu-use-gpuuuid
volcano.sh/vgpu-time volcano.sh/bind-phase volcano.sh/bind-time volcano.sh/devices-to-allocate volcano.sh/job-name
volcano.sh/job-version volcano.sh/queue-name volcano.sh/enable-topology-aware nvidia.com/use-gputype
nvidia.com/nouse-gputype hami.io/node-handshake hami.io/node-nvidia-register volume.beta.kubernetes.io/storage-class
volume.kubernetes.io/selected-node pv.kubernetes.io/bind-completed pv.kubernetes.io/bound-by-controller
storageclass.kubernetes.io/is-default-class storage.alpha.kubernetes.io/migrated-plugins hami-vnpu-core
huawei.com/vnpu-mode hami.io/bind-phase
""")
"""Annotations that the scheduler reads, besides those of NPU_ANNOTATION; all others are dropped."""
NPU_ANNOTATION = re.compile(r"hami\.io/(?:node-register-.+|.+-devices-(?:allocated|to-allocate))", re.DOTALL)

_NPUS = _split_words("Ascend310P Ascend910A Ascend910B Ascend910B2 Ascend910B3 Ascend910B4 Ascend910C")
"""Kinds of NPUs, which are parts of names of annotations and resources."""
_OF_NPUS = (
    *_NPUS,
    *(
        form.format(kind)
        for kind in _NPUS
        for form in (
            "huawei.com/{}",
            "huawei.com/{}-memory",
            "huawei.com/{}-core",
            "hami.io/node-register-{}",
            "hami.io/{}-devices-allocated",
            "hami.io/{}-devices-to-allocate",
        )
    ),
    *_split_words("id index count devmem devcore type numa mode health custominfo NetworkID success allocating"),
)

_KEYS = _split_words("""
kubernetes.io/hostname kubernetes.io/arch kubernetes.io/os node.kubernetes.io/instance-type
topology.kubernetes.io/zone topology.kubernetes.io/region failure-domain.beta.kubernetes.io/zone
failure-domain.beta.kubernetes.io/region node.kubernetes.io/unschedulable node.kubernetes.io/not-ready
node.kubernetes.io/unreachable node.kubernetes.io/memory-pressure node.kubernetes.io/disk-pressure
node.kubernetes.io/pid-pressure node.kubernetes.io/network-unavailable node.kubernetes.io/out-of-service
node-role.kubernetes.io/control-plane node-role.kubernetes.io/master node.cloudprovider.kubernetes.io/uninitialized
statefulset.kubernetes.io/pod-name kubernetes.io/metadata.name
""")
"""Labels and taints that Kubernetes writes."""

_RESOURCES = _split_words("""
cpu memory pods storage ephemeral-storage nvidia.com/gpu nvidia.com/gpu.shared amd.com/gpu limits.cpu limits.memory
requests.cpu requests.memory requests.storage requests.ephemeral-storage limits.ephemeral-storage services
configmaps secrets persistentvolumeclaims replicationcontrollers resourcequotas
""")
"""Resources that are no secret."""

_VALUES = _split_words("""
Pending Running Succeeded Failed Unknown Inqueue Completed Available Bound Released Lost Open Closed Closing Active
Terminating Ready PodScheduled Initialized ContainersReady PodReadyToStartContainers DisruptionTarget MemoryPressure
DiskPressure PIDPressure NetworkUnavailable Scheduled Unschedulable PodResizePending PodResizeInProgress True False
SchedulingGated NotEnoughResources NotEnoughTasks NotEnoughPodsOfTask PreemptionByScheduler Infeasible Deferred
Schedulable Undetermined tasks In NotIn Exists DoesNotExist Gt Lt Equal NoSchedule PreferNoSchedule NoExecute Honor
Ignore DoNotSchedule ScheduleAnyway Always Never OnFailure PreemptLowerPriority TCP UDP SCTP Filesystem Block
ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod Immediate WaitForFirstConsumer Delete Retain Recycle
BestEffort NotBestEffort NotTerminating PriorityClass CrossNamespacePodAffinity Guaranteed Burstable traverse fifo
hard soft Node HyperNode none static best-effort restricted single-numa-node CPUManagerPolicy TopologyManagerPolicy
ExactCount All metadata.name metadata.namespace spread binpack LeastAllocated MostAllocated hami-core mig mps NVIDIA
true false yes no on off null auto strict volcano default-scheduler default root kube-system system-cluster-critical
system-node-critical latest localhost kubernetes.io/no-provisioner kubernetes.io/aws-ebs kubernetes.io/gce-pd
kubernetes.io/azure-disk kubernetes.io/cinder kubernetes.io/portworx-volume ebs.csi.aws.com disk.csi.azure.com
pd.csi.storage.gke.io cinder.csi.openstack.org pxd.portworx.com rbd.csi.ceph.com csi.storage.k8s.io/csi-driver-name
Job CronJob DaemonSet JobFlow apps/v1 batch/v1 batch.volcano.sh/v1alpha1 spec.nodeName deviceclass/ hamivgpu
GpuShare
""")
"""Fixed values of fields, and names with a meaning of their own."""

_CONF = _split_words("""
actions tiers plugins name arguments configurations metrics type interval enqueue allocate backfill preempt reclaim
gangpreempt gangreclaim shuffle binpack capacity cdp conformance deviceshare drf extender gang
network-topology-aware nodegroup nodeorder numa-aware overcommit pdb predicates priority proportion rescheduling
resource-strategy-fit resourcequota sla task-topology tdm usage crossquota enableBestNode enableHierarchy
enableJobEnqueued enableJobOrder enableJobPipelined enableJobReady enableJobStarving enableNodeOrder enablePredicate
enablePreemptable enablePreemptive enableQueueOrder enableReclaimable enableReservedNodes enableTargetJob
enableTaskOrder enabledAllocatable enabledClusterOrder enabledHyperNodeGradient enabledHyperNodeOrder
enabledOverused enabledSubJobOrder enabledSubJobPipelined enabledSubJobReady enabledVictim
enableTopologyAwarePreemption enablePredicateErrorCache predicateErrorCacheEnable topologyAwarePreemptWorkerNum
minCandidateNodesPercentage minCandidateNodesAbsolute maxCandidateNodesAbsolute maxDomains allowWholeBundle
ancestorReclaimLevel enablePreferredOrder gangPreemptionMaxDomains balancedresource.weight binpack.cpu
binpack.memory binpack.resources binpack.weight imagelocality.weight leastrequested.weight mostrequested.weight
nodeaffinity.weight podaffinity.weight podtopologyspread.weight tainttoleration.weight usage.weight cpu.weight
memory.weight task-topology.weight weight capacity.DRAConsumableCapacityEnable
capacity.DynamicResourceAllocationEnable deviceshare.AscendHAMiVNPUEnable deviceshare.AscendMindClusterVNPUEnable
deviceshare.GPUExclusiveRules deviceshare.GPUNumberEnable deviceshare.GPUSharingEnable deviceshare.NodeLockEnable
deviceshare.SchedulePolicy deviceshare.ScheduleWeight deviceshare.VGPUEnable deviceshare.KnownGeometriesCMName
deviceshare.KnownGeometriesCMNamespace extender.allocateFuncVerb extender.deallocateFuncVerb extender.httpTimeout
extender.ignorable extender.jobEnqueueableVerb extender.jobEnqueuedVerb extender.jobReadyVerb
extender.managedResources extender.onSessionCloseVerb extender.onSessionOpenVerb extender.predicateVerb
extender.preemptableVerb extender.prioritizeVerb extender.queueOverusedVerb extender.reclaimableVerb
extender.urlPrefix hypernode.binpack.cpu hypernode.binpack.memory hypernode.binpack.normal-pod.enable
hypernode.binpack.normal-pod.fading hypernode.binpack.resources hypernode.gradient.evict.max-hypernodes
overcommit-factor predicate.CacheEnable predicate.GPUSharingEnable predicate.GPUNumberEnable
predicate.ProportionalEnable predicate.resources predicate.NodeAffinityEnable predicate.NodePortsEnable
predicate.TaintTolerationEnable predicate.PodAffinityEnable predicate.NodeVolumeLimitsEnable
predicate.VolumeZoneEnable predicate.PodTopologySpreadEnable predicate.VolumeBindingEnable
predicate.DynamicResourceAllocationEnable resourceStrategyFitWeight resources resourceWeight proportional
resourceProportion sra tdm.evict.period tdm.revocable-zone lowNodeUtilization offlineOnly strategies params
thresholds targetThresholds metricsPeriod scheduler score requests limits weights prometheus prometheus_adaptor
elasticsearch mem cpu memory predicate prioritize preemptable reclaimable queueOverused jobEnqueueable jobEnqueued
jobReady onSessionOpen onSessionClose allocateFunc deallocateFunc
""")
"""Actions, plugins, switches and arguments of the scheduler's configuration."""

_GATES = _split_words("""
WorkLoadSupport VolcanoJobSupport PodDisruptionBudgetsSupport QueueCommandSync ResourceTopology
CronVolcanoJobSupport CSIStorage SchedulingGatesQueueAdmission NodeInclusionPolicyInPodTopologySpread
MatchLabelKeysInPodTopologySpread PodSchedulingReadiness SidecarContainers InPlacePodVerticalScaling
DRAResourceClaimDeviceStatus PodLevelResources VolumeAttributesClass DynamicResourceAllocation DRAPrioritizedList
DRAAdminAccess DRASchedulerFilterTimeout InPlacePodLevelResourcesVerticalScaling DRAExtendedResource
DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints DRAPartitionableDevices DRADeviceTaintRules
StorageCapacityScoring TaintTolerationComparisonOperators DRANodeAllocatableResources VolumeLimitScaling
""")
"""Feature gates."""

_ANSWERS = _split_words("""
predicate prioritize preemptable reclaimable queue_overused overused job_enqueueable job_enqueued job_ready
on_session_open on_session_close allocate_func deallocate_func error errorMessage code status reason httpStatus
victims nodeScore replace victim inqueue message http time
""")
"""The words of an extender's answers."""

_KINDS = (*(kind.name for kind in KINDS), *(kind.api_version for kind in KINDS))
KEPT_TEXTS = frozenset((*ANNOTATIONS, *_OF_NPUS, *_KEYS, *_RESOURCES, *_VALUES, *_CONF, *_GATES, *_ANSWERS, *_KINDS))
"""Texts that are never replaced, neither as a whole nor as one word of a text."""

PREFIXES = (
    "binpack.resources.",
    "hypernode.binpack.resources.",
    "tdm.revocable-zone.",
    "predicate.resources.",
    "resources.",
    "deviceclass.resource.kubernetes.io/",
    "hugepages-",
    "attachable-volumes-",
    "attachable-volumes-csi-",
    "requests.",
    "limits.",
    "count/",
    "kubernetes.io/",
    "volcano.sh/",
    "huawei.com/",
    "nvidia.com/",
)
"""Beginnings that the scheduler interprets; what follows them is replaced."""

COMPOSED_PREFIXES = ("attachable-volumes-csi-", "deviceclass/")
"""Prefixes that the scheduler puts before a name."""

SUFFIXES = (".storageclass.storage.k8s.io/requests.storage", ".storageclass.storage.k8s.io/persistentvolumeclaims")
"""Ends that the scheduler interprets; what precedes them is replaced."""

SENTENCE_WORDS = _split_words("""
a i s t about above abstain accept accepts account action actions add address adds admitted affinity after again against
alias aliases all allocatable allocate allocation allow already also although among an ancestor ancestors and
annotation annotations another answer answered answers anti any api app applies apply archive are argument arrive
arrives as ascend ask asked asks assigned assignment assumed at attempt auth available aware back backfill batch be
been before beginning begins being belong best beyond binary bind bit bits bool both bound bracket brackets budget
built but by byte bytes cache calculate call called can candidate candidates cannot capacity capture captured cards
carries carry chain chance change changed character charged check checked checks children choose chosen claim claims
class clock closed closes cluster code column com comes command commas commits compared complete completing conf
config configmap configmaps configuration conflict conflicts conformance constraints container contains context
continue controller conversion copy copying could count counted counts cousins covers cpu crds create created
creation credentials csi current cycle cycles cyclestate cyclic damage damaged decision deeper deeply default define
deleted delimiter dependency depends deployment dereference deserved detected device devices deviceshare did differ
different dimension disabled discarded discards disjoint dispatch divided do document does dots drf dropped due
dynamicresources each earlier early edits element elements empty enabled encrypted end ended ends enough enqueue
enqueued entry ephemeral equivalence errinfos error even event events every everything evicted eviction evicts
exactly exceed exceeded exceeds exist existent existing exists exits expand expected expecting extender failed false
far fatal fault feasible feature field fields file files fills filter find first fit fits fitted flag flags folder
follow for force forced format found free from function gang gate gates get give given gives go goes goroutine got
gpu gpunumber gpus gpushare group groups gt had hami hand hard has have held hence here hierarchy holds hook host
huge hypernode hypernodes idle if ignored ignores image immediate impersonated in index info init installed instance
instances insufficient int integer interface into invalid is it item its itself job jobs json just keeps key kind
kinds known knows kubeconfig kubectl kubernetes label labels lack lacks large larger last later least leaves ledger
left length less lets level levels limit limited line link list listed lists load loading loads lock locks log
longer look looked looking lost lt made make manager manifest manifests many map mapping mappings match matches max
may mean meanwhile measurement measures member memory message meta mig min minavailable minimum missing mode moments
more must name names namespace namespaces needs negative neither nested nests network never new newest next nil no
nobody node nodeorder nodes non none nor not nothing noticed notin now num numa number numbers nvidia object objects
obtaining occupies of off offer offered offers old on once one ones only opened operation operations operator
operators or order origin orphaned other out outside over overcommit overflow overflows overused overwrite own owned
owner packed panics parent parents parse parsing part parts pass passes path pdb pending per period permission
permit persistence persistent persistentvolume persistentvolumeclaim persistentvolumeclaims phase pipeline pipelined
place placed placement places plain plugin plugins pod podgroup podgroups pods pointer policy ports possibly
potential pre predicated predicates preemptable preemption prefilter priorities priority priorityclass process
proportion proportional protects put pv pvc qualified quantities quantity queue queues quota range reachable read
reading reads ready real reason reclaim recording refuse refused refuses regular reject rejected released remove
removed removes renamed replay replayed req request requested required rescheduled rescheduling reserve resource
resourceclaim resourcequota resources rest restartable return revocable right role rolled room root rows rules run
running runtime same satisfied satisfy say says scheduled scheduler schedulers scheduling score scores scoring
scratch search searches second seconds see seed seen sees selector selectors server service session set setting
seventh several shard sharded share shared sharing shows sidecarcontainers size skip skipped slowly snapshot
snapshots so soft some something sought sparse spec specified spread stack stand stands start started starts state
statement static stay stays stopped stops storage storageclass string sub subgroups such sufficient suffix support
supported switch taint take taken takes tar task tasks tell terms text than that the their them then there they this
those through tie tier tiers time timeout times to together token told too topology total tree true tuple turns
twice two type uid unauthorized unavailable unbound uncommitted unconvertible unexpected unknown unless unmarshal
unmeasured unpacked unpacks unready unschedulable until untolerated unusual up updated upper upstream url usage use
used user uses usually utf utilisation uuid valid value values verb version vgpu vgpudevicesharing victim victims
view virtual visit volcano volume volumebindingmode volumes vote waiting waits was way webhook weighs were what
whatever when where whether which while who whole whose window with within without works worth would write written
wrong yaml yes yet you zip zone
""")
"""Words of the scheduler's and of vcdebug's own messages, in lower case."""

LETTER = r"[0-9A-Za-z_\u0080-\U0010ffff]"
ADDRESS = re.compile(rf"(?<!{LETTER})[0-9]{{1,3}}([-.])[0-9]{{1,3}}\1[0-9]{{1,3}}\1[0-9]{{1,3}}(?!{LETTER})")
HEAD = re.compile(rf"(?<!{LETTER})([0-9]{{1,3}}[-.])[0-9]")
"""The possible beginning of an address: its first number and the separator."""
WORD = re.compile(rf"([0-9]*)({LETTER}*)")
PIECES = re.compile(r"[^-0-9A-Za-z_./]+")
PIECE = re.compile(r"[-0-9A-Za-z_./\u0080-\U0010ffff]+")
DIGIT = re.compile("[0-9]")
PLAIN_VALUE = re.compile(
    r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?(m|k|n|u|[KMGTPE]i?|%)?"
    r"|(\d+(\.\d+)?(ns|us|ms|s|m|h))+"
    r"|\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
"""Numbers, quantities, durations and times are never replaced: they decide."""

FIRST_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
LETTERS = "0123456789" + FIRST_LETTERS
SEPARATORS = "-."
"""Characters that sort before all digits and letters: only they fit between `1` and `10`."""
DIGITS = "abcdefghijklmnopqrstuvwxyz"
MIN_WIDTH = 2
AFTER_NUMBERS = ":"
"""The character after the digits: an upper bound of all texts that begin with one."""
HIDDEN_ADDRESS = "0"
"""Replaces an address that occurs only in messages."""

_SENTENCE = frozenset(SENTENCE_WORDS)


def is_read_annotation(key: str) -> bool:
    """Whether the scheduler reads the annotation."""
    return key in ANNOTATIONS or NPU_ANNOTATION.fullmatch(key) is not None


class Pseudonyms:
    """The pseudonym of every word of a snapshot: collect all texts first, then choose, then rewrite."""

    def __init__(self) -> None:
        self._words: dict[str, None] = {}
        self._fixed: dict[str, None] = dict.fromkeys(
            word for beginning in COMPOSED_PREFIXES for word in _iter_words(beginning)
        )
        self._become: Mapping[str, str] = {}
        self._addresses: dict[str, str] = {}
        self._tails: dict[str, dict[str, None]] = {}
        """First number → rests of texts that begin with it and are no address: pseudonyms must sort between them."""
        self._indexed: dict[str, None] = {}
        """Addresses whose last number is an index and stays."""

    def collect_words(self, text: str) -> str:
        """Note a text's words; returns the text, so that it can replace rewrite_text."""
        addresses = (
            [] if PLAIN_VALUE.fullmatch(text) is not None else [found.span() for found in ADDRESS.finditer(text)]
        )
        for head in HEAD.finditer(text):
            if not any(start <= head.start() < end for start, end in addresses):
                self._tails.setdefault(head[1], {})[text[head.end(1) :]] = None
        if PLAIN_VALUE.fullmatch(text) is None:
            self._words.update(dict.fromkeys(_iter_words(text)))
            self._addresses.update((match[0], _address_head(match[0])) for match in ADDRESS.finditer(text))
            for part in _known_parts(text):
                self._fixed.update(dict.fromkeys(_iter_words(part)))
        return text

    def keep_index(self, name: str) -> None:
        """Keep the number at the end of a name that looks like an address: the order of pods depends on it."""
        ends = [found[0] for found in ADDRESS.finditer(name) if found[1] == "-" and found.end() == len(name)]
        self._indexed.update(dict.fromkeys(ends))

    def choose_pseudonyms(self) -> None:
        """Choose the pseudonyms of all collected words; no text may be collected afterwards."""
        # Between two fixed words the free ones are renamed in order, so that the order of all words is kept.
        fixed = sorted(self._fixed)
        free = sorted(word for word in self._words if word not in self._fixed)
        become = {word: word for word in fixed}
        for bounds, words in groupby(free, lambda word: _fixed_bounds(word, fixed)):
            become.update(_name_words(list(words), *bounds))
        self._become = become
        by_head = {head: list(found) for head, found in groupby(sorted(self._addresses), _address_head)}
        self._addresses.update(
            (address, head + word + self._address_index(address))
            for head, found in by_head.items()
            for address, word in self._hide_addresses(head, found)
        )

    def _address_index(self, address: str) -> str:
        return f"-{address.rpartition('-')[2]}" if address in self._indexed else ""

    def _hide_addresses(self, head: str, addresses: list[str]) -> Iterator[tuple[str, str]]:
        """(address, new rest) of sorted addresses with one first number, in the order among other texts with it."""
        tails = sorted(self._tails.get(head, {}))
        for place, found in groupby(addresses, lambda address: bisect_left(tails, address.removeprefix(head))):
            low = self.rewrite_text(tails[place - 1]) if place else ""
            high = self.rewrite_text(tails[place]) if place < len(tails) else AFTER_NUMBERS
            yield from _name_words(list(found), low, min(high, AFTER_NUMBERS), LETTERS, LETTERS + SEPARATORS)

    def rewrite_text(self, text: str) -> str:
        """The text with pseudonyms; raises KeyError for a word that was not collected."""
        if PLAIN_VALUE.fullmatch(text) is not None:
            return text
        return self._replace_words(text, self._become.__getitem__)

    def _replace_words(self, text: str, become: Callable[[str], str]) -> str:
        """Replace addresses as a whole, and word by word what is between them."""
        found, place = "", 0
        for address in ADDRESS.finditer(text):
            found += _rewrite_words(text[place : address.start()], become) + self._addresses.get(
                address[0], HIDDEN_ADDRESS
            )
            place = address.end()
        return found + _rewrite_words(text[place:], become)

    def rewrite_sentence(self, text: str) -> str:
        """A message with pseudonyms for names; words of SENTENCE_WORDS and KEPT_TEXTS stay."""
        return PIECE.sub(lambda match: self._rewrite_piece(match[0]), text)

    def _rewrite_piece(self, piece: str) -> str:
        """A word, or a name of several words, which stays only if all are SENTENCE_WORDS and it has no digit."""
        words = list(_iter_words(piece))
        if (
            piece in KEPT_TEXTS
            or PLAIN_VALUE.fullmatch(piece)
            or (piece.isascii() and not DIGIT.search(piece) and _SENTENCE.issuperset(map(str.lower, words)))
        ):
            return piece
        return self._replace_words(piece, lambda word: self._become.get(word, word))


def _rewrite_words(text: str, become: Callable[[str], str]) -> str:
    return WORD.sub(lambda match: match[1] + (become(match[2]) if match[2] else ""), text)


def _address_head(address: str) -> str:
    """An address's first number with the separator."""
    return address[: len(address.split("-")[0].split(".")[0]) + 1]


def _iter_words(text: str) -> Iterator[str]:
    """The words of a text without their leading digits, which are never replaced."""
    return (match[2] for match in WORD.finditer(text) if match[2])


def _known_parts(text: str) -> Iterator[str]:
    """The parts of a text that stay: the whole, single words, a known prefix or suffix."""
    for piece in dict.fromkeys([text, *PIECES.split(text)]):
        if piece in KEPT_TEXTS:
            yield piece
            continue
        yield from (prefix for prefix in PREFIXES if piece.startswith(prefix))
        yield from (suffix for suffix in SUFFIXES if piece.endswith(suffix))


def _fixed_bounds(word: str, fixed: list[str]) -> tuple[str, str]:
    """The neighbouring fixed words of a word; empty where there is none."""
    place = bisect_left(fixed, word)
    return fixed[place - 1] if place else "", fixed[place] if place < len(fixed) else ""


def _name_words(
    words: list[str], low: str, high: str, first: str = FIRST_LETTERS, others: str = LETTERS
) -> Iterator[tuple[str, str]]:
    """(word, pseudonym) of sorted words: pseudonyms of one length in the same order, all between two bounds."""
    beginning = _text_between(low, high, first, others)
    width = _letters_needed(len(words))
    for number, word in enumerate(words):
        yield word, beginning + _number_as_letters(number, width)


def _letters_needed(count: int) -> int:
    """The number of letters that gives so many words different pseudonyms."""
    width = MIN_WIDTH
    while len(DIGITS) ** width < count:
        width += 1
    return width


def _text_between(low: str, high: str, first: str, others: str) -> str:
    """The shortest text of which every continuation sorts between two bounds; its first letter is from `first`."""
    stems = dict.fromkeys(stem[:length] for stem in (low, high) for length in range(len(stem) + 1))
    for stem in sorted(stems, key=lambda stem: (len(stem), stem)):
        for letter in others if stem else first:
            found = stem + letter
            if found > low and (not high or (found < high and not high.startswith(found))):
                return found
    raise ValueError(f"nothing lies between {low!r} and {high!r}")


def _number_as_letters(number: int, width: int) -> str:
    letters = ""
    for _ in range(width):
        number, digit = divmod(number, len(DIGITS))
        letters = DIGITS[digit] + letters
    return letters
