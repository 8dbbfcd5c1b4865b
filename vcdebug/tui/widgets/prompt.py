"""The command line, with a history and completion; and how it and others avoid layouts that change nothing.

Textual lays the screen out again when a widget takes its size from a layout.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.suggester import Suggester
from textual.widgets import Input, Label


def settled_size() -> Reactive[Size]:
    """The attribute `virtual_size` of a widget that takes its size from a layout and asks for no further one."""
    return Reactive(Size(0, 0), repaint=False)


class SettledInput(Input):
    """An input field, which has its place whatever it holds."""

    virtual_size = settled_size()


class SettledLabel(Label):
    """A label, which is laid out when its text changes."""

    virtual_size = settled_size()


PromptMode = Literal["command", "filter", "goto"]
CompleteFunction = Callable[[str], list[str]]
"""Takes a typed text and returns the lines that complete it."""
MODE_SIGNS: dict[PromptMode, str] = {"command": ":", "filter": "/", "goto": "event "}
FIRST_ROW = "g"
MAX_HISTORY = 200
MAX_OFFERS = 40
"""Completions shown at most."""


def no_completions(_: str) -> list[str]:
    """No completions, for a line that has none."""
    return []


class CompletionSuggester(Suggester):
    """Shows the first completion behind the cursor."""

    def __init__(self, complete: CompleteFunction) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.complete = complete

    async def get_suggestion(self, value: str) -> str | None:
        """The first line that begins with what is typed."""
        return next((line for line in self.complete(value) if line.startswith(value)), None)


class Line(SettledInput, inherit_bindings=False):
    """The input field; the prompt handles Enter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding for binding in Input.BINDINGS if isinstance(binding, Binding) and binding.key != "enter"
    ]

    def watch_has_focus(self, _: bool) -> None:
        """Keep the styles: the field is shown only with the focus."""


class PromptRow(Horizontal):
    """The line with the sign and the input field."""

    virtual_size = settled_size()


class Prompt(Vertical):
    """The open command line covers the status line; its completions cover the line above."""

    virtual_size = settled_size()

    DEFAULT_CSS = """
    Prompt { height: auto; display: none; overlay: screen; constrain: none inside; background: $background; }
    Prompt PromptRow { height: 1; padding: 0 1; }
    Prompt #sign { width: auto; text-style: bold; }
    Prompt #offers { width: 100%; height: 1; padding: 0 1; color: $text-muted; display: none; }
    Prompt.-offers #offers { display: block; }
    Prompt Line {
        width: 1fr; border: none; height: 1; padding: 0; background: $background; background-tint: $foreground 5%;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "enter", "do it", id="line.enter"),
        Binding("escape", "cancel", "close the line", id="line.close"),
        Binding("up", "history(-1)", "earlier line", id="line.earlier"),
        Binding("down", "history(1)", "later line", id="line.later"),
        Binding("tab", "complete(1)", "complete; again, the next completion", id="line.complete"),
        Binding("shift+tab", "complete(-1)", "the completion before", id="line.complete-back"),
    ]

    @dataclass(eq=False, repr=False)
    class Entered(Message):
        """A line was entered."""

        mode: PromptMode
        text: str

    @dataclass(eq=False, repr=False)
    class Edited(Message):
        """The text changed, which filters at once."""

        mode: PromptMode
        text: str

    @dataclass(eq=False, repr=False)
    class Closed(Message):
        """The line was left without entering it."""

        mode: PromptMode

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.mode: PromptMode = "command"
        self.history: dict[PromptMode, list[str]] = {"command": [], "filter": [], "goto": []}
        self._history_index = 0
        self._typed = ""
        self._complete: CompleteFunction = no_completions
        self._completions: list[str] = []
        self._chosen = -1

    @cached_property
    def _field(self) -> Line:
        """The input field, made with its labels when the line is first opened: no first screen shows them."""
        field, row = Line(compact=True, select_on_focus=False), PromptRow()
        self.mount(Label("", id="offers", markup=False), row)
        row.mount(SettledLabel(id="sign"), field)
        return field

    def add_history(self, history: Mapping[str, list[str]]) -> None:
        """The lines of earlier sessions."""
        for mode, lines in self.history.items():
            lines[:0] = history.get(mode, [])

    def open_line(self, mode: PromptMode, text: str = "", complete: CompleteFunction = no_completions) -> None:
        """Show the line and give it the focus."""
        self.mode = mode
        self._history_index = len(self.history[mode])
        self._complete = complete
        self._clear_offers()
        field = self._field
        self.query_one("#sign", SettledLabel).update(MODE_SIGNS[mode])
        field.suggester = CompletionSuggester(complete)
        self._set_text(text)
        self.display = True  # a class would apply the styles of all its widgets again
        self.screen.set_focus(field)
        if mode == "filter":
            field.select_all()  # what is typed replaces the filter in force

    def close_line(self) -> None:
        self._clear_offers()
        self.display = False

    @property
    def is_open(self) -> bool:
        return self.display

    @on(Input.Submitted)
    def stop_submitted(self, event: Input.Submitted) -> None:
        event.stop()

    @on(Input.Changed)
    def line_edited(self, event: Input.Changed) -> None:
        """Post every change of the text; a second `g` means the first row."""
        event.stop()
        # Textual posts Changed later: by then the line may be closed.
        if not self.is_open:
            return
        self._clear_offers()
        if self.mode == "goto" and event.value == FIRST_ROW:
            self.action_enter()
        else:
            self.post_message(self.Edited(self.mode, event.value))

    def action_enter(self) -> None:
        """Add the line to the history and post it."""
        if not self.is_open:
            return
        text, history = self._field.value, self.history[self.mode]
        if text and text != FIRST_ROW and (not history or history[-1] != text):
            history.append(text)
            del history[:-MAX_HISTORY]
        self.close_line()
        self.post_message(self.Entered(self.mode, text))

    def action_cancel(self) -> None:
        self.close_line()
        self.post_message(self.Closed(self.mode))

    def action_history(self, by: int) -> None:
        """An earlier or later line of the same kind."""
        history = self.history[self.mode]
        if self._history_index == len(history):
            self._typed = self._field.value
        self._history_index = min(max(self._history_index + by, 0), len(history))
        self._field.value = history[self._history_index] if self._history_index < len(history) else self._typed
        self._field.action_end()

    def action_complete(self, by: int) -> None:
        """Insert the next completion."""
        if self._chosen < 0:
            self._completions = self._complete(self._field.value)[:MAX_OFFERS]
        if not self._completions:
            return
        self._chosen = (
            (self._chosen + by) % len(self._completions) if self._chosen >= 0 or by > 0 else len(self._completions) - 1
        )
        self._set_text(self._completions[self._chosen])
        self._show_offers()

    def _set_text(self, text: str) -> None:
        field = self._field
        with field.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)

    def _clear_offers(self) -> None:
        self._completions, self._chosen = [], -1
        self.remove_class("-offers")

    def _show_offers(self) -> None:
        if len(self._completions) < 2:
            self._clear_offers()
            return
        text = Text(no_wrap=True, overflow="ellipsis")
        for index in range(self._chosen, len(self._completions)):
            word = self._completions[index].rpartition(" ")[2]
            text.append(f"[{word}]" if index == self._chosen else word, "bold reverse" if index == self._chosen else "")
            text.append("  ")
        self.query_one("#offers", Label).update(text)
        self.add_class("-offers")
