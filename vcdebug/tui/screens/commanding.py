"""Typed lines, and what commands answer; long work is done away from the keys."""

from __future__ import annotations

from collections.abc import Callable

from textual import on, work

from vcdebug.debugger.commands import Reply, execute
from vcdebug.errors import VcdebugError
from vcdebug.tui import worker
from vcdebug.tui.completion import completer
from vcdebug.tui.messages import RemoveBreakpoint, ToggleBreakpoint, WorkDone
from vcdebug.tui.screens.breakpoint import BreakpointScreen
from vcdebug.tui.screens.reading import Reading
from vcdebug.tui.start import Start
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.header import Header
from vcdebug.tui.widgets.prompt import FIRST_ROW, Mode, Prompt, none
from vcdebug.tui.widgets.status import Status
from vcdebug.views.breaking import fitting_kind


class Commanding(Reading):
    """The command line, and keys that are short for a command."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._filtered: Grid | None = None
        """The table that a filter being typed acts on."""
        self._working = ""
        """What long work is about while it runs."""
        self._ticket = 0
        """Which work is waited for."""
        self._tasks: dict[int, Callable[[], Reply]] = {}
        """What is to be done, by ticket; nobody keeps it longer, for it holds recordings."""

    def action_command(self) -> None:
        """Type a command."""
        self._open_prompt("command")

    def action_goto(self) -> None:
        """Type an event number."""
        self._open_prompt("goto")

    def action_filter(self) -> None:
        """Type a filter for the table that has the focus."""
        self._open_prompt("filter")

    def _open_prompt(self, mode: Mode, text: str = "") -> None:
        self._filtered = self.grid
        self._hold(held=True)
        complete = completer(self.moment) if mode == "command" else none
        text = self._filtered.filter_text if mode == "filter" else text
        self.query_one(Prompt).open(mode, text, complete)
        self.query_one(Status).display = False

    def _filter(self, text: str) -> int:
        return self._filtered.set_filter(text) if self._filtered is not None else 0

    @on(Prompt.Edited)
    def edited(self, event: Prompt.Edited) -> None:
        """A filter acts with every key."""
        if event.mode == "filter":
            self._filter(event.text)

    @on(Prompt.Closed)
    def closed(self, event: Prompt.Closed) -> None:
        """Without a filter all rows are back."""
        if event.mode == "filter":
            self._filter("")
        self._prompt_done()

    @on(Prompt.Entered)
    def entered(self, event: Prompt.Entered) -> None:
        """Run the line."""
        self._prompt_done()
        if event.mode == "filter":
            shown = self._filter(event.text)
            self.say(f"{shown} rows; Esc shows all" if event.text else "")
        elif event.mode == "goto" and event.text == FIRST_ROW:
            self.grid.action_move_to(0)
        elif event.text.strip():
            self.run_command(f"goto {event.text}" if event.mode == "goto" else event.text)

    def _prompt_done(self) -> None:
        self.query_one(Status).display = True
        self._hold(held=False)
        if self._filtered is not None:
            self.set_focus(self._filtered)

    def _hold(self, *, held: bool) -> None:
        """The table that the focus was taken from keeps its size while somebody types."""
        table = self._filtered
        if table is not None:
            for widget in (table, *table.ancestors):
                widget.set_class(held, "-held")

    def run_command(self, text: str) -> None:
        """Run a command line and show what it came to."""
        driver = self.ready_driver()
        if driver is None:
            return
        try:
            self._show(execute(driver, text))
        except VcdebugError as error:
            self.say(error.line(), error=True)

    def _show(self, reply: Reply) -> None:
        while reply.then is not None:
            reply = reply.then()
        if reply.moment is not None:
            self.moment = reply.moment
        self.say(reply.text)
        if reply.work is not None:
            self.start_work(reply)
        elif reply.opens:
            self.open_what(reply.opens, reply.argument)

    def open_what(self, name: str, argument: str) -> None:
        """What a command opens, by name: `opens.py` has the list."""
        raise NotImplementedError

    # Long work

    def start_work(self, reply: Reply) -> None:
        """Keys answer meanwhile; one piece of work at a time."""
        if self._working:
            self.say(f"still {self._working}: this works when it is done", error=True)
            return
        self._working = reply.text or "working"
        self._ticket += 1
        self.query_one(Header).progress = self._working
        assert reply.work is not None
        self._tasks[self._ticket] = reply.work
        self._do(self._ticket)

    @work(thread=True)
    def _do(self, ticket: int) -> None:
        self.post_message(worker.work(self._tasks.pop(ticket), ticket))

    @on(WorkDone)
    def done(self, event: WorkDone) -> None:
        """Show what the work came to, if anybody still waits for it."""
        if event.ticket != self._ticket or not self._working:
            return
        self._at_rest()
        if event.reply is not None:
            self._show(event.reply)
        else:
            self.say(event.error, error=True)

    def _at_rest(self) -> None:
        self._working = ""
        self.query_one(Header).progress = ""

    def action_back(self) -> None:
        """Stop waiting for work, else as everywhere."""
        if not self._working:
            super().action_back()
            return
        self.say(f"stopped: {self._working}; nothing has changed")
        self._at_rest()

    # Breakpoints

    def action_breakpoint(self) -> None:
        """Open the dialog."""
        if self.ready_driver() is not None and self.moment is not None:
            kind = fitting_kind(self.moment.recording, self.moment.seq)
            self.app.push_screen(BreakpointScreen(self.moment, kind), self._breakpoint_chosen)

    def _breakpoint_chosen(self, words: str | None) -> None:
        if words:
            self.run_command(f"break {words}")

    @on(ToggleBreakpoint)
    def toggle_asked(self, event: ToggleBreakpoint) -> None:
        """The list of breakpoints asks."""
        self.run_command(f"toggle {event.number}")

    @on(RemoveBreakpoint)
    def remove_asked(self, event: RemoveBreakpoint) -> None:
        """The list of breakpoints asks."""
        self.run_command(f"delete {event.number}")
