"""Columns of a recording are read back exactly as they were written."""

import numpy as np

from tests.builders import ledger, task
from tests.framework.test_statement import session
from vcdebug.framework.columns import Level, Note, NoteLog, SpanLog
from vcdebug.framework.figures import LEDGER, RIPPLE, FigureHead, FigureLog
from vcdebug.framework.record import OpEvent
from vcdebug.framework.statement import Statement
from vcdebug.model.node import NodeAmounts
from vcdebug.model.resource import MAX_FLOAT64, Resource, deep_equal
from vcdebug.model.task import TaskStatus

AMOUNTS = (
    Resource(),
    Resource(0.1 + 0.2, 1e15 + 1, None, 110),
    Resource(1.0, 2.0, {}),
    Resource(MAX_FLOAT64, -0.5, {"pods": 110.0, "nvidia.com/gpu": 8000.0}, 110),
    Resource(1.0, 2.0, {"nvidia.com/gpu": 8000.0, "pods": 110.0}),
)


def test_an_amount_is_read_back_to_the_last_bit_with_the_order_of_its_scalars() -> None:
    ssn, log = session(), FigureLog()
    head = FigureHead("p", LEDGER, tuple(str(at) for at in range(len(AMOUNTS))))
    place = log.write_row(task(ssn, "r-0"), None, (head,), AMOUNTS)
    found = [log.figure_value(place, "p", "", str(at)) for at in range(len(AMOUNTS))]
    assert all(deep_equal(amount, one) for amount, one in zip(AMOUNTS, found, strict=True))
    assert [amount.scalars and [*amount.scalars] for amount in AMOUNTS] == [
        one.scalars and [*one.scalars] for one in found
    ]
    assert [amount.scalars is None for amount in AMOUNTS] == [one.scalars is None for one in found]


def test_amounts_that_change_later_stay_what_they_were() -> None:
    ssn, log = session(), FigureLog()
    node, amount = ssn.nodes["n1"], Resource(1.0, 2.0, {"pods": 1.0})
    before = str(NodeAmounts.of_node(node))
    place = log.write_row(task(ssn, "r-0"), node, (FigureHead("p", LEDGER, ("amount",)),), [amount])
    amount.add(Resource(1.0, 1.0, {"pods": 1.0}))
    node.remove_task(task(ssn, "r-0"))
    assert before == str(log.node_amounts(place))
    assert str(Resource(1.0, 2.0, {"pods": 1.0})) == str(log.figure_value(place, "p", "", "amount"))


def test_an_operation_without_node_and_books_keeps_its_task() -> None:
    ssn, log = session(), FigureLog()
    place = log.write_row(task(ssn, "r-0"), None)
    assert ((TaskStatus.RUNNING, "n1"), None, ()) == (
        log.task_state(place),
        log.node_amounts(place),
        log.plugin_books(place),
    )


def test_every_figure_of_a_ledger_and_of_a_ripple_is_found_by_its_owner() -> None:
    ssn, log = session(), FigureLog()
    own = FigureHead("drf", LEDGER, ("job", "share", "allocated", "rank", "held"))
    above = FigureHead("capacity", RIPPLE, ("", "allocated"))
    values = ["a/b", 0.25, Resource(1.0), 3, None, "root", Resource(7.0)]
    place = log.write_row(task(ssn, "r-0"), ssn.nodes["n1"], (own, above), values)
    assert [("drf", own.names, ["a/b"]), ("capacity", ("allocated",), ["root"])] == [
        (entry.plugin, tuple(entry.names), list(owners)) for entry, _, owners in log.rows_by_entry(np.array([place]))
    ]
    assert (0.25, 3, None, 7.0) == (
        log.figure_value(place, "drf", "a/b", "share"),
        log.figure_value(place, "drf", "a/b", "rank"),
        log.figure_value(place, "drf", "a/b", "held"),
        log.figure_value(place, "capacity", "root", "allocated").milli_cpu,
    )
    assert ["drf"] == [plugin for plugin, _ in log.plugin_books(place)]
    assert [*own.names] == [*log.plugin_books(place)[0][1]]


def test_a_note_fills_its_blanks_when_it_is_read() -> None:
    notes = NoteLog()
    notes.append(1, "plain", "no {blank} here")
    notes.append(2, "filled", "{} of {}", (3, "four"))
    assert [Note(1, "plain", "no {blank} here"), Note(2, "filled", "3 of four")] == list(notes)
    assert [Note(2, "filled", "3 of four")] == notes[-1:]


def test_spans_lie_in_the_one_that_was_open_and_are_the_same_object_each_time() -> None:
    spans = SpanLog()
    spans.open_span(Level.CYCLE, "cycle", 1)
    spans.open_span(Level.ACTION, "allocate", 2)
    spans.close_span(4)
    spans.close_span(5)
    assert [("cycle", 1, 5, -1), ("allocate", 2, 4, 0)] == [(s.name, s.first, s.last, s.parent) for s in spans]
    assert spans[1] is list(spans)[1]


def test_the_ledger_of_drf_is_read_back_as_the_plugin_had_it() -> None:
    ssn = session()
    Statement(ssn).evict(task(ssn, "r-0").clone(), "preempt")
    event = ssn.record.events[-1]
    assert isinstance(event, OpEvent)
    assert str(ledger(ssn, task(ssn, "r-0"), "drf")) == str(dict(event.books)["drf"])
