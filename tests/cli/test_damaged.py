"""Every command on every damaged snapshot gives an answer or one clear error, within a time limit."""

from pathlib import Path

import pytest

from tests.cli.once import one_snapshot, share_fix_searches
from tests.cli.transcripts import call
from tests.effort import at_most
from tests.own_faults import own_faults_in
from tests.snapshot.damage import Damaged, damaged

CASES = damaged()
COMMANDS = (("run",), ("inspect",), ("run", "--json"))
SECONDS = 20.0
"""Limit of processor time for all commands on one snapshot, in seconds."""


def check(code: int, out: str, err: str) -> None:
    assert code in (0, 1, 2)
    assert [] == own_faults_in(out + err)
    if code == 1:
        assert "" == out
        assert 1 == err.count("\n")
        assert len(err) < 1500
    else:
        assert out


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name[:60])
def test_every_command_answers_or_gives_one_line(
    case: Damaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_snapshot(monkeypatch)
    share_fix_searches(monkeypatch)
    path = str(case.write(tmp_path))
    with at_most(SECONDS):
        for command, *options in COMMANDS:
            check(*call([command, path, *options]))
        for subject in ("train", "ml/train", "train-0", "nobody"):
            check(*call(["explain", path, subject]))
