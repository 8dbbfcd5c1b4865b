"""`run --cycles`: consecutive cycles, and repetitions among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.transcripts import call

BLOCKED, WORKS = "preempt-blocked-by-gang", "preempt-works"


def test_run_lists_each_cycle_and_names_the_repeated_one() -> None:
    code, out, err = call(["run", BLOCKED, "--cycles", "3"])
    assert (0, "") == (code, err)
    assert "cycle 3 repeats cycle 2: the eviction of research/resnet-sweep-worker-0 planned and rolled back" in out


@pytest.mark.usefixtures("own_replays")
def test_first_cycle_equals_that_of_a_single_run() -> None:
    alone = json.loads(call(["run", WORKS, "--json"])[1])
    cycles = json.loads(call(["run", WORKS, "--cycles", "2", "--json"])[1])["cycles"]
    first = {key: cycles[0][key] for key in alone}
    assert alone | {"seconds": {}} == first | {"seconds": {}}
    assert [1, 2] == [cycle["cycle"] for cycle in cycles]


def test_evicted_pods_are_removed_after_their_grace_period_and_recreated_by_a_controller() -> None:
    options = ["--cycles", "2", "--every", "31", "--json"]
    left = json.loads(call(["run", WORKS, *options])[1])["cycles"]
    back = json.loads(call(["run", WORKS, *options, "--recreate"])[1])["cycles"]
    evicted = {entry["task"] for entry in left[0]["evicted"]}
    assert evicted
    bound = [{entry["task"] for entry in run[1]["bound"]} for run in (left, back)]
    assert [set(), evicted] == [tasks & evicted for tasks in bound]


def test_repeated_cycle_is_in_the_json() -> None:
    found = json.loads(call(["run", BLOCKED, "--cycles", "3", "--json"])[1])["repeat"]
    assert {"cycle": 3, "repeats": 2, "evicted": [], "givenBack": ["research/resnet-sweep-worker-0"]} == found


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--every", "5"], "give --cycles N"),
        (["--recreate"], "give --cycles N"),
        (["--finish", "thirds"], "give --cycles N"),
        (["--cycles", "2", "--trace", "-", "--json"], "cannot both write to standard output"),
        (["--cycles", "2", "--every", "soon"], "is not a duration"),
        (["--cycles", "2", "--every", "0"], "is not a duration"),
    ],
)
def test_invalid_cycle_options_are_one_line(options: list[str], says: str) -> None:
    code, _, err = call(["run", WORKS, *options])
    assert (1, 1) == (code, err.count("\n"))
    assert says in err


def test_forced_answer_is_listed_apart_from_quirks() -> None:
    code, out, _ = call(["run", BLOCKED, "--set", "answer:103.Preemptable.gang=none"])
    assert 0 == code
    assert "forced answers\n  event 103  gang answers none" in out


def test_edits_of_a_file_are_those_of_the_command_line(tmp_path: Path) -> None:
    edit = "conf:plugins.gang.enablePreemptable=false"
    file = tmp_path / "my.edits"
    file.write_text(f"# an edit\n{edit}\n")
    written = json.loads(call(["diff", BLOCKED, "--set", edit, "--json"])[1])
    assert written == json.loads(call(["diff", BLOCKED, "--set", f"@{file}", "--json"])[1])


@pytest.mark.parametrize(("text", "says"), [("nonsense", "line 2"), (None, "no such file")])
def test_a_file_of_edits_that_is_wrong_is_one_line(text: str | None, says: str, tmp_path: Path) -> None:
    file = tmp_path / "my.edits"
    if text is not None:
        file.write_text(f"# a comment\n{text}\n")
    code, _, err = call(["run", BLOCKED, "--set", f"@{file}"])
    assert (1, 1) == (code, err.count("\n"))
    assert says in err
    assert str(file) in err
