"""What if: edits make a branch of a recording; the recording itself stays. Nothing here changes what it is given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vcdebug.debugger.recordings import BRANCH, ORIGINAL, NoRecordingError, OpenRecordings
from vcdebug.model.names import Seq
from vcdebug.snapshot.edit import CONF, Edit, parse_edit
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording


def replay_like(snapshot: Snapshot, like: Recording) -> Recording:
    """Execute one cycle, with the extender's webhook if the other recording had it."""
    from vcdebug.trace.replay import replay_cycle

    return replay_cycle(snapshot, ask_extender=like.session.ask_extender, beside=like)


def edited_snapshot(snapshot: Snapshot, edits: Iterable[Edit]) -> Snapshot:
    """A snapshot with the edits made; raises EditError, also for a configuration that the scheduler would refuse."""
    from vcdebug.snapshot.edit_apply import apply_edits

    for edit in edits:
        snapshot = _with_conf(snapshot, edit) if edit.kind == CONF else apply_edits(snapshot, [edit], "")
    return snapshot


def _with_conf(snapshot: Snapshot, edit: Edit) -> Snapshot:
    from vcdebug.snapshot.edit_apply import apply_edits
    from vcdebug.trace.conf import parse_conf

    before = parse_conf(snapshot.scheduler_conf, snapshot.release)
    snapshot = apply_edits(snapshot, [edit], before.text)
    after = parse_conf(snapshot.scheduler_conf, snapshot.release)
    new = [problem for problem in after.problems if problem not in before.problems]
    if new:
        raise edit.make_error(f"the configuration would be wrong: {new[0].format_line()}", edit.value_at)
    return snapshot


def with_edits(open_: OpenRecordings, texts: Iterable[str]) -> OpenRecordings:
    """Further edits of the shown cycle, and the branch that they make; what was undone is forgotten."""
    if open_.edits and open_.cycle != open_.start:
        raise NoRecordingError(
            f"the edits are about cycle {open_.start}, and this is cycle {open_.cycle}",
            f"goto {open_.start}:1 first, or undo them",
        )
    start = open_.start if open_.edits else open_.cycle
    edits = (*open_.edits, *map(parse_edit, texts))
    return _rerun_branch(replace(open_, start=start, undone=()), edits)


def without_last(open_: OpenRecordings) -> OpenRecordings:
    """The last edit undone."""
    if not open_.edits:
        raise NoRecordingError("there is no edit to undo")
    undone = (*open_.undone, open_.edits[-1])
    return _rerun_branch(replace(open_, undone=undone), open_.edits[:-1])


def without_any(open_: OpenRecordings) -> OpenRecordings:
    """All edits undone, the last one first."""
    if not open_.edits:
        return open_
    return _rerun_branch(replace(open_, undone=(*open_.undone, *reversed(open_.edits))), ())


def with_redone(open_: OpenRecordings) -> OpenRecordings:
    """The edit that was undone last made again."""
    if not open_.undone:
        raise NoRecordingError("there is no edit to redo")
    return _rerun_branch(replace(open_, undone=open_.undone[:-1]), (*open_.edits, open_.undone[-1]))


def _rerun_branch(open_: OpenRecordings, edits: tuple[Edit, ...]) -> OpenRecordings:
    """The branch of these edits shown, or the original where there are none."""
    open_ = replace(open_, edits=edits, cycle=open_.start, found=None)
    if not edits:
        return replace(open_, branch=(), side=ORIGINAL)
    base = open_.original[open_.start - 1]
    branch = replay_like(edited_snapshot(base.snapshot, edits), base)
    return replace(open_, branch=(branch,), side=BRANCH)


def with_comparison(open_: OpenRecordings) -> OpenRecordings:
    """What the edits changed in the shown cycle; raises where one side has no such cycle."""
    from vcdebug.compare.cycles import compare_cycles

    return open_ if open_.found is not None else replace(open_, found=compare_cycles(*open_.both_sides()))


def divergence_seq(before: OpenRecordings, after: OpenRecordings) -> Seq:
    """The first event that differs between what is shown before and after; beyond the last one where none does."""
    from vcdebug.compare.first_difference import find_divergence

    found = after.found if after.found is not None else before.found
    if found is not None and _is_about(found_in=after, one=before.shown_recording, other=after.shown_recording):
        divergence = found.divergence
    else:
        divergence = find_divergence(before.shown_recording, after.shown_recording)
    side = None if divergence is None else divergence.before or divergence.after
    return len(after.shown_recording) + 1 if side is None else side.seq


def _is_about(*, found_in: OpenRecordings, one: Recording, other: Recording) -> bool:
    """Whether the comparison of the shown cycle is that of these two recordings."""
    pair = found_in.both_sides() if found_in.branch else ()
    return any(one is side for side in pair) and any(other is side for side in pair)
