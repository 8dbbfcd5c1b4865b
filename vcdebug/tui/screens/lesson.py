"""The lesson over the lower half of the main screen: a step, the reply, and its proof."""

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from vcdebug.debugger.lesson import Lesson, judge_reply, step_text, verdict_text
from vcdebug.recording.recording import Recording
from vcdebug.tui.key_names import KeyLine
from vcdebug.views.panels import PANELS

ANSWER_FORMS = "a letter, a name or a number"
ANSWER_KEYS = "Enter answers   ↑↓ scroll   Esc shows the event (:lesson returns)"
NEXT_KEYS = "Enter {}   ↑↓ scroll   Esc shows the event (:lesson returns)"


class LessonScreen(ModalScreen[bool]):
    """One step of a lesson; closes with True if the user wants the next step."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "show the event", id="lesson.leave"),
        Binding("up", "scroll(-1)", "scroll up", id="lesson.up"),
        Binding("down", "scroll(1)", "scroll down", id="lesson.down"),
    ]
    DEFAULT_CSS = """
    LessonScreen { align: center bottom; background: transparent; }
    LessonScreen > Vertical {
        width: 100%; height: auto; max-height: 65%; border: round $border; background: $surface; padding: 0 1;
        border-title-color: $text-accent; border-subtitle-color: $text-muted;
    }
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
        with Vertical() as frame:
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
