"""A closed recording is freed, whatever was asked about it before."""

import gc
from collections.abc import Iterator
from weakref import ref

import pytest

from tests.recorded import BUNDLED, ROOT
from vcdebug.comparison.invariants import find_violations
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.figures import Figure, figure_history
from vcdebug.explain.decisions.equations import equation_at
from vcdebug.explain.decisions.evictions import planned_evictions
from vcdebug.explain.decisions.victim_funnel import funnels_around
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.views.headline import span_outcome
from vcdebug.views.panels import PANEL_VIEWS
from vcdebug.views.pending import waiting_table
from vcdebug.views.table import format_table
from vcdebug.whatif.branch import undo_last_change, with_edits

SNAPSHOTS = BUNDLED[:12]
pytestmark = pytest.mark.memory
LOOKS = 8
"""Number of events at which every panel is rendered."""


def opened(name: str) -> Recording:
    return replay_cycle(load_snapshot(ROOT / "fixtures" / name))


def look_around(driver: Driver) -> Iterator[object]:
    """Yield the answers that a front end requests."""
    recording = driver.open_recordings.shown_recording
    yield [equation_at(recording, seq) for seq in range(1, len(recording) + 1)]
    yield [explain_by_name(recording, job) for job in recording.session.jobs]
    yield find_violations(recording), planned_evictions(recording)
    yield [span_outcome(recording, index) for index in range(len(recording.spans))]
    yield [figure_history(recording, Figure("job", job, "phase")) for job in recording.session.jobs]
    for seq in range(1, len(recording) + 1, max(len(recording) // LOOKS, 1)):
        here = driver.goto_event(seq)
        yield funnels_around(recording, seq)
        yield [format_table(view.build_table(here)) for view in PANEL_VIEWS.values()]
        yield format_table(waiting_table(here))


def answers(driver: Driver) -> int:
    """The number of answers; none of them is kept."""
    return sum(1 for _ in look_around(driver))


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_recording_that_is_closed_is_freed_after_equations_funnels_explanations_and_panels(name: str) -> None:
    driver = Driver(opened(name))
    closed = ref(driver.open_recordings.shown_recording)
    assert answers(driver) > LOOKS
    assert driver.open_recordings.shown_recording.memo
    del driver
    gc.collect()
    assert closed() is None


def test_an_undone_edit_frees_its_recording_while_the_original_stays_open() -> None:
    driver = Driver(opened("preempt-blocked-by-gang"))
    original = ref(driver.open_recordings.shown_recording)
    driver.show_recordings(with_edits(driver.open_recordings, ["conf:plugins.gang.enablePreemptable=false"]), "set")
    branch = ref(driver.open_recordings.shown_recording)
    assert branch() is not original()
    assert answers(driver) > LOOKS
    driver.show_recordings(undo_last_change(driver.open_recordings), "undo")
    gc.collect()
    assert (None, driver.open_recordings.shown_recording) == (branch(), original())


def test_an_answer_is_given_once_and_kept_in_the_recording() -> None:
    recording = opened("preempt-works")
    first = find_violations(recording)
    assert first is find_violations(recording)
    assert ["find_violations"] == [question.__name__ for question in recording.memo]
