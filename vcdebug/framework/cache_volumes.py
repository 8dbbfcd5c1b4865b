"""Volumes where a task is allocated, as releases before v1.12 look at them: not among the predicates.

Upstream: cache (v1.11: defaultVolumeBinder).
"""

from vcdebug.errors import NIL_POINTER_TEXT, SchedulerPanic
from vcdebug.kube.listers import Listers
from vcdebug.kube.volume_binding import VolumeBinding, VolumeBindingError, VolumeState
from vcdebug.model.names import NodeName, TaskId
from vcdebug.model.node import NodeInfo
from vcdebug.model.task import TaskInfo


class CacheVolumes:
    """What the cache assumes of volumes and claims for the tasks of a session."""

    def __init__(self, listers: Listers) -> None:
        self._check = VolumeBinding(listers)
        self._assumed: dict[TaskId, tuple[VolumeState, NodeName]] = {}

    def allocate(self, task: TaskInfo, node: NodeInfo) -> str | None:
        """Assume the task's volumes on the node; the error of a node that does not have them.
        Upstream: cache (v1.11: GetPodVolumes, AllocateVolumes).
        """
        if not task.pod.spec.get("volumes"):
            return None
        try:
            state = self._check.read_claims(task.pod)
        except VolumeBindingError as error:
            # What has no volumes is assumed all the same: upstream reads them from nil.
            raise SchedulerPanic(NIL_POINTER_TEXT) from error
        status = self._check.filter(state, node.name, node.labels)
        if status is None:
            self._check.reserve(state, node.name)
            self._assumed[task.uid] = (state, node.name)
            return None
        if state.delayed or state.immediate:
            raise SchedulerPanic(NIL_POINTER_TEXT)
        return status.reason

    def revert(self, task: TaskInfo) -> None:
        """Give back what was assumed. Upstream: cache (v1.11: RevertVolumes)."""
        assumed = self._assumed.pop(task.uid, None)
        if assumed is not None:
            self._check.unreserve(*assumed)
