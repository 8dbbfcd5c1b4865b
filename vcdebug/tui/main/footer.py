"""The footer: the keys that work at the focus, those of the panel first."""

from __future__ import annotations

from collections.abc import Mapping

from textual.binding import ActiveBinding
from textual.widget import Widget

from vcdebug.tui.hints import Hint, entries, in_force
from vcdebug.tui.main.keys import ALWAYS, FOOTER, WITHOUT_RECORDING
from vcdebug.tui.panels import footer_of
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.widgets.status import Status


def show_keys(status: Status, active: Mapping[str, ActiveBinding], focused: Widget | None, *, replayed: bool) -> None:
    """Write the keys into the status line; before the replay is done, only those with a meaning then."""
    keys = in_force(active)
    if not replayed:
        keys = {name: found for name, found in keys.items() if name in WITHOUT_RECORDING}
    own = tuple(Hint((name,), does) for name, does in footer_of(focused.shows)) if isinstance(focused, Panel) else ()
    status.keys = (*entries(own, keys), *entries(FOOTER, keys))
    status.always = tuple(entries(ALWAYS, keys))
