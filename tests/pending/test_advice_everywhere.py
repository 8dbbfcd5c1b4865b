"""Advice about every recorded cluster begins with the cause, is ordered by harm, and always changes something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest

from tests.recorded import each_case, find_recorded, recorded
from tests.scenarios.question import Question
from tests.scenarios.questions import QUESTIONS
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.kube.taints import CONTROL_PLANE_PREFIXES
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edit_path import EditError
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.whatif.branch import edited_snapshot
from vcdebug.whatif.fixes.fix import FixSituation
from vcdebug.whatif.fixes.plan import FixPlan
from vcdebug.whatif.fixes.trial import propose_fixes

OTHERS = [*find_recorded("threads/*"), *find_recorded("audit/*")]


def faults(recording: Recording) -> list[str]:
    """The faults in the advice about Pending jobs."""
    waiting, void = (
        [one.explanation for one in survey_jobs(recording).unscheduled_jobs],
        cache(partial(changes_nothing, recording)),
    )
    found = [(one.job, [*of_answer(one, void), *of_fixes(recording, one, void)]) for one in waiting]
    return [f"{job}: {words}" for job, each in found for words in each]


def of_answer(found: Explanation, void: Callable[[tuple[str, ...]], bool]) -> Iterator[str]:
    nearest = {line.text for line in found.dominant.advice}
    order = [(line.is_risky, line.text not in nearest, line.harm) for line in found.advised]
    if order != sorted(order):
        yield f"not by harm: {found.advice_texts}"
    for line in found.advised:
        if line.edits and void(line.edits):
            yield f"void: {line.text}"


def of_fixes(recording: Recording, found: Explanation, void: Callable[[tuple[str, ...]], bool]) -> Iterator[str]:
    for fix in propose_fixes(FixSituation(recording, found)):
        plan = FixPlan.of_fixes(fix)
        if void(plan.all_edits):
            yield f"void: {fix.text} {plan.all_edits}"
        if any("tolerations" in edit and any(key in edit for key in CONTROL_PLANE_PREFIXES) for edit in plan.all_edits):
            yield f"unsafe: {fix.text}"


def changes_nothing(recording: Recording, edits: tuple[str, ...]) -> bool:
    """Whether the edits leave the snapshot unchanged or are invalid."""
    snapshot = recording.snapshot
    try:
        return edited_snapshot(snapshot, map(parse_edit, edits)) == snapshot
    except EditError:
        return True


@each_case
def test_no_advice_about_a_recorded_case_is_void(case: Path) -> None:
    assert [] == faults(recorded(case))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.file.stem)
def test_no_advice_about_a_question_is_void(question: Question) -> None:
    assert [] == faults(question.recording())


@pytest.mark.corpus
@pytest.mark.parametrize("folder", OTHERS, ids=lambda folder: folder.name)
def test_no_advice_about_another_cluster_is_void(folder: Path) -> None:
    assert [] == faults(replay_cycle(load_snapshot(folder)))
