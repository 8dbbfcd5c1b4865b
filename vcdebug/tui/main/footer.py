"""The footer: the keys that work at the focus, those of the panel first."""

from __future__ import annotations

from collections.abc import Mapping

from textual.binding import ActiveBinding
from textual.widget import Widget

from vcdebug.tui.hints import KeyHint, footer_entries, keys_by_binding
from vcdebug.tui.main.keys import FIXED_HINTS, FOOTER_HINTS, KEYS_WHILE_LOADING
from vcdebug.tui.panels import footer_keys
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.widgets.status import Status


def show_footer_keys(
    status: Status, active: Mapping[str, ActiveBinding], focused: Widget | None, *, replayed: bool
) -> None:
    """Write the keys into the status line; before the replay is done, only those with a meaning then."""
    keys = keys_by_binding(active)
    if not replayed:
        keys = {name: found for name, found in keys.items() if name in KEYS_WHILE_LOADING}
    own = (
        tuple(KeyHint((name,), does) for name, does in footer_keys(focused.shows)) if isinstance(focused, Panel) else ()
    )
    status.keys = (*footer_entries(own, keys), *footer_entries(FOOTER_HINTS, keys))
    status.always = tuple(footer_entries(FIXED_HINTS, keys))
