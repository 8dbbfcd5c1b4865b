"""What every part of the main screen works with: the debugger, the state that the panels show, and a line to say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from textual.screen import Screen

from vcdebug.debugger.driver import DebuggerState, Driver

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
