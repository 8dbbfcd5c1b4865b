"""The breakpoint dialog: a kind, a condition, and the line that they make."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from vcdebug.debugger.breakpoint import BREAKPOINT_OPTIONS, parse_breakpoint
from vcdebug.debugger.breakpoints import BREAKPOINT_KINDS
from vcdebug.debugger.breakpoints.base import BreakpointKind
from vcdebug.debugger.driver import DebuggerState
from vcdebug.errors import VcdebugError
from vcdebug.framework.registry import resolve_reference
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.base import Column, Piece, Row, Table

KIND_COLUMNS = (Column("stop at"), Column("when", flexible=True))
MAX_NARROWING_WORDS = 16
HINT_FIELDS = ("job", "task", "node", "queue")


class BreakpointScreen(ModalScreen[str]):
    """Closes with the words of a breakpoint; empty for none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "none", id="break-dialog.leave"),
        Binding("tab", "app.focus_next", "next field", id="break-dialog.next"),
    ]
    DEFAULT_CSS = """
    BreakpointScreen { align: center middle; }
    BreakpointScreen > Vertical {
        width: 90%; max-width: 100; height: auto; max-height: 95%;
        border: round $border; background: $surface; padding: 0 1;
    }
    BreakpointScreen Grid { height: auto; max-height: 12; min-height: 6; }
    BreakpointScreen Input { border: round $border-blurred; height: 3; }
    BreakpointScreen Input:focus { border: round $border; }
    BreakpointScreen Label { width: 100%; height: auto; }
    BreakpointScreen #error { color: $text-error; }
    BreakpointScreen #hint, BreakpointScreen #narrower { color: $foreground 60%; }
    """

    def __init__(self, moment: DebuggerState, kind: str) -> None:
        super().__init__()
        self.moment = moment
        self.kind = kind

    def compose(self) -> ComposeResult:
        """Kinds above, the condition below."""
        with Vertical() as frame:
            frame.border_title = "Set a breakpoint"
            yield Grid(id="kinds")
            yield Input(placeholder='condition, such as: plugin == "gang" and job == "ml/train"', id="condition")
            yield Label(self._field_hint(), id="hint", markup=False)
            yield Label("", id="narrower", markup=False)
            yield Label("", id="error", markup=False)
            yield Label("↑↓ kind   Tab condition   Enter sets it   Esc none", markup=False)

    def _field_hint(self) -> str:
        known = [f'{field} == "{value}"' for field in HINT_FIELDS if (value := getattr(self.moment, field))]
        return "here: " + ("   ".join(known) if known else "no job, task, node or queue")

    def on_mount(self) -> None:
        """The kind that suits the present event first under the cursor."""
        rows = [_kind_row(name, resolve_reference(module)) for name, module in BREAKPOINT_KINDS.items()]
        grid = self.query_one(Grid)
        grid.set_table(Table("Kinds", KIND_COLUMNS, rows, wraps=False))
        grid.cursor = next((i for i, row in enumerate(rows) if row.key == self.kind), 0)
        grid.show_cursor()
        grid.focus()

    @on(Grid.Moved)
    def show_narrowing(self) -> None:
        """Say which words narrow this kind."""
        row = self.query_one(Grid).cursor_row
        kind: type[BreakpointKind] | None = resolve_reference(BREAKPOINT_KINDS[row.key]) if row is not None else None
        words = kind.HELP.partition(" (")[2].removesuffix(")") if kind is not None else ""
        if kind is not None and kind.WORDS and len(kind.WORDS) <= MAX_NARROWING_WORDS:
            words = f"{words}: {' '.join(kind.WORDS)}" if words else " ".join(kind.WORDS)
        self.query_one("#narrower", Label).update(f"narrower: {words}" if words else "")

    @on(Grid.Opened)
    @on(Input.Submitted)
    def accept_breakpoint(self, event: Grid.Opened | Input.Submitted) -> None:
        """Enter on a kind or on the condition: set what they make."""
        event.stop()
        row = self.query_one(Grid).cursor_row
        condition = self.query_one("#condition", Input).value.strip()
        if row is None:
            return
        kind: type[BreakpointKind] = resolve_reference(BREAKPOINT_KINDS[row.key])
        words = f"{row.key} {complete_condition(condition, kind.WORDS)}".strip()
        try:
            parse_breakpoint(words, 1)
        except VcdebugError as error:
            self.query_one("#error", Label).update(f"✗ {error.format_line()}")
            return
        self.dismiss(words)

    def action_leave(self) -> None:
        """Close without a breakpoint."""
        self.dismiss("")


def complete_condition(condition: str, narrowing: tuple[str, ...]) -> str:
    """A bare condition gets its `if`; options and words that narrow the kind stand as they are."""
    first = condition.partition(" ")[0]
    return condition if not condition or first in (*BREAKPOINT_OPTIONS, *narrowing) else f"if {condition}"


def _kind_row(name: str, kind: type[BreakpointKind]) -> Row:
    return Row(name, (Piece(name, "strong"), Piece(kind.HELP.partition(" (")[0])))
