"""deviceshare: fits pods onto cards that pods share, using a ledger of devices for each node.

Upstream: plugins/deviceshare (enablePredicate), api/devices.
Differs: Ascend devices of MindCluster have no ledger here; a note marks where one would have been asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from vcdebug.errors import SchedulerPanic, blame_objects
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.conf import CONF_FILE
from vcdebug.framework.hooks import BATCH_NODE_ORDER
from vcdebug.framework.plugin_answers import NodeScores, zero_scores
from vcdebug.framework.quirks import DEVICE_NOT_REPLAYED
from vcdebug.framework.session import Plugin, Session, note_unknown
from vcdebug.gomath import trunc_int64
from vcdebug.model.devices import DeviceLedger, gpushare, vgpu
from vcdebug.model.devices.gpu_exclusive import ExclusiveLedger, ExclusiveRule, parse_exclusive_rules
from vcdebug.model.devices.gpushare import GpuShareLedger, NilShareLedger, NilVgpuLedger, ShareRules
from vcdebug.model.devices.hami_ascend import HamiAscendLedger, NpuRules, NpuSettings
from vcdebug.model.devices.vgpu import VgpuLedger
from vcdebug.model.devices.vgpu_annotations import CardRules, PodAnnotations
from vcdebug.model.fit_errors import UNSCHEDULABLE, FitStatus
from vcdebug.model.names import Codes
from vcdebug.model.node import STATUSES_WITHOUT_DEVICES, NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.releases import devices
from vcdebug.snapshot.device_config import (
    FIXED_NAMES,
    MigSettings,
    is_readable,
    is_void,
    read_mig_settings,
    read_npu_config,
    read_vgpu_names,
)
from vcdebug.snapshot.device_config import NPU_SECTION as NPUS
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.settings import DEVICE_CONFIG_FILE as DEVICE_FILE
from vcdebug.snapshot.snapshot import Snapshot

SHARING_KEY = "deviceshare.GPUSharingEnable"
NUMBER_KEY = "deviceshare.GPUNumberEnable"
VGPU_KEY = "deviceshare.VGPUEnable"
MIND_CLUSTER_KEY = "deviceshare.AscendMindClusterVNPUEnable"
HAMI_ASCEND_KEY = "deviceshare.AscendHAMiVNPUEnable"
ASCEND_KEYS = (MIND_CLUSTER_KEY, HAMI_ASCEND_KEY)
NODE_LOCK_KEY = "deviceshare.NodeLockEnable"
POLICY_KEY = "deviceshare.SchedulePolicy"
WEIGHT_KEY = "deviceshare.ScheduleWeight"
RULES_KEY = "deviceshare.GPUExclusiveRules"

SHARING_AND_NUMBER = "can not define true in both gpu sharing and gpu number"
GPU_AND_VGPU = "gpu-share and vgpu can't be used together"


class DeviceshareSettings(NamedTuple):
    """The plugin's arguments, read once. Upstream: plugins/deviceshare.enablePredicate."""

    sharing: bool
    number: bool
    vgpu: bool
    mind_cluster: bool
    hami_ascend: bool
    node_lock: bool
    policy: str
    weight: int
    rules: tuple[ExclusiveRule, ...]

    @classmethod
    def read_arguments(cls, arguments: Arguments) -> DeviceshareSettings:
        """Read the plugin's arguments; every switch is off by default."""
        return cls(
            arguments.get_bool(SHARING_KEY, default=False),
            arguments.get_bool(NUMBER_KEY, default=False),
            arguments.get_bool(VGPU_KEY, default=False),
            arguments.get_bool(MIND_CLUSTER_KEY, default=False),
            arguments.get_bool(HAMI_ASCEND_KEY, default=False),
            arguments.get_bool(NODE_LOCK_KEY, default=False),
            arguments.get_string(POLICY_KEY, ""),
            arguments.get_int(WEIGHT_KEY, 0),
            tuple(parse_exclusive_rules(arguments.raw.get(RULES_KEY))),
        )

    @property
    def fatal_message(self) -> str | None:
        """The message with which the real scheduler exits on conflicting switches; None without a conflict."""
        if self.sharing and self.number:
            return SHARING_AND_NUMBER
        return GPU_AND_VGPU if self.vgpu and (self.sharing or self.number) else None

    def list_problems(self, snapshot: Snapshot) -> Iterator[Problem]:
        """Yield a Problem for each input that the replay assumes or does not replay."""
        if self.fatal_message is not None:
            yield _conf_problem("", self.fatal_message, "the real scheduler exits at once")
        if self.mind_cluster:
            fault = "Ascend devices of MindCluster are not replayed"
            yield _conf_problem(MIND_CLUSTER_KEY, fault, "pods that request them fit every node")
        started = snapshot.process.started
        enabled = self.sharing or self.number or self.vgpu or self.hami_ascend
        if enabled and (started is None or started > snapshot.now):
            fault = "is missing and deviceshare needs it" if started is None else "is later than the snapshot itself"
            effect = f"a first cycle is assumed, in which {_in_first_cycle(snapshot)}"
            if snapshot.process.assumed:
                effect = "a running process is assumed, with device records on its nodes"
            yield Problem("meta.json", "", "scheduler.started", fault, effect)
        if self.vgpu or self.hami_ascend:
            yield from self._config_problems(snapshot)

    def _config_problems(self, snapshot: Snapshot) -> Iterator[Problem]:
        text = snapshot.device_config
        if snapshot.release.has_older_form(devices.VGPU_FIXED_NAMES):
            pass
        elif text is None:
            fault = "the device configuration (device-config.yaml) is not in the snapshot"
            yield _conf_problem(
                VGPU_KEY if self.vgpu else HAMI_ASCEND_KEY, fault, "the scheduler's built-in one is used"
            )
        elif not is_readable(text):
            yield Problem(DEVICE_FILE, "", "", "is not a configuration", "the scheduler's built-in one is used")
        elif device_config(snapshot) is None:
            fault = "is not what the scheduler reads there, which voids the configuration"
            yield Problem(DEVICE_FILE, "", NPUS, fault, "the scheduler's built-in one is used")
        if self.node_lock:
            yield _conf_problem(NODE_LOCK_KEY, "node locks are not replayed", "every lock counts as free")


def device_config(snapshot: Snapshot) -> str | None:
    """The text of the device configuration; None if the scheduler uses its built-in one."""
    text = snapshot.device_config
    if text is None or snapshot.release.has_older_form(devices.ASCEND_ABSENT):
        return text
    return None if is_void(text, list_only=snapshot.release.has_older_form(devices.VNPUS_WRAPPER)) else text


def _in_first_cycle(snapshot: Snapshot) -> str:
    if snapshot.release.has_older_form(devices.DEVICES_ALWAYS_REGISTERED):
        return "no running pod is charged for shared GPUs"
    return "no node has a device ledger"


def _conf_problem(field: str, fault: str, effect: str) -> Problem:
    return Problem(CONF_FILE, "deviceshare", field, fault, effect)


ASCEND_PREFIX = "huawei.com/"


def _npu_settings(snapshot: Snapshot) -> NpuSettings:
    rules = NpuRules.for_release(snapshot.release)
    config = read_npu_config(snapshot.device_config, list_only=rules.list_only)
    return NpuSettings(config, rules, drawn_cards=snapshot.chance.cards)


def ignored_names_of(arguments: Arguments, snapshot: Snapshot) -> tuple[str, ...]:
    """Names of Ascend memory and cores: they stop being node resources once the nodes have Ascend ledgers.
    Upstream: api/node_info.setNodeOthersResource.
    """
    if not arguments.get_bool(HAMI_ASCEND_KEY, default=False) or snapshot.process.is_first_cycle(snapshot.now):
        return ()
    settings = _npu_settings(snapshot)
    try:
        ledgers = [
            ledger
            for manifest in snapshot.objects_of("Node")
            for ledger in HamiAscendLedger.of_node(manifest, settings)
        ]
    except SchedulerPanic:
        # The same node panics again when the plugin opens, where upstream's process ends.
        return ()
    return tuple(dict.fromkeys(name for ledger in ledgers for name in ledger.ignored_devices if name))


class Deviceshare(Plugin):
    """Filters and scores nodes by their device ledgers; the plugin predicates updates the ledgers."""

    name: ClassVar[str] = "deviceshare"
    ignored_resources = staticmethod(ignored_names_of)
    later_methods = {BATCH_NODE_ORDER.method: devices.ASCEND_ABSENT}
    later_arguments = {RULES_KEY: devices.GPU_EXCLUSIVE_RULES, **dict.fromkeys(ASCEND_KEYS, devices.ASCEND_ABSENT)}

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.settings = DeviceshareSettings.read_arguments(arguments)
        """The settings from the plugin's arguments."""

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/deviceshare.OnSessionOpen."""
        self._ssn = ssn
        self._share_rules = ShareRules.for_release(
            ssn.release, ordering=ssn.cluster.ordering, drawn=ssn.snapshot.chance.cards
        )
        charges_releasing = ssn.release.has_older_form(devices.RELEASING_CHARGED_TO_DEVICES)
        self._holds_none = (TaskStatus.PIPELINED,) if charges_releasing else STATUSES_WITHOUT_DEVICES
        notes = PodAnnotations()
        self._npus = _npu_settings(ssn.snapshot)._replace(notes=notes, ordering=ssn.cluster.ordering)
        self.problems = tuple(self.settings.list_problems(ssn.snapshot))
        self._any = False
        self._loses_scores = ssn.release.has_older_form(devices.DEVICESHARE_SCORE_LOST)
        self._keeps_nil = ssn.release.has_older_form(devices.NIL_DEVICE_LEDGER)
        self._nil = {
            "is_called": ssn.release.has_older_form(devices.NIL_LEDGER_ASKED),
            "refuses": ssn.release.has_older_form(devices.DEVICE_MISSING_REFUSED),
        }
        self._first = ssn.snapshot.process.is_first_cycle(ssn.snapshot.now)
        config = device_config(ssn.snapshot)  # cards registered before the plugin opens know no configuration
        mig = MigSettings() if self._first else read_mig_settings(config)
        names = FIXED_NAMES if ssn.release.has_older_form(devices.VGPU_FIXED_NAMES) else read_vgpu_names(config)
        self._card_rules = CardRules.for_release(ssn.release, names=names, mig=mig)
        if self.settings.fatal_message is not None:
            raise blame_objects(SchedulerPanic(self.settings.fatal_message), (), "switch on only one of these")
        # Ledgers are created by a node event of an earlier cycle: a process's first cycle has none.
        if self._first and not ssn.release.has_older_form(devices.DEVICES_ALWAYS_REGISTERED):
            return
        for node in ssn.nodes.values():
            self._give_ledgers(node, notes)
            self._any = self._any or bool(node.devices)

    def _give_ledgers(self, node: NodeInfo, notes: PodAnnotations) -> None:
        """Upstream: plugins/deviceshare.initializeDevicesWithSession."""
        settings = self.settings
        pods = [task.pod for task in node.tasks_in_order() if task.status not in self._holds_none]
        node.holds_none = self._holds_none
        if settings.sharing or settings.number:
            switches = {"sharing_on": settings.sharing, "number_on": settings.number}
            cards: DeviceLedger | None = GpuShareLedger.of_node(node.manifest, rules=self._share_rules, **switches)
            if cards is None and self._keeps_nil:
                cards = NilShareLedger(**self._nil, **switches)
            if cards is not None:
                node.devices[gpushare.DEVICE_NAME] = _charge_pods(cards, () if self._first else pods)
        if settings.vgpu:
            now = self._ssn.snapshot.now
            ledger = VgpuLedger.of_node(node.manifest, settings.policy, self._card_rules, notes, now)
            if ledger is not None:
                _charge_pods(ledger, pods)
                node.devices[vgpu.DEVICE_NAME] = self._exclusive_ledger(ledger, node) if settings.rules else ledger
            elif self._keeps_nil:
                node.devices[vgpu.DEVICE_NAME] = NilVgpuLedger(self._card_rules.names, **self._nil)
        if settings.hami_ascend:
            for npus in HamiAscendLedger.of_node(node.manifest, self._npus):
                node.devices[npus.kind.word] = _charge_pods(npus, pods)

    def _exclusive_ledger(self, cut: VgpuLedger, node: NodeInfo) -> ExclusiveLedger:
        ledger = ExclusiveLedger(cut, list(self.settings.rules))
        ledger.track_initial_pods(task.pod for task in node.tasks_in_order())
        return ledger

    # Filtering

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        """Upstream: plugins/deviceshare.OnSessionOpen."""
        codes: Codes = np.zeros(len(nodes), dtype=np.uint16)
        if self.settings.mind_cluster and _asks_ascend(task.pod):
            text = f"{task.pod.key} asks for Ascend devices: MindCluster's are not asked, and every node passes"
            note_unknown(self._ssn, DEVICE_NOT_REPLAYED, text)
        if self._any:
            for index, node in enumerate(nodes.node_infos):
                refusal = self._first_refusal(task.pod, node)
                if refusal is not None:
                    codes[index] = self._ssn.reasons.code_of((refusal,))
        return codes

    def _first_refusal(self, pod: Pod, node: NodeInfo) -> FitStatus | None:
        """The status of the first ledger that rejects the pod; None if none does."""
        for ledger in node.devices.values():
            if ledger.has_device_request(pod):
                refusal = _ledger_verdict(ledger, pod, self.settings.policy)
                if refusal is not None:
                    return refusal
        return None

    # Scoring

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        scores_devices = self.settings.policy != "" if self._loses_scores else self.settings.weight > 0
        if not scores_devices or not self._any:
            return zero_scores(len(nodes))
        scores = [self._device_score(task.pod, node) for node in nodes.node_infos]
        return zero_scores(len(nodes)) if self._loses_scores else NodeScores(np.array(scores, dtype=np.float64))

    def device_scores(self, pod: Pod, ledgers: Mapping[str, DeviceLedger]) -> list[tuple[str, float]]:
        """(device, score of its ledger) for each device that the pod requests."""
        policy = self.settings.policy
        return [
            (name, ledger.score_node(pod, policy)) for name, ledger in ledgers.items() if ledger.has_device_request(pod)
        ]

    def _device_score(self, pod: Pod, node: NodeInfo) -> float:
        """Upstream: plugins/deviceshare.getDeviceScore."""
        total = 0.0
        for _, score in self.device_scores(pod, node.devices):
            total = total + score
        return self.weighted_score(total)

    def weighted_score(self, total: float) -> float:
        """The sum of the ledgers' scores, rounded, times the plugin's weight."""
        # Halves are rounded up, as upstream does; Python's round() rounds them to even.
        rounded = total if math.isnan(total) or math.isinf(total) else float(math.floor(total + 0.5))
        return float(trunc_int64(rounded)) * float(self.settings.weight)

    def batch_node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores | None:
        """All 0: upstream scores only Ascend devices here. Upstream: plugins/deviceshare.getDeviceScoresInBatch."""
        return zero_scores(len(nodes)) if len(nodes) else None


def _ledger_verdict(ledger: DeviceLedger, pod: Pod, policy: str) -> FitStatus | None:
    """The status with which the ledger rejects the pod; None if it accepts the pod."""
    if isinstance(ledger, HamiAscendLedger):
        return ledger.filter_status(pod, policy)
    refusal = ledger.filter_node(pod, policy)
    return None if refusal is None else FitStatus(UNSCHEDULABLE, refusal)


def _charge_pods(ledger: DeviceLedger, pods: Iterable[Pod]) -> DeviceLedger:
    for pod in pods:
        ledger.add_resource(pod)
    return ledger


def _asks_ascend(pod: Pod) -> bool:
    limits = ((c.get("resources") or {}).get("limits") or {} for c in pod.spec.get("containers") or ())
    return any(name.startswith(ASCEND_PREFIX) for names in limits for name in names)
