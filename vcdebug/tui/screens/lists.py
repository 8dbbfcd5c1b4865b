"""The left side: the flow, and below it the list that one has chosen; on a narrow screen one of them at a time."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.reactive import reactive

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels import PANELS
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.widgets.tabs import Tab, Tabs

FLOW = "flow"
RIGHT = ("moment", "equation", "statement")
"""Panels that stand beside the lists."""
LISTS = tuple(name for panel in PANELS if (name := panel.TITLE.lower()) not in RIGHT)
NARROW = 100


class Lists(Vertical):
    """Panels that share a place."""

    moment: reactive[Moment | None] = reactive(None)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._chosen = "jobs"
        self._chosen_narrow = FLOW

    def compose(self) -> ComposeResult:
        """The flow, the tabs, the lists."""
        panels = {panel.TITLE.lower(): panel for panel in PANELS}
        yield panels[FLOW](id=FLOW).data_bind(Lists.moment)
        yield Tabs()
        for name in LISTS[1:]:
            yield panels[name](id=name, classes="-tab").data_bind(Lists.moment)

    def on_mount(self) -> None:
        """Only what is chosen is seen."""
        self._arrange()

    def on_resize(self) -> None:
        """The width decides whether the flow is one of the tabs."""
        self._arrange()

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
        narrow = self.app.size.width < NARROW
        active = self._chosen_narrow if narrow else self._chosen
        shown_tabs: list[Tab] = []
        for kind in PANELS:
            name = kind.TITLE.lower()
            if name not in LISTS:
                continue
            panel = self.query_one(f"#{name}", Panel)
            self._display(panel, name == active or (name == FLOW and not narrow))
            if name != FLOW or narrow:
                shown_tabs.append(Tab(panel.key, kind.TITLE, name))
        tabs = self.query_one(Tabs)
        tabs.tabs, tabs.active, tabs.most_lines = tuple(shown_tabs), active, 1 if narrow else 2

    def _display(self, panel: Panel, shown: bool) -> None:
        appears = shown and not panel.display
        panel.display = shown
        if appears:
            panel.draw()
