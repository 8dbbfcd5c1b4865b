"""pdb: protects pods beyond their PodDisruptionBudgets from eviction. Upstream: plugins/pdb."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from vcdebug.framework.plugin_answers import PERMIT, VictimAnswer
from vcdebug.framework.quirks import UNLABELLED_SPARED
from vcdebug.framework.session import Plugin, Session
from vcdebug.kube.listers import Manifest
from vcdebug.kube.selector import Selector, SelectorError, label_selector
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.manifest import metadata_of, spec_of, status_of

FEATURE_GATE = "PodDisruptionBudgetsSupport"


class DisruptionBudget(NamedTuple):
    """One PodDisruptionBudget as its status says."""

    namespace: str
    name: str
    selector: Selector
    allowed: int
    disrupted: Manifest
    """Pods whose eviction is under way, by name: they cost nothing."""

    def covers_pod(self, pod: Pod) -> bool:
        """Whether evicting the pod costs this budget."""
        if self.namespace != pod.namespace or pod.name in self.disrupted:
            return False
        return not self.selector.is_empty and self.selector.matches_labels(pod.labels)


class Pdb(Plugin):
    """Allows the candidates that the budgets cover; for shuffle that is every labelled running pod in its budget."""

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
        """Tasks while budgets last; a pod without labels never. Upstream: plugins/pdb.pdbFilterFn."""
        spared = [task.key for task in tasks if not task.pod.labels]
        if spared:
            self.ssn.note_quirk(UNLABELLED_SPARED, f"without labels, and so no victims: {', '.join(spared)}")
        return [charge.task for charge in charge_budgets(self.budgets, tasks) if charge.is_allowed]


class BudgetCharge(NamedTuple):
    """A candidate and the budgets that cover it, each with what was left of it."""

    task: TaskInfo
    budgets: tuple[tuple[DisruptionBudget, int], ...]

    @property
    def is_allowed(self) -> bool:
        """Whether it is labelled, and all of them had room."""
        return bool(self.task.pod.labels) and all(allowed > 0 for _, allowed in self.budgets)


def charge_budgets(budgets: Sequence[DisruptionBudget], tasks: Iterable[TaskInfo]) -> Iterator[BudgetCharge]:
    """Every candidate in order, charged to all budgets that cover it, also when one of them is spent."""
    # Counted again in each call: upstream does not remember the evictions of the session.
    remaining = [budget.allowed for budget in budgets]
    for task in tasks:
        covering = [place for place, budget in enumerate(budgets) if task.pod.labels and budget.covers_pod(task.pod)]
        yield BudgetCharge(task, tuple((budgets[place], remaining[place]) for place in covering))
        for place in covering:
            remaining[place] -= 1


def read_budget(manifest: Manifest) -> DisruptionBudget | None:
    """None for a budget whose selector does not parse."""
    status: Manifest = status_of(manifest)
    try:
        selector = label_selector(spec_of(manifest).get("selector"))
    except SelectorError:
        return None
    allowed, disrupted = status.get("disruptionsAllowed") or 0, status.get("disruptedPods") or {}
    metadata = metadata_of(manifest)
    return DisruptionBudget(metadata.get("namespace") or "", metadata.get("name") or "", selector, allowed, disrupted)
