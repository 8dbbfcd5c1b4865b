"""What is on the main screen: panels around one moment, the replay that fills them, the line at the bottom."""

from __future__ import annotations

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive
from textual.screen import Screen

from vcdebug.debugger.driver import Driver
from vcdebug.errors import VcdebugError
from vcdebug.tui import worker
from vcdebug.tui.messages import CycleReady, Progress
from vcdebug.tui.moment import Moment
from vcdebug.tui.panels import PANELS
from vcdebug.tui.screens.lists import NARROW, RIGHT, Lists
from vcdebug.tui.start import Start
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.header import ONE_LINE, Header
from vcdebug.tui.widgets.hint import FirstKeys
from vcdebug.tui.widgets.prompt import Prompt
from vcdebug.tui.widgets.status import Status
from vcdebug.tui.widgets.timeline import Timeline


class Desk(Screen[str]):
    """Holds the moment; every change of it reaches all panels."""

    HORIZONTAL_BREAKPOINTS = [
        (0, "-narrow"),
        (NARROW, "-wide"),
        (ONE_LINE, "-very-wide"),
    ]
    ALLOW_IN_MAXIMIZED_VIEW = "Header,FirstKeys,Timeline,Status,Prompt"

    moment: reactive[Moment | None] = reactive(None, always_update=True)

    def __init__(self, start: Start) -> None:
        super().__init__()
        self.start = start
        self.driver: Driver | None = None
        self._stop = worker.Stop()

    def compose(self) -> ComposeResult:
        """Flow and lists on the left, the moment on the right, the timeline below."""
        panels = {panel.TITLE.lower(): panel for panel in PANELS}
        yield Header().data_bind(Desk.moment)
        with Horizontal(id="body"):
            yield Lists(id="left").data_bind(Desk.moment)
            with Vertical(id="right"):
                yield from (panels[name](id=name).data_bind(Desk.moment) for name in RIGHT)
        yield Timeline().data_bind(Desk.moment)
        yield FirstKeys()
        yield Status()
        yield Prompt()

    def on_mount(self) -> None:
        """Start the replay; keys answer meanwhile."""
        self.query_one(Header).name_shown = self.start.name
        self.set_focus(self.query_one("#moment" if self.app.size.width < NARROW else "#flow"))
        self.replay()

    # The recording

    @work(thread=True, exclusive=True)
    def replay(self) -> None:
        """Load and replay in a thread."""
        self.before_replay()
        start = self.start
        reading = worker.Reading(start.complete, start.release)
        worker.run(start.source, self.post_message, start.ask_extender, reading, self._stop, start.limits)

    def on_unmount(self) -> None:
        """Whatever still loads for this screen ends."""
        self._stop.asked = True

    @on(Progress)
    def progressed(self, event: Progress) -> None:
        """Say how far it is."""
        self.query_one(Header).progress = event.text

    @on(CycleReady)
    def ready(self, event: CycleReady) -> None:
        """Stand at the first event, or where the command line said."""
        self.query_one(Header).progress = ""
        self.driver = Driver(event.recording)
        try:
            self.moment = self.begin(self.driver)
        except VcdebugError as error:
            self.moment = self.driver.moment()
            self.say(error.line(), error=True)

    def before_replay(self) -> None:
        """What is to be found out about the snapshot first; called in the worker's thread."""

    def begin(self, driver: Driver) -> Moment:
        """Where to stand first."""
        return self.start.apply(driver)

    def say(self, text: str, *, error: bool = False) -> None:
        """A line in place of the keys, until the next one."""
        self.query_one(Status).say(text, error=error)

    def ready_driver(self) -> Driver | None:
        """The driver, or a word about why there is none yet."""
        if self.driver is None:
            self.say("still replaying: this key works in a moment, Esc stops")
        else:
            self.say("")
        return self.driver

    # Panels

    @property
    def grid(self) -> Grid:
        """The table that has the focus, else the flow."""
        return self.focused if isinstance(self.focused, Grid) else self.query_one("#flow", Grid)

    def show_panel(self, name: str) -> None:
        """Bring a panel to the front and give it the focus."""
        found = next((panel for panel in PANELS if panel.TITLE.lower().startswith(name.lower()[:4])), None)
        if found is None or not name:
            self.say(f"no panel {name!r}: {', '.join(panel.TITLE.lower() for panel in PANELS)}", error=True)
            return
        panel = found.TITLE.lower()
        self.query_one(Lists).bring(panel)
        self.minimize()
        self.set_focus(self.query_one(f"#{panel}"))
