"""Keys that move go the way that they say."""

import pytest

from tests.tui.driving import opened
from vcdebug.tui.keymap import bindings_by_id

START = 60
MOVEMENTS = ("over", "into", "out", "continue")


@pytest.mark.parametrize("movement", MOVEMENTS)
async def test_a_key_goes_forward_and_its_opposite_backward(movement: str) -> None:
    known = bindings_by_id()
    async with opened("preempt-works") as desk:
        for name, forward in ((movement, True), (f"back-{movement}", False)):
            for key in known[name].key.split(","):
                await desk.command("break action", "goto 1", f"goto {START}")
                await desk.press(key.strip())
                assert (desk.seq > START, desk.seq < START) == (forward, not forward), f"{key} leads to {desk.seq}"


async def test_brackets_lead_to_the_next_and_the_previous_event_about_the_row() -> None:
    async with opened("preempt-works") as desk:
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


def test_only_the_tested_movements_have_an_opposite() -> None:
    assert [f"back-{movement}" for movement in (*MOVEMENTS, "about")] == [
        name for name in bindings_by_id() if name.startswith("back-")
    ]
