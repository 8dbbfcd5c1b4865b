"""Where the panels stand: the flow and a list on the left, the present event on the right.

On a narrow screen one part lies above the other, and the left one shows one panel at a time.
"""

from __future__ import annotations

from typing import Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive

from vcdebug.debugger.driver import DebuggerState
from vcdebug.tui.panels import PANELS
from vcdebug.tui.panels import panel as new_panel
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.widgets.tabs import Tab, Tabs

FLOW: Final = "flow"
RIGHT: Final = ("moment", "equation", "statement")
"""Panels that stand beside the lists."""
LISTS: Final = tuple(name for panel in PANELS if (name := panel.name) not in RIGHT)
"""Panels that share a place."""
NARROW: Final = 100
"""Screens below this width have one column."""
TALL: Final = "40%"
"""What the lists have of a narrow screen while the focus is there, or while somebody types about them."""
_KINDS: Final = {panel.name: panel for panel in PANELS}


class MainLayout(Horizontal):
    """All panels; every change of the moment reaches those that are seen."""

    moment: reactive[DebuggerState | None] = reactive(None, always_update=True)

    def compose(self) -> ComposeResult:
        """Two columns; the style sheet puts them one above the other where there is no room."""
        yield Lists(id="left").data_bind(MainLayout.moment)
        with Vertical(id="right"):
            yield from (new_panel(_KINDS[name]).data_bind(MainLayout.moment) for name in RIGHT)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """On a narrow screen the part with the focus is the larger one."""
        self.query_one(Lists).grow(focused=self.query_one(Lists) in event.widget.ancestors)

    @property
    def panels(self) -> dict[str, Panel]:
        """Every panel by its name."""
        return {name: self.panel(name) for name in _KINDS}

    def panel(self, name: str) -> Panel:
        """The panel of a name."""
        return self.query_one(f"#{name}", Panel)

    @property
    def first(self) -> Panel:
        """The panel that has the focus in the beginning."""
        return self.panel("moment")

    def bring(self, name: str) -> Panel | None:
        """Bring the panel whose name begins so to the front; None if there is none."""
        found = next((known for known in _KINDS if name and known.startswith(name.lower()[:4])), None)
        if found is None:
            return None
        self.query_one(Lists).bring(found)
        return self.panel(found)


class Lists(Vertical):
    """The flow, and below it the list that one has chosen."""

    moment: reactive[DebuggerState | None] = reactive(None)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._chosen = "jobs"
        self._chosen_narrow = FLOW
        self._focused = False

    def compose(self) -> ComposeResult:
        """The flow, the tabs, the lists."""
        yield new_panel(_KINDS[FLOW]).data_bind(Lists.moment)
        yield Tabs()
        for name in LISTS[1:]:
            yield new_panel(_KINDS[name], classes="-tab").data_bind(Lists.moment)

    def on_mount(self) -> None:
        """Only what is chosen is seen."""
        self._arrange()

    def on_resize(self) -> None:
        """The width decides whether the flow is one of the tabs."""
        self._arrange()

    def grow(self, *, focused: bool) -> None:
        """More room while the focus is here."""
        self._focused = focused
        self._set_height()

    def _set_height(self) -> None:
        narrow = self.app.size.width < NARROW
        self.styles.height = TALL if narrow and self._focused else None

    def bring(self, name: str) -> None:
        """To the front."""
        if name not in LISTS:
            return
        self._chosen_narrow = name
        if name != FLOW:
            self._chosen = name
        self._arrange()

    @on(Tabs.Chosen)
    def clicked(self, event: Tabs.Chosen) -> None:
        """A tab was clicked."""
        event.stop()
        self.bring(event.panel)
        self.screen.set_focus(self.query_one(f"#{event.panel}"))

    def _arrange(self) -> None:
        self._set_height()
        narrow = self.app.size.width < NARROW
        active = self._chosen_narrow if narrow else self._chosen
        tabs: list[Tab] = []
        for name in LISTS:
            panel = self.query_one(f"#{name}", Panel)
            self._display(panel, name == active or (name == FLOW and not narrow))
            if name != FLOW or narrow:
                tabs.append(Tab(panel.key, panel.shows.title, name))
        bar = self.query_one(Tabs)
        bar.tabs, bar.active, bar.most_lines = tuple(tabs), active, 1 if narrow else 2

    def _display(self, panel: Panel, shown: bool) -> None:
        appears = shown and not panel.display
        panel.display = shown
        if appears:
            panel.draw()
