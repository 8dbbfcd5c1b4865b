"""Small inputs for faults that the fuzzer found, one per kind of fault."""

from pathlib import Path

import pytest

from tests.cli.once import share_fix_searches
from tests.cli.transcripts import call
from tests.own_faults import own_faults_in

IMMENSE_REQUEST = """
kind: PodGroup
metadata: {name: batch, namespace: team}
spec: {minMember: 1}
---
kind: Pod
metadata: {name: batch-0, namespace: team, annotations: {scheduling.k8s.io/group-name: batch}}
spec:
  schedulerName: volcano
  containers: [{image: a, resources: {requests: {nvidia.com/gpu: 10000000000000000000}}}]
---
kind: Node
metadata: {name: n1}
status: {allocatable: {memory: 256Gi, nvidia.com/gpu: '4'}}
---
kind: Queue
metadata: {name: default}
"""
PARENT_OF_ITSELF = """
kind: PodGroup
metadata: {name: chat, namespace: default}
spec: {minResources: {nvidia.com/gpu: '4'}, queue: serving}
---
kind: Queue
metadata: {name: default}
spec: {parent: team}
---
kind: Queue
metadata: {name: serving}
spec: {parent: serving}
"""


def conf(plugins: str) -> str:
    return f'actions: "enqueue, allocate, preempt, reclaim, backfill"\ntiers:\n- plugins: [{plugins}]\n'


@pytest.mark.parametrize(
    ("cluster", "plugins", "words", "says"),
    [
        (IMMENSE_REQUEST, "{name: gang}, {name: nodeorder}", ["run"], "team/batch"),
        (IMMENSE_REQUEST, "{name: gang}, {name: nodeorder}", ["run", "--cycles", "2"], "team/batch"),
        (PARENT_OF_ITSELF, "{name: capacity, enableHierarchy: true}", ["explain", "-v"], "default/chat"),
        (
            PARENT_OF_ITSELF,
            "{name: capacity, enableHierarchy: true}",
            ["explain", "default/chat"],
            "cannot be explained: the snapshot has no Node",
        ),
        (IMMENSE_REQUEST, "{name: usage, arguments: {usage.weight: .inf}}", ["inspect", "--json"], '"inf"'),
    ],
    ids=lambda value: value.split()[2] if isinstance(value, str) and "\n" in value else None,
)
def test_the_input_is_answered(cluster: str, plugins: str, words: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(cluster)
    (tmp_path / "scheduler.conf").write_text(conf(plugins))
    command, *options = words
    code, out, err = call([command, str(tmp_path), *options])
    assert code in (0, 2), err
    assert says in out
    assert [] == own_faults_in(out + err)


ACTIONS = 'actions: "enqueue, allocate, preempt"\n'


@pytest.mark.parametrize(
    "text",
    [
        "- null",
        f"{ACTIONS}tiers: [null, {{plugins: [null, {{name: gang, enabledPreemptable: false}}]}}]",
        f"{ACTIONS}tiers: [{{plugins: gang}}]",
        f"{ACTIONS}tiers: [{{plugins: [gang, {{name: predicates}}]}}]",
        f"{ACTIONS}tiers: {{a: b}}",
        "actions: Enqueue, alocate\ntiers: [{plugins: [null]}]\nconfigurations: 5",
    ],
)
def test_fixes_are_proposed_whatever_the_configuration_looks_like(text: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(IMMENSE_REQUEST)
    (tmp_path / "scheduler.conf").write_text(text)
    code, out, err = call(["explain", str(tmp_path), "team/batch"])
    assert (2, "") == (code, err)
    assert "team/batch is Pending" in out


SIMPLE = """
kind: Node
metadata: {name: n1}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "10"}, allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
kind: PodGroup
metadata: {name: batch, namespace: team}
spec: {minMember: 1}
status: {phase: Pending}
---
kind: Pod
metadata: {name: batch-0, namespace: team, annotations: {scheduling.k8s.io/group-name: batch}}
spec: {schedulerName: volcano, containers: [{resources: {requests: {cpu: "8"}}}]}
---
kind: Pod
metadata: {name: alone, namespace: team}
spec: {nodeName: n1, containers: [{resources: {requests: {cpu: "1"}}}]}
---
kind: Queue
metadata: {name: default}
"""
PANICKING = "{name: gang}, {name: resource-strategy-fit, arguments: {resourceStrategyFitWeight: '-1'}}"


def answered(folder: Path, conf_text: str, *words: str, cluster: str = SIMPLE) -> str:
    """Run a command on the cluster, check that it reports no bug of vcdebug, and return stdout and stderr."""
    (folder / "cluster.yaml").write_text(cluster)
    (folder / "scheduler.conf").write_text(conf_text)
    command, *options = words
    _, out, err = call([command, *(str(folder) if word == "SNAPSHOT" else word for word in options)])
    assert [] == own_faults_in(out + err)
    return out + err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("explain", "SNAPSHOT", "team/batch"), "the scheduler panics before it places the job"),
        (("ask", "holders", "SNAPSHOT", "team/batch"), "No pod uses resources that batch-0 needs (8 cpu)."),
    ],
)
def test_questions_are_answered_where_the_process_ends_before_its_plugins_are_open(
    words: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    assert says in answered(tmp_path, conf(PANICKING), *words)


def test_a_configuration_without_an_action_that_places_is_named(tmp_path: Path) -> None:
    only = 'actions: "shuffle, enqueue"\ntiers:\n- plugins: [{name: sla}]\n'
    # Succeeded is not a phase of a PodGroup: enqueue ignores the job, and the close of the session makes it Pending.
    without_pods = SIMPLE.replace("scheduling.k8s.io/group-name: batch", "").replace(
        "phase: Pending", "phase: Succeeded"
    )
    said = answered(tmp_path, only, "explain", "SNAPSHOT", "team/batch", cluster=without_pods)
    assert "no action of the configuration places pods (shuffle, enqueue)" in said


def test_the_page_of_a_pod_without_a_job_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "commands").write_text("pods team/alone")
    folder = tmp_path / "snapshot"
    folder.mkdir()
    said = answered(folder, conf("{name: gang}"), "script", "SNAPSHOT", str(tmp_path / "commands"))
    assert "team/alone belongs to no job, so it has no page; the page of its node lists it" in said


TIMES = ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00")
TIMED = """
kind: Node
metadata: {{name: n1}}
status: {{allocatable: {{cpu: '4', pods: '9'}}, conditions: [{{type: Ready, lastHeartbeatTime: '{clock}'}}]}}
---
kind: Queue
metadata: {{name: default}}
---
kind: PodGroup
metadata: {{name: batch, namespace: team}}
spec: {{minMember: 2}}
---
kind: Pod
metadata: {{name: batch-0, namespace: team, annotations: {{scheduling.k8s.io/group-name: batch}}}}
spec:
  schedulerName: volcano
  nodeName: n1
  activeDeadlineSeconds: {deadline}
  containers: [{{image: a, resources: {{requests: {{cpu: 3}}}}}}]
status: {{phase: Running, startTime: '{start}'}}
---
kind: Pod
metadata: {{name: batch-1, namespace: team, annotations: {{scheduling.k8s.io/group-name: batch}}}}
spec:
  schedulerName: volcano
  containers: [{{image: a, resources: {{requests: {{cpu: 3}}}}}}]
"""


@pytest.mark.parametrize("deadline", [10**18, -(10**18)])
@pytest.mark.parametrize("start", TIMES)
@pytest.mark.parametrize("clock", TIMES)
def test_times_at_the_ends_of_the_calendar_end_no_command(
    clock: str, start: str, deadline: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_fix_searches(monkeypatch)
    path = tmp_path / "cluster.yaml"
    path.write_text(TIMED.format(clock=clock, start=start, deadline=deadline))
    for command, *options in (["run", "--cycles", "3", "--every", "200000h"], ["ask", "batch"], ["explain"]):
        question = ["when"] if command == "ask" else []
        code, out, err = call([command, *question, str(path), *options])
        assert code in (0, 1, 2), err
        assert [] == own_faults_in(out + err)


@pytest.mark.parametrize("name", ["meta.json", "usage.json", "extender.json"])
@pytest.mark.parametrize("text", ["[", "[1, ", "[[], [", '{"kind": "List", "items": [1, ', "5", '"a"', "null", "{"])
def test_a_file_of_settings_that_breaks_off_or_is_no_mapping_is_a_problem(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    said = answered(tmp_path, conf("{name: gang}"), "inspect", "SNAPSHOT", "--complete")
    assert f"{name}: " in said
