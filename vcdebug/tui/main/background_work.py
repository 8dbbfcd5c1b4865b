"""Long work of a command, such as another cycle: done in a thread, while keys go on answering."""

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
from vcdebug.model.names import Seq
from vcdebug.recording.replay import cancellable
from vcdebug.tui import worker
from vcdebug.tui.messages import PanelDrawn, PanelRerunNeeded, Progress, WorkDone
from vcdebug.tui.worker import Start
from vcdebug.views.table import Table, make_line, muted_piece


class BackgroundWork:
    """One piece of work at a time; somebody may stop waiting for it."""

    def __init__(
        self,
        start_thread: Callable[[Callable[[], None]], object],
        post: Callable[[Message], object],
        say: Say,
        progress: Callable[[str], None],
    ) -> None:
        self._start_thread = start_thread
        self._post = post
        self._say = say
        self._progress = progress
        self.about = ""
        """What the work is while it runs."""
        self._ticket = 0
        """Which work is waited for."""
        self._own = local()
        """The ticket of the work that a thread does."""

    def start_work(self, reply: CommandReply) -> None:
        """Do what the reply asks for, unless something is being done already."""
        work = reply.work
        if work is None:
            return
        if self.about:
            self._say(f"still {self.about}: this works when it is done", error=True)
            return
        self.about = reply.text or "working"
        self._ticket += 1
        self._progress(self.about)
        tasks = {self._ticket: work}
        del work, reply
        self._start_thread(lambda: self._run_task(tasks))

    def _run_task(self, tasks: dict[int, Callable[[], CommandReply]]) -> None:
        """In the thread; nobody keeps the task afterwards, for it holds recordings."""
        ticket, task = tasks.popitem()
        self._own.ticket = ticket
        self._post(worker.run_task(task, ticket))

    def is_awaited(self, event: WorkDone) -> bool:
        """Whether anybody still waits for this work."""
        return event.ticket == self._ticket and bool(self.about)

    def finish_work(self, event: WorkDone) -> CommandReply | None:
        """What the work came to; None after a failure, which is said."""
        self._clear_work()
        if event.reply is None:
            self._say(event.error, error=True)
        return event.reply

    def stop_waiting(self) -> bool:
        """Wait no longer; whether there was anything to wait for."""
        if not self.about:
            return False
        self._say(f"stopped: {self.about}; nothing has changed")
        self._clear_work()
        return True

    def is_wanted(self) -> bool:
        """In the thread: whether somebody still waits for what it does, not for the same work asked for again."""
        return self._own.ticket == self._ticket and bool(self.about)

    def report_progress(self, text: str) -> None:
        """In the thread: how far its work is, as long as somebody waits for it."""
        if self.is_wanted():
            self._post(Progress(text))

    def _clear_work(self) -> None:
        self.about = ""
        self._progress("")


# Panels for which the cycle runs again, so that plugins can be asked once more: in a thread, while keys answer.


class PanelRerun:
    """One panel after the other, each for the moment that it shows last."""

    def __init__(
        self,
        start_thread: Callable[[Callable[[], None]], object],
        post: Callable[[Message], object],
        progress: Callable[[str], None],
    ) -> None:
        self._start_thread = start_thread
        self._post = post
        self._progress = progress
        self._running: PanelRerunNeeded | None = None
        self._wanted: dict[str, PanelRerunNeeded] = {}
        """By the panel's name."""

    @property
    def running_text(self) -> str:
        """What runs, in words; empty where nothing does."""
        return "" if self._running is None else f"running the cycle again up to event {self._running.seq}"

    def request_panel(self, asked: PanelRerunNeeded) -> None:
        """Draw a panel away from the keys."""
        known = self._wanted.get(asked.panel)
        if known is not None and known.moment is asked.moment:
            return
        self._wanted[asked.panel] = asked
        if self._running is None:
            self._start_next()

    def drop_outdated(self, moment: DebuggerState) -> None:
        """Another moment is shown: what was asked for before does not matter any more."""
        self._wanted = {name: asked for name, asked in self._wanted.items() if asked.moment is moment}

    def finish_panel(self, drawn: PanelDrawn) -> bool:
        """Go on with the next panel; whether anybody still waits for this one."""
        asked = drawn.asked
        awaited = self._wanted.get(asked.panel) is asked
        if awaited:
            del self._wanted[asked.panel]
        if asked is self._running:
            self._start_next()
        return awaited

    def stop_all(self) -> list[PanelRerunNeeded]:
        """Wait no longer; for whom."""
        given_up = list(self._wanted.values())
        self._wanted.clear()
        return given_up

    def _start_next(self) -> None:
        self._running = next(iter(self._wanted.values()), None)
        self._progress(self.running_text)
        if self._running is not None:
            self._start_thread(partial(self._draw_panel, self._running))

    def _draw_panel(self, asked: PanelRerunNeeded) -> None:
        """In the thread."""
        with cancellable(partial(self._may_continue, asked)):
            self._post(
                worker.run_or_failure_message(lambda: PanelDrawn(asked, asked.view()), partial(_failed_panel, asked))
            )

    def _may_continue(self, asked: PanelRerunNeeded, done: Seq, seq: Seq) -> bool:
        if done:
            self._post(Progress(f"{self.running_text}: {format_percent(done, seq)}"))
        return self._wanted.get(asked.panel) is asked


def _failed_panel(asked: PanelRerunNeeded, text: str) -> Message:
    return PanelDrawn(asked, Table(asked.panel.capitalize(), foot=(make_line(muted_piece(text)),)))


# What the screen was started with, on its way from files to a recording, and what the first keys need beyond that.

MODULES_AHEAD: Final = (
    "vcdebug.views.event_view",
    "vcdebug.views.equation",
    "vcdebug.explain.decisions.dry_runs",
    "vcdebug.tui.completion",
    "vcdebug.tui.main.pages",
    "vcdebug.tui.main.cursor_commands",
    "vcdebug.tui.screens.pages",
    "vcdebug.views.detail",
)
"""In the order in which they are likely to be wanted: a step, a command, a page."""


def import_modules_ahead(wanted: Callable[[], bool]) -> None:
    """In a thread, a module at a time, while the screen is there; a key that needs one sooner has it sooner."""
    for name in MODULES_AHEAD:
        if not wanted():
            return
        import_module(name)
    commands.list_verbs()


class RecordingLoader:
    """Loads and replays in a thread, and ends with the screen."""

    def __init__(self, start: Start, post: Callable[[Message], object]) -> None:
        self._start = start
        self._post = post
        self._stop = worker.StopRequest()
        self._drawn = Event()

    def load_recording(self) -> None:
        """In a thread: load, replay, and once the recording is on the screen keep it for the next time."""
        start = self._start
        worker.load_and_replay(
            start.source,
            self._post,
            start.ask_extender,
            worker.LoadOptions(start.complete, start.release),
            self._stop,
            start.limits,
            start.after,
            None if start.captures is not None else start.kept,
            self._drawn.wait,
        )

    def on_drawn(self) -> None:
        """The recording is on the screen. A thread that holds neither of them imports what the first keys need."""
        self._drawn.set()
        stop = self._stop
        Thread(target=import_modules_ahead, args=(lambda: not stop.asked,)).start()

    def stop_loading(self) -> None:
        """Nobody waits for it any more."""
        self._stop.asked = True
        self._drawn.set()


# What every part of the main screen works with: the debugger, the state that the panels show, and a line to say.

Result = TypeVar("Result")


class Say(Protocol):
    """Put a line in place of the footer, until the next one."""

    def __call__(self, text: str, *, error: bool = False) -> None: ...


class LayOver(Protocol):
    """Put a screen over the main one; what it closes with is handed on."""

    def __call__(self, screen: Screen[Result], then: Callable[[Result | None], None]) -> None: ...


class ScreenState:
    """The debugger behind the screen; there is none until the replay is done."""

    def __init__(self, draw: Callable[[DebuggerState], None], say: Say) -> None:
        self.driver: Driver | None = None
        self.moment: DebuggerState | None = None
        self.say = say
        self._draw = draw

    def show_moment(self, moment: DebuggerState) -> None:
        """Every panel draws this from now on."""
        self.moment = moment
        self._draw(moment)

    def ready_driver(self) -> Driver | None:
        """The debugger, or a word about why there is none yet."""
        if self.driver is None:
            self.say("still replaying: this key works in a moment, Esc stops")
        else:
            self.say("")
        return self.driver
