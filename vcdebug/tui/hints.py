"""What a line of keys says: bindings by id, each with a word, written with the keys that are in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from vcdebug.grouping import group_by_key
from vcdebug.tui.keynames import key_name
from vcdebug.tui.widgets.status import FooterKey

if TYPE_CHECKING:
    from textual.binding import ActiveBinding

MAX_JOINED_LETTERS: Final = 4
"""Up to so many letters stand side by side."""


class KeyHint(NamedTuple):
    """One entry: the bindings that it stands for, and what they do in a word."""

    ids: tuple[str, ...]
    does: str


def keys_by_binding(active: Mapping[str, ActiveBinding]) -> dict[str, list[str]]:
    """The keys of each binding id that work at the focus."""
    return group_by_key(
        (found.binding.id, key) for key, found in active.items() if found.binding.id is not None and found.enabled
    )


def hint_line(active: Mapping[str, ActiveBinding], hints: tuple[KeyHint, ...]) -> str:
    """The last line of a dialog or page: what its keys do, as they are in force."""
    return "   ".join(f"{entry.key} {entry.does}" for entry in footer_entries(hints, keys_by_binding(active)))


def footer_entries(hints: tuple[KeyHint, ...], keys: Mapping[str, list[str]]) -> Iterator[FooterKey]:
    """The hints of which a key works here, each binding by its first key."""
    for hint in hints:
        shown = [key_name(keys[name][0]) for name in hint.ids if keys.get(name)]
        if shown:
            apart = "" if len(shown) <= MAX_JOINED_LETTERS and all(len(name) == 1 for name in shown) else " "
            yield FooterKey(apart.join(shown), hint.does)
