"""The cost of an answer about one job is independent of the number of other queues and jobs."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from tests.bench.growth import SHAPES, write
from vcdebug.explain.pending.explanation import survey_jobs
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot


def _calls_of(work: Callable[[], object]) -> int:
    """The number of Python function calls in the work."""
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


# With PodGroups, the nodes double too, and preempt tries each node for each job.
@pytest.mark.parametrize(("shape", "size", "most"), [("queues", 50, 2.2), ("PodGroups", 60, 2.8)])
def test_explaining_twice_as_many_jobs_takes_about_twice_the_calls(
    shape: str, size: int, most: float, tmp_path: Path
) -> None:
    calls = []
    for each in (size, 2 * size):
        recording = replay_cycle(load_snapshot(write(SHAPES[shape], each, tmp_path)))
        calls.append(_calls_of(partial(survey_jobs, recording)))
    assert calls[1] < most * calls[0]
