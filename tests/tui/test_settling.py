"""A wait that times out reports the awaited condition and the screen."""

import pytest

from tests.tui import driving
from tests.tui.driving import NARROW, opened


async def test_a_condition_that_never_holds_fails_the_test_with_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "LONGEST_WAIT", 0.05)
    async with opened("preempt-works", NARROW) as desk:
        with pytest.raises(AssertionError, match=r"waited in vain until pigs fly; on the screen:\n(.|\n)*event 0/"):
            await desk.until(lambda: False, "pigs fly")
