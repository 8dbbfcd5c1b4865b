"""Edits over a recording, undone and redone."""

from __future__ import annotations

import pytest

from tests.recorded import bundled
from vcdebug.debugger.what_if import WhatIf
from vcdebug.snapshot.edit_path import EditError
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay

GANG_OFF = "conf:plugins.gang.enablePreemptable=false"
WEIGHT = "Queue/research:spec.weight=5"


class Counting:
    """Runs cycles and counts them."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, snapshot: Snapshot) -> Recording:
        self.runs += 1
        return replay(snapshot)


def test_without_edits_the_branch_is_the_base() -> None:
    what_if = WhatIf(bundled())
    assert what_if.base is what_if.branch()
    assert what_if.comparison().same


def test_an_edit_makes_a_branch_and_leaves_the_base() -> None:
    base = bundled()
    conf = base.snapshot.scheduler_conf
    what_if = WhatIf(base)
    what_if.edit(GANG_OFF)
    assert not what_if.comparison().same
    assert base is what_if.base
    assert conf == base.snapshot.scheduler_conf
    assert what_if.snapshot is what_if.branch().snapshot


def test_undo_and_redo_go_through_the_same_states() -> None:
    what_if = WhatIf(bundled())
    states = [what_if.snapshot]
    for text in (WEIGHT, GANG_OFF):
        what_if.edit(text)
        states.append(what_if.snapshot)
    assert [GANG_OFF, WEIGHT] == [edit.text for edit in (what_if.undo(), what_if.undo()) if edit]
    assert what_if.undo() is None
    assert states[0] is what_if.snapshot
    assert [WEIGHT, GANG_OFF] == [edit.text for edit in (what_if.redo(), what_if.redo()) if edit]
    assert what_if.redo() is None
    assert states[2] == what_if.snapshot


def test_a_new_edit_forgets_what_was_undone() -> None:
    what_if = WhatIf(bundled())
    what_if.edit(WEIGHT)
    what_if.undo()
    what_if.edit(GANG_OFF)
    assert ((), None) == (what_if.undone, what_if.redo())
    assert [GANG_OFF] == [edit.text for edit in what_if.edits]


@pytest.mark.parametrize("text", ["Queue/nope:spec.weight=1", "conf:actions=dance", "nonsense"])
def test_an_edit_that_cannot_be_made_changes_nothing(text: str) -> None:
    what_if = WhatIf(bundled())
    what_if.edit(WEIGHT)
    what_if.undo()
    with pytest.raises(EditError):
        what_if.edit(text)
    assert ((), [WEIGHT]) == (what_if.edits, [edit.text for edit in what_if.undone])
    assert what_if.base.snapshot is what_if.snapshot


def test_a_branch_is_run_once_and_only_when_it_is_asked_for() -> None:
    run = Counting()
    what_if = WhatIf(bundled(), run)
    what_if.edit(WEIGHT)
    assert 0 == run.runs
    assert what_if.branch() is what_if.branch()
    assert 1 == run.runs
