"""What if: edits make a branch of a recording; the recording itself stays. Nothing here changes what it is given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vcdebug.debugger.recordings import BRANCH, ORIGINAL, NoRecordingError, Recordings
from vcdebug.model.names import Seq
from vcdebug.snapshot.edit import CONF, Edit, parse_edit
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording


def run_as(snapshot: Snapshot, like: Recording) -> Recording:
    """Execute one cycle, with the extender's webhook if the other recording had it."""
    from vcdebug.trace.replay import replay

    return replay(snapshot, ask_extender=like.session.ask_extender, beside=like)


def edited(snapshot: Snapshot, edits: Iterable[Edit]) -> Snapshot:
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
        raise edit.error(f"the configuration would be wrong: {new[0].line()}", edit.value_at)
    return snapshot


def with_edits(open_: Recordings, texts: Iterable[str]) -> Recordings:
    """Further edits of the shown cycle, and the branch that they make; what was undone is forgotten."""
    if open_.edits and open_.cycle != open_.start:
        raise NoRecordingError(
            f"the edits are about cycle {open_.start}, and this is cycle {open_.cycle}",
            f"goto {open_.start}:1 first, or undo them",
        )
    start = open_.start if open_.edits else open_.cycle
    edits = (*open_.edits, *map(parse_edit, texts))
    return _rerun(replace(open_, start=start, undone=()), edits)


def without_last(open_: Recordings) -> Recordings:
    """The last edit undone."""
    if not open_.edits:
        raise NoRecordingError("there is no edit to undo")
    undone = (*open_.undone, open_.edits[-1])
    return _rerun(replace(open_, undone=undone), open_.edits[:-1])


def without_any(open_: Recordings) -> Recordings:
    """All edits undone, the last one first."""
    if not open_.edits:
        return open_
    return _rerun(replace(open_, undone=(*open_.undone, *reversed(open_.edits))), ())


def with_undone(open_: Recordings) -> Recordings:
    """The edit that was undone last made again."""
    if not open_.undone:
        raise NoRecordingError("there is no edit to redo")
    return _rerun(replace(open_, undone=open_.undone[:-1]), (*open_.edits, open_.undone[-1]))


def _rerun(open_: Recordings, edits: tuple[Edit, ...]) -> Recordings:
    """The branch of these edits shown, or the original where there are none."""
    open_ = replace(open_, edits=edits, cycle=open_.start, found=None)
    if not edits:
        return replace(open_, branch=(), side=ORIGINAL)
    base = open_.original[open_.start - 1]
    branch = run_as(edited(base.snapshot, edits), base)
    return replace(open_, branch=(branch,), side=BRANCH)


def compared(open_: Recordings) -> Recordings:
    """What the edits changed in the shown cycle; raises where one side has no such cycle."""
    from vcdebug.compare.cycles import compare

    return open_ if open_.found is not None else replace(open_, found=compare(*open_.pair()))


def divergence_seq(before: Recordings, after: Recordings) -> Seq:
    """The first event that differs between what is shown before and after; beyond the last one where none does."""
    from vcdebug.compare.first_difference import part

    found = after.found if after.found is not None else before.found
    if found is not None and _is_about(found_in=after, one=before.shown, other=after.shown):
        divergence = found.divergence
    else:
        divergence = part(before.shown, after.shown)
    side = None if divergence is None else divergence.before or divergence.after
    return len(after.shown) + 1 if side is None else side.seq


def _is_about(*, found_in: Recordings, one: Recording, other: Recording) -> bool:
    """Whether the comparison of the shown cycle is that of these two recordings."""
    pair = found_in.pair() if found_in.branch else ()
    return any(one is side for side in pair) and any(other is side for side in pair)
