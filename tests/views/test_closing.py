"""A recording that nobody looks at any more is gone, whatever was asked about it."""

import gc
from collections.abc import Iterator
from weakref import ref

import pytest

from tests.recorded import ROOT
from vcdebug.causes.pending import explain
from vcdebug.compare.invariants import violations
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.figure_history import history
from vcdebug.debugger.figures import Figure
from vcdebug.debugger.what_if import with_edits, without_last
from vcdebug.explain.equations import equation
from vcdebug.explain.evictions import evictions
from vcdebug.explain.funnel import funnels
from vcdebug.snapshot.load import load
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay
from vcdebug.views.base import plain
from vcdebug.views.outcome import outcome
from vcdebug.views.panels import PANEL_VIEWS
from vcdebug.views.pending import waiting

SNAPSHOTS = sorted(path.name for path in (ROOT / "fixtures").iterdir() if path.is_dir())[:12]
pytestmark = pytest.mark.memory
LOOKS = 8
"""Events at which every panel is looked at."""


def opened(name: str) -> Recording:
    return replay(load(ROOT / "fixtures" / name))


def look_around(driver: Driver) -> Iterator[object]:
    """Ask what a front end asks."""
    recording = driver.recordings.shown
    yield [equation(recording, seq) for seq in range(1, len(recording) + 1)]
    yield [explain(recording, job) for job in recording.session.jobs]
    yield violations(recording), evictions(recording)
    yield [outcome(recording, index) for index in range(len(recording.spans))]
    yield [history(recording, Figure("job", job, "phase")) for job in recording.session.jobs]
    for seq in range(1, len(recording) + 1, max(len(recording) // LOOKS, 1)):
        here = driver.goto(seq)
        yield funnels(recording, seq)
        yield [plain(view(here)) for view in PANEL_VIEWS.values()]
        yield plain(waiting(here))


def answers(driver: Driver) -> int:
    """How many answers there were; none of them is kept."""
    return sum(1 for _ in look_around(driver))


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_recording_that_is_closed_is_freed_after_equations_funnels_explanations_and_panels(name: str) -> None:
    driver = Driver(opened(name))
    closed = ref(driver.recordings.shown)
    assert answers(driver) > LOOKS
    assert driver.recordings.shown.memo
    del driver
    gc.collect()
    assert closed() is None


def test_an_undone_edit_frees_its_recording_while_the_original_stays_open() -> None:
    driver = Driver(opened("preempt-blocked-by-gang"))
    original = ref(driver.recordings.shown)
    driver.take(with_edits(driver.recordings, ["conf:plugins.gang.enablePreemptable=false"]), "set")
    branch = ref(driver.recordings.shown)
    assert branch() is not original()
    assert answers(driver) > LOOKS
    driver.take(without_last(driver.recordings), "undo")
    gc.collect()
    assert (None, driver.recordings.shown) == (branch(), original())


def test_an_answer_is_given_once_and_kept_in_the_recording() -> None:
    recording = opened("preempt-works")
    first = violations(recording)
    assert first is violations(recording)
    assert ["violations"] == [question.__name__ for question in recording.memo]
