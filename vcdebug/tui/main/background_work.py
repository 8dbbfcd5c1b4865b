"""Long work of a command, such as another cycle: done in a thread, while keys go on answering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import local

from textual.message import Message

from vcdebug.debugger.commands import Reply
from vcdebug.tui import worker
from vcdebug.tui.main.current import Say
from vcdebug.tui.messages import Progress, WorkDone


@dataclass(eq=False)
class BackgroundWork:
    """One piece of work at a time; somebody may stop waiting for it."""

    start_thread: Callable[[Callable[[], None]], object]
    post: Callable[[Message], object]
    say: Say
    progress: Callable[[str], None]
    about: str = field(default="", init=False)
    """What the work is while it runs."""
    _ticket: int = field(default=0, init=False)
    """Which work is waited for."""
    _own: local = field(default_factory=local, init=False)
    """The ticket of the work that a thread does."""

    def start(self, reply: Reply) -> None:
        """Do what the reply asks for, unless something is being done already."""
        work = reply.work
        if work is None:
            return
        if self.about:
            self.say(f"still {self.about}: this works when it is done", error=True)
            return
        self.about = reply.text or "working"
        self._ticket += 1
        self.progress(self.about)
        tasks = {self._ticket: work}
        del work, reply
        self.start_thread(lambda: self._do(tasks))

    def _do(self, tasks: dict[int, Callable[[], Reply]]) -> None:
        """In the thread; nobody keeps the task afterwards, for it holds recordings."""
        ticket, task = tasks.popitem()
        self._own.ticket = ticket
        self.post(worker.work(task, ticket))

    def awaited(self, event: WorkDone) -> bool:
        """Whether anybody still waits for this work."""
        return event.ticket == self._ticket and bool(self.about)

    def ended(self, event: WorkDone) -> Reply | None:
        """What the work came to; None after a failure, which is said."""
        self._at_rest()
        if event.reply is None:
            self.say(event.error, error=True)
        return event.reply

    def stop(self) -> bool:
        """Wait no longer; whether there was anything to wait for."""
        if not self.about:
            return False
        self.say(f"stopped: {self.about}; nothing has changed")
        self._at_rest()
        return True

    def wanted(self) -> bool:
        """In the thread: whether somebody still waits for what it does, not for the same work asked for again."""
        return self._own.ticket == self._ticket and bool(self.about)

    def tell(self, text: str) -> None:
        """In the thread: how far its work is, as long as somebody waits for it."""
        if self.wanted():
            self.post(Progress(text))

    def _at_rest(self) -> None:
        self.about = ""
        self.progress("")
