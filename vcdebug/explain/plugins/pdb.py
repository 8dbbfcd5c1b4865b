"""pdb: which evictions the disruption budgets allow.

Upstream: plugins/pdb.
"""

from __future__ import annotations

from vcdebug.explain.answer import sharers
from vcdebug.explain.equation import Equation, Term, choice
from vcdebug.explain.plugin import PluginWords
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.plugins.pdb import Charge, Pdb, charges
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import plugin_of, tasks_of

ADVICE = sharers("wait until the disruption budget allows an eviction, or lower its minAvailable")
NO_LABELS = "it has no labels: pdb never offers such a pod"


def allowed(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Candidates in order while every budget that covers them lasts."""
    terms = [
        _charged(each) for each in charges(plugin_of(recording, Pdb).budgets, tasks_of(recording, event.candidates))
    ]
    title = "pdb: which evictions do the budgets allow?"
    formula = "every budget that covers the pod has disruptions left; each call starts with the full budgets again"
    return choice(title, formula, ("budget", "allowed", "left before"), terms)


def _charged(each: Charge) -> Term:
    if not each.task.pod.labels:
        return Term(each.task.key, (None, None, None), False, NO_LABELS)
    if not each.budgets:
        return Term(each.task.key, (None, None, None), True, "no budget covers it")
    budget, left = next((one for one in each.budgets if one[1] <= 0), each.budgets[0])
    taken = budget.allowed - left
    note = f"budget {budget.name} allows {budget.allowed}, and {taken} {'is' if taken == 1 else 'are'} taken already"
    return Term(each.task.key, (budget.name, budget.allowed, left), each.allowed, "" if each.allowed else note)


WORDS = PluginWords(equations={PREEMPTABLE.upstream: allowed, RECLAIMABLE.upstream: allowed}, keeps_advice=ADVICE)
