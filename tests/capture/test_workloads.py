"""Volcano Jobs, JobFlows and events: captured for answers, not required for a replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.capture.fake_server import FakeApi, resource_of
from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.capture.listing import MAX_SELECTED
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.job_names import job_names
from vcdebug.snapshot.kinds import KIND_BY_NAME, WORKLOAD_KINDS
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.manifest import owner_names
from vcdebug.snapshot.redaction import make_redaction
from vcdebug.snapshot.reported_events import MAX_EVENTS, events_about_pending
from vcdebug.snapshot.saved_files import save_snapshot

JOBS, FLOWS, EVENTS = (KIND_BY_NAME[kind].api_path for kind in ("Job", "JobFlow", "Event"))
QUOTA = 'pods "nightly-0" is forbidden: exceeded quota: team-quota'
Body = dict[str, Any]


def named(name: str, **more: Any) -> Body:
    return {"metadata": {"name": name, "namespace": "team-a", "uid": f"uid-{name}", **more}}


def owned_by(kind: str, name: str) -> Body:
    return {"ownerReferences": [{"apiVersion": "x/v1", "kind": kind, "name": name, "uid": f"uid-{name}"}]}


def event(number: int, kind: str, name: str, message: str, component: str = "vc-controller-manager") -> Body:
    time = f"2026-11-07T09:{number // 60:02}:{number % 60:02}Z"
    about = {"kind": kind, "namespace": "team-a", "name": name, "uid": f"uid-{name}"}
    said = {"type": "Warning", "reason": "FailedCreate", "message": message, "source": {"component": component}}
    return {**named(f"event-{number}"), "involvedObject": about, "lastTimestamp": time, **said}


@pytest.fixture
def busy(api: FakeApi) -> FakeApi:
    """A server with two Volcano Jobs of JobFlows, and events about Pending and running pods."""
    api.objects[JOBS]["items"] += [
        {**named("nightly", **owned_by("JobFlow", "flow")), "status": {"state": {"phase": "Pending"}}},
        {**named("old", **owned_by("JobFlow", "flow-2")), "status": {"state": {"phase": "Completed"}}},
    ]
    api.objects[FLOWS]["items"] += [named("flow"), named("flow-2")]
    api.objects[EVENTS]["items"] += [
        *(event(number, "Job", "nightly", f"{number}: {QUOTA}") for number in range(5)),
        event(7, "Pod", "waiting-0", "0/3 nodes are unavailable", "volcano"),
        event(8, "Pod", "train-0", "runs, so nothing is said about it"),
    ]
    return api


def test_workloads_and_events_of_pending_objects_are_captured(busy: FakeApi, options: CaptureOptions) -> None:
    found = capture_cluster(options)
    assert [2, 2] == [len(found.objects_of(kind)) for kind in ("Job", "JobFlow")]
    about = [one["involvedObject"]["name"] for one in found.objects_of("Event")]
    assert ["nightly"] * MAX_EVENTS + ["waiting-0"] == sorted(about)[: MAX_EVENTS + 1]
    assert "4: " in found.objects_of("Event")[0]["message"], "the latest one comes first"
    selectors = {request.query["fieldSelector"] for request in busy.asked(EVENTS)}
    others = "involvedObject.kind!=Pod,involvedObject.kind!=Node,type=Warning"
    assert {"involvedObject.kind=Pod,type=Warning", others} == selectors
    assert found.provenance is not None
    assert found.provenance.consistent


def test_a_job_is_explained_before_its_podgroup_exists(busy: FakeApi, options: CaptureOptions) -> None:
    recording = replay_cycle(capture_cluster(options))
    for name in ("team-a/nightly", "nightly", "flow"):
        found = explain_by_name(recording, name)
        assert found.sentence.startswith("job team-a/nightly is Pending: its controller has made no PodGroup for it")
        (said,) = [fact for fact in found.dominant.facts if "FailedCreate" in fact]
        assert said.startswith("vc-controller-manager reported 29m ago about Job nightly: FailedCreate")
    assert explain_by_name(recording, "old").scheduled
    waiting = explain_by_name(recording, "team-a/waiting-0")
    assert not any("reported" in fact for fact in waiting.dominant.facts), "the replay tells what the scheduler says"


@pytest.mark.parametrize(("kind", "kept"), [("StatefulSet", True), ("RayCluster", True), ("Ingress", False)])
def test_events_about_controllers_of_pods_are_captured(kind: str, kept: bool) -> None:
    name = "web" if kind == "StatefulSet" else "gateway"
    objects = {"StatefulSet": [named("web")], "Event": [event(1, kind, name, QUOTA)]}
    assert kept is bool(events_about_pending(objects))


def test_cluster_without_workload_kinds_has_no_missing_kinds(api: FakeApi, options: CaptureOptions) -> None:
    for path in (JOBS, FLOWS, EVENTS):
        del api.objects[path]
    found = capture_cluster(options)
    assert [] == found.problems
    assert found.provenance is not None
    assert () == found.provenance.missing


def test_missing_right_to_workloads_is_one_problem_without_effect(busy: FakeApi, options: CaptureOptions) -> None:
    busy.forbidden = {"events", "jobs.batch.volcano.sh"}
    found = capture_cluster(options)
    lines = [problem.format_line() for problem in found.problems]
    assert 2 == len(lines)
    assert "answers lack what other components report about Pending pods" in " ".join(lines)
    assert "the replay may be wrong" not in " ".join(lines)
    assert found.provenance is not None
    assert () == found.provenance.missing


def test_versions_of_a_separate_event_store_leave_a_capture_consistent(busy: FakeApi, options: CaptureOptions) -> None:
    busy.objects[EVENTS]["metadata"] = {"resourceVersion": "7"}
    found = capture_cluster(options)
    assert found.provenance is not None
    assert (True, "7" in found.provenance.resource_versions.values()) == (found.provenance.consistent, False)


def test_a_flood_of_events_is_cut(busy: FakeApi, options: CaptureOptions) -> None:
    busy.objects[EVENTS]["items"] = [event(number % 3600, "Pod", "gone", "x") for number in range(3 * MAX_SELECTED)]
    capture_cluster(options)
    assert 2 * MAX_SELECTED / busy.largest_page == len(busy.asked(EVENTS)), "the same number for each of two lists"


def test_captured_workloads_are_redacted_and_saved(busy: FakeApi, options: CaptureOptions, tmp_path: Path) -> None:
    redaction = make_redaction(capture_cluster(options))
    text = json.dumps(redaction.snapshot.objects)
    assert not [word for word in ("nightly", "team-quota", "flow-2", "team-a") if word in text]
    save_snapshot(redaction.snapshot, tmp_path / "copy.tar.gz")
    again = load_snapshot(tmp_path / "copy.tar.gz")
    name = redaction.mapping["Job"]["nightly"]
    found = explain_by_name(replay_cycle(again), name)
    assert "its controller has made no PodGroup" in found.sentence
    assert any("reported" in fact for fact in found.dominant.facts)


SPARK = next(kind for kind in WORKLOAD_KINDS if kind.name == "SparkApplication")


@pytest.fixture
def with_spark(api: FakeApi) -> FakeApi:
    """A server of the Spark operator, with an application that names its queue; no other operator is installed."""
    spec = {"batchSchedulerOptions": {"queue": "research"}, "driver": {}, "executor": {"instances": 3}}
    lists = {"kind": "SparkApplicationList", "metadata": {"resourceVersion": "90"}, "items": []}
    api.objects[SPARK.api_path] = lists | {"items": [{**named("pi", **owned_by("Workflow", "flow")), "spec": spec}]}
    api.groups[SPARK.group] = [SPARK.version]
    return api


def test_operators_objects_are_captured_as_facts_where_the_server_serves_them(
    with_spark: FakeApi, options: CaptureOptions, tmp_path: Path
) -> None:
    found = capture_cluster(options)
    facts = found.workloads["team-a/SparkApplication pi"]
    assert ("research", {"driver": 1, "executor": 3}, ("flow",)) == (facts.queue, facts.replicas, facts.owners)
    assert [] == found.problems
    asked = [request.path for request in with_spark.requests]
    assert [SPARK.api_path] == [path for path in asked for kind in WORKLOAD_KINDS if path.startswith(kind.api_path)]
    save_snapshot(found, tmp_path / "saved")
    assert found.workloads == load_snapshot(tmp_path / "saved").workloads


def test_the_run_of_a_cron_job_is_named_by_the_cron_job(api: FakeApi, options: CaptureOptions) -> None:
    api.objects["/apis/batch/v1/jobs"] = {
        "kind": "JobList",
        "metadata": {"resourceVersion": "90"},
        "items": [named("backup-29261220", **owned_by("CronJob", "backup")), named("once")],
    }
    api.groups["batch"] = ["v1"]
    snapshot = capture_cluster(options)
    group = snapshot.objects_of("PodGroup")[0]
    group["metadata"] |= {"name": "podgroup-5b", **owned_by("Job", "backup-29261220")}
    assert "CronJob team-a/backup" == job_names(snapshot).title_of("team-a/podgroup-5b")
    assert ["team-a/Job backup-29261220"] == list(snapshot.workloads)


def test_operators_objects_that_the_user_may_not_list_are_left_out(
    with_spark: FakeApi, options: CaptureOptions
) -> None:
    with_spark.forbidden.add(resource_of(SPARK.api_path))
    found = capture_cluster(options)
    assert ({}, []) == (found.workloads, found.problems)


def test_a_redacted_capture_names_operators_objects_by_the_pseudonyms_of_their_pods(
    with_spark: FakeApi, options: CaptureOptions
) -> None:
    snapshot = capture_cluster(options)
    snapshot.objects_of("PodGroup")[0]["metadata"] |= owned_by("SparkApplication", "pi")
    redacted = make_redaction(snapshot).snapshot
    (owner,) = owner_names(redacted.objects_of("PodGroup")[0])
    namespace = redacted.objects_of("PodGroup")[0]["metadata"]["namespace"]
    facts = redacted.workloads[f"{namespace}/{owner}"]
    assert facts.queue == redacted.objects_of("PodGroup")[0]["spec"]["queue"]
    assert "pi" not in owner.split()
    assert {} == facts.replicas
