"""The keys in the tutorial lead to the screen lines that it quotes."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.architecture.source_tree import ROOT
from tests.tui.driving import WIDE, Desk, opened

TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
SCREEN = re.compile(r"^```text keys=(.*)\n((?:(?!```).*\n)+)```$", re.MULTILINE)
FRAME = re.compile(r"[│┃╭╮╰╯┏┓┗┛─━\s]+")
SHOWN = {"down": "↓", "enter": "Enter", "minus": "-", "escape": "Esc"}
"""How the tutorial spells a key."""


class Quote(NamedTuple):
    """The keys of a quotation, and the screen lines after them."""

    keys: tuple[str, ...]
    lines: tuple[str, ...]
    before: str
    """The tutorial's text between the previous quotation and this one."""


def quotes() -> list[Quote]:
    found, end = [], 0
    for match in SCREEN.finditer(TEXT):
        keys = tuple(key for key in match[1].split(",") if key)
        found.append(Quote(keys, tuple(match[2].splitlines()), TEXT[end : match.start()]))
        end = match.end()
    return found


def plain(line: str) -> str:
    """The line without frames, with one blank between words."""
    return FRAME.sub(" ", line).strip()


async def follow(desk: Desk, keys: tuple[str, ...]) -> None:
    for key in keys:
        if key.startswith(":"):
            await desk.work(key[1:])
        else:
            await desk.press(key)


async def test_each_quotation_is_on_the_screen_after_its_keys() -> None:
    async with opened("preempt-blocked-by-gang", WIDE) as desk:
        for quote in quotes():
            await follow(desk, quote.keys)
            if not quote.keys:
                # The same page some seconds later, when its fixes are tested.
                await desk.until_at_rest()
                await desk.pause()
            screen = [plain(line) for line in desk.screen().splitlines()]
            missing = [line for line in quote.lines if not any(plain(line) in shown for shown in screen)]
            assert [] == missing, f"after {quote.keys}"


@pytest.mark.parametrize("quote", quotes(), ids=lambda quote: ",".join(quote.keys) or "none")
def test_the_text_names_every_key(quote: Quote) -> None:
    assert [] == [key for key in quote.keys if f"`{SHOWN.get(key, key)}`" not in quote.before]


def test_the_demo_opens_the_snapshot_of_the_tutorial() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "vcdebug open preempt-blocked-by-gang" in makefile
