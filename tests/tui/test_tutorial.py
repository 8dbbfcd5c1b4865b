"""The tutorial is true: its keys lead to the lines that it quotes, and its commands print what it shows."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.architecture.source_tree import ROOT
from tests.cli.transcripts import call
from tests.tui.driving import WIDE, Desk, opened
from vcdebug.cli.main import main

TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
SCREEN = re.compile(r"^```text keys=(.*)\n((?:(?!```).*\n)+)```$", re.MULTILINE)
CONSOLE = re.compile(r"^```console\n((?:(?!```).*\n)+)```$", re.MULTILINE)
FRAME = re.compile(r"[│┃╭╮╰╯┏┓┗┛─━\s]+")
SHOWN = {"down": "↓", "enter": "Enter", "minus": "-", "escape": "Esc"}
"""How the text writes a key."""
OUTSIDE = ("capture", "open")
"""Commands that need a cluster or a terminal: only their options are checked."""


class Quote(NamedTuple):
    """Keys, and what the screen shows after them."""

    keys: tuple[str, ...]
    lines: tuple[str, ...]
    before: str
    """The words since the last quotation."""


def quotes() -> list[Quote]:
    found, end = [], 0
    for match in SCREEN.finditer(TEXT):
        keys = tuple(key for key in match[1].split(",") if key)
        found.append(Quote(keys, tuple(match[2].splitlines()), TEXT[end : match.start()]))
        end = match.end()
    return found


def plain(line: str) -> str:
    """Without frames, and with one blank between words."""
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
            screen = [plain(line) for line in desk.screen().splitlines()]
            missing = [line for line in quote.lines if not any(plain(line) in shown for shown in screen)]
            assert [] == missing, f"after {quote.keys}"


@pytest.mark.parametrize("quote", quotes(), ids=lambda quote: ",".join(quote.keys) or "none")
def test_the_text_names_every_key(quote: Quote) -> None:
    assert [] == [key for key in quote.keys if f"`{SHOWN.get(key, key)}`" not in quote.before]


def commands() -> list[tuple[list[str], list[str]]]:
    """(arguments, lines printed) of each vcdebug command."""
    found: list[tuple[list[str], list[str]]] = []
    for match in CONSOLE.finditer(TEXT):
        for line in match[1].splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ ").split(), []))
            else:
                found[-1][1].append(line)
    return [(words[1:], lines) for words, lines in found if words[0] == "vcdebug"]


@pytest.mark.parametrize(("arguments", "lines"), [one for one in commands() if one[0][0] not in OUTSIDE])
def test_a_command_prints_what_is_shown(arguments: list[str], lines: list[str]) -> None:
    _, out, err = call(arguments)
    printed = out.splitlines()
    assert ("", []) == (err, [line for line in lines if line not in printed])


@pytest.mark.parametrize("arguments", [words for words, _ in commands() if words[0] in OUTSIDE])
def test_a_command_has_the_options_that_are_shown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([arguments[0], "--help"])
    known = capsys.readouterr().out
    assert [] == [word for word in arguments if word.startswith("-") and word not in known]


def test_the_demo_opens_the_snapshot_of_the_tutorial() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "vcdebug open preempt-blocked-by-gang" in makefile
