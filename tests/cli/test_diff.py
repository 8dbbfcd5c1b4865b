"""`diff`, and `--set` in every command that has it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.transcripts import NAMES, call
from tests.recorded import ROOT

BLOCKED, WORKS = "preempt-blocked-by-gang", "preempt-works"
GANG_OFF = "conf:plugins.gang.enablePreemptable=false"
JOB = "research/llm-finetune"
MIXED = ROOT / "tests" / "golden" / "random" / "mixed-0000"


def error_line(arguments: list[str]) -> str:
    code, out, err = call(arguments)
    assert (1, "", 1) == (code, out, err.count("\n"))
    return err.removeprefix("vcdebug: ").rstrip("\n")


@pytest.mark.usefixtures("own_replays")
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
    states = [{vote["plugin"]: vote["state"] for vote in first[side]["votes"]}["gang"] for side in ("before", "after")]
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


def test_run_and_explain_apply_edits() -> None:
    assert 2 == call(["explain", BLOCKED, JOB])[0]
    assert 0 == call(["explain", BLOCKED, JOB, "--set", GANG_OFF])[0]
    _, out, _ = call(["run", BLOCKED, "--set", "Node/gpu-a100-01:-", "--json"])
    assert "gpu-a100-01" not in json.dumps(json.loads(out)["evicted"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["diff", BLOCKED], "nothing to compare with"),
        (["diff", BLOCKED, "--set", "Node/nope:-"], "Node nope not found"),
        (["diff", BLOCKED, "--set", "conf:actions=dance"], "failed to find Action dance"),
        (["diff", BLOCKED, "--set", "conf:plugins.gang.enabledPreemptable=false"], "did you mean enablePreemptable?"),
        (["run", BLOCKED, "--set", "x"], "at character 2 of: x"),
        (["explain", BLOCKED, JOB, "--set", "flag:x=1"], "unknown flag x"),
        (["diff", BLOCKED, "--conf", "missing.conf"], "missing.conf: no such file"),
    ],
)
def test_a_wrong_edit_is_one_line(arguments: list[str], says: str) -> None:
    assert says in error_line(arguments)


def test_diff_by_release_names_the_deciding_changes() -> None:
    code, out, err = call(["diff", str(MIXED), "--release", "v1.15.1"])
    assert (2, "") == (code, err)
    assert f"before  {MIXED} under master of 2026-08-20" in out
    assert f"after   {MIXED} under v1.15.1" in out
    _, _, parted = out.partition("upstream changes between master of 2026-08-20 and v1.15.1\n")
    assert "together explain the decisions of v1.15.1; all are needed" in parted
    row = next(line for line in parted.splitlines() if line.startswith("  balanced-allocation-absolute  "))
    assert "#5287" in row
    assert "v1.15.1: The balanced score is the resulting balance of the node" in row


def test_programs_read_the_changes_too_and_may_switch_one_of_them() -> None:
    document = json.loads(call(["diff", str(MIXED), "--release", "v1.15.1", "--json"])[1])
    upgrade = document["upgrade"]
    assert (False, False) == (document["same"], upgrade["same"])
    assert ["podgroup-phase-releasing", "balanced-allocation-absolute"] == upgrade["deciding"]
    balanced = next(one for one in upgrade["changes"] if one["id"] == "balanced-allocation-absolute")
    assert ("H", "#5287", True) == (balanced["weight"], balanced["pullRequest"], balanced["alone"]["decides"])
    others = ",".join(f"-{name}" for name in upgrade["deciding"])
    assert 0 == call(["diff", str(MIXED), "--release", f"v1.15.1,{others}"])[0]


def test_diff_of_a_release_with_itself_is_empty() -> None:
    code, out, _ = call(["diff", WORKS, "--release", "master"])
    assert 0 == code
    assert "the recordings are identical (0 changes" in out


def test_a_folder_of_snapshots_is_searched_in_worker_processes(tmp_path: Path) -> None:
    for name in ("mixed-0000", "numa-0000"):
        shutil.copytree(MIXED.parent / name, tmp_path / name)
    one = call(["diff", str(tmp_path), "--release", "v1.15.1", "--json", "-j", "1"])
    assert one == call(["diff", str(tmp_path), "--release", "v1.15.1", "--json", "-j", "2"])
    document = json.loads(one[1])
    names = [entry["snapshot"] for entry in document["snapshots"]]
    assert (2, ["mixed-0000", "numa-0000"]) == (one[0], names)
    totals = {entry["id"]: (entry["decides"], entry["shows"]) for entry in document["changes"]}
    assert ((1, 1), (1, 1)) == (totals["podgroup-phase-releasing"], totals["balanced-allocation-absolute"])


def test_people_read_a_row_per_snapshot_and_a_total_per_change(tmp_path: Path) -> None:
    shutil.copytree(MIXED, tmp_path / "a")
    shutil.copytree(ROOT / "fixtures" / "pending-scheduling-gate", tmp_path / "b")
    (tmp_path / "broken.zip").write_bytes(b"PK")
    code, out, err = call(["diff", str(tmp_path), "--release", "v1.15.1", "-j", "1"])
    assert (1, 1) == (code, err.count("broken.zip"))
    assert "podgroup-phase-releasing, balanced-allocation-absolute" in out
    assert "only 2 of 3 snapshots: 1 decides with v1.15.1" in out


def test_a_release_with_another_change_of_the_input_is_compared_without_a_search() -> None:
    _, out, _ = call(["diff", BLOCKED, "--release", "v1.15.1", "--set", GANG_OFF, "--json"])
    assert "upgrade" not in json.loads(out)


def test_diff_refuses_invalid_releases_and_replays_unknown_ones_as_the_nearest() -> None:
    assert error_line(["diff", WORKS, "--release", "nonsense"]).startswith(
        "--release: nonsense is not a Volcano release"
    )
    _, out, err = call(["diff", WORKS, "--release", "v1.15.1-acme.3"])
    assert "v1.15.1-acme.3 is a vendor build: replayed as v1.15.1" in err
    assert f"after   {WORKS} under v1.15.1" in out
