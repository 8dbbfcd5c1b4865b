"""Watches, bookmarks and breakpoints: set by commands, saved as plain data, and read back from damaged data."""

import json
from typing import Any

import pytest

from tests.recorded import bundled
from vcdebug.debugger.commands import execute_line
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.notebook import Notebook, evaluate_watch
from vcdebug.errors import VcdebugError

JOB = "research/llm-finetune"


def driver(*lines: str) -> Driver:
    result = Driver(bundled())
    for line in lines:
        execute_line(result, line)
    return result


def watched(result: Driver) -> list[tuple[str, str, str, str, str]]:
    debugger = result.debugger
    found = [evaluate_watch(debugger.recording, debugger.seq, watch) for watch in result.notebook.watches]
    return [(one.watch.text, one.current, one.before, one.old, one.new) for one in found]


def test_a_watch_has_its_value_now_and_before_and_its_last_change() -> None:
    result = driver("watch job llm-finetune waiting", "watch count(victims)", "goto 110")
    assert [(f"job {JOB} waiting", "1", "0", "0", "1"), ("count(victims)", "0", "0", "", "")] == watched(result)
    execute_line(result, "goto 108")
    assert [(f"job {JOB} waiting", "0", "0", "", ""), ("count(victims)", "0", "1", "", "")] == watched(result)


def test_a_figure_is_watched_once_and_numbers_are_never_used_twice() -> None:
    result = driver("watch node cpu-01 idle", "watch node cpu-01.idle", "watch plugin", "unwatch 2", "watch tier")
    assert [1, 3] == [watch.number for watch in result.notebook.watches]
    assert "nothing is watched" == execute_line(result, "unwatch all").text
    assert 0 == len(result.notebook.watches)


def test_a_field_and_an_expression_that_begins_with_a_kind_are_expressions() -> None:
    result = driver('watch node == "gpu-a100-01"', "watch job", 'watch queue in ["research"]', "goto 110")
    assert ["yes", JOB, "yes"] == [entry[1] for entry in watched(result)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("watch node gone idle", "no node 'gone'"),
        ("watch nonsense", "no field 'nonsense'"),
        ("unwatch 7", "no watch 7"),
        ("unwatch", "unwatch needs an argument; unwatch N | all"),
        ("unwatch x", "not a valid watch's number"),
        ("last-change", "say which figure"),
        ("last-change node gone idle", "no node 'gone'"),
        ("note", "note needs an argument"),
        ("unbookmark", "no bookmark at this event"),
        ("unbookmark 3", "no bookmark 3"),
        ("change 1", "its new words are missing"),
        ("change 1 victim", "no breakpoint 1"),
    ],
)
def test_a_command_that_makes_no_sense_is_one_clear_line(line: str, words: str) -> None:
    with pytest.raises(VcdebugError) as error:
        execute_line(driver(), line)
    assert words in error.value.format_line()


def test_last_change_goes_further_back_each_time_and_then_stays() -> None:
    result = driver(f"goto {len(bundled())}", "last-change queue research allocated cpu")
    assert [139, 138, 110, 107] == [
        result.debugger.seq,
        *(execute_line(result, "last-change").state.seq for _ in range(3)),  # type: ignore[union-attr]
    ]
    reply = execute_line(result, "last-change")
    assert (107, True) == (result.debugger.seq, "as it was when the session opened" in reply.text)


def test_a_bookmark_keeps_its_note_until_another_one_is_given() -> None:
    result = driver("goto 110", "bookmark the pipeline", "bookmark", "goto 5", "bookmark")
    assert [(5, ""), (110, "the pipeline")] == [(mark.seq, mark.note) for mark in result.current_state().bookmarks]
    execute_line(result, "note the beginning")
    execute_line(result, "goto 110")
    execute_line(result, "unbookmark")
    assert [(5, "the beginning")] == [(mark.seq, mark.note) for mark in result.current_state().bookmarks]


def test_bookmarks_belong_to_one_recording() -> None:
    marks = Notebook().bookmarks
    marks.set_bookmark(5)
    marks.set_bookmark(5, cycle=2)
    marks.set_bookmark(5, branch=True)
    assert [1, 1, 1] == [len(list(marks.iter_bookmarks_of(*where))) for where in ((1,), (2,))] + [
        len(list(marks.iter_bookmarks_of(1, branch=True)))
    ]


def test_notebook_is_restored_from_its_data() -> None:
    result = driver(
        'break victim if plugin == "gang" hits == 2 once log "{seq}" disabled',
        "break data node gpu-a100-01 idle gpu",
        "watch queue research allocated gpu",
        "watch count(victims) > 1",
        "goto 110",
        "bookmark <here> & now",
    )
    data = result.notebook.to_data()
    again = Notebook()
    assert [] == again.load_data(json.loads(json.dumps(data)))
    assert data == again.to_data()
    assert {"version": 1} == Notebook().to_data()


def test_unreadable_entries_are_named_and_kept() -> None:
    data: dict[str, Any] = {
        "version": 9,
        "colour": "green",
        "breakpoints": ["break victim", "break telepathy", 7],
        "watches": ["tier", None],
        "bookmarks": [{"event": 3, "mood": "good"}, {"event": "x"}, {"event": 0}, "here"],
    }
    notebook = Notebook()
    faults = notebook.load_data(data)
    assert 6 == len(faults)
    assert all("\n" not in fault for fault in faults)
    assert "telepathy" in faults[0]
    kept = notebook.to_data()
    assert ["break victim", "break telepathy", 7] == kept["breakpoints"]
    assert ["tier", None] == kept["watches"]
    assert [{"event": 3}, {"event": "x"}, {"event": 0}, "here"] == kept["bookmarks"]
    assert "green" == kept["colour"]


@pytest.mark.parametrize("data", [None, 3, "text", ["break victim"], {"breakpoints": {"1": "victim"}}])
def test_data_of_another_form_is_named_and_sets_nothing(data: object) -> None:
    notebook = Notebook()
    assert 1 == len(notebook.load_data(data))
    assert 0 == len(notebook.breakpoints)
