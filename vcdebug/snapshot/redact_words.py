"""Pseudonyms for the names of a snapshot, and the words that stay: those that the scheduler itself knows.

Pseudonyms sort as the names do, so that everything that compares names decides the same in a redacted snapshot.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import groupby, product

from vcdebug.snapshot.kinds import KINDS


def _split_words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAME_ANNOTATIONS = _split_words("""
scheduling.k8s.io/group-name scheduling.volcano.sh/group-name scheduling.volcano.sh/queue-name volcano.sh/bind-time
volcano.sh/hierarchy volcano.sh/job-name volcano.sh/job-version volcano.sh/nodegroup-name volcano.sh/pipelined-node
volcano.sh/queue-name volcano.sh/revocable-zone volcano.sh/task-index volcano.sh/task-spec
volcano.sh/task-topology-affinity volcano.sh/task-topology-anti-affinity volcano.sh/task-topology-task-order
volcano.sh/template-uid volcano.sh/vgpu-node volcano.sh/vgpu-time volume.beta.kubernetes.io/storage-class
volume.kubernetes.io/selected-node storage.alpha.kubernetes.io/migrated-plugins
""")
"""Annotations that the scheduler reads and whose numbers are parts of names, or read by nothing."""
NUMBER_ANNOTATIONS = _split_words("""
scheduling.volcano.sh/queue-allocation-gate volcano.sh/cooldown-time volcano.sh/eviction-occurred
volcano.sh/gpu-index volcano.sh/gpu-memory volcano.sh/gpu-number volcano.sh/gpu-unhealthy-ids
volcano.sh/hierarchy-weights volcano.sh/jdb-max-unavailable volcano.sh/jdb-min-available
volcano.sh/node-vgpu-handshake volcano.sh/node-vgpu-register volcano.sh/nodegroup-resource-limits
volcano.sh/numa-topology-policy volcano.sh/offline-job-evicting volcano.sh/oversubscription
volcano.sh/oversubscription-cpu volcano.sh/oversubscription-memory volcano.sh/pipelined-status volcano.sh/preemptable
volcano.sh/resource-strategy-scoring-type volcano.sh/resource-strategy-weight volcano.sh/sla-waiting-time
sla-waiting-time volcano.sh/task-priority volcano.sh/vgpu-cores volcano.sh/vgpu-ids-new volcano.sh/vgpu-memory
volcano.sh/vgpu-mode volcano.sh/vgpu-nouse-gpuuuid volcano.sh/vgpu-number volcano.sh/vgpu-podgroup-policy
volcano.sh/vgpu-use-gpuuuid volcano.sh/bind-phase volcano.sh/devices-to-allocate volcano.sh/enable-topology-aware
nvidia.com/use-gputype nvidia.com/nouse-gputype hami.io/node-handshake hami.io/node-nvidia-register
pv.kubernetes.io/bind-completed pv.kubernetes.io/bound-by-controller storageclass.kubernetes.io/is-default-class
hami-vnpu-core huawei.com/vnpu-mode hami.io/bind-phase
""")
"""Annotations whose numbers decide; the scheduler reads these, those of names, and NPU_ANNOTATION."""
ANNOTATIONS = (*NAME_ANNOTATIONS, *NUMBER_ANNOTATIONS)
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
    "Requesting_",
    "Deleted_",
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
WORD = re.compile(f"{LETTER}+")
PIECES = re.compile(r"[^-0-9A-Za-z_./]+")
PIECE = re.compile(r"[-0-9A-Za-z_./\u0080-\U0010ffff]+")
DIGIT = re.compile("[0-9]")
INDEX = re.compile(rf"(?<!{LETTER})[0-9]+$")
INTEGER = re.compile("[+-]?([0-9]+)")
COUNT = re.compile("[0-9]+(/[0-9]+)*")
PLAIN_VALUE = re.compile(
    r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?(m|k|n|u|[KMGTPE]i?|%)?|(\d+(\.\d+)?(ns|us|ms|s|m|h))+|\d+-\d+|\d+(/\d+)+",
    re.ASCII,
)
"""Numbers, quantities, durations, ranges and ratios: where the scheduler reads a number they are never replaced."""
MOMENT = re.compile(r"(\d{4}([-.])\d\d\2\d\d[Tt ]\d\d:\d\d:\d\d)((?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?)", re.ASCII)

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
DIGITS = "abcdefghijklmnopqrstuvwxyz"
MIN_WIDTH = 2
SMALL_COUNT = 999
"""Messages keep numbers up to this one, and up to the number of objects."""

_SENTENCE = frozenset(SENTENCE_WORDS)


def is_read_annotation(key: str) -> bool:
    """Whether the scheduler reads the annotation."""
    return key in NAME_ANNOTATIONS or holds_numbers(key)


def holds_numbers(key: str) -> bool:
    """Whether numbers in an annotation or label decide."""
    return key in NUMBER_ANNOTATIONS or NPU_ANNOTATION.fullmatch(key) is not None


class Pseudonyms:
    """The pseudonym of every word of a snapshot: collect all texts first, then choose, then rewrite."""

    def __init__(self, ago: timedelta = timedelta(0), count: int = 0) -> None:
        self.ago = ago
        """What is added to every time."""
        self._count = max(count, SMALL_COUNT)
        self._words: dict[str, None] = {}
        self._fixed: dict[str, None] = dict.fromkeys(
            word for beginning in COMPOSED_PREFIXES for word in _iter_words(beginning)
        )
        self._become: Mapping[str, str] = {}
        self._indexed: dict[str, None] = {}
        """Names whose last number is an index."""
        self._compared: dict[str, None] = {}
        """Numbers that stay numbers in every text."""
        self._numbers: dict[str, str] = {}

    def collect_words(self, text: str) -> str:
        """Note a text's words; returns the text, so that it can replace rewrite_text."""
        self._words.update(dict.fromkeys(_iter_words(text)))
        for part in _known_parts(text):
            self._fixed.update(dict.fromkeys(_iter_words(part)))
        return text

    def collect_numbers(self, text: str) -> str:
        """Note the words between a text's numbers, in place of rewrite_numbers."""
        for piece in PIECE.findall(MOMENT.sub(" ", text)):
            if PLAIN_VALUE.fullmatch(piece) is None:
                self.collect_words(piece)
        return text

    def keep_index(self, name: str) -> None:
        """Let the number at the end of a name stay a number: the order of a job's pods depends on it."""
        if found := INDEX.search(name):
            self._indexed[name] = None
            self._numbers[found[0]] = ""

    def keep_integer(self, text: str) -> None:
        """Let an integer that the scheduler compares stay an integer."""
        if found := INTEGER.fullmatch(text):
            self._compared[found[1]] = None
            self._numbers[found[1]] = ""

    def choose_pseudonyms(self) -> None:
        """Choose the pseudonyms of all collected words; no text may be collected afterwards."""
        # Between two fixed words the free ones are renamed in order, so that the order of all words is kept. A number
        # is fixed and free: it is an index in one name, and part of an address in another.
        self._numbers = _renumber(self._numbers, self._words)
        become = {word: word for word in self._fixed}
        fixed = sorted((become | self._numbers).items())
        free = sorted(word for word in self._words if word not in self._fixed)
        known = [word for word, _ in fixed]
        for place, words in groupby(free, lambda word: bisect_right(known, word)):
            low, high = fixed[place - 1][1] if place else "", fixed[place][1] if place < len(fixed) else ""
            become.update(_name_words(list(words), low, high))
        self._become = become

    def rewrite_text(self, text: str) -> str:
        """The text with pseudonyms, also for numbers; raises KeyError for a word that was not collected."""
        return self._replace_words(text, self._become.__getitem__)

    def rewrite_numbers(self, text: str) -> str:
        """A text whose numbers decide: they stay, times are moved, and the words between them get pseudonyms."""
        found, place = "", 0
        for moment in MOMENT.finditer(text):
            found += PIECE.sub(self._rewrite_unless_number, text[place : moment.start()]) + self.move_time(moment[0])
            place = moment.end()
        return found + PIECE.sub(self._rewrite_unless_number, text[place:])

    def _rewrite_unless_number(self, piece: re.Match[str]) -> str:
        return piece[0] if PLAIN_VALUE.fullmatch(piece[0]) else self.rewrite_text(piece[0])

    def move_time(self, text: str) -> str:
        """The time of the redacted clock, in the same form; what is no time, or too early, stays."""
        moment = MOMENT.fullmatch(text)
        try:
            moved = moment and datetime.fromisoformat(moment[1].replace(".", "-").upper()) + self.ago
        except (ValueError, OverflowError):
            return text
        return (
            moved.strftime(f"%Y{moment[2]}%m{moment[2]}%d{text[10]}%H:%M:%S") + moment[3] if moment and moved else text
        )

    def _replace_words(self, text: str, become: Callable[[str], str]) -> str:
        return WORD.sub(lambda word: self._number_at(word) or become(word[0]), text)

    def _number_at(self, word: re.Match[str]) -> str:
        """The new number of an index, which counts only at the end of its own name; empty for other words."""
        number = self._numbers.get(word[0], "")
        name = word.string[word.string.rfind("/", 0, word.start()) + 1 : word.end()] if number else ""
        return number if word[0] in self._compared or name in self._indexed else ""

    def rewrite_sentence(self, text: str) -> str:
        """A message with pseudonyms for names; amounts, words of SENTENCE_WORDS and KEPT_TEXTS stay."""
        return PIECE.sub(lambda match: self._rewrite_piece(match[0]), text)

    def _rewrite_piece(self, piece: str) -> str:
        """A word, or a name of several words, which stays only if all are SENTENCE_WORDS and it has no digit."""
        words = list(_iter_words(piece))
        if (
            piece in KEPT_TEXTS
            or self._is_amount(piece)
            or (piece.isascii() and not DIGIT.search(piece) and _SENTENCE.issuperset(map(str.lower, words)))
        ):
            return piece
        return self._replace_words(piece, lambda word: self._become.get(word, word))

    def _is_amount(self, piece: str) -> bool:
        """Whether a message counts or measures: a larger number without a unit may be anything, such as an account."""
        if COUNT.fullmatch(piece):
            return all(len(part) < 10 and int(part) <= self._count for part in piece.split("/"))
        # Two numbers with a dash may be a telephone number.
        return "-" not in piece and PLAIN_VALUE.fullmatch(piece) is not None


def _iter_words(text: str) -> Iterator[str]:
    return (match[0] for match in WORD.finditer(text))


def _known_parts(text: str) -> Iterator[str]:
    """The parts of a text that stay: the whole, single words, a known prefix or suffix."""
    for piece in dict.fromkeys([text, *PIECES.split(text)]):
        if piece in KEPT_TEXTS:
            yield piece
            continue
        yield from (prefix for prefix in PREFIXES if piece.startswith(prefix))
        yield from (suffix for suffix in SUFFIXES if piece.endswith(suffix))


MAX_LENGTH = 16
"""Longer numbers get no more digits: they could exceed 64 bits."""
NARROW_DIGITS = "123456789"
WIDE_DIGITS = ("11", "12", "13", "14", "15", "16", "17", "18", "19", "21")


def _renumber(numbers: Iterable[str], words: Container[str]) -> dict[str, str]:
    """Number → another one without zeros; new ones compare as old ones do, both as texts and as integers."""
    renumbered = _compact_numbers(numbers)
    # A long one that by accident is a number of the snapshot would look as if that had survived.
    long = [new for new in renumbered.values() if len(new) > len(str(SMALL_COUNT))]
    fronts = ["", *NARROW_DIGITS, *WIDE_DIGITS] if max(map(len, long), default=0) <= MAX_LENGTH else [""]
    front = next((front for front in fronts if not any(front + new in words for new in long)), "")
    return {number: front + new for number, new in renumbered.items()}


def _compact_numbers(numbers: Iterable[str]) -> dict[str, str]:
    """Number → its digits, each counted among those that follow the same beginning."""
    following: dict[str, dict[str, None]] = {}
    for number in numbers:
        for place, digit in enumerate(number):
            following.setdefault(number[:place], {})[digit] = None
    ranks = {start + digit: rank for start, found in following.items() for rank, digit in enumerate(sorted(found))}
    # A place has one width in all numbers, since a longer number is a larger one. Without zeros a pseudonym always
    # finds room between a number and its continuations.
    wide = {len(start): None for start, found in following.items() if len(found) > len(NARROW_DIGITS)}
    digits = {start: (WIDE_DIGITS if len(start) - 1 in wide else NARROW_DIGITS)[rank] for start, rank in ranks.items()}
    return {number: "".join(digits[number[: end + 1]] for end in range(len(number))) for number in numbers}


def _name_words(words: list[str], low: str, high: str) -> Iterator[tuple[str, str]]:
    """(word, pseudonym) of sorted words: pseudonyms of one length in the same order, all between two bounds."""
    beginning = _text_between(low, high)
    endings = product(DIGITS, repeat=_letters_needed(len(words)))
    yield from ((word, beginning + "".join(ending)) for word, ending in zip(words, endings, strict=False))


def _letters_needed(count: int) -> int:
    """The number of letters that gives so many words different pseudonyms."""
    width = MIN_WIDTH
    while len(DIGITS) ** width < count:
        width += 1
    return width


def _text_between(low: str, high: str) -> str:
    """The shortest text of which every continuation sorts between two bounds."""
    stems = dict.fromkeys(stem[:length] for stem in (low, high) for length in range(len(stem) + 1))
    found = [stem + letter for stem in stems for letter in LETTERS]
    fitting = [text for text in found if text > low and (not high or (text < high and not high.startswith(text)))]
    # Without capitals where possible, which names and prefixes of labels must not have.
    return min(fitting, key=lambda text: (text != text.lower(), len(text)))
