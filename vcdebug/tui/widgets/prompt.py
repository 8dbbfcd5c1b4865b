"""The line to type in: commands, filters and event numbers, each with its own history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widgets import Input, Label

Mode = Literal["command", "filter", "goto"]
SIGNS: dict[Mode, str] = {"command": ":", "filter": "/", "goto": "event "}


class Prompt(Horizontal):
    """Takes the place of the status line while it is open."""

    DEFAULT_CSS = """
    Prompt { height: 1; display: none; padding: 0 1; }
    Prompt.-open { display: block; }
    Prompt Label { width: auto; text-style: bold; }
    Prompt Input { width: 1fr; border: none; height: 1; padding: 0; background: $background; }
    Prompt Input:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "history(-1)", "earlier line", show=False),
        Binding("down", "history(1)", "later line", show=False),
        Binding("escape", "cancel", "close the line", show=False),
    ]

    class Entered(Message):
        """A line was entered."""

        def __init__(self, mode: Mode, text: str) -> None:
            super().__init__()
            self.mode = mode
            self.text = text

    class Edited(Message):
        """The line changed: filters act at once."""

        def __init__(self, mode: Mode, text: str) -> None:
            super().__init__()
            self.mode = mode
            self.text = text

    class Closed(Message):
        """The line was left without entering it."""

        def __init__(self, mode: Mode) -> None:
            super().__init__()
            self.mode = mode

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.mode: Mode = "command"
        self._history: dict[Mode, list[str]] = {"command": [], "filter": [], "goto": []}
        self._at = 0

    def compose(self) -> ComposeResult:
        """A sign and an input."""
        yield Label(":")
        yield Input(compact=True)

    def open(self, mode: Mode, text: str = "", words: Iterable[str] = ()) -> None:
        """Show the line; `words` complete what is typed."""
        self.mode = mode
        self._at = len(self._history[mode])
        self.query_one(Label).update(SIGNS[mode])
        field = self.query_one(Input)
        field.suggester = SuggestFromList(list(words), case_sensitive=True)
        with field.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)
        self.add_class("-open")
        field.focus()

    def close(self) -> None:
        """Hide the line."""
        self.remove_class("-open")

    @on(Input.Submitted)
    def entered(self, event: Input.Submitted) -> None:
        """Remember the line and hand it on."""
        event.stop()
        history = self._history[self.mode]
        if event.value and (not history or history[-1] != event.value):
            history.append(event.value)
        self.close()
        self.post_message(self.Entered(self.mode, event.value))

    @on(Input.Changed)
    def edited(self, event: Input.Changed) -> None:
        """Hand every state of the line on."""
        event.stop()
        if self.has_class("-open"):
            self.post_message(self.Edited(self.mode, event.value))

    def action_cancel(self) -> None:
        """Leave without entering."""
        self.close()
        self.post_message(self.Closed(self.mode))

    def action_history(self, by: int) -> None:
        """An earlier or later line of the same kind."""
        history = self._history[self.mode]
        self._at = min(max(self._at + by, 0), len(history))
        field = self.query_one(Input)
        field.value = history[self._at] if self._at < len(history) else ""
        field.cursor_position = len(field.value)
