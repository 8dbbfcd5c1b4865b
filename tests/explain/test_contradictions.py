"""Nothing that explain says of any job contradicts itself or the recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.explain.contradictions import contradictions, not_in_the_survey
from tests.recorded import ROOT, bundled, each_case, recorded
from tests.scenarios.questions import QUESTIONS, Question
from vcdebug.explain.pending import explain
from vcdebug.trace.recording import Recording

BUNDLED = sorted(path.name for path in (ROOT / "fixtures").iterdir() if path.is_dir())


def told(recording: Recording) -> list[str]:
    """Every contradiction in the answers about every job."""
    jobs = recording.session.jobs
    return [words for job in jobs for words in contradictions(recording, explain(recording, job))]


@each_case
def test_no_answer_of_a_recorded_case_contradicts_it(case: Path) -> None:
    recording = recorded(case)
    assert [] == told(recording)
    assert [] == not_in_the_survey(recording)


@pytest.mark.parametrize("name", BUNDLED)
def test_no_answer_of_a_bundled_snapshot_contradicts_it(name: str) -> None:
    assert [] == told(bundled(name))
    assert [] == not_in_the_survey(bundled(name))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.file.stem)
def test_no_answer_of_a_question_contradicts_its_cluster(question: Question) -> None:
    assert [] == told(question.recording())
    assert [] == not_in_the_survey(question.recording())


def test_a_nought_that_is_too_few_is_found() -> None:
    recording = bundled()
    job = next(iter(recording.session.jobs))
    answer = explain(recording, job)
    wrong = answer.dominant.sentence + " It is 0 too few, and nobody is evicted."
    broken = replace(answer, dominant=replace(answer.dominant, sentence=wrong))
    assert any("nought" in words for words in contradictions(recording, broken))
