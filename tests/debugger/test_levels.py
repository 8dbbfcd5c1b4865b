"""Movement at every level is reversible, bit for bit, in every open recording."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.debugger.test_debugger import digest
from tests.recorded import GOLDEN, bundled, golden
from vcdebug.debugger.debugger import Debugger, MoveResult
from vcdebug.debugger.driver import Workbench
from vcdebug.framework.record import HookEvent, Level, OpEvent, Span
from vcdebug.recording.recording import Recording
from vcdebug.whatif.branch import BRANCH, ORIGINAL, OpenRecordings, divergence_seq, with_edits
from vcdebug.whatif.cycles import append_cycles

HOOK_CALL, OPERATION = "hook call", "statement operation"
LEVELS = (*(level.name.lower() for level in Level), HOOK_CALL, OPERATION)
VERBS = ("into", "over", "out")
GANG_OFF = "conf:plugins.gang.enablePreemptable=false"


def seqs_at_level(recording: Recording, level: str) -> list[int]:
    """Events at which a span of this level begins."""
    kinds = {HOOK_CALL: HookEvent, OPERATION: OpEvent}
    if level in kinds:
        return list(recording.index.seqs_of_type(kinds[level]))
    return [max(span.first, 1) for span in recording.spans if span.level.name.lower() == level]


def fingerprint(result: Debugger) -> tuple[int, str]:
    """The position, and a hash of every figure of the state there."""
    return result.seq, hashlib.sha256(digest(result.recording, result.seq).encode()).hexdigest()


def go(result: Debugger, verb: str, *, back: bool) -> MoveResult:
    move: Callable[..., MoveResult] = getattr(result, f"step_{verb}")
    return move(back=back)


def step_forth_and_back(result: Debugger, verbs: list[str]) -> Iterator[tuple[tuple[int, str], tuple[int, str]]]:
    """Yield (fingerprint on the way forward, fingerprint on the way back) at each place."""
    seen, taken = [fingerprint(result)], []
    for verb in verbs:
        if go(result, verb, back=False).position.seq != seen[-1][0]:
            seen.append(fingerprint(result))
            taken.append(verb)
    for verb, expected in zip(reversed(taken), reversed(seen[:-1]), strict=True):
        go(result, verb, back=True)
        yield expected, fingerprint(result)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("verb", VERBS)
def test_steps_back_undo_steps_at_every_level(level: str, verb: str) -> None:
    chance = random.Random(level + verb)
    found = 0
    for recording in (bundled(), bundled("preempt-works"), golden(GOLDEN[0])):
        places = seqs_at_level(recording, level)
        for seq in chance.sample(places, min(3, len(places))):
            result = Debugger(recording)
            result.goto_event(seq)
            for expected, actual in step_forth_and_back(result, [verb] * 6):
                assert expected == actual
                found += 1
    assert found > 0


@pytest.mark.parametrize("level", LEVELS)
def test_mixed_steps_are_undone_in_reverse(level: str) -> None:
    chance = random.Random(level)
    recording = bundled()
    places = seqs_at_level(recording, level)
    for seq in chance.sample(places, min(4, len(places))):
        result = Debugger(recording)
        result.goto_event(seq)
        for expected, actual in step_forth_and_back(result, chance.choices(VERBS, k=10)):
            assert expected == actual


def alone(recording: Recording, level: Level) -> list[Span]:
    """Non-empty spans of the level whose first event begins no other span."""
    firsts = Counter(span.first for span in recording.spans)
    return [s for s in recording.spans if s.level == level and firsts[s.first] == 1 and s.last > s.first]


@pytest.mark.parametrize("level", list(Level)[1:])
def test_a_span_of_each_level_is_entered_passed_and_left(level: Level) -> None:
    found = 0
    for recording in (bundled(), *map(golden, GOLDEN[:6])):
        for span in alone(recording, level)[:5]:
            result = Debugger(recording)
            result.goto_event(span.first)
            assert span.first + 1 == result.step_into().position.seq
            assert span.first == result.step_out(back=True).position.seq
            assert min(span.last + 1, len(recording)) == result.step_over().position.seq
            assert span.first == result.step_over(back=True).position.seq
            result.step_into()
            assert span.last < result.step_out().position.seq or result.seq == len(recording)
            found += 1
    assert found > 0


def test_step_history_is_kept_per_recording() -> None:
    bench = Workbench(bundled())
    bench.debugger.goto_event(60)
    origin = fingerprint(bench.debugger)
    for _ in range(4):
        bench.debugger.step_over()
    branch = with_edits(bench.recordings, [GANG_OFF])
    bench.show_recordings(branch, divergence_seq(bench.recordings, branch))
    inside = fingerprint(bench.debugger)
    for verb in VERBS:
        bench.debugger.goto_event(inside[0])
        for expected, actual in step_forth_and_back(bench.debugger, [verb] * 5):
            assert expected == actual
    bench.show_recordings(branch.show_cycle(ORIGINAL, 1))
    for _ in range(4):
        bench.debugger.step_over(back=True)
    assert origin == fingerprint(bench.debugger)


def test_the_original_is_the_same_after_edits_and_cycles() -> None:
    bench = Workbench(bundled())
    before = [digest(bundled(), seq) for seq in (1, 80, len(bundled()))]
    events = len(bundled())
    branch = append_cycles(with_edits(bench.recordings, [GANG_OFF]), 2)
    bench.show_recordings(branch)
    assert (BRANCH, 3) == (bench.recordings.side, bench.recordings.cycle)
    assert bundled() is bench.recordings.original[0]
    assert (events, before) == (len(bundled()), [digest(bundled(), seq) for seq in (1, 80, len(bundled()))])


def test_each_recording_keeps_its_position_and_breakpoints_are_shared() -> None:
    bench = Workbench(bundled())
    bench.breakpoints.add_breakpoint("break statement")
    bench.debugger.goto_event(40)
    two = append_cycles(bench.recordings)
    bench.show_recordings(two)
    assert (1, bench.breakpoints) == (bench.debugger.seq, bench.debugger.breakpoints)
    bench.debugger.goto_event(33)
    for cycle, seq in ((1, 40), (2, 33)):
        bench.show_recordings(two.show_cycle(ORIGINAL, cycle))
        assert seq == bench.debugger.seq


def test_removed_branch_keeps_no_position() -> None:
    bench = Workbench(bundled())
    branch = with_edits(bench.recordings, [GANG_OFF])
    bench.show_recordings(branch, 103)
    bench.debugger.goto_event(20)
    bench.show_recordings(OpenRecordings(branch.original))
    bench.show_recordings(branch, 103)
    assert 1 == bench.debugger.seq


def test_back_returns_to_the_recording_before_until_a_jump_is_made() -> None:
    bench = Workbench(bundled())
    bench.debugger.goto_event(40)
    bench.show_recordings(append_cycles(bench.recordings))
    assert bench.go_back()
    assert (1, 40) == (bench.recordings.cycle, bench.debugger.seq)
    assert bench.go_back()
    bench.debugger.goto_event(9)
    assert not bench.go_back()
    assert 2 == bench.recordings.cycle


def test_unsaved_edits_are_known() -> None:
    bench = Workbench(bundled())
    seen = [bench.has_unsaved_edits]
    branch = with_edits(bench.recordings, [GANG_OFF])
    bench.show_recordings(branch)
    seen.append(bench.has_unsaved_edits)
    bench.saved = branch.edit_texts
    assert [False, True, False] == [*seen, bench.has_unsaved_edits]
