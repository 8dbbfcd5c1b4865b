"""A replay that stops at a limit: partial results, one line on stderr, exit status 1."""

from __future__ import annotations

import json

import pytest

from tests.cli.transcripts import call
from vcdebug.framework import replay_options

WORKS = "preempt-works"


def test_run_shows_the_incomplete_cycle_and_the_limit() -> None:
    code, out, err = call(["run", WORKS, "--max-events", "30"])
    assert 1 == code
    assert "stopped at the limit of 30 events; the cycle is incomplete" in out
    assert 1 == err.count("\n")
    assert "the replay stopped at its bound of 30 events: after event 3" in err
    assert "give more room with --max-events and --max-memory" in err


def test_run_as_json_says_where_it_was_cut() -> None:
    code, out, _ = call(["run", WORKS, "--json", "--max-events", "30"])
    assert (1, "30 events") == (code, json.loads(out)["cut"])
    code, out, _ = call(["run", WORKS, "--json"])
    assert (0, False) == (code, "cut" in json.loads(out))


def test_the_trace_of_a_cut_replay_ends_with_the_cut() -> None:
    code, out, _ = call(["run", WORKS, "--trace", "-", "--max-events", "30"])
    last = json.loads(out.splitlines()[-1])
    assert (1, "cut", "30 events") == (code, last["ev"], last["bound"])


@pytest.mark.usefixtures("own_replays")
def test_limits_that_are_not_reached_change_nothing() -> None:
    arguments = ["run", WORKS, "--trace", "-"]
    assert call(arguments) == call([*arguments, "--max-events", "1000000", "--max-memory", "1"])


@pytest.mark.parametrize("option", ["--max-events", "--max-memory"])
def test_a_bound_is_a_positive_number(option: str) -> None:
    code, _, err = call(["run", WORKS, option, "0"])
    assert 1 == code
    assert "'0' is not a positive number" in err


@pytest.mark.usefixtures("own_replays")
@pytest.mark.parametrize(
    "arguments", [["explain", WORKS, "assistants/chat-api"], ["diff", WORKS, WORKS], ["odds", WORKS]]
)
def test_other_commands_answer_from_a_whole_recording_only(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_options.SizeBound.__init__, "__defaults__", (30, 8_000))
    code, out, err = call(arguments)
    assert (1, "") == (code, out)
    assert "the replay stopped at its bound of 30 events" in err
