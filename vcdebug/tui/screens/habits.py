"""What people expect of a terminal program: a footer that fits the focus, copying, a palette, all as it was left."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from textual import on
from textual.command import CommandPalette

from vcdebug.cli.reports.notes import beside, load_notes
from vcdebug.debugger.driver import Driver
from vcdebug.errors import VcdebugError
from vcdebug.trace.cut import cut_off
from vcdebug.tui import session_state
from vcdebug.tui.copying import Clipboard, copy_text
from vcdebug.tui.messages import CycleFailed
from vcdebug.tui.moment import Moment
from vcdebug.tui.palette import Everything
from vcdebug.tui.panels import PANELS
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.screens.copy import Chosen, CopyScreen, Offer
from vcdebug.tui.screens.help import help_table
from vcdebug.tui.screens.keys import ALWAYS, FOOTER, WITHOUT_RECORDING, Hint, entries, in_force
from vcdebug.tui.screens.supposing import Supposing
from vcdebug.tui.start import Start
from vcdebug.tui.widgets.hint import FirstKeys
from vcdebug.tui.widgets.prompt import Mode, Prompt
from vcdebug.tui.widgets.status import Status
from vcdebug.views.base import Table, count, plain
from vcdebug.views.equation import equation

if TYPE_CHECKING:
    from vcdebug.tui.app import VcdebugApp

KEPT_EVERY = 10.0
"""Seconds after which a new position is kept: a terminal may close without a word."""


class Habits(Supposing):
    """Keys that many programs share, on top of the debugger's own."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.session = session_state.Session(session_state.Store(), None)
        self._panels: list[Panel] = []
        self._panel = ""
        self._typed: dict[Mode, list[str]] = {}

    @property
    def own_app(self) -> VcdebugApp:
        """The application with its settings."""
        return cast("VcdebugApp", self.app)

    def on_mount(self) -> None:
        """The footer follows the focus."""
        self.bindings_updated_signal.subscribe(self, self._show_keys)
        prompt = self.query_one(Prompt)
        prompt.remember(self.own_app.store.history())
        self._typed = prompt.history
        self.set_interval(KEPT_EVERY, self.save_session)
        self._panels = [self.query_one(f"#{name}", Panel) for name in _NAMES]
        self.query_one(FirstKeys).display = self.own_app.store.first_time()

    def on_unmount(self) -> None:
        """What was set and typed is there the next time."""
        self.save_session()
        self.own_app.store.keep_history({str(mode): lines for mode, lines in self._typed.items()})

    def on_key(self) -> None:
        """Any key takes the first hint away."""
        self.query_one(FirstKeys).display = False

    # The footer

    def _show_keys(self, _: object = None) -> None:
        keys = in_force(self.active_bindings)
        if self.moment is None:
            keys = {name: found for name, found in keys.items() if name in WITHOUT_RECORDING}
        panel = self.focused
        if isinstance(panel, Panel):
            self._panel = panel.id or ""
        own = tuple(Hint((name,), does) for name, does in panel.FOOTER) if isinstance(panel, Panel) else ()
        status = self.query_one(Status)
        status.keys = (*entries(own, keys), *entries(FOOTER, keys))
        status.always = tuple(entries(ALWAYS, keys))

    def help_page(self) -> Table:
        """The help, with the keys in force, and what is wrong with the settings."""
        return help_table(self.own_app.settings.keys, self.own_app.lines)

    # Movement

    def action_down(self) -> None:
        """Undo the last way up; where there was none, into what comes next."""
        driver = self.ready_driver()
        if driver is not None:
            self.moment = driver.down()

    # Palette

    def action_palette(self) -> None:
        """Everything by name."""
        self.app.push_screen(CommandPalette(providers=[Everything], placeholder="command, panel, job or theme"))

    def type_command(self, text: str) -> None:
        """Open the command line with the beginning of a command."""
        self.action_command()
        self.query_one(Prompt).start_with(text)

    # Copying

    @property
    def clipboard(self) -> Clipboard:
        """As the settings say."""
        return self.own_app.settings.clipboard

    def action_copy_panel(self) -> None:
        """The whole panel."""
        self._copy(Chosen(Offer("p", "the panel", plain(self.grid.table)), to_file=False))

    def action_copy(self) -> None:
        """Choose what to copy."""
        where = {"file": "a file"}.get(self.clipboard, "the clipboard")
        self.app.push_screen(CopyScreen([*self._offers()], where), self._copy)

    def _offers(self) -> Iterator[Offer]:
        grid, moment = self.grid, self.moment
        row = grid.cursor_row
        if row is not None:
            yield Offer("c", "the cell", row.cells[min(grid.cursor_column, len(row.cells) - 1)].text.strip())
            yield Offer("r", "the row", "  ".join(cell.text.strip() for cell in row.cells))
        yield Offer("p", "the panel", plain(grid.table))
        if moment is None:
            return
        yield Offer("e", "the equation", plain(equation(moment.recording, moment.seq)))
        name = shlex.quote(self.start.place())
        yield Offer("o", "the command that opens this place", f"vcdebug open {name} --goto {moment.seq}")
        if moment.job:
            yield Offer("x", "the command that explains the job", f"vcdebug explain {name} {shlex.quote(moment.job)}")

    def _copy(self, chosen: Chosen | None) -> None:
        if chosen is None:
            return
        how = "file" if chosen.to_file else self.clipboard
        try:
            self.say(f"copied {chosen.offer.what} {copy_text(self.app, chosen.offer.text, how)}")
        except VcdebugError as error:
            self.say(error.line(), error=True)

    # Between sessions

    def before_replay(self) -> None:
        """In the worker's thread: which snapshot this is, and what was set in it before."""
        identity = session_state.identify(self.start.origin())
        self.session = self.own_app.store.session(identity, fresh=self.start.fresh)

    @on(CycleFailed)
    def back_to_chooser(self, event: CycleFailed) -> None:
        """What cannot be opened leads to the chooser, with the reason."""
        self._to_chooser(event.line)

    def action_back(self) -> None:
        """While a snapshot is loaded: to the chooser at once; the loading ends by itself."""
        if self.driver is None:
            self._to_chooser(f"{self.start.name}: loading was stopped")
            return
        super().action_back()

    def _to_chooser(self, line: str) -> None:
        while self.app.screen is not self:
            self.app.pop_screen()
        self.own_app.failure = line
        self.dismiss("")

    def begin(self, driver: Driver) -> Moment:
        """As it was left, unless the command line wants something else."""
        lines = [*self.session.lines, *self.own_app.settings.problems, *self._restore(driver)]
        cut = cut_off(driver.debugger.recording)
        lines = [cut.line(), *lines] if cut is not None else lines
        moment = self.start.apply(driver)
        self._first_panel()
        trouble = self.session.save(self._state(driver))
        lines += [trouble] if trouble else []
        self._remember(driver)
        self.own_app.lines = tuple(lines)
        if lines:
            more = f"  ({count(len(lines) - 1, 'more line')}: ?)" if len(lines) > 1 else ""
            self.say(f"{lines[0]}{more}")
        elif driver.debugger.seq != 1 and not self.start.somewhere:
            self.say(f"event {driver.debugger.seq}, as you left it; --fresh begins anew")
        return moment

    def _restore(self, driver: Driver) -> list[str]:
        """Set what the session's file holds; answers with a line for what cannot be read."""
        data = self.session.data
        if not data:
            return [] if self.start.fresh else _from_beside(driver)
        lines = driver.notebook.load(data.get("notebook", {}))
        driver.refresh()
        seq = data.get("event")
        if isinstance(seq, int) and 1 < seq <= len(driver.debugger.recording) and not self.start.somewhere:
            driver.goto(seq)
        filters = data.get("filters")
        for name, text in (filters if isinstance(filters, dict) else {}).items():
            if name in _NAMES:
                self.query_one(f"#{name}", Panel).set_filter(str(text))
        if data.get("panel") in _NAMES:
            self.show_panel(str(data["panel"]))
        return lines

    def _first_panel(self) -> None:
        """The panel and the filter of the command line."""
        if self.start.panel:
            self.show_panel(self.start.panel)
        if self.start.filter:
            grid = self.grid if self.start.panel else self.query_one("#jobs", Panel)
            grid.set_filter(self.start.filter)

    def _remember(self, driver: Driver) -> None:
        if isinstance(self.start.origin(), str):
            recording = driver.debugger.recording
            session = recording.session
            about = ", ".join(
                (count(len(session.nodes), "node"), count(len(session.jobs), "job"), count(len(recording), "event"))
            )
            self.own_app.store.opened(self.start.place(), about, datetime.now().astimezone())

    def watch_moment(self) -> None:
        """What was set is kept at once: a session may end in many ways."""
        if self.moment is None:
            return
        self._show_keys()
        if self.driver is not None and self.session.data.get("notebook", {}) != _set(self.driver):
            self.save_session()

    def save_session(self) -> None:
        """Keep where one stands and what is set."""
        if self.driver is None:
            return
        self.session.save(self._state(self.driver))

    def _state(self, driver: Driver) -> dict[str, Any]:
        there = driver.where() == (1, False)
        seq = driver.debugger.seq if there else self.session.data.get("event", 1)
        return {
            "event": seq,
            "panel": self._panel,
            "filters": {panel.id: panel.filter_text for panel in self._panels if panel.filter_text},
            "notebook": _set(driver),
        }


_NAMES = tuple(panel.TITLE.lower() for panel in PANELS)


def _from_beside(driver: Driver) -> list[str]:
    """A first session on a snapshot begins with what came along with it; answers with a line that says so."""
    path = beside(driver.debugger.recording.snapshot)
    if path is None or not path.exists():
        return []
    try:
        return [f"{path.name}: {load_notes(driver, str(path))}"]
    except VcdebugError as error:
        return [error.line()]


def _set(driver: Driver) -> dict[str, Any]:
    return driver.notebook.to_data()
