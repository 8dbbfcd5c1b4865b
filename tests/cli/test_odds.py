"""`odds` on the command line: text, JSON and exit codes."""

from __future__ import annotations

import json

import pytest

from tests.cli.runs import Interrupts
from tests.cli.transcripts import call
from vcdebug.cli import worker_processes as base
from vcdebug.errors import EngineError
from vcdebug.whatif.odds import CycleDraw, SeedDraws

NAME = "reclaim-across-queues"


def test_odds_are_the_same_with_several_worker_processes() -> None:
    one = call(["odds", NAME, "-n", "6", "--workers", "1", "--json"])
    assert one == call(["odds", NAME, "-n", "6", "-j", "2", "--json"])
    document = json.loads(one[1])
    assert (2, 6, 6) == (one[0], document["draws"], document["wanted"])
    assert all(0 <= job["placed"] <= 6 for job in document["jobs"])


def test_people_read_how_often_each_job_is_placed_and_what_matters_first() -> None:
    code, out, err = call(["odds", NAME, "-n", "4", "--workers", "1"])
    assert (2, "") == (code, err)
    assert out.startswith(f"{NAME}: 4 random runs, ")
    assert "first difference from the run with fixed choices" in out
    assert "first random choice that changes the result: map iteration order (before event 59)" in out


def test_a_draw_that_fails_is_named_and_the_others_count(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SeedDraws.__call__

    def sometimes(self: SeedDraws, seed: int) -> CycleDraw:
        if seed == 2:
            raise EngineError("no such row", where="event 7")
        return made(self, seed)

    monkeypatch.setattr(SeedDraws, "__call__", sometimes)
    code, out, err = call(["odds", NAME, "-n", "3", "-j", "1"])
    assert (1, "vcdebug: run 2: event 7: no such row\n") == (code, err)
    assert out.startswith(f"{NAME}: only 2 of 3 random runs completed, ")


def test_ctrl_c_reports_what_was_drawn_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    gather = base.gather_answers
    monkeypatch.setattr(
        base, "gather_answers", lambda where, function, _, done: gather(where, function, Interrupts(after=3), done)
    )
    code, out, err = call(["odds", NAME, "-n", "40", "-j", "1"])
    assert (130, "vcdebug: interrupted: 3 of 40 random runs completed\n") == (code, err)
    assert out.startswith(f"{NAME}: only 3 of 40 random runs completed, ")


def test_the_number_of_draws_must_be_positive() -> None:
    code, out, err = call(["odds", NAME, "-n", "0"])
    assert (1, "") == (code, out)
    assert "not a positive number" in err


def test_workers_and_a_scheduler_cannot_both_be_asked_for() -> None:
    code, _, err = call(["odds", NAME, "-j", "2", "--dask", "tcp://127.0.0.1:1"])
    assert 1 == code
    assert "not allowed with argument" in err
