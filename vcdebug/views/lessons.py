"""Lessons as text: the list with progress, a step, and what the recording says about a reply."""

from collections.abc import Iterable, Mapping
from typing import Final

from vcdebug.debugger.lesson import LETTERS, Lesson, LessonStep, StepVerdict
from vcdebug.views.pieces import Piece, muted_piece
from vcdebug.views.table import Column, Row, Table

LESSON_COLUMNS: Final = (Column("lesson"), Column("answered"), Column("about", flexible=True), Column("snapshot"))


def lessons_table(lessons: Iterable[Lesson], answered: Mapping[str, int]) -> Table:
    """A row per lesson with the number of answered steps; the row's key is the command that opens it."""
    rows = [
        Row(
            f"lesson {lesson.name}",
            (
                Piece(lesson.name, "accent"),
                Piece(f"{answered.get(lesson.name, 0)} of {len(lesson.steps)}"),
                Piece(lesson.title),
                muted_piece(lesson.snapshot),
            ),
        )
        for lesson in lessons
    ]
    return Table("Lessons", LESSON_COLUMNS, rows)


def step_text(step: LessonStep) -> str:
    """The question, and the choices with their letters."""
    choices = [f"  {letter}) {choice}" for letter, choice in zip(LETTERS, step.choices, strict=False)]
    return "\n".join([step.question, *choices])


def verdict_text(step: LessonStep, verdict: StepVerdict) -> str:
    """Whether the reply is right, the explanation, the difference from the article, and the proof."""
    first = f"✓ Right: {verdict.answer}." if verdict.right else f"✗ Not right. The recording says: {verdict.answer}."
    article = f"The article: {step.article}" if step.article else ""
    parts = [first, step.explanation, article, "Proof:\n" + "\n".join(f"  {line}" for line in verdict.proof)]
    return "\n\n".join(filter(None, parts))
