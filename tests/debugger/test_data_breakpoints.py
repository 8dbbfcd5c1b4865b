"""Data breakpoints stop at the event that writes a figure, name the old and new value, and work in reverse."""

import pytest

from tests.recorded import bundled
from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.debugger.debugger import Debugger
from vcdebug.debugger.expression_tokens import ExpressionError
from vcdebug.debugger.notebook import BreakpointList
from vcdebug.errors import VcdebugError

ALLOCATED = "data queue research allocated cpu"


def hits(line: str) -> list[int]:
    return list(parse_breakpoint(line, 1).hit_seqs(bundled()))


def stopped(line: str, start: int, *, back: bool = False) -> tuple[int, str]:
    """Continue from an event with one breakpoint; returns (event, stop reason)."""
    debugger = Debugger(bundled())
    debugger.breakpoints.add_breakpoint(line, bundled())
    debugger.goto_event(start)
    stop = debugger.continue_(back=back)
    return stop.position.seq, stop.reason


def test_data_breakpoint_stops_at_each_change_of_the_value() -> None:
    assert [107, 110, 138, 139] == hits(ALLOCATED)
    assert hits(ALLOCATED) == hits("data queue research.allocated.cpu")
    assert hits(ALLOCATED) == hits("break on queue research.allocated.cpu")


def test_the_reason_says_what_it_was_and_what_it_is() -> None:
    words = "breakpoint 1 (data): queue research proportion/allocated cpu"
    assert (107, f"{words} 144 → 136") == stopped(ALLOCATED, 1)
    assert (138, f"{words} 152 → 136") == stopped(ALLOCATED, 139, back=True)
    assert (139, f"{words} 136 → 144") == stopped(ALLOCATED, len(bundled()), back=True)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"{ALLOCATED} if new < old", [107, 138]),
        (f"{ALLOCATED} if new > 144", [110]),
        (f"{ALLOCATED} if new <= 136000m", [107, 138]),
        (f"{ALLOCATED} hits == 2", [110]),
        (f"{ALLOCATED} if new > old hits > 1", [139]),
        ("data queue research allocated mem if new > 1100Gi", [110]),
        ('data task llm-finetune-worker-0 status if old == "Pipelined"', [138]),
        ("data job llm-finetune waiting if new == 1", [110]),
        ('data job llm-finetune waiting if action == "preempt"', [110, 138]),
        ('data job llm-finetune waiting if action == "allocate"', []),
    ],
)
def test_conditions_and_hit_counts_work_as_for_every_kind(line: str, expected: list[int]) -> None:
    assert expected == hits(line)


def test_a_log_text_says_old_and_new() -> None:
    debugger = Debugger(bundled())
    debugger.breakpoints.add_breakpoint(f'{ALLOCATED} log "{{old}} to {{new}} by {{action}}"')
    debugger.continue_()
    assert ["144 to 136 by preempt", "136 to 152 by preempt", "152 to 136 by preempt", "136 to 144 by preempt"] == [
        said.text for said in debugger.log
    ]


def test_breakpoint_with_once_stops_a_single_time() -> None:
    debugger = Debugger(bundled())
    debugger.breakpoints.add_breakpoint(f"{ALLOCATED} once")
    assert [107, 107] == [debugger.continue_().position.seq for _ in range(2)]


def test_data_breakpoint_is_saved_as_its_command() -> None:
    for line in (
        f"break {ALLOCATED} if new < 4Gi once",
        'break data queue "if" weight',
        "break data node 10-0-0-1 idle",
    ):
        again = parse_breakpoint(parse_breakpoint(line, 1).command_line(), 1)
        assert parse_breakpoint(line, 1).command_line() == again.command_line()
        assert parse_breakpoint(line, 1).kind.words == again.kind.words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("data", "needs a figure"),
        ("data gpu-a100-01 idle", "needs a figure"),
        ("data node gpu-a100-99 idle", "no node 'gpu-a100-99'"),
        ("data node gpu-a100-01 idle if newer > 1", "no field 'newer'"),
        ('data node gpu-a100-01 idle log "{newest}"', "no field 'newest'"),
        ("data node gpu-a100-01 idle if new > 4Gx", "'4Gx' is not an amount"),
    ],
)
def test_invalid_data_breakpoint_is_refused_with_the_reason(line: str, words: str) -> None:
    points = BreakpointList()
    with pytest.raises(VcdebugError) as error:
        points.add_breakpoint(line, bundled())
    assert words in error.value.format_line()
    assert 0 == len(points)


def test_old_and_new_are_fields_of_this_kind_only() -> None:
    with pytest.raises(ExpressionError, match="no field 'new'"):
        parse_breakpoint("victim if new > 1", 1)


def test_a_figure_that_another_recording_lacks_stops_nowhere() -> None:
    assert [] == list(parse_breakpoint("data node gone idle", 1).hit_seqs(bundled()))


def test_other_words_replace_a_breakpoint_and_keep_its_number() -> None:
    points = BreakpointList()
    points.add_breakpoint("victim")
    points.add_breakpoint("starving")
    points.replace_breakpoint(1, f"{ALLOCATED} once", bundled())
    assert [(1, f"break {ALLOCATED} once"), (2, "break starving")] == [
        (point.number, point.command_line()) for point in points
    ]
    with pytest.raises(VcdebugError):
        points.replace_breakpoint(1, "data node gone idle", bundled())
    assert f"break {ALLOCATED} once" == points[1].command_line()
