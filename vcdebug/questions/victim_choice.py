"""Why this victim: the order in which a node's victims leave, and what put this one before the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vcdebug.amount_text import plural
from vcdebug.explain.answer import Evidence
from vcdebug.explain.evictions import CARRIED_OUT, WHY, Eviction, evictions, milder
from vcdebug.explain.orders import Order, kind_of, order_at
from vcdebug.explain.victims import VictimChoice, next_choice
from vcdebug.framework.record import Level, PopEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.questions.evicted import find_pod
from vcdebug.questions.reply import Question, Reply, Sheet
from vcdebug.trace.recording import Recording

MOST_NODES = 4


def why_victim(recording: Recording, word: str) -> Reply:
    """The pod's eviction, and everybody else who could have gone in its place."""
    pod = find_pod(recording, word)
    planned = [one for one in evictions(recording) if one.victim == pod]
    if not planned:
        return Reply(f"{pod} is no victim in this cycle.", data={"pod": pod, "victim": False})
    one = ([each for each in planned if each.fate in CARRIED_OUT] or planned)[-1]
    choice = next_choice(recording, one.seq) if one.tier is not None else None
    others = [task for task in dict.fromkeys(choice.victims) if task != pod] if choice is not None else []
    pop = _pop_of(recording, one)
    orders = [found for other in others if pop and (found := order_at(recording, pop, other)) is not None]
    sheets = tuple(sheet for sheet in (_orders(orders), _spared(choice)) if sheet.rows)
    evidence = tuple(Evidence(seq, text) for seq, text in _proof(one, choice, pop))
    return Reply(
        _sentence(one, others, orders), tuple(_elsewhere(recording, one)), sheets, evidence, _data(one, others, orders)
    )


def _pop_of(recording: Recording, one: Eviction) -> Seq | None:
    """The event by which it left the node's queue of victims."""
    span = recording.tree.around(one.seq, Level.NODE)
    for seq in range(one.seq, (span.first if span is not None else 1) - 1, -1):
        event = recording.event(seq)
        if isinstance(event, PopEvent) and event.name == one.victim and kind_of(recording, seq) == "victim":
            return seq
    return None


def _sentence(one: Eviction, others: Sequence[TaskKey], orders: Sequence[Order]) -> str:
    where = f"on {one.node}" if one.node else "here"
    if not others:
        return f"{one.victim} was the only pod {where} that could be evicted for {one.preemptor or 'anybody'}."
    behind = next((order for order in orders if order.sign < 0 and order.deciding is not None), None)
    if behind is None or behind.deciding is None:
        return f"{one.victim} left together with {len(others)} others that could be evicted {where}."
    decided = behind.deciding
    by = f"{decided.plugin} " if decided.plugin else ""
    return (
        f"{one.victim} goes before {behind.right} {where}: {by}compares {decided.difference.what}, "
        f"{decided.difference.left} to {decided.difference.right}."
    )


def _orders(orders: Sequence[Order]) -> Sheet:
    rows = []
    for order in orders:
        decided = order.deciding
        first = {-1: "goes later", 1: "goes first", 0: "equal"}[order.sign]
        what = decided.difference if decided is not None else None
        by = (decided.plugin if decided is not None else "") or "no plugin"
        values = (f"{what.left}", f"{what.right}") if what is not None else ("", "")
        rows.append((order.right, first, what.what if what is not None else "nothing", *values, by))
    heads = ("instead", "order", "decided by", "the victim's", "its", "plugin")
    return Sheet("who could have gone instead", heads, tuple(rows))


def _spared(choice: VictimChoice | None) -> Sheet:
    """Candidates that some plugin kept."""
    fates = choice.fates if choice is not None else ()
    rows = tuple(
        (fate.task, str(saved.tier), saved.plugin, saved.why) for fate in fates if (saved := fate.saved_by) is not None
    )
    return Sheet("who was spared", ("pod", "tier#", "by", "why"), rows)


def _elsewhere(recording: Recording, one: Eviction) -> Iterator[str]:
    """Other nodes where less important pods would have made room."""
    by_pod = recording.conf.facts_of(one.action).evicts_by_pod
    if one.preemptor not in recording.owners.jobs or not by_pod:
        return
    found = milder(recording, one)
    for node, task in list(found.items())[:MOST_NODES]:
        yield f"{node} would have done as well ({task.key} of priority {task.priority}): {WHY}"
    if len(found) > MOST_NODES:
        yield f"and {plural(len(found) - MOST_NODES, 'node')} more"


def _proof(one: Eviction, choice: VictimChoice | None, pop: Seq | None) -> list[tuple[Seq, str]]:
    found = [(choice.question.first, "candidates are offered")] if choice is not None else []
    found += [(pop, f"{one.victim} leaves the queue of victims")] if pop is not None else []
    return [*found, (one.seq, f"{one.action} evicts it")]


def _data(one: Eviction, others: Sequence[TaskKey], orders: Sequence[Order]) -> dict[str, object]:
    decided = [
        {
            "instead": order.right,
            "sign": order.sign,
            "decidedBy": order.deciding.difference.what if order.deciding is not None else None,
            "plugin": order.deciding.plugin if order.deciding is not None else None,
        }
        for order in orders
    ]
    return {"pod": one.victim, "victim": True, "node": one.node, "others": list(others), "orders": decided}


VICTIM = Question("victim", "why was this pod chosen as the victim", ("pod",), why_victim)
