"""pdb: which evictions the disruption budgets allow. Upstream: plugins/pdb."""

from collections.abc import Iterable

from vcdebug.amount_text import count_noun
from vcdebug.explain.answer import Advice
from vcdebug.explain.equation import Equation, Term, victim_equation
from vcdebug.explain.plugins import PluginExplainer
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.plugins.pdb import BudgetCharge, Pdb, charge_budgets, read_budget
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import tasks_of

ADVICE = Advice.queue_admin("Wait until the PodDisruptionBudget allows an eviction, or lower its minAvailable.")
NO_LABELS = "it has no labels, and plugin pdb never allows unlabeled pods to be evicted"


def budget_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Allows candidates in order until a covering PodDisruptionBudget is used up."""
    budgets, candidates = recording.session.plugin_of_class(Pdb).budgets, tasks_of(recording, event.candidates)
    terms = [_budget_term(charge) for charge in charge_budgets(budgets, candidates)]
    title = "pdb: which evictions do the budgets allow?"
    formula = "every budget that covers the pod has disruptions left; each call starts with the full budgets again"
    return victim_equation(title, formula, ("budget", "allowed", "left before"), terms)


def _budget_term(charge: BudgetCharge) -> Term:
    if not charge.task.pod.labels:
        return Term(charge.task.key, (None, None, None), False, NO_LABELS)
    if not charge.budgets:
        return Term(charge.task.key, (None, None, None), True, "no budget covers it")
    budget, remaining = next((entry for entry in charge.budgets if entry[1] <= 0), charge.budgets[0])
    used = budget.allowed - remaining
    allows = f"PodDisruptionBudget {budget.name} allows {count_noun(budget.allowed, 'disruption')}"
    note = f"{allows}; {used} already used in this call" if used else allows
    return Term(
        charge.task.key, (budget.name, budget.allowed, remaining), charge.is_allowed, "" if charge.is_allowed else note
    )


def exceeded_budgets(recording: Recording, victims: Iterable[TaskKey], tier: int | None) -> list[str]:
    """Sentences about the budgets that evictions exceed together, and why they may: the tier that decided, from 1, has
    plugin pdb, or no tier has it.
    """
    read = map(read_budget, recording.snapshot.objects_of("PodDisruptionBudget"))
    charges = charge_budgets([budget for budget in read if budget is not None], tasks_of(recording, victims))
    exceeded = {one.name: one.allowed for charge in charges for one, remaining in charge.budgets if remaining <= 0}
    why = "evictions keep to it only with plugin pdb, which is not configured"
    if Pdb.name in recording.session.plugins:
        why = "plugin pdb counts from the whole budget for each pod that asks for room"
        if not tier or Pdb.name not in [one.name for one in recording.conf.tiers[tier - 1]]:
            return []
    allows = {name: count_noun(allowed, "disruption") for name, allowed in exceeded.items()}
    return [f"PodDisruptionBudget {name} allows {count}; {why}." for name, count in allows.items()]


EXPLAINER = PluginExplainer(
    equations={PREEMPTABLE.upstream: budget_equation, RECLAIMABLE.upstream: budget_equation}, veto_advice=ADVICE
)
