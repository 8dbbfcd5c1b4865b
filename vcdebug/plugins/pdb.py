"""pdb: protects pods from evictions that their PodDisruptionBudgets do not allow. Upstream: plugins/pdb."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from vcdebug.framework.plugin_answers import PERMIT, VictimAnswer
from vcdebug.framework.quirks import UNLABELLED_PROTECTED
from vcdebug.framework.session import Plugin, Session
from vcdebug.kube.listers import Manifest
from vcdebug.kube.selector import Selector, SelectorError, label_selector
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.manifest import metadata_of, spec_of, status_of

FEATURE_GATE = "PodDisruptionBudgetsSupport"


class DisruptionBudget(NamedTuple):
    """A PodDisruptionBudget with the figures of its status."""

    namespace: str
    name: str
    selector: Selector
    allowed: int
    disrupted: Manifest
    """Pods whose eviction is in progress, by name: evicting them is not charged to the budget."""

    def covers_pod(self, pod: Pod) -> bool:
        """Whether evicting the pod is charged to this budget."""
        if self.namespace != pod.namespace or pod.name in self.disrupted:
            return False
        return not self.selector.is_empty and self.selector.matches_labels(pod.labels)


class Pdb(Plugin):
    """Allows candidates as long as their budgets allow it; for shuffle it names every such running pod with labels."""

    name = "pdb"
    ssn: Session
    budgets: list[DisruptionBudget]

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/pdb.OnSessionOpen."""
        self.ssn = ssn
        manifests = ssn.snapshot.objects_of("PodDisruptionBudget") if ssn.flags.is_gate_on(FEATURE_GATE) else []
        budgets = (read_budget(manifest) for manifest in manifests)
        self.budgets = [budget for budget in budgets if budget is not None]

    def preemptable(self, preemptor: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        """Upstream: plugins/pdb.wrappedPdbFilterFn."""
        return self.allowed_victims(candidates), PERMIT

    def reclaimable(self, reclaimer: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        return self.allowed_victims(candidates), PERMIT

    def victim_tasks(self, tasks: list[TaskInfo]) -> list[TaskInfo]:
        return self.allowed_victims(tasks)

    def allowed_victims(self, tasks: list[TaskInfo]) -> list[TaskInfo]:
        """The tasks that the budgets allow, in order; pods without labels never. Upstream: plugins/pdb.pdbFilterFn."""
        unlabelled = [task.key for task in tasks if not task.pod.labels]
        if unlabelled:
            self.ssn.note_quirk(UNLABELLED_PROTECTED, f"without labels, and so no victims: {', '.join(unlabelled)}")
        return [charge.task for charge in charge_budgets(self.budgets, tasks) if charge.is_allowed]


class BudgetCharge(NamedTuple):
    """A candidate, and the budgets that cover it with their remaining disruptions."""

    task: TaskInfo
    budgets: tuple[tuple[DisruptionBudget, int], ...]

    @property
    def is_allowed(self) -> bool:
        """Whether the pod has labels, and every budget that covers it allows another disruption."""
        return bool(self.task.pod.labels) and all(allowed > 0 for _, allowed in self.budgets)


def charge_budgets(budgets: Sequence[DisruptionBudget], tasks: Iterable[TaskInfo]) -> Iterator[BudgetCharge]:
    """Yield each candidate in order, charged to all budgets that cover it, even if one of them is used up."""
    # Counted anew in each call: upstream does not remember the session's evictions.
    remaining = [budget.allowed for budget in budgets]
    for task in tasks:
        covering = [place for place, budget in enumerate(budgets) if task.pod.labels and budget.covers_pod(task.pod)]
        yield BudgetCharge(task, tuple((budgets[place], remaining[place]) for place in covering))
        for place in covering:
            remaining[place] -= 1


def read_budget(manifest: Manifest) -> DisruptionBudget | None:
    """The budget in a manifest; None if its selector is invalid."""
    status: Manifest = status_of(manifest)
    try:
        selector = label_selector(spec_of(manifest).get("selector"))
    except SelectorError:
        return None
    allowed, disrupted = status.get("disruptionsAllowed") or 0, status.get("disruptedPods") or {}
    metadata = metadata_of(manifest)
    return DisruptionBudget(metadata.get("namespace") or "", metadata.get("name") or "", selector, allowed, disrupted)
