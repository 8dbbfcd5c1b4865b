"""Explanations under the rules of older releases agree with their recordings."""

from pathlib import Path

import pytest

from tests.explain import test_agreement, test_equations, test_queues
from tests.golden.test_releases import sample
from tests.pending.test_contradictions import contradictions_in
from tests.recorded import COPIES
from tests.stepped_reruns import stepped_reruns
from vcdebug.comparison.invariants import find_violations
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot

CASES = [(release, given) for release, _, given in sample()]


@pytest.fixture(
    scope="module", params=CASES, ids=[f"{release}-{given.name}" for release, given in CASES], name="recording"
)
def recorded(request: pytest.FixtureRequest) -> Recording:
    """The replay of a case, shared by the tests of this module."""
    release, given = request.param
    assert isinstance(given, Path)
    return replay_cycle(load_snapshot(given, release=release))


def test_each_equation_agrees_with_the_recording(recording: Recording) -> None:
    with stepped_reruns(recording):
        assert [] == list(test_equations.wrong(recording))


def test_each_queue_derivation_agrees_with_the_session(recording: Recording) -> None:
    assert [] == list(test_queues.wrong(recording))


def test_gate_equation_and_scheduler_name_the_same_dimensions(recording: Recording) -> None:
    assert [] == test_agreement.disagreements(recording)
    assert [] == [each for each in test_agreement.refused_tasks(recording) if each.gate != each.equation]


def test_each_violation_is_a_named_quirk(recording: Recording) -> None:
    assert [] == [found for found in find_violations(recording) if not found.quirk]


@pytest.mark.parametrize("case", COPIES, ids=lambda case: case.name)
def test_the_answers_about_jobs_hold_under_v1_13(case: Path) -> None:
    """reclaim of v1.13 evicts without statements, while answers about newer releases rely on statements."""
    assert [] == list(contradictions_in(replay_cycle(load_snapshot(case, release="v1.13.3"))))
