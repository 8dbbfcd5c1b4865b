"""What the header says, whatever its width."""

from __future__ import annotations

import pytest

from tests.tui.driving import NARROW, opened


@pytest.mark.parametrize("size", [NARROW, (100, 30), (200, 60)])
async def test_place_counts_and_path_all_have_room(size: tuple[int, int]) -> None:
    async with opened(size=size) as desk:
        await desk.command("break victim")
        await desk.command("goto 103")
        await desk.work("force nobody")
        await desk.work("advance")
        await desk.command("cycle 1")
        head = "\n".join(desk.screen().splitlines()[:2])
        for words in ("cycle 1 of 2", "branch: 1 edit", "event 103/", "bp 1/1", "forced 1", "gpu-a100-01"):
            assert words in head
