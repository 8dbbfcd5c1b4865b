"""Long work of a command, such as another cycle: done in a thread, while keys go on answering."""

from __future__ import annotations

from collections.abc import Callable
from threading import local

from textual.message import Message

from vcdebug.debugger.commands import CommandReply
from vcdebug.tui import worker
from vcdebug.tui.main.current import Say
from vcdebug.tui.messages import Progress, WorkDone


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
