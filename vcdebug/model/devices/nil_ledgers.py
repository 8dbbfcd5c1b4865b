"""What older releases keep of a node without cards: a ledger that is nil.

Upstream: api/node_info.setNodeOthersResource, api/shared_device_pool.IsNilDevice.
"""

from __future__ import annotations

from collections.abc import Mapping

from vcdebug.errors import NIL_POINTER_TEXT, ProcessExit, SchedulerPanic
from vcdebug.model.devices.gpushare import DEVICE_NAME as SHARED
from vcdebug.model.devices.gpushare import GpuShareLedger, held_indexes
from vcdebug.model.devices.ledger import ReleaseOutcome
from vcdebug.model.devices.vgpu import DEVICE_NAME as VGPU
from vcdebug.model.devices.vgpu import asks_vgpu
from vcdebug.model.pod import Pod
from vcdebug.snapshot.device_config import VgpuNames


class NilLedger:
    """Filters pass over it or refuse for it; what else asks it reads from a nil pointer, unless it looks first."""

    __slots__ = ("_asked", "_refusal")

    def __init__(self, device: str, *, asked: bool, refuses: bool) -> None:
        self._asked = asked
        """Whether placements and their ends ask it, as they would any other."""
        self._refusal = f"node not initialized with device{device}" if refuses else None

    def add_resource(self, pod: Pod) -> None:
        """Charges nothing."""

    def sub_resource(self, pod: Pod) -> None:
        """Nothing is charged."""

    def filter_node(self, pod: Pod, policy: str) -> str | None:
        """Whoever asks is refused, or the ledger is passed over. Upstream: plugins/deviceshare.OnSessionOpen."""
        return self._refusal

    def allocate(self, pod: Pod) -> str | None:
        """Upstream: plugins/predicates.OnSessionOpen."""
        if self._asked:
            raise SchedulerPanic(NIL_POINTER_TEXT)
        return None

    def release(self, pod: Pod) -> ReleaseOutcome:
        """There is nothing to take back."""
        return ReleaseOutcome.FREE

    def bind_annotations(self, pod: Pod) -> Mapping[str, str]:
        """None."""
        return {}

    def queue_amounts(self, pod: Pod) -> Mapping[str, float]:
        """None."""
        return {}


class NilVgpuLedger(NilLedger):
    """A node that registers no virtual GPUs."""

    __slots__ = ("_names",)

    def __init__(self, names: VgpuNames, *, asked: bool, refuses: bool = False) -> None:
        super().__init__(VGPU, asked=asked, refuses=refuses)
        self._names = names

    def has_device_request(self, pod: Pod) -> bool:
        """Upstream: api/devices/nvidia/vgpu/device_info.HasDeviceRequest."""
        return asks_vgpu(pod, self._names)

    def score_node(self, pod: Pod, policy: str) -> float:
        """Read beside the cycle. Upstream: api/devices/nvidia/vgpu/device_info.ScoreNode."""
        raise ProcessExit(NIL_POINTER_TEXT)

    def clone(self) -> NilVgpuLedger:
        """Itself: there is nothing to change."""
        return self


class NilShareLedger(NilLedger):
    """A node that has no shared GPUs."""

    __slots__ = ("_empty",)

    def __init__(self, *, sharing_on: bool, number_on: bool, asked: bool, refuses: bool = False) -> None:
        super().__init__(SHARED, asked=asked, refuses=refuses)
        self._empty = GpuShareLedger("", 0, [], sharing_on=sharing_on, number_on=number_on)

    def has_device_request(self, pod: Pod) -> bool:
        """Upstream: api/devices/nvidia/gpushare/device_info.HasDeviceRequest."""
        return self._empty.has_device_request(pod)

    def add_resource(self, pod: Pod) -> None:
        """Its card is looked for. Upstream: api/devices/nvidia/gpushare/device_info.AddResource."""
        if held_indexes(pod):
            raise SchedulerPanic(NIL_POINTER_TEXT)

    def sub_resource(self, pod: Pod) -> None:
        """Upstream: api/devices/nvidia/gpushare/device_info.SubResource."""
        self.add_resource(pod)

    def score_node(self, pod: Pod, policy: str) -> float:
        """Upstream: api/devices/nvidia/gpushare/device_info.ScoreNode."""
        return 0.0

    def release(self, pod: Pod) -> ReleaseOutcome:
        """The pod has no annotation to strike out. Upstream: api/devices/nvidia/gpushare/device_info.Release."""
        return ReleaseOutcome.REFUSED if self._asked else ReleaseOutcome.FREE

    def clone(self) -> NilShareLedger:
        """Itself: there is nothing to change."""
        return self
