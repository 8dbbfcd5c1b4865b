"""Movement keys move in the direction of their labels."""

import pytest

from tests.debugger.test_steps_inside import COMPARED, compared_pop
from tests.tui.driving import NARROW, WIDE, opened_again
from vcdebug.explain.orders import comparisons_at
from vcdebug.snapshot.manifest import bare_name
from vcdebug.tui.keymap import bindings_by_id
from vcdebug.tui.panels.base import Panel

START = 60
MOVEMENTS = ("over", "into", "out", "continue")


@pytest.mark.parametrize("movement", MOVEMENTS)
async def test_a_key_goes_forward_and_its_opposite_backward(movement: str) -> None:
    known = bindings_by_id()
    async with opened_again("preempt-works") as desk:
        for name, forward in ((movement, True), (f"back-{movement}", False)):
            for key in known[name].key.split(","):
                await desk.command("break action", "goto 1", f"goto {START}")
                await desk.press(key.strip())
                assert (desk.seq > START, desk.seq < START) == (forward, not forward), f"{key} leads to {desk.seq}"


async def test_brackets_lead_to_the_next_and_the_previous_event_about_the_row() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.until_at_rest()
        await desk.command("goto 1")
        await desk.press("5")
        row = desk.panel("jobs").cursor_row
        assert row is not None
        kind, name = row.subject
        about = list(desk.moment.recording.index.seqs_about(kind, name))
        passed = []
        for key in ("right_square_bracket",) * 3 + ("left_square_bracket",) * 2:
            await desk.press(key)
            passed.append(desk.seq)
        following = [seq for seq in about if seq > 1][:3]
        assert [*following, following[1], following[0]] == passed


@pytest.mark.parametrize("panel", ["jobs", "flow", "moment"])
async def test_brackets_keep_their_object_while_they_are_pressed_again(panel: str) -> None:
    async with opened_again() as desk:
        await desk.until_at_rest()
        await desk.command("goto 115")
        await desk.command(f"panel {panel}")
        grid = desk.panel(panel)
        # A row about another job than that of the event, as far as the panel has one.
        others = [i for i, row in enumerate(grid.shown_rows) if row.subject == ("job", "research/reward-model")]
        if others:
            grid.cursor = others[0]
        row = grid.cursor_row
        kind, name = row.subject if row is not None and row.subject[1] else ("job", desk.moment.job)
        assert others or panel != "jobs"
        about = [seq for seq in desk.moment.recording.index.seqs_about(kind, name) if seq > 115][:2]
        for seq in about:
            await desk.press("right_square_bracket")
            assert seq == desk.seq
        await desk.press("left_square_bracket")
        assert about[0] == desk.seq
        if panel == "jobs":
            assert row is not None
            assert row.key == grid.cursor_key()


def test_only_the_tested_movements_have_an_opposite() -> None:
    assert [f"back-{movement}" for movement in (*MOVEMENTS, "about")] == [
        name for name in bindings_by_id() if name.startswith("back-")
    ]


@pytest.mark.parametrize("size", [NARROW, WIDE, (200, 60)])
async def test_into_walks_the_comparisons_of_a_pop_and_moves_no_panel(size: tuple[int, int]) -> None:
    async with opened_again(COMPARED, size=size) as desk:
        await desk.until_at_rest()
        seq = compared_pop(desk.moment.recording)
        await desk.command(f"goto {seq}")
        places = {panel.id: panel.region for panel in desk.main.query(Panel) if panel.display}
        count = len(comparisons_at(desk.moment.recording, seq))
        for number, order in enumerate(comparisons_at(desk.moment.recording, seq), start=1):
            await desk.press("s")
            assert f"comparison {number} of {count}" in desk.screen()
            assert f"Comparison {number} of {count} of the pop" in desk.text("moment")
            assert f"why {bare_name(order.left)} goes before {bare_name(order.right)}" in desk.text("equation")
            assert places == {panel.id: panel.region for panel in desk.main.query(Panel) if panel.display}
        await desk.press("s")
        assert seq + 1 == desk.seq
        assert "comparison" not in desk.screen().splitlines()[1]
        await desk.press("S", "f")
        assert seq < desk.seq


async def test_into_walks_the_parts_of_a_score() -> None:
    async with opened_again() as desk:
        await desk.until_at_rest()
        await desk.command("break score", "continue")
        await desk.press("s", "s", "s")
        assert "part 3 of 9" in desk.screen()
        assert desk.panel("moment").table.current in desk.text("equation")
