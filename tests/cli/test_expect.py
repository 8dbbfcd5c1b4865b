"""`expect`: a file's expectations of snapshots, compared with the outcomes of their cycles."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.transcripts import call
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.sources import resolve_snapshot_path

WORKS = "preempt-works"
BLOCKED = "preempt-blocked-by-gang"


def written(folder: Path, text: str) -> str:
    file = folder / "expect.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


MET = f"""
- snapshot: {BLOCKED}
  jobs:
    research/llm-finetune: {{placed: false, cause: [gang-discard, gang], pods: 0, nodes: 0}}
  pods:
    research/resnet-sweep-worker-2: {{evicted: false}}
  evictions: 0
  waiting: 1
- snapshot: {BLOCKED}
  name: with half the GPUs
  set: ["PodGroup/research/llm-finetune:spec.minMember=1"]
  jobs:
    research/llm-finetune: {{placed: true, pods: 1, nodes: [gpu-a100-01]}}
"""


def test_expectations_that_come_true_exit_with_0(tmp_path: Path) -> None:
    code, out, err = call(["expect", written(tmp_path, MET)])
    assert (0, "") == (code, err)
    lines = [
        f"✓ {BLOCKED}: 7 of 7 checks passed",
        "✓ with half the GPUs: 3 of 3 checks passed",
        "2 expectations, 0 failed",
    ]
    release = "  Release unknown, replayed by the latest rules (master of 2026-08-20)."
    assert [*lines, release] == out.splitlines()


def test_expectations_of_two_releases_name_both(tmp_path: Path) -> None:
    save_snapshot(load_snapshot(resolve_snapshot_path(WORKS), release="v1.14.4"), tmp_path / "older")
    text = f"- {{snapshot: older, name: old, waiting: 0}}\n- {{snapshot: {WORKS}, name: new, waiting: 0}}"
    _, out, _ = call(["expect", written(tmp_path, text)])
    unknown = "  New: release unknown, replayed by the latest rules (master of 2026-08-20)."
    assert ["  Old: release v1.14.4 (replayed exactly).", unknown] == out.splitlines()[-2:]


def test_a_difference_is_shown_and_exits_with_2(tmp_path: Path) -> None:
    code, out, _ = call(["expect", written(tmp_path, MET.replace("pods: 1", "pods: 2"))])
    assert 2 == code
    assert "✗ with half the GPUs: 2 of 3 checks passed" in out
    assert ["job", "research/llm-finetune", "pods", "2", "1"] == out.splitlines()[-3].split()


def test_expect_with_json_lists_every_check(tmp_path: Path) -> None:
    code, out, _ = call(["expect", "--json", written(tmp_path, f"- {{snapshot: {WORKS}, evictions: 9}}")])
    found = json.loads(out)
    check = {"about": "cycle", "field": "evictions", "expected": 9, "actual": 2, "met": False}
    assert (2, False, [check]) == (code, found["met"], found["expectations"][0]["checks"])


def test_junit_counts_failures_and_errors(tmp_path: Path) -> None:
    target = tmp_path / "junit.xml"
    text = f"- {{snapshot: {WORKS}, evictions: 9, waiting: 0}}\n- {{snapshot: {WORKS}, conf: absent.conf, waiting: 0}}"
    code, _, _ = call(["expect", written(tmp_path, text), "--junit", str(target)])
    suites = ET.parse(target).getroot().findall("testsuite")
    assert (1, [("2", "1", "0"), ("1", "0", "1")]) == (
        code,
        [(one.get("tests", ""), one.get("failures", ""), one.get("errors", "")) for one in suites],
    )
    failure = suites[0].find("testcase/failure")
    assert failure is not None
    assert "expected 9, got 2" == failure.get("message")


def test_a_folder_of_snapshots_is_checked_one_by_one(tmp_path: Path) -> None:
    for name, target in ((WORKS, "monday"), (BLOCKED, "tuesday")):
        source = resolve_snapshot_path(name)
        shutil.copytree(source, tmp_path / "week" / target)
    code, out, _ = call(["expect", written(tmp_path, "- {snapshot: week, waiting: 0}")])
    assert (2, ["✓ week: monday: 1 of 1 check passed", "✗ week: tuesday: 0 of 1 check passed"]) == (
        code,
        [line for line in out.splitlines() if line[0] in "✓✗"],
    )


def test_a_snapshot_that_is_not_there_does_not_hide_the_others(tmp_path: Path) -> None:
    text = f"- {{snapshot: nowhere, waiting: 0}}\n- {{snapshot: {WORKS}, waiting: 0}}"
    code, out, _ = call(["expect", written(tmp_path, text)])
    assert (1, True, True) == (code, "nowhere: no such file or folder" in out, "✓ preempt-works" in out)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "is not a list of expectations"),
        ("- {waiting: 0}", "[0]: missing field snapshot"),
        (f"- {{snapshot: {WORKS}}}", "[0]: expects nothing"),
        (f"- {{snapshot: {WORKS}, wating: 0}}", "unknown field wating; did you mean waiting?"),
        (f"- {{snapshot: {WORKS}, waiting: many}}", "waiting is 'many'; write a whole number"),
        (f"- {{snapshot: {WORKS}, jobs: {{a/b: {{placed: 1}}}}}}", "jobs.a/b: placed is 1; write true or false"),
        ("a: [", "not YAML"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    code, out, err = call(["expect", written(tmp_path, text)])
    assert (1, "", 1) == (code, out, len(err.splitlines()))
    assert said in err


def test_an_expectation_of_an_unknown_job_or_pod_is_not_met(tmp_path: Path) -> None:
    text = f"- {{snapshot: {WORKS}, jobs: {{a/b: {{placed: true}}}}, pods: {{zzz: {{evicted: false}}}}}}"
    code, out, _ = call(["expect", written(tmp_path, text)])
    assert 2 == code
    assert "no such job" in out
    assert "no such pod in the session" in out
