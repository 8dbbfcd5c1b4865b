"""A plugin's answer about one node outside a search: its equation has the recorded verdict."""

import pytest

from tests.recorded import GOLDEN, bundled, golden
from vcdebug.explain.decisions.dry_runs import filter_checks
from vcdebug.explain.plugins import is_filter
from vcdebug.views.inside import inside_table
from vcdebug.views.table import format_table


@pytest.mark.parametrize("name", ["preempt-works", "preempt-blocked-by-gang"])
def test_filter_checks_agree_with_the_recorded_answer(name: str) -> None:
    recording = bundled(name)
    asked = [(seq, event) for seq, event in enumerate(recording.events, start=1) if is_filter(event)]
    assert asked
    for seq, event in asked:
        found = filter_checks(recording, seq)
        assert found is not None
        assert found
        assert any(check.is_refused for check in found) is (event.result is not None)
        shown = format_table(inside_table(recording, seq))
        assert event.node in shown
        assert f"the filter {event.plugin} for" in shown


def test_refusals_of_the_recorded_cases_are_told() -> None:
    refused = 0
    for recording in map(golden, GOLDEN):
        for seq, event in enumerate(recording.events, start=1):
            if is_filter(event) and event.result is not None:
                refused += 1
                assert any(check.is_refused for check in filter_checks(recording, seq) or ())
    assert 5 <= refused
