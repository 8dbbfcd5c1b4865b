"""The question before edits are lost."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label

from vcdebug.amount_text import count_noun


class LeaveAnswer(NamedTuple):
    """What becomes of the edits."""

    stays: bool
    saves: bool = False
    file: str = ""


class ConfirmLeaveScreen(ModalScreen[LeaveAnswer]):
    """Closes with the answer; Esc stays."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n", "stay", "stay", id="leaving.stay"),
        Binding("s", "save", "save the edits and leave", id="leaving.save"),
        Binding("q,y", "leave", "leave without them", id="leaving.leave"),
    ]
    DEFAULT_CSS = """
    ConfirmLeaveScreen { align: center middle; }
    ConfirmLeaveScreen > Vertical {
        width: 60; max-width: 98%; height: auto; border: round $border; background: $surface; padding: 0 1;
    }
    ConfirmLeaveScreen Label { width: 100%; }
    """

    def __init__(self, edits: int, file: str) -> None:
        super().__init__()
        self.edits = edits
        self.file = file

    def compose(self) -> ComposeResult:
        """What would be lost, and the keys."""
        with Vertical() as frame:
            frame.border_title = "Leave?"
            yield Label(f"{count_noun(self.edits, 'what-if edit')} not saved", markup=False)
            yield Label("")
            yield Label(f"s    save to {self.file} and leave", markup=False)
            yield Label("q    leave without saving", markup=False)
            yield Label("Esc  stay", markup=False)

    def action_stay(self) -> None:
        """Back to where one was."""
        self.dismiss(LeaveAnswer(stays=True))

    def action_save(self) -> None:
        """Write a file that `--set @FILE` takes, then leave."""
        self.dismiss(LeaveAnswer(stays=False, saves=True, file=self.file))

    def action_leave(self) -> None:
        """The edits are lost."""
        self.dismiss(LeaveAnswer(stays=False))
