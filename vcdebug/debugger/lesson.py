"""Lessons: questions about a bundled snapshot, one YAML file each; the answers are read from its recording."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from vcdebug.amount_text import count_noun
from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.debugger.notebook import evaluate_text
from vcdebug.errors import VcdebugError, closest_name_hint
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import bare_name
from vcdebug.snapshot.yaml_documents import DocumentError, FieldKinds, check_fields, yaml_documents
from vcdebug.whatif.branch import ORIGINAL, OpenRecordings

LESSON_FOLDER: Final = Path(__file__).parents[1] / "lessons"
LETTERS: Final = "abcdefgh"
_LAST_PLACE: Final = 99
_LESSON_KINDS: Final[FieldKinds] = {
    **dict.fromkeys(("title", "snapshot", "article"), (str,)),
    "place": (int,),
    "steps": (list,),
}
_STEP_TEXTS: Final = ("at", "question", "answer", "explanation", "article")
_STEP_KINDS: Final[FieldKinds] = {
    **dict.fromkeys(_STEP_TEXTS, (str, int, float, bool)),
    **dict.fromkeys(("choices", "holds"), (list,)),
    **dict.fromkeys(("figures", "stops"), (dict,)),
    "cycle": (int,),
}


class LessonError(VcdebugError):
    """A lesson that is missing, malformed, or disagrees with the recording."""


class LessonStep(Struct, frozen=True):
    """One question at an event."""

    breakpoint_words: str
    """The words of a breakpoint: the step is at its first hit."""
    question: str
    answer_expression: str
    """A figure or an expression, as in `watch`, whose value at the event is the answer."""
    explanation: str
    article: str = ""
    """How the article differs from the replayed release."""
    choices: tuple[str, ...] = ()
    """The possible answers, of which the recording confirms one; without choices the answer is typed."""
    conditions: tuple[str, ...] = ()
    """Conditions that are true at the event."""
    figures: Mapping[str, str] = field(default_factory=dict)
    """Figures and expressions with their values at the event."""
    stops: Mapping[str, int] = field(default_factory=dict)
    """Breakpoints with the number of events at which each one stops."""
    cycle: int = 1


class Lesson(Struct, frozen=True):
    """A file of steps."""

    name: str
    title: str
    snapshot: str
    """The name of a bundled snapshot."""
    article: str
    steps: tuple[LessonStep, ...]
    place: int = _LAST_PLACE
    """Its place in the order in which the lessons are best taken."""


class StepVerdict(Struct, frozen=True):
    """Whether a reply is right, and the recording's own answer."""

    right: bool
    answer: str
    checked_facts: tuple[str, ...]
    """The checked facts, one line each."""


def list_lessons() -> list[Lesson]:
    """Every lesson, in the order in which they are best taken."""
    return sorted(map(read_lesson, LESSON_FOLDER.glob("*.yaml")), key=lambda lesson: (lesson.place, lesson.name))


def next_lesson(answered: Mapping[str, int]) -> str:
    """The name of the first lesson with steps that are not answered; the first of all where there is none."""
    lessons = list_lessons()
    return next((each for each in lessons if answered.get(each.name, 0) < len(each.steps)), lessons[0]).name


def find_lesson(name: str) -> Lesson:
    """The lesson of this name; raises LessonError."""
    names = [file.stem for file in sorted(LESSON_FOLDER.glob("*.yaml"))]
    if name not in names:
        raise LessonError(f"no lesson {name!r}", closest_name_hint(name, names, f"lessons: {', '.join(names)}"))
    return read_lesson(LESSON_FOLDER / f"{name}.yaml")


def read_lesson(file: Path) -> Lesson:
    """The lesson in a file; raises LessonError where its form is wrong."""
    try:
        document = next(yaml_documents(file.read_text(encoding="utf-8")), None)
    except DocumentError as error:
        raise LessonError(f"not YAML: {error}", where=file.name) from error
    fields = check_fields(document, _LESSON_KINDS, file.name, ("title", "snapshot", "steps"))
    steps = tuple(_read_step(raw, f"{file.name}: step {number}") for number, raw in enumerate(fields["steps"], start=1))
    title, snapshot, article = (fields.get(key, "").strip() for key in ("title", "snapshot", "article"))
    return Lesson(file.stem, title, snapshot, article, steps, fields.get("place", _LAST_PLACE))


def _read_step(raw: object, where: str) -> LessonStep:
    fields = check_fields(raw, _STEP_KINDS, where, ("at", "question", "answer", "explanation"))
    place, question, answer, explanation, article = (str(fields.get(key, "")).strip() for key in _STEP_TEXTS)
    return LessonStep(
        place,
        question,
        answer,
        explanation,
        article,
        choices=tuple(map(str, fields.get("choices", ()))),
        conditions=tuple(map(str, fields.get("holds", ()))),
        figures={str(text): str(value) for text, value in fields.get("figures", {}).items()},
        stops={str(line): int(count) for line, count in fields.get("stops", {}).items()},
        cycle=fields.get("cycle", 1),
    )


def show_cycle(open_: OpenRecordings, number: int) -> OpenRecordings:
    """Cycle `number` without edits; runs the cycles that are missing."""
    from vcdebug.whatif.cycles import append_cycles

    original = replace(open_, side=ORIGINAL, cycle=min(number, len(open_.original)), comparison=None)
    return append_cycles(original, number - original.cycle) if number > original.cycle else original


def find_place(step: LessonStep, recording: Recording) -> Seq:
    """The event of a step; raises LessonError where its breakpoint never stops."""
    hits = parse_breakpoint(step.breakpoint_words, 1).hit_seqs(recording)
    if not hits:
        raise LessonError(
            f"break {step.breakpoint_words}: no hits in this recording", "open the lesson's snapshot unchanged"
        )
    return hits[0]


def judge_reply(step: LessonStep, recording: Recording, reply: str) -> StepVerdict:
    """Compare a reply, a choice or its letter, with the recording."""
    letter = reply.strip().lower().removesuffix(")")
    if letter and letter in LETTERS[: len(step.choices)]:
        reply = step.choices[LETTERS.index(letter)]
    seq = find_place(step, recording)
    answer = evaluate_text(recording, seq, step.answer_expression)
    return StepVerdict(_names_of(reply) == _names_of(answer), answer, tuple(_proof_lines(step, seq, answer)))


def _names_of(text: str) -> list[str]:
    """The names in a list, without namespaces, in any order."""
    return sorted(bare_name(name.strip()).casefold() for name in text.split(","))


def _proof_lines(step: LessonStep, seq: Seq, answer: str) -> list[str]:
    place = f"event {seq}" if step.cycle == 1 else f"cycle {step.cycle}, event {seq}"
    return [
        f"{place}: {step.answer_expression}: {answer}",
        *(f"{place}: {condition}" for condition in step.conditions),
        *(f"{place}: {text}: {value}" for text, value in step.figures.items()),
        *(f"break {line}: {count_noun(count, 'hit')}" for line, count in step.stops.items()),
    ]


def step_text(step: LessonStep) -> str:
    """The question, and the choices with their letters."""
    choices = [f"  {letter}) {choice}" for letter, choice in zip(LETTERS, step.choices, strict=False)]
    return "\n".join([step.question, *choices])


def verdict_text(step: LessonStep, verdict: StepVerdict) -> str:
    """Whether the reply is right, the explanation, the difference from the article, and the proof."""
    first = f"✓ Right: {verdict.answer}." if verdict.right else f"✗ Not right. The recording says: {verdict.answer}."
    article = f"Difference from an article (docs/articles.md): {step.article}" if step.article else ""
    facts = "\n".join(f"  {line}" for line in verdict.checked_facts)
    parts = [first, step.explanation, article, f"Proof, as :watch and :break take it:\n{facts}"]
    return "\n\n".join(filter(None, parts))
