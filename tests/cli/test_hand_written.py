"""Hand-written manifests: the problems that are reported, and --complete."""

import io
import sys
from pathlib import Path

import pytest

from tests.cli.transcripts import call
from tests.recorded import recorded_path

HAND_WRITTEN = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {capacity: {cpu: 4, memory: 8Gi, pods: 110}}}
- {apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: pg}, spec: {minMember: 1}}
- apiVersion: v1
  kind: Pod
  metadata: {name: p-0, annotations: {scheduling.k8s.io/group-name: pg}}
  spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: 1}}}]}
"""


@pytest.fixture
def manifests(tmp_path: Path) -> str:
    path = tmp_path / "manifests.yaml"
    path.write_text(HAND_WRITTEN)
    return str(path)


def test_hand_written_manifests_are_completed_and_inspect_says_so(manifests: str) -> None:
    code, out, err = call(["inspect", manifests])
    assert (2, "") == (code, err)
    assert "2 objects lack server-set fields" in out
    assert "they were completed" in out


def test_two_pods_without_uid_stay_two_and_a_job_that_waits_is_not_called_scheduled(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    second = HAND_WRITTEN[HAND_WRITTEN.index("- apiVersion: v1\n  kind: Pod") :].replace("p-0", "p-1")
    path.write_text((HAND_WRITTEN + second).replace("minMember: 1", "minMember: 2").replace("{cpu: 1}", "{cpu: 3}"))
    code, out, _ = call(["explain", str(path), "default/pg"])
    assert 2 == code
    assert "found room for 1 of the 2 pods it needs at once" in out


def test_complete_false_in_meta_json_leaves_manifests_unchanged(tmp_path: Path) -> None:
    (tmp_path / "manifests.yaml").write_text(HAND_WRITTEN)
    (tmp_path / "meta.json").write_text('{"complete": false}')
    assert "use --complete" in call(["inspect", str(tmp_path)])[1]


def test_explain_says_that_the_input_has_problems(manifests: str) -> None:
    completed = (
        '2 objects lack server-set fields (uid, phase, namespace); they were completed; "complete": false '
        "in meta.json disables this"
    )
    conf = "volcano-scheduler.conf: not in the snapshot; the built-in configuration is used"
    lines = call(["explain", manifests, "pg"])[1].splitlines()
    assert [f"Input problem: {completed}", f"Input problem: {conf}"] == lines[-3:-1]


def test_explain_counts_three_problems_of_the_input(manifests: str) -> None:
    path = Path(manifests)
    path.write_text(HAND_WRITTEN.replace("minMember: 1", "minMember: 1, queue: absent"))
    lines = call(["explain", manifests, "pg"])[1].splitlines()
    assert ["3 input problems (list: vcdebug inspect)"] == [line for line in lines if "nput problem" in line]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", "FILE"], 0),
        (["explain", "FILE", "default/pg"], 0),
        (["diff", "FILE", "--set", "Pod/default/p-0:spec.priority=7"], 0),
        (["odds", "FILE", "-n", "1"], 0),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_every_command_completes_them(arguments: list[str], code: int, manifests: str) -> None:
    done, _, err = call([*(manifests if word == "FILE" else word for word in arguments), "--complete"])
    assert (code, "") == (done, err)


def test_a_completed_snapshot_lacks_nothing_but_a_configuration(manifests: str) -> None:
    out = call(["inspect", manifests, "--complete"])[1]
    assert "input problems: 1\n  volcano-scheduler.conf: not in the snapshot" in out


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_standard_input_is_completed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(HAND_WRITTEN.encode()))
    code, out, _ = call(["run", "-", "--complete"])
    assert 0 == code
    assert "default/p-0" in out


def test_a_bare_job_of_volcano_is_no_snapshot_and_the_error_says_what_is(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, namespace: default}\n")
    code, _, err = call(["run", str(path)])
    assert 1 == code
    assert "contains only kinds that the scheduler does not read: Job" in err
    assert "vcdebug submit" in err


def test_explain_does_not_repeat_as_a_problem_what_its_line_about_the_release_says(tmp_path: Path) -> None:
    (tmp_path / "manifests.yaml").write_text(HAND_WRITTEN)
    (tmp_path / "meta.json").write_text('{"scheduler": {"release": "v1.9.0"}}')
    out = call(["explain", str(tmp_path), "pg"])[1]
    assert "Release v1.9.0, replayed as v1.10.0" in out
    assert "v1.9.0 is not supported" not in out
    assert "v1.9.0 is not supported" in call(["inspect", str(tmp_path)])[1]


def test_explain_does_not_repeat_as_a_problem_a_switch_that_a_fact_says_is_ignored() -> None:
    snapshot = str(recorded_path("causes/switch-misspelt"))
    out = call(["explain", snapshot, "ml/fraud-model"])[1]
    assert "enabledPreemptable is ignored: unknown switch (did you mean enablePreemptable?)." in out
    assert "Input problem" not in out
    assert "enabledPreemptable: unknown switch" in call(["inspect", snapshot])[1]
