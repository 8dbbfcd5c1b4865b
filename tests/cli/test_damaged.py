"""Every command on every damaged snapshot: an answer or one clear error, and soon."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.transcripts import call
from tests.effort import at_most
from tests.snapshot.damage import Damaged, damaged
from vcdebug.errors import SnapshotError
from vcdebug.snapshot.load import load
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.snapshot.sources import Source
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay

CASES = damaged()
COMMANDS = (("run",), ("inspect",), ("run", "--json"))
SECONDS = 20.0
"""Of processor time, for all commands on one snapshot."""


def check(code: int, out: str, err: str) -> None:
    assert code in (0, 1, 2)
    assert "Traceback" not in out + err
    assert "fault of vcdebug" not in err
    if code == 1:
        assert "" == out
        assert 1 == err.count("\n")
        assert len(err) < 1500
    else:
        assert out


class LoadedOnce:
    """Loading, whose outcome is given again to the commands that follow: a snapshot or an error."""

    def __init__(self) -> None:
        self.outcome: Snapshot | SnapshotError | None = None

    def __call__(self, where: Source, **options: Any) -> Snapshot:
        if self.outcome is None:
            try:
                self.outcome = load(where, **options)
            except SnapshotError as error:
                self.outcome = error
        if isinstance(self.outcome, SnapshotError):
            raise self.outcome
        return self.outcome


class ReplayedOnce:
    """The cycle of the one snapshot, run once: that it is the same again is shown elsewhere."""

    def __init__(self) -> None:
        self.recording: Recording | None = None

    def __call__(self, snapshot: Snapshot, **options: Any) -> Recording:
        if self.recording is None:
            self.recording = replay(snapshot, **options)
        return self.recording


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name[:60])
def test_every_command_answers_or_gives_one_line(
    case: Damaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vcdebug.cli.snapshots.load", LoadedOnce())
    monkeypatch.setattr("vcdebug.cli.snapshots.replay", ReplayedOnce())
    path = str(case.write(tmp_path))
    with at_most(SECONDS):
        for command, *options in COMMANDS:
            check(*call([command, path, *options]))
        for subject in ("train", "ml/train", "train-0", "nobody"):
            check(*call(["explain", path, subject]))
