"""Control characters in external text get a visible form; names in any script stay unchanged."""

import json
import unicodedata

import pytest

from tests.hostile import HOSTILE, obeyed
from vcdebug.printable import escape_json, make_line_printable, make_printable

ALL = [chr(code) for code in range(0x110000)]
NAMES = [
    "größe",
    "工作队列",
    "जॉब",
    "e\u0301",
    "👩🏽",
    "עבודה",
    "عمل",
    "ｗｉｄｅ",
    "葛\U000e0100",
    "☁\ufe0f",
    "a\u00a0b",
]
PREPENDED = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Characters of category Cf that are visible: they enclose the digits behind them."""
RARE = {"Cf": (0x13430, 0x13460)}
"""Joiners that belong to the spelling of hieroglyphs."""


def seldom(character: str) -> bool:
    first, beyond = RARE["Cf"]
    return character in PREPENDED or first <= ord(character) < beyond


def test_no_character_that_a_terminal_obeys_is_left_but_tab_and_newline() -> None:
    left = obeyed(make_printable("".join(ALL)))
    assert set() == {character for character in left if not seldom(character)}


def test_each_character_has_one_in_its_place_so_that_columns_stay() -> None:
    assert [] == [character for character in ALL if len(make_printable(character)) != 1]


def test_letters_digits_marks_and_symbols_stay() -> None:
    kept = [one for one in ALL if unicodedata.category(one)[0] in "LMNPS"]
    changed = {one for one in kept if make_printable(one) != one}
    assert set("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") == changed


@pytest.mark.parametrize("name", NAMES)
def test_names_in_other_scripts_stay(name: str) -> None:
    assert (name, name) == (make_printable(name), make_line_printable(name))


def test_make_printable_is_idempotent() -> None:
    assert make_printable(HOSTILE) == make_printable(make_printable(HOSTILE))


def test_tab_and_newline_stay_in_text_and_are_seen_in_a_line() -> None:
    assert ("a\tb\n", "a␉b␊") == (make_printable("a\tb\n"), make_line_printable("a\tb\n"))


def test_controls_are_shown_by_their_pictures() -> None:
    assert "␛[31m␇␀␡" == make_printable("\x1b[31m\x07\x00\x7f")


def test_escaped_json_means_the_same_and_writes_nothing_to_a_terminal() -> None:
    text = json.dumps({HOSTILE: f"{HOSTILE}\U000e0041"}, ensure_ascii=False)
    escaped = escape_json(text)
    assert (set(), json.loads(text)) == (obeyed(escaped), json.loads(escaped))
