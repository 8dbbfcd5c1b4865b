"""Steps of a session that leave no event of their own: what happened, and what came of it, as a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from vcdebug.model.names import Seq


class SessionStep(NamedTuple):
    """One thing that the session does while it opens or closes."""

    what: str
    said: str = ""
    """What came of it."""
    good: bool | None = None
    """Whether it went well; None where nothing is judged."""
    seq: Seq = 0
    """The event that shows it, where one does."""
    subject: tuple[str, str] = ("", "")
    """(kind, name) of the job, task, node or queue that it is about."""
    parts: Callable[[], Sequence[SessionStep]] | None = None
    """The steps inside it, made when somebody looks."""

    def inner_steps(self) -> Sequence[SessionStep]:
        """The steps inside it."""
        return self.parts() if self.parts is not None else ()
