"""`vcdebug learn`: the list of lessons with progress, and errors that need no terminal."""

from pathlib import Path

import pytest

from tests.cli.transcripts import call
from vcdebug.debugger.lesson import list_lessons
from vcdebug.tui.session_state import SessionStore, state_folder


def test_without_a_name_it_lists_every_lesson_with_progress(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    SessionStore(state_folder()).save_answered("preempt-works", 2)
    code, out, err = call(["learn"])
    assert (0, "") == (code, err)
    assert [] == [lesson.name for lesson in list_lessons() if lesson.name not in out]
    assert [["2", "of", "6"]] == [line.split()[1:4] for line in out.splitlines() if line.startswith("preempt-works")]


def test_a_lesson_needs_a_terminal_and_a_known_name() -> None:
    assert "a lesson needs a terminal" in call(["learn", "preempt-works"])[2]
    assert "no lesson 'preempt'" in call(["learn", "preempt"])[2]


def test_the_list_fits_on_80_columns_and_names_the_next_lesson(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first, second, *_ = list_lessons()
    SessionStore(state_folder()).save_answered(first.name, len(first.steps))
    lines = call(["learn"])[1].splitlines()
    assert [] == [line for line in lines if len(line) > 80]
    assert f"Open the next one: vcdebug learn {second.name}" == lines[-1]
