"""`diff`, and `--set` wherever it is taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.transcripts import NAMES, call

BLOCKED, WORKS = "preempt-blocked-by-gang", "preempt-works"
GANG_OFF = "conf:plugins.gang.enablePreemptable=false"
JOB = "research/llm-finetune"


def error_line(arguments: list[str]) -> str:
    code, out, err = call(arguments)
    assert (1, "", 1) == (code, out, err.count("\n"))
    return err.removeprefix("vcdebug: ").rstrip("\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_is_the_same_as_itself(name: str) -> None:
    code, out, _ = call(["diff", name, name, "--json"])
    document = json.loads(out)
    assert (0, True) == (code, document["same"])
    assert (None, None) == (document["firstDifference"], document["firstOperation"])
    assert [] == document["jobs"] + document["tasks"] + document["queues"]


def test_an_edit_of_the_configuration_shows_the_votes_on_both_sides() -> None:
    code, out, _ = call(["diff", BLOCKED, "--set", GANG_OFF, "--json"])
    document = json.loads(out)
    assert (2, False) == (code, document["same"])
    changed = {entry["job"]: (entry["before"]["outcome"], entry["after"]["outcome"]) for entry in document["jobs"]}
    assert ("pending", "pipelined") == changed[JOB]
    first = document["firstDifference"]
    states = [{seat["plugin"]: seat["state"] for seat in first[side]["votes"]}["gang"] for side in ("before", "after")]
    assert ["answered", "switched off"] == states
    deed = document["firstOperation"]
    assert ["evict", "evict"] == [deed[side]["event"]["op"] for side in ("before", "after")]


def test_people_read_the_changed_decisions_first() -> None:
    _, out, _ = call(["diff", BLOCKED, "--set", GANG_OFF])
    lines = out.splitlines()
    assert "different: 3 jobs, 4 pods" in lines
    assert [title for title in lines if title in ("jobs", "pods", "first difference")] == [
        "jobs",
        "pods",
        "first difference",
    ]
    assert any("gang" in line and "switched off" in line for line in lines)


def test_other_votes_with_the_same_outcome_are_the_same_decisions() -> None:
    code, out, _ = call(["diff", WORKS, "--set", "conf:plugins.conformance-"])
    assert 0 == code
    assert "the same decisions" in out


def test_two_snapshots_and_an_edited_one_may_be_compared() -> None:
    assert 2 == call(["diff", BLOCKED, WORKS])[0]
    assert 2 == call(["diff", BLOCKED, BLOCKED, "--set", GANG_OFF])[0]


def test_the_second_run_may_have_another_configuration(tmp_path: Path) -> None:
    conf = tmp_path / "other.conf"
    conf.write_text('actions: "enqueue"\ntiers:\n- plugins:\n  - name: gang\n')
    code, out, _ = call(["diff", WORKS, "--conf", str(conf)])
    assert 2 == code
    assert f"with {conf}" in out


def test_edits_of_run_and_explain_act() -> None:
    assert 2 == call(["explain", BLOCKED, JOB])[0]
    assert 0 == call(["explain", BLOCKED, JOB, "--set", GANG_OFF])[0]
    _, out, _ = call(["run", BLOCKED, "--set", "Node/gpu-a100-01:-", "--json"])
    assert "gpu-a100-01" not in json.dumps(json.loads(out)["evicted"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["diff", BLOCKED], "nothing to compare with"),
        (["diff", BLOCKED, "--set", "Node/nope:-"], "there is no Node nope"),
        (["diff", BLOCKED, "--set", "conf:actions=dance"], "failed to find Action dance"),
        (["diff", BLOCKED, "--set", "conf:plugins.gang.enabledPreemptable=false"], "did you mean enablePreemptable?"),
        (["run", BLOCKED, "--set", "x"], "at character 2 of: x"),
        (["explain", BLOCKED, JOB, "--set", "flag:x=1"], "no flag x"),
        (["diff", BLOCKED, "--conf", "missing.conf"], "missing.conf: No such file"),
    ],
)
def test_a_wrong_edit_is_one_line(arguments: list[str], says: str) -> None:
    assert says in error_line(arguments)
