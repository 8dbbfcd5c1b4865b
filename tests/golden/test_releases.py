"""The replay of released versions against the recordings of their schedulers, event by event.

The traces in `releases/` are copies, whose inputs lie in `random/`; where the whole corpus lies beside the checkout, it
is replayed too.
"""

import io
from pathlib import Path

import pytest

from tests.golden.compare import first_difference_of_lines, read_lines
from vcdebug.recording.recording import disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.snapshot.loader import load_snapshot

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


_COPIED = dict.fromkeys((release, recorded.name) for release, recorded, _ in copies())
ELSEWHERE = [each for each in corpus() if (each[0], each[1].name) not in _COPIED or each[2].parent.name != "random"]
"""The recordings of the corpus of which there is no copy."""
EACH = [pytest.param(*each, id=f"{each[0]}-{each[1].name}") for each in copies()] + [
    pytest.param(*each, id=f"{each[0]}-{each[1].name}", marks=pytest.mark.corpus) for each in ELSEWHERE
]


@pytest.mark.parametrize(("release", "recorded", "given"), EACH)
def test_the_replay_is_what_the_scheduler_of_the_release_did(release: str, recorded: Path, given: Path) -> None:
    lines = io.StringIO()
    with disposing(replay_cycle(load_snapshot(given, release=release))) as recording:
        write_jsonl(recording, lines)
    expected = read_lines(recorded / "trace.jsonl.gz")
    assert first_difference_of_lines(expected, lines.getvalue().splitlines()) is None


@pytest.mark.corpus
@pytest.mark.skipif(not BESIDE.is_dir(), reason="the corpus is not beside the checkout")
def test_a_copied_trace_is_the_one_of_the_corpus() -> None:
    originals = {
        (release, recorded.name): recorded for release, recorded, given in corpus() if given.parent.name == "random"
    }
    for release, recorded, _ in copies():
        original = originals[release, recorded.name]
        assert read_lines(original / "trace.jsonl.gz") == read_lines(recorded / "trace.jsonl.gz")


def test_each_release_has_a_copy_of_each_family() -> None:
    """v1.14 refuses the configurations of `gang`: they name actions that came later."""
    families = {path.name.rpartition("-")[0] for path in (HERE / "random").iterdir() if path.is_dir()}
    for release in ("v1.15.1", "v1.14.4"):
        have = {recorded.name.rpartition("-")[0] for name, recorded, _ in copies() if name == release}
        refused = {"gang"} if release == "v1.14.4" else set()
        assert families - refused == have
