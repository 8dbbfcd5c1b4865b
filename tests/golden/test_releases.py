"""The replay of released versions against the recordings of their schedulers, event by event.

The traces in `releases/` are copies, whose inputs lie in `random/`; where the whole corpus lies beside the checkout, it
is replayed too.
"""

import json
from pathlib import Path

import pytest

from tests.golden.compare import first_difference, read_trace
from vcdebug.snapshot.load import load
from vcdebug.trace.codec import EventEncoder
from vcdebug.trace.replay import replay

HERE = Path(__file__).parent
BESIDE = HERE.parents[2] / "shared" / "golden"
FAMILIES = ("random", "causes")


def copies() -> list[tuple[str, Path, Path]]:
    """(release, folder of the trace, folder of the input)."""
    found = sorted((HERE / "releases").glob("*/*/trace.jsonl.gz"))
    return [(path.parents[1].name, path.parent, HERE / "random" / path.parent.name) for path in found]


def corpus() -> list[tuple[str, Path, Path]]:
    releases = sorted((BESIDE / "releases").glob("v*")) if BESIDE.is_dir() else []
    return [
        (release.name, path.parent, BESIDE / family / path.parent.name)
        for release in releases
        for family in FAMILIES
        for path in sorted((release / family).glob("*/trace.jsonl.gz"))
    ]


CASES = [*copies(), *corpus()]


@pytest.mark.parametrize(
    ("release", "recorded", "given"), CASES, ids=[f"{release}-{recorded.name}" for release, recorded, _ in CASES]
)
def test_the_replay_is_what_the_scheduler_of_the_release_did(release: str, recorded: Path, given: Path) -> None:
    recording = replay(load(given, release=release))
    encoder = EventEncoder(recording)
    events = [json.loads(json.dumps(encoder.encode(event))) for event in recording.events]
    assert first_difference(read_trace(recorded / "trace.jsonl.gz"), events) is None


def test_each_release_has_a_copy_of_each_family() -> None:
    """v1.14 refuses the configurations of `gang`: they name actions that came later."""
    families = {path.name.rpartition("-")[0] for path in (HERE / "random").iterdir() if path.is_dir()}
    for release in ("v1.15.1", "v1.14.4"):
        have = {recorded.name.rpartition("-")[0] for name, recorded, _ in copies() if name == release}
        refused = {"gang"} if release == "v1.14.4" else set()
        assert families - refused == have
