"""Names of keys: displayed ones, Textual's, and those in lines of hints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text
from textual.keys import Keys, _character_to_key, key_to_character
from textual.reactive import reactive

from vcdebug.grouping import group_by_key
from vcdebug.tui.widgets.bars import FooterKey, on_click
from vcdebug.tui.widgets.prompt import SettledLabel

if TYPE_CHECKING:
    from textual.binding import ActiveBinding


_DISPLAY_NAMES = {
    "slash": "/",
    "colon": ":",
    "question_mark": "?",
    "minus": "-",
    "comma": ",",
    "full_stop": ".",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "escape": "Esc",
    "enter": "Enter",
    "space": "Space",
    "tab": "Tab",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "f17": "",
    "f22": "",
    "f23": "",
    "ctrl+f23": "",
}
"""Displayed names; empty for codes that many terminals send for Shift and a function key."""
_ALIASES = {"esc": "escape", "return": "enter", "pgdn": "pagedown", "pgup": "pageup", "del": "delete", "ins": "insert"}
_KNOWN_KEYS = {*_DISPLAY_NAMES, *(key.value for key in Keys)}
_MODIFIERS = ("ctrl", "shift", "alt", "super", "meta", "hyper")


def key_names(keys: Iterable[str]) -> str:
    """`n`, `f10` → `n F10`."""
    return " ".join(name for key in keys if (name := key_name(key.strip())))


def key_name(key: str) -> str:
    """The displayed name of a key; empty for another code of the same key."""
    if key in _DISPLAY_NAMES:
        return _DISPLAY_NAMES[key]
    character = key_to_character(key)
    if character is not None and character.isprintable():
        return character
    *modifiers, base = key.split("+")
    word = _DISPLAY_NAMES.get(base) or (base.upper() if modifiers and len(base) == 1 else base.capitalize())
    return "+".join([*(modifier.capitalize() for modifier in modifiers), word])


def textual_key(written: str) -> str | None:
    """Textual's name of a key from the settings; None for an unknown one."""
    key = written.strip()
    *modifiers, base_key = key.split("+") if len(key) > 1 else (key,)
    modifiers = [modifier.lower() for modifier in modifiers]
    if not base_key or any(modifier not in _MODIFIERS for modifier in modifiers):
        return None
    name = _textual_name(base_key.lower() if modifiers else base_key)
    return None if name is None else "+".join([*modifiers, name])


def _textual_name(word: str) -> str | None:
    if len(word) == 1:
        return _character_to_key(word)
    name = _ALIASES.get(word.lower(), word.lower())
    return name if name in _KNOWN_KEYS or key_to_character(name) is not None else None


# Lines of hints: bindings by id, with the keys in force.


class KeyHint(Struct, frozen=True):
    """The ids of bindings, and one word for what they do."""

    ids: tuple[str, ...]
    effect: str


def keys_by_binding(active: Mapping[str, ActiveBinding]) -> dict[str, list[str]]:
    """The active keys of each binding id."""
    return group_by_key(
        (entry.binding.id, key) for key, entry in active.items() if entry.binding.id is not None and entry.enabled
    )


def hint_line(active: Mapping[str, ActiveBinding], hints: tuple[KeyHint, ...]) -> str:
    """The last line of a dialog or page, with the keys in force."""
    return "   ".join(f"{entry.key} {entry.effect}" for entry in footer_entries(hints, keys_by_binding(active)))


class KeyLine(SettledLabel):
    """The last line of a page or dialog; a click on an entry, as `/ filter`, presses its key.

    Where they have no room, entries are left out from the end, but not those of Enter and Esc.
    """

    DEFAULT_CSS = "KeyLine { dock: bottom; width: 100%; height: 1; color: $text-muted; }"
    auto_links = reactive(False)

    def __init__(self, words: str = "") -> None:
        super().__init__(_clickable_entries(words))
        self._words = words

    def show_keys(self, words: str) -> None:
        """Show entries that are three spaces apart, or a message."""
        self._words = words
        self.update(_clickable_entries(words, self.size.width), layout=False)  # one line in the whole width

    def on_resize(self) -> None:
        if str(self.content) != _clickable_entries(self._words, self.size.width).plain:
            self.show_keys(self._words)


def _clickable_entries(words: str, width: int = 0) -> Text:
    entries = words.split("   ")
    extra = [entry for entry in entries if not entry.startswith(("Enter ", "Esc "))]
    while len(entries) > 1 and extra and cell_len("   ".join(entries)) > width > 0:
        entries.remove(extra.pop())
    return Text("   ").join(map(_clickable_entry, entries))


def _clickable_entry(words: str) -> Text:
    key = textual_key(words.partition(" ")[0])
    return Text(words) if key is None else Text(words, on_click(f"app.simulate_key('{key}')"))


def footer_entries(hints: tuple[KeyHint, ...], keys: Mapping[str, list[str]]) -> Iterator[FooterKey]:
    """The hints that have an active key, each binding with its first one."""
    for hint in hints:
        active_keys = tuple(keys[name][0] for name in hint.ids if keys.get(name))
        names = [key_name(key) for key in active_keys]
        if names:
            yield FooterKey("/".join(names), hint.effect, tuple(zip(names, active_keys, strict=True)))
