"""What if: edits over a recording, undone and redone; the recording itself and the edited branch are both there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from vcdebug.explain.divergence import Comparison, compare
from vcdebug.framework.conf import parse_conf
from vcdebug.snapshot.edit import CONF, Edit, parse_edit
from vcdebug.snapshot.edit_apply import apply_edits
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay

Run = Callable[[Snapshot], Recording]


def edited(snapshot: Snapshot, edits: Iterable[Edit]) -> Snapshot:
    """A snapshot with the edits made; raises EditError, also for a configuration that the scheduler would refuse."""
    for edit in edits:
        before = parse_conf(snapshot.scheduler_conf)
        snapshot = apply_edits(snapshot, [edit], before.text)
        if edit.kind == CONF:
            after = parse_conf(snapshot.scheduler_conf)
            new = [problem for problem in after.problems if problem not in before.problems]
            if new:
                raise edit.error(f"the configuration would be wrong: {new[0].line()}", edit.value_at)
    return snapshot


class WhatIf:
    """A base recording and the branch that a list of edits makes of it."""

    def __init__(self, base: Recording, run: Run = replay) -> None:
        self.base = base
        self._run = run
        self._edits: list[Edit] = []
        self._undone: list[Edit] = []
        self._snapshots: list[Snapshot] = [base.snapshot]
        """The base's, then the one after each edit."""
        self._branches: dict[tuple[str, ...], Recording] = {(): base}

    @property
    def edits(self) -> Sequence[Edit]:
        """The edits in force, in order."""
        return tuple(self._edits)

    @property
    def undone(self) -> Sequence[Edit]:
        """Edits that redo would bring back, the next one last."""
        return tuple(self._undone)

    @property
    def snapshot(self) -> Snapshot:
        """What the branch runs on; cheap, nothing is run."""
        return self._snapshots[-1]

    def edit(self, text: str) -> Edit:
        """Make one edit; what was undone is forgotten. An edit that cannot be made changes nothing."""
        edit = parse_edit(text)
        self._make(edit)
        self._undone.clear()
        return edit

    def undo(self) -> Edit | None:
        """Take the last edit back; None where there is none."""
        if not self._edits:
            return None
        edit = self._edits.pop()
        self._snapshots.pop()
        self._undone.append(edit)
        return edit

    def redo(self) -> Edit | None:
        """Make the edit again that was undone last; None where there is none."""
        if not self._undone:
            return None
        edit = self._undone[-1]
        self._make(edit)
        return self._undone.pop()

    def branch(self) -> Recording:
        """The edited snapshot's cycle, run when it is first asked for; the base without edits."""
        key = tuple(edit.text for edit in self._edits)
        if key not in self._branches:
            self._branches = {(): self.base, key: self._run(self.snapshot)}
        return self._branches[key]

    def comparison(self) -> Comparison:
        """What the edits changed."""
        return compare(self.base, self.branch())

    def _make(self, edit: Edit) -> None:
        self._snapshots.append(edited(self.snapshot, [edit]))
        self._edits.append(edit)
