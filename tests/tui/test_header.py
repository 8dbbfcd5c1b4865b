"""The text of the header at every width."""

from __future__ import annotations

import pytest

from tests.tui.driving import NARROW, opened_again
from vcdebug.tui.widgets.bars import Header


@pytest.mark.parametrize("size", [NARROW, (100, 30), (200, 60)])
async def test_place_counts_and_path_all_have_room(size: tuple[int, int]) -> None:
    async with opened_again(size=size) as desk:
        await desk.command("break victim")
        await desk.command("goto 103")
        await desk.work("force none")
        await desk.work("advance")
        await desk.command("goto 1:103")
        head = "\n".join(desk.screen().splitlines()[:2])
        for words in ("cycle 1 of 2", "branch: 1 edit", "event 103/", "◉ 1", "1 forced", "gpu-a100-01"):
            assert words in head


@pytest.mark.parametrize("size", [NARROW, (100, 30), (200, 60)])
async def test_header_never_cuts_the_key_that_stops(size: tuple[int, int]) -> None:
    async with opened_again(size=size) as desk:
        header = desk.main.query_one(Header)
        for moment in (desk.moment, None):
            header.moment = moment
            header.progress = "replaying large-5k: allocate, job 143 of about 382, about 2s left, 12 345 events"
            await desk.pause()
            head = "\n".join(desk.screen().splitlines()[: header.size.height])
            assert "replaying large-5k: allocate" in head
            assert "… Esc stops" in head
        assert "job 143 of about 382, about 2s left" in head
