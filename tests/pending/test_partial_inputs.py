"""No answer about a part of a cluster says what the whole cluster would contradict."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod_group, pods, queue, snapshot_from_objects
from tests.cli.transcripts import call
from tests.recorded import BLOCKED, cases, recorded_path, user_questions
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.snapshot.sources import find_bundled, list_bundled

JOB = "research/llm-finetune"
Objects = list[dict[str, Any]]  # Any: manifests
CONTRADICTED = re.compile(
    r"does not exist|no such queue|is not admitted|overcommit allows|fits no node|no node (fits|has|provides)|"
    r"[Cc]reate (queue|PodGroup)|add a node|has what it needs"
)
"""Statements that are false for the whole snapshot, which has the Queue, the PodGroup and nodes, and admits the job."""
DESCRIBED_POD = """\
Name:             llm-finetune-worker-0
Namespace:        research
Priority:         100000
Node:             <none>
Annotations:      scheduling.k8s.io/group-name: llm-finetune
                  volcano.sh/task-spec: worker
Status:           Pending
Containers:
  worker:
    Image:      trainer:1
    Requests:
      cpu:             16
      nvidia.com/gpu:  4
Conditions:
  Type           Status
  PodScheduled   False
Events:
  Type     Reason            Age   From     Message
  ----     ------            ----  ----     -------
  Warning  FailedScheduling  3m    volcano  0/6 nodes are unavailable: 6 Insufficient nvidia.com/gpu.
"""
DESCRIBED_GROUP = """\
Name:         llm-finetune
Namespace:    research
Labels:       <none>
API Version:  scheduling.volcano.sh/v1beta1
Kind:         PodGroup
Metadata:
  Creation Timestamp:  2026-11-01T09:00:00Z
Spec:
  Min Member:  2
  Min Resources:
    Cpu:             32
    nvidia.com/gpu:  8
  Queue:  research
Status:
  Conditions:
    Message:  2/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable.
    Type:     Unschedulable
  Phase:      Inqueue
Events:
  Type     Reason         Age  From     Message
  Warning  Unschedulable  3m   volcano  2/2 tasks in gang unschedulable
"""
LOG = "I1101 09:30:00.000100       1 allocate.go:43] Enter Allocate ...\n"


def whole() -> tuple[Objects, str]:
    """All objects and the configuration of the bundled snapshot."""
    folder = find_bundled(BLOCKED)
    assert folder is not None
    texts = [path.read_text() for path in sorted(folder.glob("*.yaml"))]
    return [each for text in texts for each in yaml.safe_load_all(text) if each], (
        folder / "scheduler.conf"
    ).read_text()


def put(folder: Path, objects: Iterable[dict[str, Any]], conf: str = "") -> str:
    (folder / "all.yaml").write_text(yaml.safe_dump_all(list(objects)))
    if conf:
        (folder / "scheduler.conf").write_text(conf)
    return str(folder)


def lone(kind: str) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        objects, _ = whole()
        return put(
            folder, [one for one in objects if one["kind"] == kind and "llm-finetune" in one["metadata"]["name"]]
        )

    return make


def without(kind: str) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        objects, conf = whole()
        return put(folder, [one for one in objects if one["kind"] != kind], conf)

    return make


def one_namespace(folder: Path) -> str:
    return put(folder, [one for one in whole()[0] if one["metadata"].get("namespace") == "research"])


def described(text: str) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        (folder / "describe.txt").write_text(text)
        return str(folder / "describe.txt")

    return make


INCOMPLETE = {
    "a lone PodGroup": (lone("PodGroup"), ("Node", "Queue", "Pod")),
    "a lone pod": (lone("Pod"), ("Node", "Queue", "PodGroup")),
    "describe of a pod": (described(DESCRIBED_POD), ("Node", "Queue", "PodGroup")),
    "describe of a PodGroup": (described(DESCRIBED_GROUP), ("Node", "Queue", "Pod")),
    "one namespace": (one_namespace, ("Node", "Queue")),
    "no queues": (without("Queue"), ("Queue",)),
    "no nodes": (without("Node"), ("Node",)),
    "no PodGroups": (without("PodGroup"), ("PodGroup",)),
}


@pytest.mark.parametrize("name", INCOMPLETE)
@pytest.mark.parametrize("more", [(), ("--prove",), ("--verbose",)])
def test_a_part_is_said_to_be_one_with_the_command_that_supplies_the_rest(
    name: str, more: tuple[str, ...], tmp_path: Path
) -> None:
    make, kinds = INCOMPLETE[name]
    source = make(tmp_path)
    code, out, _ = call(["explain", source, "llm-finetune", *more])
    first = out.splitlines()[0]
    assert code == 2
    assert first.startswith(f"{JOB} cannot be explained: the snapshot has no ")
    assert "`kubectl get " in out
    assert all(f"no {kind}" in first for kind in kinds if kind != "Queue" or "PodGroup" not in kinds)
    assert CONTRADICTED.search(out) is None
    assert not re.search(r"same outcome|random choices|--release", out)
    assert json.loads(call(["explain", source, "llm-finetune", "--json"])[1])["cause"] == "capture-incomplete"


@pytest.mark.parametrize("name", INCOMPLETE)
def test_inspect_of_a_part_says_what_is_missing(name: str, tmp_path: Path) -> None:
    code, out, _ = call(["inspect", INCOMPLETE[name][0](tmp_path)])
    assert code == 2
    assert "no cause can be determined for a job: add the output of `kubectl get " in out


QUESTIONS = (
    ("refused", "llm-finetune-worker-1"), ("node", "platform/feature-etl-mapper-0"), ("holders", "queue/research"),
    ("when", "llm-finetune"), ("next", ""), ("evicted", "llm-finetune-worker-1"), ("victim", "llm-finetune-worker-1"),
)  # fmt: skip


@pytest.mark.parametrize("name", INCOMPLETE)
def test_no_question_about_a_part_is_answered_from_what_is_missing(name: str, tmp_path: Path) -> None:
    source = INCOMPLETE[name][0](tmp_path)
    for question, subject in QUESTIONS:
        code, out, _ = call(["ask", question, source, *filter(None, [subject])])
        assert code == 2, question
        assert "annot be answered: the snapshot has no " in out, question
        assert "`kubectl get " in out, question


@pytest.mark.parametrize("name", INCOMPLETE)
def test_the_table_of_a_part_counts_no_jobs_and_says_of_no_pod_that_it_has_no_job(name: str, tmp_path: Path) -> None:
    code, out, _ = call(["explain", INCOMPLETE[name][0](tmp_path)])
    assert code == 2
    assert "capture-incomplete: the snapshot has no " in out.splitlines()[0]
    assert "not scheduled" not in out
    assert "belongs to no Volcano job" not in out


def test_a_question_names_the_configuration_that_is_assumed(tmp_path: Path) -> None:
    code, out, _ = call(["ask", "refused", put(tmp_path, whole()[0]), "llm-finetune-worker-1"])
    assert code == 0
    assert "Caution: this answer can be wrong: the snapshot has no scheduler configuration" in out


def test_without_a_configuration_the_answer_names_the_one_that_is_assumed(tmp_path: Path) -> None:
    out = call(["explain", put(tmp_path, whole()[0]), "llm-finetune"])[1]
    assert "the snapshot has no scheduler configuration" in out
    assert "actions enqueue, allocate, backfill): add the output of `kubectl get configmaps " in out


@pytest.mark.parametrize("case", ["3990-elastic-job-keeps-its-gpus", "3510-capacity-without-reclaim-action"])
def test_a_first_line_that_blames_the_actions_says_that_they_are_assumed(case: str) -> None:
    part = load_snapshot(recorded_path(f"threads/{case}"))
    part.scheduler_conf = None
    recording = replay_cycle(part)
    sentences = [explain_by_name(recording, job).sentence for job in recording.session.jobs]
    blamed = [sentence for sentence in sentences if "is not in" in sentence]
    assert blamed
    assert all("is not in the assumed actions" in sentence for sentence in blamed)


def test_the_name_of_an_owner_is_enough() -> None:
    by_owner = call(["explain", BLOCKED, "llm-finetune", "--json"])[1]
    assert by_owner == call(["explain", BLOCKED, JOB, "--json"])[1]


def test_a_release_that_is_not_replayed_is_named_in_the_answer(tmp_path: Path) -> None:
    objects, conf = whole()
    source = put(tmp_path, objects, conf)
    (tmp_path / "meta.json").write_text(json.dumps({"scheduler": {"release": "v1.8.2"}, "now": "2026-11-01T09:30:00Z"}))
    out = call(["explain", source, JOB])[1]
    assert "v1.8.2" in out
    assert "v1.10" in out


def test_a_log_is_sent_to_the_command_that_reads_logs(tmp_path: Path) -> None:
    (tmp_path / "scheduler.log").write_text(LOG)
    code, _, err = call(["explain", str(tmp_path / "scheduler.log"), JOB])
    assert code == 1
    assert "vcdebug check LOG SNAPSHOT" in err


def test_events_alone_are_said_to_be_no_snapshot(tmp_path: Path) -> None:
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "research"}, "reason": "x"}
    code, _, err = call(["explain", put(tmp_path, [event]), JOB])
    assert code == 1
    assert "a snapshot needs nodes, queues, PodGroups and pods" in err


@pytest.mark.parametrize(
    ("kind", "api"),
    [
        ("Deployment", "apps/v1"),
        ("RayCluster", "ray.io/v1"),
        ("Job", "batch.volcano.sh/v1alpha1"),
        ("Event", "v1"),
        ("CronJob", "batch/v1"),
        ("ConfigMap", "v1"),
    ],
)
def test_objects_without_a_cluster_are_named_with_the_command_that_prints_one(
    kind: str, api: str, tmp_path: Path
) -> None:
    owner = {"apiVersion": api, "kind": kind, "metadata": {"name": "fresh", "namespace": "research"}, "spec": {}}
    for words in (["explain"], ["ask", "refused"], ["inspect"]):
        code, _, err = call([*words, put(tmp_path, [owner]), *(["fresh"] if words != ["inspect"] else [])])
        assert code == 1
        assert f"contains only kinds that the scheduler does not read: {kind};" in err
        assert "`kubectl get nodes,queues.scheduling.volcano.sh,podgroups.scheduling.volcano.sh,pods -A -o json`" in err


@pytest.mark.parametrize("question", ["refused", "node", "evicted", "victim"])
def test_a_question_about_an_owner_without_pods_sends_to_explain(question: str, tmp_path: Path) -> None:
    objects, conf = whole()
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "fresh", "namespace": "research"}}
    code, _, err = call(["ask", question, put(tmp_path, [*objects, owner | {"spec": {}}], conf), "fresh"])
    assert code == 1
    assert "fresh: is a job; it has no pods here; `vcdebug explain` says why" in err


def test_a_described_object_is_read_as_far_as_it_is_printed(tmp_path: Path) -> None:
    from vcdebug.snapshot.file_forms import described_objects

    group, pod = described_objects(f"{DESCRIBED_GROUP}\n\n{DESCRIBED_POD}")
    assert group["spec"] == {"minMember": 2, "minResources": {"cpu": 32, "nvidia.com/gpu": 8}, "queue": "research"}
    assert group["status"] == {"phase": "Inqueue"}
    assert pod["metadata"]["annotations"] == {
        "scheduling.k8s.io/group-name": "llm-finetune",
        "volcano.sh/task-spec": "worker",
    }
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "16", "nvidia.com/gpu": "4"}
    assert pod["spec"]["priority"] == 100000
    assert "nodeName" not in pod["spec"]


KINDS = ("Pod", "Node", "Queue", "PodGroup", "PriorityClass", "PersistentVolumeClaim", "HyperNode", "Job")
"""Kinds of which a part of a cluster may have no objects."""
CLUSTERS = [*user_questions(), *cases("causes"), *(one.path for one in list_bundled())]


@pytest.mark.parametrize("folder", random.Random(33).sample(CLUSTERS, 20), ids=lambda folder: folder.name)
def test_no_first_line_about_a_part_is_more_certain_than_the_whole(folder: Path) -> None:
    full = replay_cycle(load_snapshot(folder))
    answers = {job: explain_by_name(full, job).cause_code for job in full.session.jobs}
    for kind in (*KINDS, "configuration"):
        part = load_snapshot(folder)
        if kind == "configuration":
            part.scheduler_conf = None
        elif part.objects.pop(kind, None) is None:
            continue
        recording = replay_cycle(part)
        for job, cause in answers.items():
            found = explain_by_name(recording, job)
            is_same = found.cause_code == cause or "has no Pending pods" in found.sentence
            is_named = (
                "in this snapshot" in found.sentence or "the snapshot has no" in f"{found.sentence} {found.doubt}"
            )
            assert is_same or is_named, (kind, found.sentence)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("threads/2622-which-victim-first", "PriorityClass"),
        ("threads/5189-tier-name-of-a-subgroup", "HyperNode"),
    ],
)
def test_a_first_line_says_that_a_kind_which_the_job_names_is_missing(name: str, kind: str) -> None:
    folder = recorded_path(name)
    part = load_snapshot(folder)
    del part.objects[kind]
    job = json.loads((folder / "question.json").read_text())["job"]
    found = explain_by_name(replay_cycle(part), job)
    assert f"(may change: the snapshot has no {kind}): " in found.sentence
    assert f"`kubectl get {KIND_BY_NAME[kind].kubectl_resource} -A -o json`" in found.doubt


ACTIONS = "enqueue, allocate"
RESERVED = [
    queue("q", capability={"cpu": "8", "nvidia.com/gpu": "8"}),
    pod_group("a", queue="q", min_resources={"nvidia.com/gpu": "9"}),
    *pods("a", 1, requests={"nvidia.com/gpu": "9"}),
]


def explained_by(release: str, *objects: Manifest | list[Manifest]) -> Explanation:
    """The answer about default/j in a cluster of this release with plugin capacity."""
    conf = conf_of("gang", "predicates capacity", actions=ACTIONS)
    snapshot = cluster(node("n1", cpu="8", gpu="8"), *objects, conf=conf)
    snapshot.flags = replace(snapshot.flags, release=resolve_release(release).release)
    return explain_by_name(replay_cycle(snapshot), "default/j")


def answer_by(release: str, *objects: Manifest | list[Manifest]) -> str:
    """The first line of that answer."""
    return explained_by(release, *objects).sentence


def job_of_queue(**spec: Any) -> list[Manifest]:
    return [pod_group("j", queue="q", phase="Pending", min_resources={"cpu": "1"}), *pods("j", 1, cpu="1", **spec)]


@pytest.mark.parametrize("release", ["v1.9.0", "v1.8.2"])
def test_a_resource_that_an_older_release_compares_too_is_named_first(release: str) -> None:
    found = explained_by(release, RESERVED, job_of_queue())
    reason = "it compares all resources, and 9 nvidia.com/gpu exceed the capability 8 of queue q"
    assert found.sentence == f"default/j may not be admitted by {release}: {reason}."
    assert found.advice_texts[:2] == (
        f"Upgrade Volcano {release} to v1.10.0 or later.",
        "Wait for or delete default/a.",
    )


@pytest.mark.parametrize(
    ("release", "objects"),
    [
        ("v1.10.2", RESERVED),
        ("v1.15.1", RESERVED),
        ("v1.9.0", [queue("q", capability={"cpu": "8", "nvidia.com/gpu": "8"})]),
        ("v1.9.0", [queue("q"), pod_group("a", min_resources={"nvidia.com/gpu": "9"}), *RESERVED[2:]]),
    ],
)
def test_no_rule_of_an_older_release_is_named_where_it_decides_nothing(release: str, objects: list[Manifest]) -> None:
    first = answer_by(release, objects, job_of_queue())
    assert "1.9" not in first
    assert "may not" not in first


def test_a_first_line_about_an_older_release_names_the_rule_that_it_lacks() -> None:
    gated = job_of_queue(schedulingGates=[{"name": "x/y"}])
    expected = "default/j is Pending (v1.9.1 does not read scheduling gates): "
    assert answer_by("v1.9.1", queue("q"), gated).startswith(expected)
    part = [pod_group("j", queue="q"), *pods("j", 1, cpu="9"), *pods("j", 1, cpu="1", prefix="k")]
    assert "(v1.9.1 ends a job at its first pod that fits no node): k-0" in answer_by("v1.9.1", queue("q"), part)


@pytest.mark.parametrize("group", ["scheduling.incubator.k8s.io/v1alpha1", "scheduling.sigs.dev/v1alpha2", ""])
def test_objects_of_an_api_group_that_no_scheduler_reads_any_more_make_an_answer_doubtful(group: str) -> None:
    made = pod_group("j")
    made["apiVersion"] = group or "scheduling.volcano.sh/v1beta1"
    objects = [node("n1"), queue(), made, *pods("j", 1)]
    text = conf_of("gang", "predicates", actions="enqueue, allocate")
    found = explain_by_name(replay_cycle(snapshot_from_objects(objects, conf=text)), "default/j")
    assert found.scheduled
    assert bool(group) is (f"is of API {group}, which no supported release reads" in found.doubt)
