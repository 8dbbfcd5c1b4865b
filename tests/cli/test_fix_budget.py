"""`--prove` finds at least what the plain answer finds, whatever its budget, and says if it was cut short."""

from __future__ import annotations

import pytest

from tests.recorded import BUNDLED, GOLDEN, bundled, golden
from vcdebug.cli.output import Output
from vcdebug.cli.reports.fixes import search_fixes
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.recording.recording import Recording
from vcdebug.whatif.fixes.search import describe_conclusion, search_few_fixes, short_plans

NO_TIME = 0.0


def pending_jobs(recording: Recording) -> list[str]:
    return [one.explanation.job for one in survey_jobs(recording).unscheduled_jobs][:2]


@pytest.mark.parametrize("name", [*BUNDLED[::2], *GOLDEN[::40]])
def test_a_search_without_time_finds_what_the_plain_answer_finds(name: str) -> None:
    recording = bundled(name) if name in BUNDLED else golden(name)
    for job in pending_jobs(recording):
        explanation = explain_by_name(recording, job)
        plain = search_few_fixes(recording, explanation)
        if plain is None:
            continue
        longer = search_fixes(recording, explanation, Output(), seconds=NO_TIME, workers=1)
        found = [one.plan_words for one in longer.best_plans]
        assert [one.plan_words for one in short_plans(plain) if one.plan_words not in found] == []


def test_a_search_that_was_cut_short_says_so_though_a_single_change_works() -> None:
    recording = bundled()
    explanation = explain_by_name(recording, "research/llm-finetune")
    search = search_fixes(recording, explanation, Output(), seconds=NO_TIME, workers=1)
    assert not search.is_finished
    assert 1 == min(len(one.plan.fixes) for one in search.best_plans)
    assert describe_conclusion(search).startswith("Stopped at the budget")
    whole = search_fixes(recording, explanation, Output(), seconds=600.0, workers=1)
    assert (True, "") == (whole.is_finished, describe_conclusion(whole))
