"""What a line of keys says: bindings by id, each with a word, written with the keys that are in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from vcdebug.grouping import by_key
from vcdebug.tui.keynames import key_name
from vcdebug.tui.widgets.status import Key

if TYPE_CHECKING:
    from textual.binding import ActiveBinding

TOGETHER: Final = 4
"""Up to so many letters stand side by side."""


class Hint(NamedTuple):
    """One entry: the bindings that it stands for, and what they do in a word."""

    ids: tuple[str, ...]
    does: str


def in_force(active: Mapping[str, ActiveBinding]) -> dict[str, list[str]]:
    """The keys of each binding id that work at the focus."""
    return by_key(
        (found.binding.id, key) for key, found in active.items() if found.binding.id is not None and found.enabled
    )


def in_words(active: Mapping[str, ActiveBinding], hints: tuple[Hint, ...]) -> str:
    """The last line of a dialog or page: what its keys do, as they are in force."""
    return "   ".join(f"{entry.key} {entry.does}" for entry in entries(hints, in_force(active)))


def entries(hints: tuple[Hint, ...], keys: Mapping[str, list[str]]) -> Iterator[Key]:
    """The hints of which a key works here, each binding by its first key."""
    for hint in hints:
        shown = [key_name(keys[name][0]) for name in hint.ids if keys.get(name)]
        if shown:
            apart = "" if len(shown) <= TOGETHER and all(len(name) == 1 for name in shown) else " "
            yield Key(apart.join(shown), hint.does)
