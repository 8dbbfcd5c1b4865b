"""Work in threads: loading, long commands and reruns for panels; and the state that the screen's parts share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from threading import Event, Thread, local
from typing import Final, Protocol, TypeVar

from textual.message import Message
from textual.screen import Screen

from vcdebug.amount_text import format_percent
from vcdebug.debugger import commands
from vcdebug.debugger.commands import CommandReply
from vcdebug.debugger.driver import DebuggerState, Driver
from vcdebug.errors import VcdebugError
from vcdebug.grouping import split_names
from vcdebug.model.names import Seq
from vcdebug.recording.replay import cancellable
from vcdebug.tui import worker
from vcdebug.tui.messages import PanelDrawn, PanelRerunNeeded, Progress, WorkDone
from vcdebug.tui.worker import Start
from vcdebug.views.table import empty_table


class BackgroundWork:
    """Runs the long work of one command at a time."""

    def __init__(
        self,
        start_thread: Callable[[Callable[[], None]], object],
        post_message: Callable[[Message], object],
        say: Say,
        show_progress: Callable[[str], None],
    ) -> None:
        self._start_thread = start_thread
        self._post = post_message
        self._show_message = say
        self._progress = show_progress
        self.work_description = ""
        """The running work in words; empty without any."""
        self._ticket = 0
        """The number of the current work; results of stopped work have a smaller one."""
        self._thread_state = local()  # a stopped thread goes on running next to the one that replaced it
        """The ticket of each thread's work."""

    def start_work(self, description: str, work: Callable[[], CommandReply]) -> None:
        """Start work in a thread, unless other work runs."""
        if self.work_description:
            self._show_message(f"still {self.work_description}: this works when it is done", error=True)
            return
        self.work_description = description or "working"
        self._ticket += 1
        self._progress(self.work_description)
        tasks = {self._ticket: work}
        # The thread pops the only reference: a task holds recordings, which must be freed when it ends.
        del work
        self._start_thread(lambda: self._run_task(tasks))

    def _run_task(self, tasks: dict[int, Callable[[], CommandReply]]) -> None:
        ticket, task = tasks.popitem()
        self._thread_state.ticket = ticket
        make_reply, make_failure = (lambda: WorkDone(task(), "", ticket)), (lambda line: WorkDone(None, line, ticket))
        self._post(worker.run_or_failure_message(make_reply, make_failure))

    def is_awaited(self, event: WorkDone) -> bool:
        """Whether the finished work is the current one, and was not stopped."""
        return event.work_number == self._ticket and bool(self.work_description)

    def finish_work(self, event: WorkDone) -> CommandReply | None:
        """The reply of the finished work; None after a failure, whose message is shown."""
        self._clear_work()
        if event.reply is None:
            self._show_message(event.error, error=True)
        return event.reply

    def stop_waiting(self) -> bool:
        """Stop waiting for the running work; returns whether there was any."""
        if not self.work_description:
            return False
        self._show_message(f"stopped: {self.work_description}; no changes")
        self._clear_work()
        return True

    def is_wanted(self) -> bool:
        """Called in a work's thread: whether its result is still wanted."""
        return self._thread_state.ticket == self._ticket and bool(self.work_description)

    def report_progress(self, text: str) -> None:
        """Called in a work's thread: post its progress while its result is wanted."""
        if self.is_wanted():
            self._post(Progress(text))

    def _clear_work(self) -> None:
        self.work_description = ""
        self._progress("")


class PanelRerun:
    """Reruns the cycle for panels that call plugins again: one panel at a time, each for its latest event."""

    def __init__(
        self,
        start_thread: Callable[[Callable[[], None]], object],
        post_message: Callable[[Message], object],
        show_progress: Callable[[str], None],
    ) -> None:
        self._start_thread = start_thread
        self._post = post_message
        self._progress = show_progress
        self._running_rerun: PanelRerunNeeded | None = None
        self._requested: dict[str, PanelRerunNeeded] = {}
        """The latest request of each panel, by its name."""

    @property
    def running_text(self) -> str:
        """The running rerun in words; empty without any."""
        return "" if self._running_rerun is None else self._running_rerun.work

    def request_panel(self, rerun: PanelRerunNeeded) -> None:
        """Queue a panel's request."""
        queued = self._requested.get(rerun.panel)
        # A panel that is drawn twice for one moment must not run the cycle twice.
        if queued is not None and queued.state is rerun.state:
            return
        self._requested[rerun.panel] = rerun
        if self._running_rerun is None:
            self._start_next()

    def drop_outdated(self, moment: DebuggerState) -> None:
        """Drop requests for other moments than the shown one."""
        # A rerun in progress notices in `_may_continue` that its request is gone.
        self._requested = {name: rerun for name, rerun in self._requested.items() if rerun.state is moment}

    def finish_panel(self, drawn: PanelDrawn) -> bool:
        """Start the next request; returns whether the finished one is still wanted."""
        rerun = drawn.rerun
        awaited = self._requested.get(rerun.panel) is rerun
        if awaited:
            del self._requested[rerun.panel]
        if rerun is self._running_rerun:
            self._start_next()
        return awaited

    def stop_all(self) -> list[PanelRerunNeeded]:
        """Drop all requests, and return them."""
        given_up = list(self._requested.values())
        self._requested.clear()
        return given_up

    def _start_next(self) -> None:
        self._running_rerun = next(iter(self._requested.values()), None)
        self._progress(self.running_text)
        if self._running_rerun is not None:
            self._start_thread(partial(self._draw_panel, self._running_rerun))

    def _draw_panel(self, rerun: PanelRerunNeeded) -> None:
        """Rerun the cycle and draw the panel, in the thread."""

        def make_failure(text: str) -> Message:
            return PanelDrawn(rerun, empty_table(rerun.panel.capitalize(), text))

        with cancellable(partial(self._may_continue, rerun)):
            self._post(worker.run_or_failure_message(lambda: PanelDrawn(rerun, rerun.make_table()), make_failure))

    def _may_continue(self, rerun: PanelRerunNeeded, reached_seq: Seq, seq: Seq) -> bool:
        if reached_seq:
            self._post(Progress(f"{self.running_text}: {format_percent(reached_seq, seq)}"))
        return self._requested.get(rerun.panel) is rerun


MODULES_AHEAD: Final = split_names(
    "views.event_view views.equation explain.decisions.dry_runs tui.completion tui.main.pages tui.main.cursor_commands "
    "tui.screens.pages tui.screens.dialogs tui.palette views.conf views.victim_search views.origins views.log"
)
"""Modules that the first keys need, in the likely order: a step, a command, a page, a dialog, the palette, a panel."""


def import_modules_ahead(is_stopped: Callable[[], bool]) -> None:
    """Import the modules one by one in a thread, until `is_stopped` is true."""
    for name in MODULES_AHEAD:
        if is_stopped():
            return
        import_module(f"vcdebug.{name}")
    commands.list_verbs()


class RecordingLoader:
    """Loads and replays the snapshot of a screen in a thread."""

    def __init__(self, start: Start, post_message: Callable[[Message], object]) -> None:
        self._start = start
        self._post = post_message
        self._stop_request = Event()
        self._screen_drawn = Event()

    def load_recording(self) -> None:
        """Called in a thread: load and replay, and cache the recording once it is drawn."""
        worker.load_and_replay(self._start, self._post, self._stop_request, self._screen_drawn.wait)

    def on_drawn(self) -> None:
        """Let the loading thread continue, and import modules in a thread without references to screen or recording."""
        self._screen_drawn.set()
        # The event, not self: the thread would keep the closed screen alive.
        Thread(target=import_modules_ahead, args=(self._stop_request.is_set,)).start()

    def stop_loading(self) -> None:
        """Stop loading: the screen is closed."""
        self._stop_request.set()
        self._screen_drawn.set()


# What the parts of the main screen share.

Result = TypeVar("Result")


class Say(Protocol):
    """Shows a line in place of the footer, until the next one."""

    def __call__(self, text: str, *, error: bool = False) -> None: ...


class LayOver(Protocol):
    """Pushes a screen; `then` is called with its result."""

    def __call__(self, screen: Screen[Result], then: Callable[[Result | None], None]) -> None: ...


class ScreenState:
    """The debugger and the shown state; both are None until the replay is done."""

    def __init__(self, draw: Callable[[DebuggerState], None], say: Say) -> None:
        self.driver: Driver | None = None
        self.moment: DebuggerState | None = None
        self.show_message = say
        self._draw = draw

    def show_moment(self, moment: DebuggerState) -> None:
        """Show the debugger's state in all panels."""
        self.moment = moment
        self._draw(moment)

    def ready_driver(self) -> Driver | None:
        """The debugger; None, with a message, while the replay runs."""
        if self.driver is None:
            self.show_message("still replaying: this key works after that, Esc stops")
        else:
            self.show_message("")
        return self.driver

    def ready_moment(self) -> DebuggerState | None:
        """The shown state; None, with a message, while the replay runs."""
        return self.moment if self.ready_driver() is not None else None

    def move_to(self, move: Callable[[Driver], DebuggerState]) -> None:
        """Move the debugger and show where it is, unless the replay still runs."""
        driver = self.ready_driver()
        if driver is not None:
            self.show_moment(move(driver))

    def attempt_task(self, task: Callable[[], object]) -> None:
        """Run a task; if it fails, show the reason."""
        try:
            task()
        except VcdebugError as error:
            self.show_message(error.format_line(), error=True)
