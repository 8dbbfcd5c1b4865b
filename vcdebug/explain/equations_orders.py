"""The comparison behind a pop: what left a priority queue against what left it next."""

from __future__ import annotations

from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.orders import Compared, Order, order_at, rival
from vcdebug.framework.record import PopEvent
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording

FORMULA = "the first difference decides"
COLUMNS = ("goes first", "the next")
LATER = "the next would go first: it entered the queue later, or the heap had not been put in order since it changed"


def pop(recording: Recording, seq: Seq, event: PopEvent) -> Equation | None:
    """Everything that the two were compared by, up to the first difference; None for the last one of a queue."""
    other = rival(recording, seq)
    order = order_at(recording, seq, other.name) if other is not None else None
    if order is None:
        return None
    terms = tuple(_term(step) for step in order.steps)
    title = f"why {order.left} goes before {order.right}"
    decided = order.deciding
    name = decided.difference.what if decided is not None else None
    return Equation(title, FORMULA, COLUMNS, "check", terms, order.sign, name, _note(order))


def _term(step: Compared) -> Term:
    holds = None if not step.sign else step.sign < 0
    return Term(step.difference.what, (step.difference.left, step.difference.right), holds, asked_by(step))


def asked_by(step: Compared) -> str:
    """The hook, its tier and plugin."""
    where = f"{step.point} tier {step.tier} {step.plugin}" if step.point else "no plugin decides"
    return f"{where}, reversed for victims" if step.reverse else where


def _note(order: Order) -> str:
    if order.sign > 0:
        return LATER
    unknown = [step.plugin for step in order.steps if not step.difference.known]
    return f"a recording does not keep what {', '.join(unknown)} compares" if unknown else ""
