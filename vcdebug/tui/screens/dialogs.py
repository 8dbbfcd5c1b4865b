"""The dialogs: setting a breakpoint, leaving with unsaved edits, copying, and a step of a lesson."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Self

from msgspec import Struct
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Label

from vcdebug.amount_text import count_noun
from vcdebug.debugger.breakpoint import BREAKPOINT_OPTIONS, parse_breakpoint
from vcdebug.debugger.breakpoints import BREAKPOINT_KINDS, find_kind
from vcdebug.debugger.cursor import OVERVIEW
from vcdebug.debugger.driver import DebuggerState
from vcdebug.debugger.lesson import Lesson, judge_reply, step_text, verdict_text
from vcdebug.errors import VcdebugError
from vcdebug.recording.recording import Recording
from vcdebug.tui.key_names import KeyHint, KeyLine, hint_line
from vcdebug.tui.screens.pages import OverlayScreen, PageFrame
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import CompletionSuggester, SettledInput, SettledLabel
from vcdebug.views.panels import PANELS
from vcdebug.views.pieces import Piece, make_line, muted_piece
from vcdebug.views.table import Row, Table, format_table, table_columns

KIND_COLUMNS = table_columns("stop at", "when~")
MAX_NARROWING_WORDS = 16
HINT_FIELDS = ("job", "task", "node", "queue")


class BreakpointScreen(OverlayScreen[str]):
    """Choose a kind and a condition; closes with the words of a breakpoint, or an empty text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "none", id="break-dialog.leave"),
        Binding("tab", "app.focus_next", "next field", id="break-dialog.next"),
    ]
    DEFAULT_CSS = """
    BreakpointScreen > PageFrame { width: 90%; max-width: 100; max-height: 95%; }
    BreakpointScreen Grid { height: auto; max-height: 44vh; min-height: 6; }
    BreakpointScreen Input { border: round $border-blurred; height: 3; }
    BreakpointScreen Input:focus { border: round $border; }
    BreakpointScreen Label { width: 100%; height: auto; }
    BreakpointScreen #error { color: $text-error; }
    BreakpointScreen #hint, BreakpointScreen #narrower { color: $text-muted; }
    """

    def __init__(self, moment: DebuggerState, kind: str) -> None:
        super().__init__()
        self.state = moment
        self.kind = kind

    def compose(self) -> ComposeResult:
        with PageFrame() as frame:
            frame.border_title = "Set a breakpoint"
            yield Grid(id="kinds")
            yield SettledInput(
                placeholder='condition, such as: plugin == "gang" and job == "ml/train"',
                suggester=CompletionSuggester(self._complete_condition),
                id="condition",
            )
            yield SettledLabel(self._field_hint(), id="hint", markup=False)
            yield SettledLabel("", id="narrower", markup=False)
            yield SettledLabel("", id="error", markup=False)
            yield KeyLine("↑↓ kind   Tab condition   → completes   Enter sets it   Esc cancel")

    def _complete_condition(self, text: str) -> list[str]:
        from vcdebug.tui.completion import complete_line

        before = f"break {self.kind} if "
        return [line.removeprefix(before) for line in complete_line(f"{before}{text}", self.state)]

    def _field_hint(self) -> str:
        if self.state.number == OVERVIEW:
            return ""
        conditions = [f'{field}=="{value}"' for field in HINT_FIELDS if (value := getattr(self.state, field))]
        return "here: " + ("   ".join(conditions) if conditions else "no job, task, node or queue")

    def on_mount(self) -> None:
        """Fill the list; the cursor is on the kind that fits the current event."""
        kinds = {name: find_kind(name) for name in BREAKPOINT_KINDS}
        rows = [
            Row(name, make_line(Piece(name, "strong"), kind.HELP.partition(" (")[0])) for name, kind in kinds.items()
        ]
        grid = self.query_one(Grid)
        grid.set_table(Table("Kinds", KIND_COLUMNS, rows, wraps=False))
        grid.cursor = next((index for index, row in enumerate(rows) if row.key == self.kind), 0)
        grid.show_cursor()
        grid.focus()

    @on(Grid.Moved)
    def show_narrowing(self) -> None:
        """Show the words that narrow the kind under the cursor."""
        row = self.query_one(Grid).cursor_row
        kind = find_kind(row.key) if row is not None else None
        words = kind.HELP.partition(" (")[2].removesuffix(")") if kind is not None else ""
        if kind is not None and kind.WORDS and len(kind.WORDS) <= MAX_NARROWING_WORDS:
            words = f"{words}: {' '.join(kind.WORDS)}" if words else " ".join(kind.WORDS)
        text, label = f"to narrow it, begin with: {words}" if words else "", self.query_one("#narrower", Label)
        # Textual lays the dialog out for every update.
        if text != label.content:
            label.update(text)

    @on(Grid.Opened)
    @on(Input.Submitted)
    def accept_breakpoint(self, event: Grid.Opened | Input.Submitted) -> None:
        """Close with the breakpoint, or show why its words are wrong."""
        event.stop()
        row = self.query_one(Grid).cursor_row
        condition = self.query_one("#condition", Input).value.strip()
        if row is None:
            return
        words = f"{row.key} {complete_condition(condition, find_kind(row.key).WORDS)}".strip()
        try:
            parse_breakpoint(words, 1)
        except VcdebugError as error:
            self.query_one("#error", Label).update(f"✗ {error.format_line()}")
            return
        self.dismiss(words)

    def action_leave(self) -> None:
        self.dismiss("")


def complete_condition(condition: str, narrowing: tuple[str, ...]) -> str:
    """The condition with `if` before it, unless it begins with an option or a narrowing word."""
    first_word = condition.partition(" ")[0]
    return condition if not condition or first_word in (*BREAKPOINT_OPTIONS, *narrowing) else f"if {condition}"


# Leaving with unsaved edits.


class LeaveAnswer(Struct, frozen=True):
    """What to do with the edits."""

    stays_open: bool
    saves_notes: bool = False
    file: str = ""


class ConfirmLeaveScreen(OverlayScreen[LeaveAnswer]):
    """Asks before edits are lost; closes with the answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n", "stay", "stay", id="leaving.stay"),
        Binding("s", "save", "save the edits and leave", id="leaving.save"),
        Binding("q,y", "leave", "leave without them", id="leaving.leave"),
    ]
    DEFAULT_CSS = """
    ConfirmLeaveScreen > PageFrame { width: 60; max-width: 98%; }
    ConfirmLeaveScreen Label { width: 100%; }
    """

    def __init__(self, edits: int, file: str) -> None:
        super().__init__()
        self.edits = edits
        self.file = file

    def compose(self) -> ComposeResult:
        with PageFrame() as frame:
            frame.border_title = "Leave?"
            yield Label(f"{count_noun(self.edits, 'what-if edit')} not saved", markup=False)
            yield Label("")
            yield Label(f"s    save to {self.file} and leave", markup=False)
            yield Label("q    leave without saving", markup=False)
            yield Label("Esc  stay", markup=False)

    def action_stay(self) -> None:
        self.dismiss(LeaveAnswer(stays_open=True))

    def action_save(self) -> None:
        self.dismiss(LeaveAnswer(stays_open=False, saves_notes=True, file=self.file))

    def action_leave(self) -> None:
        self.dismiss(LeaveAnswer(stays_open=False))


# The copy menu.

COPY_COLUMNS = table_columns("", "copies", "~")
PREVIEW_LENGTH = 60


class CopyOption(Struct, frozen=True):
    """A text to copy, and the letter that chooses it."""

    letter: str
    title: str
    make_text: Callable[[], str]
    """Returns the text; a panel of 20,000 rows is written only if it is chosen."""
    preview: str

    @classmethod
    def of_text(cls, letter: str, title: str, text: str) -> Self:
        """Offers a short text."""
        return cls(letter, title, lambda: text, text.strip()[:PREVIEW_LENGTH])

    @classmethod
    def of_table(cls, letter: str, title: str, table: Table) -> Self:
        """Offers a table as plain text."""
        rows = count_noun(len(table.rows), "row")
        return cls(letter, title, partial(format_table, table), f"{table.title[:PREVIEW_LENGTH]}  … {rows}")


class CopyChoice(Struct, frozen=True):
    """The chosen text, and whether it goes to a file."""

    option: CopyOption
    to_file: bool


class CopyScreen(OverlayScreen[CopyChoice | None]):
    """Lists what can be copied; closes with the choice."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "nothing", id="copy-menu.leave"),
        Binding("f", "file", "into a file instead, or not", id="copy-menu.file"),
        Binding("y", "again", "copy the row under the cursor of this menu", id="copy-menu.again"),
    ]
    DEFAULT_CSS = """
    CopyScreen > PageFrame { width: 90%; max-width: 90; max-height: 90%; }
    CopyScreen Grid { height: auto; max-height: 16; }
    CopyScreen Label { width: 100%; height: 1; }
    """

    def __init__(self, offers: Sequence[CopyOption], target: str) -> None:
        super().__init__()
        self.options = tuple(offers)
        self.target = target
        self.to_file = False

    def compose(self) -> ComposeResult:
        with PageFrame() as frame:
            frame.border_title = "Copy"
            yield Grid(id="offers")
            yield KeyLine()

    def on_mount(self) -> None:
        grid = self.query_one(Grid)
        rows = [
            Row(offer.letter, (Piece(offer.letter, "strong"), Piece(offer.title), muted_piece(offer.preview)))
            for offer in self.options
        ]
        grid.set_table(Table("Copy", COPY_COLUMNS, rows, wraps=False))
        self.set_focus(grid)
        self._show_keys()

    def _show_keys(self) -> None:
        target, other_target = ("a file", self.target) if self.to_file else (self.target, "a file")
        hints = (
            KeyHint(("copy-menu.file",), f"to {other_target}"),
            KeyHint(("table.open",), "or a letter copies"),
            KeyHint(("copy-menu.leave",), "back"),
        )
        self.query_one(KeyLine).show_keys(f"to {target}   {hint_line(self.active_bindings, hints)}")

    def on_key(self, event: events.Key) -> None:
        chosen = next((offer for offer in self.options if offer.letter == event.character), None)
        if chosen is not None:
            event.stop()
            self.dismiss(CopyChoice(chosen, self.to_file))

    @on(Grid.Opened)
    def accept_row(self, event: Grid.Opened) -> None:
        event.stop()
        self.action_again()

    def action_again(self) -> None:
        """Choose the row under the cursor."""
        row = self.query_one(Grid).cursor_row
        chosen = next((offer for offer in self.options if row is not None and offer.letter == row.key), None)
        if chosen is not None:
            self.dismiss(CopyChoice(chosen, self.to_file))

    def action_file(self) -> None:
        """Switch between a file and the clipboard."""
        self.to_file = not self.to_file
        self._show_keys()

    def action_leave(self) -> None:
        self.dismiss(None)


# The lesson over the lower half of the main screen: a step, the reply, and its proof.


ANSWER_FORMS = "a letter, a name or a number"
ANSWER_KEYS = "Enter answers   ↑↓ scroll   Esc shows the event (:lesson returns)"
NEXT_KEYS = "Enter {}   ↑↓ scroll   Esc shows the event (:lesson returns)"


class LessonScreen(OverlayScreen[bool]):
    """One step of a lesson; closes with True if the user wants the next step."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "show the event", id="lesson.leave"),
        Binding("up", "scroll(-1)", "scroll up", id="lesson.up"),
        Binding("down", "scroll(1)", "scroll down", id="lesson.down"),
    ]
    DEFAULT_CSS = """
    LessonScreen { align: center bottom; background: transparent; }
    LessonScreen > PageFrame { width: 100%; max-height: 65%; }
    LessonScreen VerticalScroll { height: auto; max-height: 100%; }
    LessonScreen Label { width: 100%; height: auto; }
    LessonScreen Input, LessonScreen Input:focus {
        dock: bottom; height: 1; border: none; margin-bottom: 1; padding: 0;
    }
    """

    def __init__(self, lesson: Lesson, number: int, recording: Recording, save: Callable[[str, int], None]) -> None:
        """`save` is called with the lesson's name and the number of answered steps."""
        super().__init__()
        self.lesson = lesson
        self.number = number
        self.recording = recording
        self.save = save
        self.answered = False

    def compose(self) -> ComposeResult:
        with PageFrame() as frame:
            frame.border_title = f"Lesson {self.lesson.name}: step {self.number} of {len(self.lesson.steps)}"
            with VerticalScroll(can_focus=False):
                yield Label(self._question_text(), id="step", markup=False)
            yield Input(placeholder=f"your answer: {ANSWER_FORMS}")
            yield KeyLine(ANSWER_KEYS)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def _question_text(self) -> str:
        """The question; before the first one what the snapshot is about, and below it where a figure is shown."""
        step = self.lesson.steps[self.number - 1]
        story = self.recording.snapshot.description if self.number == 1 else ""
        kind, _, rest = step.answer_expression.partition(" ")
        panel = next((panel for panel in PANELS if rest and panel.title == f"{kind.title()}s"), None)
        shown_by = f"Esc, {panel.key}" if panel else f"Esc, :watch {step.answer_expression}"
        place = f"To see the figure: {shown_by}, then :lesson." if rest else ""
        return "\n\n".join(filter(None, (story, step_text(step), place)))

    @on(Input.Submitted)
    def enter_reply(self, event: Input.Submitted) -> None:
        """Judge the reply; entered again after that, go to the next step."""
        event.stop()
        if self.answered:
            self.dismiss(True)
        elif event.value.strip():
            self.answered = True
            self._show_verdict(event.value)
        else:
            self.query_one(Input).placeholder = f"type an answer first: {ANSWER_FORMS}"

    def _show_verdict(self, reply: str) -> None:
        step = self.lesson.steps[self.number - 1]
        self.query_one("#step", Label).update(verdict_text(step, judge_reply(step, self.recording, reply)))
        is_last = self.number == len(self.lesson.steps)
        self.query_one(KeyLine).show_keys(NEXT_KEYS.format("ends the lesson" if is_last else "goes on"))
        self.query_one(Input).value = ""
        self.query_one(Input).placeholder = ""
        self.save(self.lesson.name, self.number)

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

    def action_leave(self) -> None:
        self.dismiss(False)
