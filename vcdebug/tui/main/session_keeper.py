"""Restores and saves the session on a snapshot: event, panel, filters and notebook."""

from collections.abc import Callable, Sequence
from datetime import datetime

from vcdebug.amount_text import count_noun
from vcdebug.debugger.cursor import OVERVIEW
from vcdebug.debugger.driver import DebuggerState, Driver
from vcdebug.errors import VcdebugError
from vcdebug.files.text_files import load_notes, notes_path
from vcdebug.recording.recording import cut_off_error
from vcdebug.snapshot.manifest import JsonDict
from vcdebug.tui import session_state
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.session_state import SavedSession, SessionStore
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.worker import Start
from vcdebug.views.panels import PANEL_VIEWS


class SessionKeeper:
    """Restores the last session, and saves every change."""

    def __init__(
        self,
        store: SessionStore,
        start: Start,
        problems: Sequence[str],
        *,
        show_panel: Callable[[str], None],
        panel: Callable[[str], Panel],
        focused_grid: Callable[[], Grid],
    ) -> None:
        self._store = store
        self._start = start
        self._problems = tuple(problems)
        """The faults of the settings."""
        self._show_panel = show_panel
        self._panel_of = panel
        self._focused_grid = focused_grid
        self._session = SavedSession(store, None)
        self._driver: Driver | None = None
        self._panel = ""
        self.panels: dict[str, Panel] = {}
        """The panels that exist, by name."""
        self.lines: tuple[str, ...] = ()
        """Messages about the settings and the session's file, for the help."""

    def identify_snapshot(self) -> None:
        """Open the snapshot's session; called in a thread, since it reads the whole snapshot."""
        identity = session_state.identify_snapshot(self._start.source_path())
        self._session = self._store.open_session(identity, fresh=self._start.fresh)

    def panel_focused(self, panel: Panel) -> None:
        self._panel = panel.id or ""

    def begin_session(self, driver: Driver) -> tuple[DebuggerState, str]:
        """The first state and a message: restored from the last session, unless the command line chooses a position."""
        lines = [*self._session.lines, *self._problems, *self._restore_session(driver)]
        cut_error = cut_off_error(driver.debugger.recording)
        lines = [cut_error.format_line(), *lines] if cut_error is not None else lines
        moment = self._start.apply_to(driver)
        self._first_panel()
        self._driver = driver
        # Saved at once, so that a folder that cannot be written is reported now.
        save_error = self.save_session()
        lines += [save_error] if save_error else []
        self._remember_snapshot(driver)
        self.lines = tuple(lines)
        if lines:
            more_note = f"  ({count_noun(len(lines) - 1, 'more line')}: ?)" if len(lines) > 1 else ""
            return moment, f"{lines[0]}{more_note}"
        is_restored = moment.number != OVERVIEW and not self._start.has_position
        return moment, f"event {moment.number}, as you left it; --fresh starts over" if is_restored else ""

    def _restore_session(self, driver: Driver) -> list[str]:
        """Restore the session; returns a line per part that cannot be read."""
        data = self._session.data
        if not data:
            return [] if self._start.fresh else _load_notes_file(driver)
        lines = driver.notebook.load_data(data.get("notebook", {}))
        driver.refresh_breakpoints()
        seq = data.get("event")
        if isinstance(seq, int) and OVERVIEW < seq <= len(driver.debugger.recording) and not self._start.has_position:
            driver.goto_event(seq)
        filters = data.get("filters")
        for name, text in (filters if isinstance(filters, dict) else {}).items():
            if name in PANEL_VIEWS:
                self._panel_of(name).set_filter(str(text))
        if data.get("panel") in PANEL_VIEWS:
            self._show_panel(str(data["panel"]))
        return lines

    def _first_panel(self) -> None:
        if self._start.panel:
            self._show_panel(self._start.panel)
        if self._start.filter:
            grid = self._focused_grid() if self._start.panel else self._panel_of("jobs")
            grid.set_filter(self._start.filter)

    def _remember_snapshot(self, driver: Driver) -> None:
        if not isinstance(self._start.source_path(), str):
            return
        recording = driver.debugger.recording
        session = recording.session
        sizes = ((len(session.nodes), "node"), (len(session.jobs), "job"), (len(recording), "event"))
        size_text = ", ".join(count_noun(count, noun) for count, noun in sizes)
        self._store.add_recent(self._start.command_line_name(), size_text, datetime.now().astimezone())

    def save_if_changed(self) -> None:
        """Save the session at once if it has changed, since the program may be killed at any time."""
        if self._driver is not None and self._session.data.get("notebook", {}) != self._driver.notebook.to_data():
            self.save_session()

    def save_session(self) -> str:
        """Save the session; returns a line if that fails, else an empty text."""
        return self._session.save_data(self._session_data(self._driver)) if self._driver is not None else ""

    def _session_data(self, driver: Driver) -> JsonDict:
        # Events of a branch or a later cycle are not saved: the next session has only the first cycle.
        in_first_cycle = driver.shown_place() == (1, False)
        seq = driver.debugger.position.seq if in_first_cycle else self._session.data.get("event", OVERVIEW)
        return {
            "event": seq,
            "panel": self._panel,
            "filters": {name: panel.filter_text for name, panel in self.panels.items() if panel.filter_text},
            "notebook": driver.notebook.to_data(),
        }


def _load_notes_file(driver: Driver) -> list[str]:
    """Load the notes next to a snapshot that is opened for the first time; returns a line about them."""
    path = notes_path(driver.debugger.recording.snapshot)
    if path is None or not path.exists():
        return []
    try:
        return [f"{path.name}: {load_notes(driver, str(path))}"]
    except VcdebugError as error:
        return [error.format_line()]
