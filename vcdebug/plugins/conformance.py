"""conformance: protects critical pods from eviction. Upstream: plugins/conformance."""

from vcdebug.framework.plugin_answers import PERMIT, EvictionContext, VictimAnswer
from vcdebug.framework.session import Plugin
from vcdebug.model.task import TaskInfo

CRITICAL_CLASSES = ("system-cluster-critical", "system-node-critical")
CRITICAL_NAMESPACE = "kube-system"


class Conformance(Plugin):
    """Protects pods with a critical priority class, and all pods in kube-system, from eviction."""

    name = "conformance"

    def preemptable(self, preemptor: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        """Upstream: plugins/conformance.evictableFn."""
        return ordinary_tasks(candidates), PERMIT

    def reclaimable(self, reclaimer: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        return ordinary_tasks(candidates), PERMIT

    def unified_evictable(self, context: EvictionContext, candidates: list[TaskInfo]) -> VictimAnswer:
        return ordinary_tasks(candidates), PERMIT


def is_critical(task: TaskInfo) -> bool:
    """Whether the pod has a critical priority class, by name, or is in kube-system; priority values do not count."""
    return task.pod.priority_class_name in CRITICAL_CLASSES or task.namespace == CRITICAL_NAMESPACE


def ordinary_tasks(tasks: list[TaskInfo]) -> list[TaskInfo]:
    """The tasks that are not critical, in order. Upstream: plugins/conformance.evictableFn."""
    return [task for task in tasks if not is_critical(task)]
