"""Why this victim: the order in which a node's victims leave, and what put this one before the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vcdebug.amount_text import count_noun
from vcdebug.explain.answer import Evidence
from vcdebug.explain.evictions import CARRIED_OUT_FATES, ORDER_OF_NODES_NOTE, Eviction, milder_nodes, planned_evictions
from vcdebug.explain.orders import OrderComparison, order_at, pop_kind
from vcdebug.explain.victims import VictimDecision, victim_choice_before
from vcdebug.framework.record import Level, PopEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.questions.evicted import find_pod
from vcdebug.questions.reply import NamedQuestion, QuestionReply, ReplySheet
from vcdebug.trace.recording import Recording

MAX_MILDER_NODES = 4


def why_victim(recording: Recording, word: str) -> QuestionReply:
    """The pod's eviction, and everybody else who could have gone in its place."""
    pod = find_pod(recording, word)
    planned = [one for one in planned_evictions(recording) if one.victim == pod]
    if not planned:
        return QuestionReply(f"{pod} is no victim in this cycle.", data={"pod": pod, "victim": False})
    one = ([each for each in planned if each.fate in CARRIED_OUT_FATES] or planned)[-1]
    choice = victim_choice_before(recording, one.seq) if one.tier is not None else None
    others = [task for task in dict.fromkeys(choice.victims) if task != pod] if choice is not None else []
    pop = _victim_pop_seq(recording, one)
    orders = [found for other in others if pop and (found := order_at(recording, pop, other)) is not None]
    sheets = tuple(sheet for sheet in (_orders_sheet(orders), _protected_sheet(choice)) if sheet.rows)
    evidence = tuple(Evidence(seq, text) for seq, text in _victim_evidence(one, choice, pop))
    return QuestionReply(
        _victim_sentence(one, others, orders),
        tuple(_milder_node_lines(recording, one)),
        sheets,
        evidence,
        _victim_json(one, others, orders),
    )


def _victim_pop_seq(recording: Recording, one: Eviction) -> Seq | None:
    """The event by which it left the node's queue of victims."""
    span = recording.span_tree.span_around(one.seq, Level.NODE)
    for seq in range(one.seq, (span.first if span is not None else 1) - 1, -1):
        event = recording.event_at(seq)
        if isinstance(event, PopEvent) and event.name == one.victim and pop_kind(recording, seq) == "victim":
            return seq
    return None


def _victim_sentence(one: Eviction, others: Sequence[TaskKey], orders: Sequence[OrderComparison]) -> str:
    where = f"on {one.node}" if one.node else "here"
    if not others:
        return f"{one.victim} was the only pod {where} that could be evicted for {one.preemptor or 'anybody'}."
    behind = next((order for order in orders if order.order_sign < 0 and order.deciding_step is not None), None)
    if behind is None or behind.deciding_step is None:
        return f"{one.victim} left together with {len(others)} others that could be evicted {where}."
    decided = behind.deciding_step
    by = f"{decided.plugin} " if decided.plugin else ""
    return (
        f"{one.victim} goes before {behind.right} {where}: {by}compares {decided.difference.what}, "
        f"{decided.difference.left} to {decided.difference.right}."
    )


def _orders_sheet(orders: Sequence[OrderComparison]) -> ReplySheet:
    rows = []
    for order in orders:
        decided = order.deciding_step
        first = {-1: "goes later", 1: "goes first", 0: "equal"}[order.order_sign]
        what = decided.difference if decided is not None else None
        by = (decided.plugin if decided is not None else "") or "no plugin"
        values = (f"{what.left}", f"{what.right}") if what is not None else ("", "")
        rows.append((order.right, first, what.what if what is not None else "nothing", *values, by))
    heads = ("instead", "order", "decided by", "the victim's", "its", "plugin")
    return ReplySheet("who could have gone instead", heads, tuple(rows))


def _protected_sheet(choice: VictimDecision | None) -> ReplySheet:
    """Candidates that some plugin kept."""
    fates = choice.fates if choice is not None else ()
    rows = tuple(
        (fate.task, str(saved.tier), saved.plugin, saved.why) for fate in fates if (saved := fate.saved_by) is not None
    )
    return ReplySheet("who was spared", ("pod", "tier#", "by", "why"), rows)


def _milder_node_lines(recording: Recording, one: Eviction) -> Iterator[str]:
    """Other nodes where less important pods would have made room."""
    by_pod = recording.conf.facts_of(one.action).evicts_by_pod
    if one.preemptor not in recording.owners.jobs or not by_pod:
        return
    found = milder_nodes(recording, one)
    for node, task in list(found.items())[:MAX_MILDER_NODES]:
        yield f"{node} would have done as well ({task.key} of priority {task.priority}): {ORDER_OF_NODES_NOTE}"
    if len(found) > MAX_MILDER_NODES:
        yield f"and {count_noun(len(found) - MAX_MILDER_NODES, 'node')} more"


def _victim_evidence(one: Eviction, choice: VictimDecision | None, pop: Seq | None) -> list[tuple[Seq, str]]:
    found = [(choice.question.first, "candidates are offered")] if choice is not None else []
    found += [(pop, f"{one.victim} leaves the queue of victims")] if pop is not None else []
    return [*found, (one.seq, f"{one.action} evicts it")]


def _victim_json(one: Eviction, others: Sequence[TaskKey], orders: Sequence[OrderComparison]) -> dict[str, object]:
    decided = [
        {
            "instead": order.right,
            "sign": order.order_sign,
            "decidedBy": order.deciding_step.difference.what if order.deciding_step is not None else None,
            "plugin": order.deciding_step.plugin if order.deciding_step is not None else None,
        }
        for order in orders
    ]
    return {"pod": one.victim, "victim": True, "node": one.node, "others": list(others), "orders": decided}


VICTIM_QUESTION = NamedQuestion("victim", "why was this pod chosen as the victim", ("pod",), why_victim)
