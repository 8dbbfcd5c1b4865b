"""explain answers the questions of Volcano's users: one dominant cause, its figures, and advice."""

from __future__ import annotations

from tests.rows import over
from tests.scenarios.document import GROUPS, PAGE, page
from tests.scenarios.question import CLUSTERS, COMMAND, Question
from tests.scenarios.questions import QUESTIONS
from vcdebug.explain.pending.explanation import explain_by_name

MINIMUM = (
    2100, 2357, 2416, 4385, 2633, 3220, 4235, 5814, 3536, 479, 4817, 2034, 2547, 3079, 3291, 5131, 5044, 5022, 2083,
    3842, 4658, 3003, 5881, 2052, 1295, 2285, 4439, 4949, 1331,
    1492, 1755, 1901, 2283, 2462, 2622, 2976, 4528,
    604, 1105, 1272, 2304, 2384, 2838, 2937, 3040, 3271, 3512, 3916, 4076,
)  # fmt: skip
GOT = ("places", "pipelined")

each = over(QUESTIONS, name=lambda question: question.file.stem)


def test_each_question_has_its_cluster_and_each_cluster_its_question() -> None:
    assert [] == [number for number in MINIMUM if number not in [question.number for question in QUESTIONS]]
    assert sorted(CLUSTERS.iterdir()) == sorted(question.file for question in QUESTIONS)


@each
def test_the_file_begins_with_the_question_and_says_what_volcano_does_today(question: Question) -> None:
    title, threads, *rest = question.head
    assert title.endswith("?")
    assert any(thread.endswith(f"#{question.number}") for thread in threads.split(", "))
    assert [1, 1] == [sum(line.startswith(word) for line in rest) for word in ("Here: ", "Volcano today: ")]
    command = COMMAND.search(question.file.read_text(encoding="utf-8"))
    assert command is not None
    assert f"tests/scenarios/clusters/{question.file.name}" == command[1]


@each
def test_the_cluster_has_no_problem_but_the_one_that_it_is_about(question: Question) -> None:
    recording = question.recording()
    problems = [problem.format_line() for problem in (*recording.snapshot.problems, *recording.conf.problems)]
    assert bool(question.problem) == bool(problems)
    assert [] == [line for line in problems if question.problem not in line]


@each
def test_the_answer_is_the_cause_with_its_words_and_figures(question: Question) -> None:
    found = explain_by_name(question.recording(), question.job)
    assert question.cause == found.cause_code
    assert (question.cause in GOT) == found.scheduled
    assert [] == [words for words in question.says if words not in found.full_text]
    figures = {name: round(found.dominant.numbers[name].value, 6) for name in question.numbers}
    assert dict(question.numbers) == figures
    text = "\n".join(found.dominant.lines)
    assert [] == [words for words in question.lines if words not in text]


@each
def test_the_answer_is_proven_and_says_what_would_help(question: Question) -> None:
    found = explain_by_name(question.recording(), question.job)
    assert found.dominant.evidence
    assert question.advice in "\n".join(found.advice_texts)
    assert found.scheduled or found.advice_texts
    assert [] == [cause for cause in question.contributing if cause not in [one.cause for one in found.contributing]]


@each
def test_a_gang_is_never_the_whole_reason_where_a_pod_has_one_of_its_own(question: Question) -> None:
    found = explain_by_name(question.recording(), question.job)
    if found.cause_code == "gang-discard":
        assert any(
            "fits no node" in fact or "no quota left" in fact or "not eligible" in fact for fact in found.dominant.facts
        )


def test_the_page_of_questions_is_what_explain_says() -> None:
    assert page() == PAGE.read_text(encoding="utf-8")


def test_every_question_is_on_the_page() -> None:
    assert sorted(question.number for question in QUESTIONS) == sorted(n for _, numbers in GROUPS for n in numbers)
