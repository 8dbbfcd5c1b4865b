"""Edits on a recording can be undone and redone; the original and all arguments stay unchanged."""

from __future__ import annotations

import io

import pytest

from tests.recorded import bundled
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.snapshot.edit_path import EditError
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif import branch as what_if
from vcdebug.whatif.branch import (
    BRANCH,
    ORIGINAL,
    NoRecordingError,
    OpenRecordings,
    divergence_seq,
    redo_change,
    undo_last_change,
    with_comparison,
    with_edits,
)
from vcdebug.whatif.cycles import replay_next_cycle

GANG_OFF = "conf:plugins.gang.enablePreemptable=false"
WEIGHT = "Queue/research:spec.weight=5"


class Counting:
    """Replays cycles and counts them."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, snapshot: Snapshot, like: Recording) -> Recording:
        self.runs += 1
        return replay_cycle(snapshot, ask_extender=like.session.ask_extender)


def trace(recording: Recording) -> str:
    file = io.StringIO()
    write_jsonl(recording, file)
    return file.getvalue()


def base() -> OpenRecordings:
    return OpenRecordings((bundled(),))


def test_an_edit_makes_a_branch_that_is_shown_and_leaves_the_original() -> None:
    conf, events = bundled().snapshot.scheduler_conf, trace(bundled())
    before = base()
    after = with_edits(before, [GANG_OFF])
    assert (BRANCH, after.branch[0]) == (after.side, after.shown_recording)
    found = with_comparison(after).comparison
    assert found is not None
    assert not found.has_same_decisions
    assert (before.original, ()) == (after.original, before.branch)
    assert (conf, events) == (bundled().snapshot.scheduler_conf, trace(bundled()))


def test_undo_and_redo_go_through_the_same_branches() -> None:
    states = [base()]
    for text in (WEIGHT, GANG_OFF):
        states.append(with_edits(states[-1], [text]))
    one = undo_last_change(states[2])
    none = undo_last_change(one)
    assert ((WEIGHT,), ()) == (one.edit_texts, none.edit_texts)
    assert (ORIGINAL, bundled()) == (none.side, none.shown_recording)
    again = redo_change(redo_change(none))
    assert (WEIGHT, GANG_OFF) == again.edit_texts
    assert states[2].shown_recording.snapshot == again.shown_recording.snapshot
    assert trace(states[2].shown_recording) == trace(again.shown_recording)


def test_edits_that_were_made_together_are_undone_and_redone_together() -> None:
    one = with_edits(base(), [WEIGHT])
    three = with_edits(one, [GANG_OFF, "PodGroup/research/llm-finetune:spec.minMember=1"])
    undone = undo_last_change(three)
    assert (3, (WEIGHT,)) == (len(three.edits), undone.edit_texts)
    assert three.edit_texts == redo_change(undone).edit_texts
    assert () == undo_last_change(undone).edits


def test_undo_and_redo_are_refused_without_edits() -> None:
    with pytest.raises(NoRecordingError, match="no edit to undo"):
        undo_last_change(base())
    with pytest.raises(NoRecordingError, match="no edit to redo"):
        redo_change(base())


def test_a_new_edit_forgets_what_was_undone() -> None:
    after = with_edits(undo_last_change(with_edits(base(), [WEIGHT])), [GANG_OFF])
    assert ((), (GANG_OFF,)) == (after.undone_changes, after.edit_texts)


@pytest.mark.parametrize("text", ["Queue/nope:spec.weight=1", "conf:actions=dance", "nonsense", "answer:5=perhaps"])
def test_an_edit_that_cannot_be_made_is_an_error(text: str) -> None:
    with pytest.raises(EditError):
        with_edits(base(), [text])


def test_several_edits_are_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Counting()
    monkeypatch.setattr(what_if, "replay_like", run)
    assert 2 == len(with_edits(base(), [WEIGHT, GANG_OFF]).edits)
    assert 1 == run.runs


def test_edits_apply_to_the_shown_cycle() -> None:
    second = OpenRecordings((bundled(), replay_next_cycle(bundled()))).show_cycle(ORIGINAL, 2)
    after = with_edits(second, [WEIGHT])
    assert (2, 2, second.original[1].snapshot.now) == (after.start, after.cycle, after.shown_recording.snapshot.now)
    assert second.original[0] is after.show_cycle(BRANCH, 1).shown_recording
    with pytest.raises(NoRecordingError, match="the edits are about cycle 2"):
        with_edits(after.show_cycle(ORIGINAL, 1), [GANG_OFF])


def test_divergence_seq_is_the_first_differing_event() -> None:
    after = with_comparison(with_edits(base(), [GANG_OFF]))
    seq = divergence_seq(base(), after)
    assert after.comparison is not None
    divergence = after.comparison.divergence
    assert divergence is not None
    assert [seq, seq] == [side.seq for side in (divergence.before, divergence.after) if side is not None]
    assert seq == divergence_seq(after, after.show_cycle(ORIGINAL, 1))


def test_divergence_of_equal_recordings_is_behind_the_last_event() -> None:
    after = with_edits(base(), ["answer:103=allow resnet-sweep-worker-0"])
    assert len(bundled()) + 1 == divergence_seq(base(), after)


@pytest.mark.parametrize(("side", "cycle"), [(BRANCH, 1), (ORIGINAL, 2), (ORIGINAL, 0)])
def test_showing_a_missing_cycle_or_side_raises(side: str, cycle: int) -> None:
    with pytest.raises(NoRecordingError):
        base().show_cycle(side, cycle)  # type: ignore[arg-type]


def test_a_comparison_needs_the_cycle_on_both_sides() -> None:
    branch = with_edits(base(), [WEIGHT])
    with pytest.raises(NoRecordingError, match="no edits to compare"):
        with_comparison(base())
    longer = OpenRecordings(
        branch.original, (*branch.branch, replay_next_cycle(branch.shown_recording)), 1, branch.changes, (), BRANCH, 2
    )
    with pytest.raises(NoRecordingError, match="the original has no cycle 2"):
        with_comparison(longer)
