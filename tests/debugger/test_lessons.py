"""Every step of every lesson agrees with its recording."""

import re
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.recorded import ROOT, bundled
from vcdebug.amount_text import count_noun
from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.debugger.expression import parse_expression
from vcdebug.debugger.fields import FIELD_TYPES, fields_of
from vcdebug.debugger.lesson import (
    LESSON_FOLDER,
    Lesson,
    LessonError,
    LessonStep,
    find_lesson,
    find_place,
    judge_reply,
    list_lessons,
    read_lesson,
    show_cycle,
)
from vcdebug.debugger.notebook import evaluate_text
from vcdebug.errors import VcdebugError
from vcdebug.recording.recording import Recording
from vcdebug.whatif.branch import OpenRecordings

LESSONS = list_lessons()
STEPS = [(lesson, number) for lesson in LESSONS for number in range(1, len(lesson.steps) + 1)]
STEP = LessonStep('statement evict if action == "preempt"', "Which pod?", "task", "It is evicted.")
NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")


def recording_of(lesson: Lesson, step: LessonStep) -> Recording:
    return show_cycle(OpenRecordings((bundled(lesson.snapshot),)), step.cycle).shown_recording


def check_step(step: LessonStep, recording: Recording) -> list[str]:
    """What a step states and the recording does not confirm; empty where all is true."""
    seq = find_place(step, recording)
    answer = evaluate_text(recording, seq, step.answer_expression)
    faults = [] if not step.choices or answer in step.choices else [f"the answer {answer} is not among the choices"]
    for condition in step.conditions:
        if parse_expression(condition, FIELD_TYPES).evaluate(fields_of(recording, seq)) is not True:
            faults.append(f"{condition}: is not true at event {seq}")
    for text, value in step.figures.items():
        if (actual := evaluate_text(recording, seq, text)) != value:
            faults.append(f"{text}: is {actual}, not {value}")
    for line, count in step.stops.items():
        if (hits := len(parse_breakpoint(line, 1).hit_seqs(recording))) != count:
            faults.append(f"break {line}: {count_noun(hits, 'hit')}, not {count}")
    return faults


@pytest.mark.parametrize(("lesson", "number"), STEPS, ids=[f"{lesson.name}-{number}" for lesson, number in STEPS])
def test_a_step_agrees_with_its_recording(lesson: Lesson, number: int) -> None:
    step = lesson.steps[number - 1]
    assert [] == check_step(step, recording_of(lesson, step))


@pytest.mark.parametrize(("lesson", "number"), STEPS, ids=[f"{lesson.name}-{number}" for lesson, number in STEPS])
def test_an_explanation_states_only_checked_numbers(lesson: Lesson, number: int) -> None:
    step = lesson.steps[number - 1]
    checked = [judge_reply(step, recording_of(lesson, step), "").answer, *step.conditions]
    checked += [str(value) for value in (*step.figures.values(), *step.stops.values())]
    known = {found for text in checked for found in NUMBER.findall(text)}
    assert set() == set(NUMBER.findall(step.explanation)) - known


def test_a_reply_may_be_a_letter_a_name_or_a_name_without_its_namespace() -> None:
    step = find_lesson("preempt-works").steps[3]
    replies = ("c", "C)", "search/embedding-backfill-worker-2", "embedding-backfill-worker-2", "a", "worker", "")
    assert [True, True, True, True, False, False, False] == [
        judge_reply(step, bundled("preempt-works"), reply).right for reply in replies
    ]


def test_check_step_finds_each_kind_of_wrong_claim() -> None:
    step = LessonStep(
        STEP.breakpoint_words,
        STEP.question,
        STEP.answer_expression,
        STEP.explanation,
        choices=("no pod",),
        conditions=('action == "reclaim"',),
        figures={"node gpu-l40s-01 idle gpu": "7"},
        stops={"statement commit": 9},
    )
    faults = check_step(step, bundled("preempt-works"))
    assert [
        "the answer search/embedding-backfill-worker-2 is not among the choices",
        'action == "reclaim": is not true at event 64',
        "node gpu-l40s-01 idle gpu: is 1, not 7",
        "break statement commit: 1 hit, not 9",
    ] == faults


def test_a_place_that_is_never_reached_is_an_error() -> None:
    with pytest.raises(LessonError, match="no hits"):
        judge_reply(STEP, bundled("pending-no-node-fits"), "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title: T\nsnapshot: s\nsteps: []", "steps is missing"),
        ("title: T\nsnapshot: s\nsteps: [{at: cycle}]", "question is missing"),
        ("title: T\nsnapshot: s\nsteps: [{ad: cycle}]", "unknown field ad"),
        (
            "title: T\nsnapshot: s\nplace: first\nsteps: [{at: c, question: q, answer: a, explanation: e}]",
            "place is 'first'",
        ),
        ("titel: T", "unknown field titel"),
        ("- 1", "write a mapping of title"),
        ("{", "not YAML"),
    ],
)
def test_a_malformed_lesson_is_one_error_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "lesson.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(VcdebugError) as caught:
        read_lesson(file)
    assert message in caught.value.format_line()


def test_an_unknown_lesson_names_the_nearest() -> None:
    with pytest.raises(LessonError) as raised:
        find_lesson("preempt-work")
    assert "preempt-works" in raised.value.format_line()


def test_the_wheel_has_every_lesson_and_every_other_file_of_data() -> None:
    shipped = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    data = [path for path in (ROOT / "vcdebug").rglob("*.*") if path.suffix not in (".py", ".pyc")]
    expected = sorted(str(path.relative_to(ROOT)) for path in data)
    assert {f"vcdebug/lessons/{file.name}" for file in LESSON_FOLDER.glob("*.yaml")} <= {*expected}
    assert expected == [path for path in expected if path in shipped]
