"""The replay of released versions against the recordings of their schedulers, event by event.

`releases/` holds the traces only: their inputs are those of `random/` and `causes/`.
"""

import io
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.golden.compare import first_difference_of_lines, read_lines
from tests.recorded import GOLDEN, find_recorded, one_of_each_family, recorded_path
from vcdebug.recording.recording import disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.snapshot.loader import load_snapshot

RELEASES = ("v1.15.1", "v1.14.4")


class Case(NamedTuple):
    """A release, the folder of its trace, and the folder of the input."""

    release: str
    recorded: Path
    given: Path


def cases_of(release: str) -> list[Case]:
    """All recordings of a release."""
    traces = find_recorded(f"releases/{release}/*/*/trace.jsonl.gz")
    folders = [trace.parent for trace in traces]
    return [Case(release, folder, recorded_path(f"{folder.parent.name}/{folder.name}")) for folder in folders]


ALL = [case for release in RELEASES for case in cases_of(release)]


def sample() -> list[Case]:
    """One recording of each release and family."""
    chosen: list[Case] = []
    for release in RELEASES:
        random = {case.given.name: case for case in ALL if case[0] == release and case.given.parent.name == "random"}
        chosen += [random[name] for name in one_of_each_family(list(random))]
    return chosen


_SAMPLE = sample()
EACH = [
    pytest.param(*case, id=f"{case.release}-{case.given.name}", marks=() if case in _SAMPLE else pytest.mark.corpus)
    for case in ALL
]


@pytest.mark.parametrize(("release", "recorded", "given"), EACH)
def test_the_replay_is_what_the_scheduler_of_the_release_did(release: str, recorded: Path, given: Path) -> None:
    lines = io.StringIO()
    with disposing(replay_cycle(load_snapshot(given, release=release))) as recording:
        write_jsonl(recording, lines)
    expected = read_lines(recorded / "trace.jsonl.gz")
    assert first_difference_of_lines(expected, lines.getvalue().splitlines()) is None


def test_each_release_has_a_recording_of_each_family() -> None:
    """v1.14 rejects the configurations of `gang`, which name actions that later releases added."""
    families = {name.rpartition("-")[0] for name in GOLDEN}
    for release in RELEASES:
        have = {case.given.name.rpartition("-")[0] for case in _SAMPLE if case.release == release}
        refused = {"gang"} if release == "v1.14.4" else set()
        assert families - refused == have
