"""Edits and further cycles in scripts: text and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import BLOCKED, run, steps
from tests.cli.transcripts import call

GANG_OFF = "conf:plugins.gang.enablePreemptable=false"


def places(found: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(step["shown"]["side"], step["shown"]["cycle"], step["seq"]) for step in found]


def test_an_edit_is_made_undone_and_redone(tmp_path: Path) -> None:
    found = steps(tmp_path, "goto 120", f"set {GANG_OFF}", "undo", "redo", "original", "branch")
    assert [
        ("original", 1, 120),
        ("branch", 1, 103),
        ("original", 1, 120),
        ("branch", 1, 103),
        ("original", 1, 120),
        ("branch", 1, 103),
    ] == places(found)
    assert [[], [GANG_OFF], [], [GANG_OFF], [GANG_OFF], [GANG_OFF]] == [step["shown"]["edits"] for step in found]


def test_short_forms_are_the_same_edits(tmp_path: Path) -> None:
    lines = (
        "set queue research weight=4",
        "set node gpu-a100-01 unschedulable=true",
        "set podgroup llm-finetune minMember=1",
    )
    assert [
        "Queue/research:spec.weight=4",
        "Node/gpu-a100-01:spec.unschedulable=true",
        "PodGroup/llm-finetune:spec.minMember=1",
    ] == steps(tmp_path, *lines)[-1]["shown"]["edits"]


def test_a_forced_answer_checks_its_hook_and_plugin(tmp_path: Path) -> None:
    (_, step) = steps(tmp_path, "goto 103", "force none")
    assert ["answer:103.Preemptable.gang=none"] == step["shown"]["edits"]
    assert ([], 103) == (step["event"]["result"], step["seq"])


def test_a_second_forced_answer_counts_in_the_branch(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, "goto 103", "force none", "x", "goto 104", "force none")
    assert 1 == code
    assert "answers are forced in the branch; x shows it" in err


def test_the_comparison_is_that_of_diff(tmp_path: Path) -> None:
    step = steps(tmp_path, f"set {GANG_OFF}", "diff")[-1]
    alone = json.loads(call(["diff", BLOCKED, "--set", GANG_OFF, "--json"])[1])
    names = ("jobs", "tasks", "queues", "firstDifference", "firstOperation", "summary", "edits")
    assert {name: alone[name] for name in names} == {name: step["comparison"][name] for name in names}
    assert any("first difference" in line for line in step["table"])


def test_cycles_are_run_and_reached_by_number(tmp_path: Path) -> None:
    found = steps(tmp_path, "goto 5", "advance 2", "goto 2:40", "-", "cycle 1", "}", "{", "cycle")
    assert [
        ("original", 1, 5),
        ("original", 3, 1),
        ("original", 2, 40),
        ("original", 3, 1),
        ("original", 1, 5),
        ("original", 2, 40),
        ("original", 1, 5),
        ("original", 1, 5),
    ] == places(found)
    assert "cycle 3 repeats cycle 2" in found[1]["text"]
    assert any("repeats cycle 2" in line for line in found[-1]["table"])


def test_edits_are_written_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "my.edits"
    lines = (
        f"set {GANG_OFF}",
        "set queue research weight=4",
        f"edits save {file}",
        "edits clear",
        f"edits load {file}",
    )
    found = steps(tmp_path, *lines)
    assert [2, 0, 2] == [len(step["shown"]["edits"]) for step in found[2:]]
    assert [GANG_OFF, "Queue/research:spec.weight=4"] == file.read_text().splitlines()[1:]


def test_text_says_what_changed(tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, f"set {GANG_OFF}", "edits", "diff")
    assert 0 == code
    assert "3 jobs, 4 pods changed; the first difference is event 103" in out
    assert f"--set {GANG_OFF}" in out
    assert "tier 1 gang" in out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("set", "set needs an argument; set KIND/"),
        ("set Queue/nope:spec.weight=1", "Queue nope not found"),
        ("set job/research/llm-finetune:spec.minAvailable=1", "PodGroup research/llm-finetune is in the snapshot"),
        ("ask", "no question is named; questions: evicted"),
        ("force yes", "event 7 is not a plugin call"),
        ("undo", "no edit to undo"),
        ("redo", "no edit to redo"),
        ("branch", "no branch yet"),
        ("diff", "there are no edits to compare with"),
        ("edits dance", "edits cannot 'dance'"),
        ("edits save x", "there are no edits to save"),
        ("edits load /nowhere/x", "no such file"),
        ("advance 0", "does not say how far"),
        ("advance far", "is not a number of cycles"),
        ("advance 1 -3", "does not say how far"),
        ("cycle 2", "there is only cycle 1"),
        ("cycle x", "'x' is not a cycle"),
        ("{", "this is the first cycle"),
        ("goto 2:5", "there is only cycle 1"),
        ("goto 1:9999", "event 9999 does not exist in cycle 1"),
    ],
)
def test_impossible_commands_are_one_line(line: str, says: str, tmp_path: Path) -> None:
    code, _, err = run(tmp_path, "goto 7", line)
    assert (1, 1) == (code, err.count("\n"))
    assert says in err
