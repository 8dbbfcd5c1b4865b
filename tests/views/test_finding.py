"""A search in the whole recording: every matching event, counted by outcome, with a link to the event."""

import pytest

from tests.recorded import bundled
from vcdebug.debugger.breakpoint import find_stops, parse_breakpoint
from vcdebug.debugger.breakpoints import BreakpointError
from vcdebug.debugger.commands import execute_line
from vcdebug.debugger.driver import CommandError, Driver
from vcdebug.debugger.expression_tokens import ExpressionError
from vcdebug.framework.record import OpEvent
from vcdebug.views.notebook import found_table
from vcdebug.views.pieces import text_of

LINE = 'victim if plugin == "gang"'


def test_the_rows_are_the_events_at_which_the_breakpoint_would_stop() -> None:
    expected = list(parse_breakpoint(f"break {LINE}", 1).hit_seqs(bundled()))
    assert expected == [row.seq for row in found_table(bundled(), 1, LINE).rows]
    assert 7 == len(expected)


def test_outcomes_are_counted_above_the_rows() -> None:
    heads = [text_of(entry).strip() for entry in found_table(bundled(), 1, LINE).header]
    assert ["6 × Preemptable gang ✗ none", "1 × Preemptable gang ✓ allows 1 victim"] == heads


def test_all_evictions_are_one_question() -> None:
    recording = bundled("preempt-works")
    seqs = find_stops(recording, "statement evict")
    assert 2 == len(seqs)
    assert all(isinstance(event := recording.event_at(seq), OpEvent) and event.op == "evict" for seq in seqs)


def test_the_present_event_is_marked_and_nothing_found_is_said() -> None:
    assert "goto 120" == found_table(bundled(), 120, LINE).current
    nothing = found_table(bundled(), 1, 'predicate if job == "research/bert-pretrain"')
    assert (0, "no event of this recording") == (len(nothing.rows), text_of(nothing.footer[0]))


def test_a_passed_over_quirk_is_named_in_its_row() -> None:
    assert "! view-lost-pod" in found_table(bundled(), 1, "quirk").rows[0].cells[-1].text


def test_find_refuses_invalid_breakpoint_words() -> None:
    driver = Driver(bundled())
    with pytest.raises(CommandError, match="find needs an argument"):
        execute_line(driver, "find")
    with pytest.raises(BreakpointError, match="no kind of breakpoint"):
        execute_line(driver, "find nothing")
    with pytest.raises(ExpressionError):
        execute_line(driver, "find victim if plugin ==")
    reply = execute_line(driver, f"find {LINE}")
    assert ("find", LINE) == (reply.show, reply.argument)


def test_starts_of_actions_are_counted_by_their_names() -> None:
    heads = [text_of(entry).strip() for entry in found_table(bundled("preempt-works"), 1, "action start").header]
    assert ["1 × enqueue starts", "1 × allocate starts", "1 × preempt starts", "1 × backfill starts"] == heads


def test_a_question_about_a_job_names_it_where_no_span_does() -> None:
    rows = found_table(bundled("preempt-works"), 1, "starving").rows
    assert ("preempt › chat-api", ("job", "assistants/chat-api")) == (rows[0].cells[2].text, rows[0].subject)


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ('vote == "x"', "number is compared with text"),
        ("plugin == 3", "text is compared with number"),
        ("3 in candidates", "number is never in list"),
        ('victims == "ml/a-0"', "list is compared with text"),
        ('tier matches "1"', "a pattern is looked for in text, not in number"),
        ("victims < candidates", "list has no order"),
        ("count(plugin) > 1", "count needs a list, not text"),
    ],
)
def test_a_condition_that_can_never_hold_is_refused(condition: str, why: str) -> None:
    with pytest.raises(ExpressionError, match=why):
        find_stops(bundled(), f"victim if {condition}")


def test_conditions_that_can_hold_are_taken() -> None:
    for condition in ('"ml/a-0" in victims', 'result == "x"', "vote == reject", "count(victims) > 1", 'job in ["a/b"]'):
        assert find_stops(bundled(), f"victim if {condition}") is not None
