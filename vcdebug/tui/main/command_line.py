"""The command line, which runs typed commands and shows their replies; and what all commands of the screen share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct
from textual.widget import Widget

from vcdebug.amount_text import count_noun
from vcdebug.debugger.commands import CommandReply, execute_line
from vcdebug.model.names import Seq
from vcdebug.tui.clipboard import Clipboard
from vcdebug.tui.main.background_work import BackgroundWork, LayOver, ScreenState
from vcdebug.tui.session_state import SessionStore
from vcdebug.tui.widgets.bars import Status
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import FIRST_ROW, Prompt, PromptMode, no_completions
from vcdebug.tui.worker import NextScreen

IMMEDIATE_COMMANDS: Final = (["quit"], ["q"], ["help"])
"""Commands that run while long work does."""


@dataclass(eq=False, repr=False)
class CommandLine:
    """Opens the prompt and runs what is entered."""

    current: ScreenState
    work: BackgroundWork
    prompt: Prompt
    status: Status
    focused: Callable[[], Grid]
    focus: Callable[[Widget], None]
    open_what: Callable[[str, str], object]
    _table: Grid | None = field(default=None, init=False)
    """The table that had the focus when the prompt opened, to which a filter applies."""
    _row: str = field(default="", init=False)
    """The key of that table's row under the cursor when the prompt opened."""
    _waiting: list[str] = field(default_factory=list, init=False)
    """Commands that wait for long work to end."""

    def open_prompt(self, mode: PromptMode, text: str = "") -> None:
        """Open the prompt for a command, an event number, or a filter of the focused table."""
        self._table = self.focused()
        self._row = self._table.cursor_key()
        complete = self._new_completer() if mode == "command" else no_completions
        text = self._table.filter_text if mode == "filter" else text
        self.prompt.open_line(mode, text, complete)
        self.status.display = False

    def _new_completer(self) -> Callable[[str], list[str]]:
        moment = self.current.moment
        if moment is None:
            return no_completions
        from vcdebug.tui.completion import complete_line  # imported ahead in a thread once the recording is drawn

        return lambda text: complete_line(text, moment)

    def prompt_used(self, event: Prompt.Edited | Prompt.Closed | Prompt.Entered) -> None:
        """Filter with every key that is typed; close the line; run what was entered."""
        if isinstance(event, Prompt.Entered):
            self._enter_line(event)
        elif event.mode == "filter":
            self._filter_table(event.text if isinstance(event, Prompt.Edited) else "")
        if isinstance(event, Prompt.Closed):
            self._prompt_done()
            if event.mode == "filter" and self._table is not None:
                self._table.restore_cursor(self._row)

    def _enter_line(self, event: Prompt.Entered) -> None:
        self._prompt_done()
        if event.mode == "filter":
            row_count = self._filter_table(event.text)
            self.current.show_message(f"{count_noun(row_count, 'row')}; Esc shows all" if event.text else "")
        elif event.mode == "goto" and event.text == FIRST_ROW:
            self.focused().action_move_to(0)
        elif event.text.strip():
            self.run_command(f"goto {event.text}" if event.mode == "goto" else event.text)

    def run_command(self, text: str) -> None:
        """Run a command and show its reply; while long work runs, queue it."""
        driver = self.current.ready_driver()
        if driver is None:
            return
        # In the order they were typed: a step must not overtake the edit that is being replayed.
        if self.work.work_description and text.split()[:1] not in IMMEDIATE_COMMANDS:
            self._waiting.append(text)
            self.current.show_message(f"still {self.work.work_description}: {text!r} follows, Esc drops it")
            return
        self.current.attempt_task(lambda: self.show_reply(execute_line(driver, text)))

    def work_ended(self, reply: CommandReply | None) -> None:
        """Show the reply of long work, then run the queued commands; None (after a failure) drops them."""
        # A queued command may start long work again; the remaining commands then stay in the queue.
        queued, self._waiting = self._waiting, []
        if reply is None:
            return
        self.current.attempt_task(lambda: self.show_reply(reply))
        for text in queued:
            self.run_command(text)

    def stop_work(self) -> bool:
        """Cancel long work and queued commands; returns whether there was any work."""
        self._waiting.clear()
        return self.work.stop_waiting()

    def show_reply(self, reply: CommandReply) -> None:
        """Show a reply: its event, its text, and then its work or what it opens."""
        while reply.apply is not None:
            reply = reply.apply() or CommandReply()
        if reply.state is not None:
            self.current.show_moment(reply.state)
        self.current.show_message(reply.text)
        if reply.work is not None:
            self.work.start_work(reply.text, reply.work)
        elif reply.show:
            self.open_what(reply.show, reply.argument)

    def _filter_table(self, text: str) -> int:
        return self._table.set_filter(text) if self._table is not None else 0

    def _prompt_done(self) -> None:
        self.status.display = True
        if self._table is not None:
            self.focus(self._table)


class ScreenTools(Struct, eq=False, frozen=True):
    """What the commands of the main screen share."""

    current: ScreenState
    work: BackgroundWork
    commands: CommandLine
    lay_over: LayOver
    focused: Callable[[], Grid]
    clipboard: Clipboard
    snapshot_word: str
    """The snapshot as a word of a command line."""
    go_to_event: Callable[[Seq], None]
    copy: Callable[[str, Clipboard], str]
    store: SessionStore
    open_next: Callable[[NextScreen], None]
    """Opens another snapshot in place of this one; asks first if edits would be lost."""
