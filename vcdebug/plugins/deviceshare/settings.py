"""deviceshare's switches, and what of them the replay does not follow.

Upstream: plugins/deviceshare (enablePredicate).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.conf import CONF_FILE
from vcdebug.model.devices.exclusive import ExclusiveRule, parse_exclusive_rules
from vcdebug.releases.devices import ASCEND_ABSENT, DEVICES_ALWAYS_REGISTERED, VGPU_FIXED_NAMES, VNPUS_WRAPPER
from vcdebug.snapshot.device_config import DEVICE_CONFIG_FILE as DEVICE_FILE
from vcdebug.snapshot.device_config import is_readable
from vcdebug.snapshot.npu_config import NPU_SECTION as NPUS
from vcdebug.snapshot.npu_config import is_void
from vcdebug.snapshot.problem import Problem
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
        """Every switch is off unless stated."""
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
        """The words with which the real scheduler exits on a combination of switches."""
        if self.sharing and self.number:
            return SHARING_AND_NUMBER
        return GPU_AND_VGPU if self.vgpu and (self.sharing or self.number) else None

    def list_problems(self, snapshot: Snapshot) -> Iterator[Problem]:
        """What the replay takes for granted, or leaves out."""
        if self.fatal_message is not None:
            yield _conf_problem("", self.fatal_message, "the real scheduler exits at once")
        if self.mind_cluster:
            what = "Ascend devices of MindCluster are not replayed"
            yield _conf_problem(MIND_CLUSTER_KEY, what, "pods that request them fit every node")
        started = snapshot.process.started
        asked = self.sharing or self.number or self.vgpu or self.hami_ascend
        if asked and (started is None or started > snapshot.now):
            what = "is missing and deviceshare needs it" if started is None else "is later than the snapshot itself"
            effect = f"a first cycle is assumed, in which {_in_first_cycle(snapshot)}"
            yield Problem("meta.json", "", "scheduler.started", what, effect)
        if self.vgpu or self.hami_ascend:
            yield from self._config_problems(snapshot)

    def _config_problems(self, snapshot: Snapshot) -> Iterator[Problem]:
        text = snapshot.device_config
        if snapshot.release.has_older_form(VGPU_FIXED_NAMES):
            pass
        elif text is None:
            what = "the device configuration (device-config.yaml) is not in the snapshot"
            yield _conf_problem(
                VGPU_KEY if self.vgpu else HAMI_ASCEND_KEY, what, "the scheduler's built-in one is used"
            )
        elif not is_readable(text):
            yield Problem(DEVICE_FILE, "", "", "is no configuration", "the scheduler's built-in one is used")
        elif device_config(snapshot) is None:
            what = "is not what the scheduler reads there, which voids the configuration"
            yield Problem(DEVICE_FILE, "", NPUS, what, "the scheduler's built-in one is used")
        if self.node_lock:
            yield _conf_problem(NODE_LOCK_KEY, "node locks are not replayed", "every lock counts as free")


def device_config(snapshot: Snapshot) -> str | None:
    """The text of the device configuration; None where the scheduler takes its built-in one."""
    text = snapshot.device_config
    if text is None or snapshot.release.has_older_form(ASCEND_ABSENT):
        return text
    return None if is_void(text, list_only=snapshot.release.has_older_form(VNPUS_WRAPPER)) else text


def _in_first_cycle(snapshot: Snapshot) -> str:
    if snapshot.release.has_older_form(DEVICES_ALWAYS_REGISTERED):
        return "nobody who runs is charged for shared GPUs"
    return "no node has a device ledger"


def _conf_problem(field: str, what: str, effect: str) -> Problem:
    return Problem(CONF_FILE, "deviceshare", field, what, effect)
