"""Ten tasks of a newcomer, each with its keys from the overview; the letters of names are not counted."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.builders import cluster, node, pod_group, pods
from tests.tui.driving import NARROW, WIDE, Desk, opened_again
from vcdebug.framework.record import ScoreEvent
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.tui.screens.pages import DetailScreen, PageScreen


async def press_all(desk: Desk, keys: Sequence[str]) -> None:
    """Press the keys one by one; a text in parentheses is a name that is typed but not counted."""
    for key in keys:
        if key.startswith("("):
            await desk.press(*(SIGNS.get(letter, letter) for letter in key.strip("()")))
        else:
            await desk.press(key)
        await desk.until_at_rest()


SIGNS = {"-": "minus", "_": "underscore", '"': "quotation_mark", "=": "equals_sign", ".": "full_stop", " ": "space"}


def counted(keys: Sequence[str]) -> int:
    return len([key for key in keys if not key.startswith("(")])


TASKS = {
    "the veto with its numbers": (2, ("enter", "enter"), ("● gang", "ready", "allowed", "0 of 2")),
    "the last change of Idle": (3, ("6", "right", "L"), ("idle cpu 40 → 16", "event 57/")),
    "a what-if of minMember and the comparison": (
        7,
        ("5", "down", "w", "backspace", "1", "enter", "X"),
        ("Original and branch", "first difference"),
    ),
    "the derivation of a share": (3, ("7", "enter"), ("share = the largest of allocated / deserved", "deserves")),
    "the derivation of a row's first figure": (2, ("7", "="), ("queue platform proportion/allocated cpu",)),
    "why a node refuses a pod": (3, ("6", "I", "enter"), ("llm-finetune-worker-0", "reject")),
    "the next cycle": (1, ("right_curly_bracket",), ("cycle 2 of 2", "event 0/")),
}


@pytest.mark.parametrize("task", TASKS)
async def test_a_task_takes_few_keys(task: str) -> None:
    most, keys, words = TASKS[task]
    assert counted(keys) <= most
    async with opened_again("preempt-blocked-by-gang", WIDE) as desk:
        await desk.until_at_rest()
        await press_all(desk, keys)
        for word in words:
            assert word in desk.screen()


async def test_scores_by_plugin_take_two_keys_and_can_be_read_on_a_narrow_screen() -> None:
    async with opened_again("placed-by-score", NARROW) as desk:
        await desk.until_at_rest()
        await press_all(desk, ("i", "t", "z"))
        assert isinstance(desk.moment.recording.event_at(desk.seq), ScoreEvent)
        lines = [line for line in desk.screen().splitlines() if "nodeorder" in line or "binpack" in line]
        assert len(lines) >= 2
        assert all(re.search(r"\d", line) for line in lines)


async def test_a_conditional_breakpoint_takes_few_keys_with_completion() -> None:
    keys = ("b", "tab", "p", "l", "right", "space", "right", "space", "quotation_mark", "g", "right", "enter", "c")
    assert counted(keys) <= 13
    async with opened_again("preempt-blocked-by-gang", WIDE) as desk:
        await desk.until_at_rest()
        await press_all(desk, keys)
        assert "breakpoint 1 (victim)" == desk.moment.reason
        assert "gang" in desk.text("moment")


async def test_a_report_takes_two_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    keys = ("ctrl+p", "(report)", "enter")
    assert counted(keys) <= 2
    async with opened_again("preempt-blocked-by-gang", WIDE) as desk:
        await desk.until_at_rest()
        await press_all(desk, keys)
        await desk.until((tmp_path / "preempt-blocked-by-gang.html").exists, "the report is written")


async def test_a_job_among_1300_takes_six_keys(tmp_path: Path) -> None:
    names = [f"job-{number:04}" for number in range(1300)]
    jobs = ([pod_group(name, phase="Running"), *pods(name, 1, on="n1")] for name in names)
    save_snapshot(cluster(node("n1", "1300", "1300G", "1300"), *jobs), tmp_path / "many.tar.gz")
    keys = ("5", "slash", "(job-1101)", "enter", "enter")
    assert counted(keys) <= 6
    async with opened_again(str(tmp_path / "many.tar.gz"), WIDE) as desk:
        await desk.until_at_rest()
        await press_all(desk, keys[:-1])
        assert "/job-1101  1 of 1 300" in desk.screen()
        await press_all(desk, keys[-1:])
        page = desk.app.screen
        assert isinstance(page, DetailScreen | PageScreen)
        assert "default/job-1101" in page.table.title
