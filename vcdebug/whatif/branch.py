"""Edits, and the branch of cycles that they make. Functions return new values; recordings are never modified."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.edit import CONF, Edit, parse_edit
from vcdebug.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from vcdebug.comparison.cycles import CycleComparison


def replay_like(snapshot: Snapshot, base: Recording) -> Recording:
    """Replay one cycle of the snapshot, with the extender's webhook if the recording `base` was made with it."""
    from vcdebug.recording.replay import replay_cycle

    return replay_cycle(snapshot, ask_extender=base.session.ask_extender, reuse_from=base)


def edited_snapshot(snapshot: Snapshot, edits: Iterable[Edit]) -> Snapshot:
    """The snapshot with the edits applied; raises EditError, also for a configuration that the scheduler rejects."""
    from vcdebug.snapshot.edited_snapshot import apply_edits

    for edit in edits:
        # One at a time: a later edit can name an object or a plugin that an earlier one adds.
        snapshot = _with_conf(snapshot, edit) if edit.kind == CONF else apply_edits(snapshot, [edit], "")
    return snapshot


def _with_conf(snapshot: Snapshot, edit: Edit) -> Snapshot:
    from vcdebug.recording.replay import parse_conf
    from vcdebug.snapshot.edited_snapshot import apply_edits

    conf_before = parse_conf(snapshot.scheduler_conf, snapshot.release)
    snapshot = apply_edits(snapshot, [edit], conf_before.text)
    conf_after = parse_conf(snapshot.scheduler_conf, snapshot.release)
    # Only new faults are refused; faults that the configuration already had are replayed as the scheduler treats them.
    new_problems = [problem for problem in conf_after.problems if problem not in conf_before.problems]
    if new_problems:
        raise edit.make_error(f"the configuration would be wrong: {new_problems[0].format_line()}", edit.value_at)
    return snapshot


def with_edits(open_: OpenRecordings, texts: Iterable[str]) -> OpenRecordings:
    """Add edits of the shown cycle and replay the branch; edits that were undone cannot be redone any more."""
    if open_.edits and open_.cycle != open_.start:
        raise NoRecordingError(
            f"the edits are about cycle {open_.start}, and this is cycle {open_.cycle}",
            f"goto {open_.start}:1 first, or undo them",
        )
    start = open_.start if open_.edits else open_.cycle
    changes = (*open_.changes, tuple(map(parse_edit, texts)))
    return _rerun_branch(replace(open_, start=start, undone_changes=()), changes)


def undo_last_change(open_: OpenRecordings) -> OpenRecordings:
    """Undo the edits that were made together last; raises NoRecordingError without any."""
    if not open_.changes:
        raise NoRecordingError("no edit to undo")
    # The whole branch runs again from the original, since an edit has no inverse.
    undone = (*open_.undone_changes, open_.changes[-1])
    return _rerun_branch(replace(open_, undone_changes=undone), open_.changes[:-1])


def undo_all_edits(open_: OpenRecordings) -> OpenRecordings:
    """Undo all edits, the last one first."""
    if not open_.changes:
        return open_
    return _rerun_branch(replace(open_, undone_changes=(*open_.undone_changes, *reversed(open_.changes))), ())


def redo_change(open_: OpenRecordings) -> OpenRecordings:
    """Make the edits again that were undone last; raises NoRecordingError without any."""
    if not open_.undone_changes:
        raise NoRecordingError("no edit to redo")
    *undone, change = open_.undone_changes
    return _rerun_branch(replace(open_, undone_changes=tuple(undone)), (*open_.changes, change))


def _rerun_branch(open_: OpenRecordings, changes: tuple[EditsTogether, ...]) -> OpenRecordings:
    """Show the branch that these edits make, replayed from the original; without edits show the original."""
    open_ = replace(open_, changes=changes, cycle=open_.start, comparison=None)
    if not changes:
        return replace(open_, branch=(), side=ORIGINAL)
    base = open_.original[open_.start - 1]
    branch = replay_like(edited_snapshot(base.snapshot, open_.edits), base)
    return replace(open_, branch=(branch,), side=BRANCH)


def with_comparison(open_: OpenRecordings) -> OpenRecordings:
    """Add the comparison of the shown cycle; raises NoRecordingError if a side does not have the cycle."""
    from vcdebug.comparison.cycles import compare_cycles

    return open_ if open_.comparison is not None else replace(open_, comparison=compare_cycles(*open_.both_sides()))


def divergence_seq(before: OpenRecordings, after: OpenRecordings) -> Seq:
    """The first event that differs between the shown recordings; one after the last event if none differs."""
    from vcdebug.comparison.cycles import find_divergence

    comparison = after.comparison if after.comparison is not None else before.comparison
    if comparison is not None and _compares_both(
        found_in=after, one=before.shown_recording, other=after.shown_recording
    ):
        divergence = comparison.divergence
    else:
        divergence = find_divergence(before.shown_recording, after.shown_recording)
    side = None if divergence is None else divergence.before or divergence.after
    return len(after.shown_recording) + 1 if side is None else side.seq


def _compares_both(*, found_in: OpenRecordings, one: Recording, other: Recording) -> bool:
    """Whether the comparison of the shown cycle is of exactly these two recordings."""
    pair = found_in.both_sides() if found_in.branch else ()
    # By identity: comparing two recordings event by event is the work that this check saves.
    return any(one is side for side in pair) and any(other is side for side in pair)


EditsTogether = tuple[Edit, ...]
"""The edits of one command or fix."""
RecordingSide = Literal["original", "branch"]
ORIGINAL: Final[RecordingSide] = "original"
BRANCH: Final[RecordingSide] = "branch"


class NoRecordingError(VcdebugError):
    """Raised for a cycle, branch or edit that does not exist."""


class OpenRecordings(Struct, frozen=True):
    """The original cycles, the branch that edits make, and which recording is shown. Cycles count from 1."""

    original: tuple[Recording, ...]
    branch: tuple[Recording, ...] = ()
    """The branch's cycles from `start` on, the edited one first; empty without edits."""
    start: int = 1
    """The cycle that the edits are about."""
    changes: tuple[EditsTogether, ...] = ()
    """The edits in force, in order; those made together are undone together."""
    undone_changes: tuple[EditsTogether, ...] = ()
    """Edits that redo would bring back, the next ones last."""
    side: RecordingSide = ORIGINAL
    cycle: int = 1
    comparison: CycleComparison | None = None
    """The comparison of the shown cycle of both sides; None until it is computed."""

    @property
    def shown_recording(self) -> Recording:
        return self.cycles_of(self.side)[self.cycle - 1]

    @property
    def cycle_count(self) -> int:
        """How many cycles the shown side has."""
        return len(self.cycles_of(self.side))

    @property
    def other_side(self) -> RecordingSide:
        """The side that is not shown."""
        return ORIGINAL if self.side == BRANCH else BRANCH

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits in force, in order."""
        return tuple(chain.from_iterable(self.changes))

    @property
    def edit_texts(self) -> tuple[str, ...]:
        """The edits in force as they are written."""
        return tuple(edit.text for edit in self.edits)

    def cycles_of(self, side: RecordingSide) -> tuple[Recording, ...]:
        """All cycles of one side; those before the edited cycle are the original's."""
        return self.original if side == ORIGINAL else (*self.original[: self.start - 1], *self.branch)

    def both_sides(self) -> tuple[Recording, Recording]:
        """The shown cycle of the original and of the branch; raises NoRecordingError if one is missing."""
        if not self.branch:
            raise NoRecordingError("there are no edits to compare with", "set EDIT makes one, on the screen w")
        recordings_by_side = self.original, self.cycles_of(BRANCH)
        for side, recordings in zip((ORIGINAL, BRANCH), recordings_by_side, strict=True):
            if len(recordings) < self.cycle:
                raise NoRecordingError(f"the {side} has no cycle {self.cycle}", f"{side}, then advance")
        return recordings_by_side[0][self.cycle - 1], recordings_by_side[1][self.cycle - 1]

    def show_cycle(self, side: RecordingSide, cycle: int) -> OpenRecordings:
        """Show another cycle or side; raises NoRecordingError if it does not exist."""
        if side == BRANCH and not self.branch:
            raise NoRecordingError("no branch yet", "set EDIT makes one")
        last_cycle = len(self.cycles_of(side))
        if not 1 <= cycle <= last_cycle:
            available_cycles = "there is only cycle 1" if last_cycle == 1 else f"there are cycles 1 to {last_cycle}"
            raise NoRecordingError(f"cycle {cycle} does not exist", f"{available_cycles}; advance runs the next one")
        return replace(self, side=side, cycle=cycle, comparison=self.comparison if cycle == self.cycle else None)
