"""The cost of explaining all jobs grows with the cluster, not with its square."""

from collections import Counter
from collections.abc import Callable
from cProfile import Profile
from functools import partial
from pathlib import Path
from types import CodeType

import pytest

from tests.bench.growth import SHAPES, write
from vcdebug.explain.pending.explanation import survey_jobs
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot

OFTEN = 250
"""Calls from which a function counts: with fewer, a few jobs of another kind change the factor."""


def _calls_in(work: Callable[[], object]) -> Counter[CodeType]:
    """The Python function calls in the work, by function; each item of a generator counts."""
    profile = Profile(subcalls=False, builtins=False)
    profile.runcall(work)
    return Counter({entry.code: entry.callcount for entry in profile.getstats() if isinstance(entry.code, CodeType)})


# Of few PodGroups, drf lets a larger part preempt. Of few queues, each is compared with all running pods.
@pytest.mark.parametrize(
    ("shape", "size", "most"),
    [
        ("queues", 100, 2.2),
        ("PodGroups", 120, 2.6),
        ("tasks of one job", 100, 2.2),
        ("HyperNodes", 4, 2.2),
        ("pods per node", 20, 2.2),
    ],
)
def test_twice_the_count_takes_each_function_of_an_explanation_about_twice_the_calls(
    shape: str, size: int, most: float, tmp_path: Path
) -> None:
    calls = []
    for each in (size, 2 * size):
        recording = replay_cycle(load_snapshot(write(SHAPES[shape], each, tmp_path)))
        calls.append(_calls_in(partial(survey_jobs, recording)))
    small, large = calls
    assert large.total() < most * small.total()
    grown = {code.co_qualname: (small[code], large[code]) for code in large if large[code] > 3 * small[code]}
    assert {} == {name: (few, many) for name, (few, many) in grown.items() if few >= OFTEN}
