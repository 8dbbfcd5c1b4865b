"""The hits of a breakpoint are computed once; a key that moves to the next hit does not scan the recording again."""

import pytest

from tests.recorded import bundled, golden
from vcdebug.debugger.breakpoint import Breakpoint, parse_breakpoint
from vcdebug.debugger.cursor import BACKWARD, FORWARD
from vcdebug.debugger.notebook import BreakpointList
from vcdebug.recording.recording import Recording

LINES = ('vote if plugin == "gang"', "vote", "victim", 'vote if plugin == "gang" hits % 2 == 0', "statement")


def looks(point: Breakpoint, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list that gains an entry for each event that the breakpoint tests from now on."""
    found: list[object] = []
    means = type(point.kind).is_match

    def counted(self: object, recording: Recording, seq: int) -> bool:
        found.append(seq)
        return means(self, recording, seq)  # type: ignore[arg-type]

    monkeypatch.setattr(type(point.kind), "is_match", counted)
    return found


@pytest.mark.parametrize("line", LINES)
def test_after_the_hits_are_known_no_event_is_looked_at_again(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, point = bundled(), parse_breakpoint(line, 1)
    hits = list(point.hit_seqs(recording))
    found = looks(point, monkeypatch)
    steps = [point.next_hit(recording, seq, FORWARD) for seq in (0, *hits)]
    assert [*hits, None] == steps
    assert [None, *hits[:-1]] == [point.next_hit(recording, seq, BACKWARD) for seq in hits]
    assert [] == found


@pytest.mark.parametrize("line", LINES)
def test_the_next_hit_is_the_same_whether_the_hits_are_known_or_not(line: str) -> None:
    recording, known = bundled(), parse_breakpoint(line, 1)
    known.hit_seqs(recording)
    for seq in range(0, len(recording), 7):
        fresh = parse_breakpoint(line, 1)
        assert fresh.next_hit(recording, seq, FORWARD) == known.next_hit(recording, seq, FORWARD)


def test_another_recording_and_another_condition_have_other_hits() -> None:
    points = BreakpointList()
    point = points.add_breakpoint("vote")
    counts = [len(point.hit_seqs(one)) for one in (bundled(), golden("basic-0000"), bundled())]
    assert counts[0] == counts[2] != counts[1]
    point.condition = parse_breakpoint('vote if plugin == "gang"', 1).condition
    assert 0 < len(point.hit_seqs(bundled())) < counts[0]
