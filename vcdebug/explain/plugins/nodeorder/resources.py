"""The scorers that look at resources: least and most allocated, and balance."""

from __future__ import annotations

from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Figure, Ratio, Term
from vcdebug.kube.requests import GPU, MEMORY
from vcdebug.kube.resource_scores import Averaged, Filled, Portion, averaged
from vcdebug.plugins.nodeorder import Scorers

AVERAGE_COLUMNS = ("allocatable", "requested", "request", "score")
BALANCE_COLUMNS = ("allocatable", "requested", "request", "before", "after")
LEAST_FORMULA = "100 × (allocatable − requested − request) / allocatable, averaged; no request counts as a little"
MOST_FORMULA = "100 × (requested + request) / allocatable, averaged; no request counts as a little"
CHANGE_FORMULA = "balance = 100 × (1 − deviation of the parts used); score = 50 + (50 + after − before) / 2"
BALANCE_FORMULA = "balance = 100 × (1 − deviation of the parts used); the score is the balance with the pod"


def least(scorers: Scorers, asked: Asked, weight: int) -> Equation:
    """How much of cpu and memory stays free."""
    pod = scorers.view.shapes.shape(asked.pod).requests.incoming_non_zero
    return _average(asked, averaged(scorers.view, pod, asked.row, least=True), weight, "least allocated", LEAST_FORMULA)


def most(scorers: Scorers, asked: Asked, weight: int) -> Equation:
    """How much of cpu and memory is taken."""
    pod = scorers.view.shapes.shape(asked.pod).requests.incoming_non_zero
    return _average(asked, averaged(scorers.view, pod, asked.row, least=False), weight, "most allocated", MOST_FORMULA)


def _average(asked: Asked, found: Averaged, weight: int, name: str, formula: str) -> Equation:
    terms = tuple(_term(one, one.score) for one in found.portions)
    note = f"average {found.score}, × weight {weight} = {found.score * weight}"
    title = f"{name} on {asked.node.name}"
    return Equation(title, formula, AVERAGE_COLUMNS, "dimension", terms, float(found.score * weight), None, note)


def balanced(scorers: Scorers, asked: Asked, weight: int) -> Equation | None:
    """How even cpu, memory and GPUs are used, and what the pod changes about it."""
    found = scorers.resources.balanced(scorers.view.shapes.shape(asked.pod).requests.incoming, asked.row)
    if found is None:
        return None
    terms = tuple(_term(one, Ratio(one.before), Ratio(one.after)) for one in found.filled)
    formula = BALANCE_FORMULA if found.absolute else CHANGE_FORMULA
    note = (
        f"balance {found.before} before, {found.after} after: {found.score}, × weight {weight} = {found.score * weight}"
    )
    title = f"balanced allocation on {asked.node.name}"
    return Equation(title, formula, BALANCE_COLUMNS, "dimension", terms, float(found.score * weight), None, note)


def _term(one: Portion | Filled, *more: Figure) -> Term:
    """What the node has of a resource, what is requested of it, what the pod adds; then what that comes to."""
    amounts = (_amount(one.name, each) for each in (one.allocatable, one.requested, one.added))
    return Term(one.name, (*amounts, *more), None)


def _amount(name: str, value: int) -> float:
    """In the units of the model: milli-cores, bytes, thousandths of a GPU."""
    return float(value * 1000) if name == GPU and name != MEMORY else float(value)
