from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.capture.fake_server import FakeApi, status
from tests.capture.small_cluster import CONF, CONFIG_MAP, SCHEDULER, config_map, deployment, deployments
from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.errors import CaptureError
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.redaction import redact_snapshot
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.snapshot import SchedulerFlags

ANYWHERE = "/apis/apps/v1/deployments"
CONF_FLAG = "--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf"
OTHER = 'actions: "allocate"\n'


def settings_path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"


def test_the_deployments_flags_are_in_the_snapshot(api: FakeApi, options: CaptureOptions) -> None:
    api.objects[SCHEDULER] = deployments(deployment([CONF_FLAG, "--default-queue=research"]))
    assert "research" == capture_cluster(options).flags.default_queue


def test_the_deployment_may_be_in_another_namespace(api: FakeApi, options: CaptureOptions) -> None:
    api.objects[SCHEDULER] = deployments()
    api.objects[ANYWHERE] = deployments(deployment([CONF_FLAG], namespace="batch"))
    api.objects[settings_path("batch", "volcano-scheduler-configmap")] = config_map(
        "volcano-scheduler-configmap", {"volcano-scheduler.conf": OTHER}
    )
    snapshot = capture_cluster(options)
    assert (OTHER, []) == (snapshot.scheduler_conf, snapshot.problems)


def test_a_sidecar_may_stand_before_the_scheduler(api: FakeApi, options: CaptureOptions) -> None:
    found = deployment([CONF_FLAG, "--default-queue=research"])
    found["spec"]["template"]["spec"]["containers"].insert(0, {"name": "proxy", "args": ["--default-queue=no"]})
    api.objects[SCHEDULER] = deployments(found)
    assert "research" == capture_cluster(options).flags.default_queue


VOLUMES: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "a file of a ConfigMap": (
        "/volcano.scheduler/night.conf",
        {"mountPath": "/volcano.scheduler"},
        {"configMap": {"name": "mine"}},
        "night.conf",
    ),
    "a key under another file name": (
        "/etc/v/conf",
        {"mountPath": "/etc/v/"},
        {"configMap": {"name": "mine", "items": [{"key": "day", "path": "day"}, {"key": "night", "path": "conf"}]}},
        "night",
    ),
    "one file mounted by sub path": (
        "/etc/v.conf",
        {"mountPath": "/etc/v.conf", "subPath": "night.conf"},
        {"configMap": {"name": "mine"}},
        "night.conf",
    ),
    "a projected volume": (
        "/etc/v/night.conf",
        {"mountPath": "/etc/v"},
        {"projected": {"sources": [{"secret": {"name": "s"}}, {"configMap": {"name": "mine"}}]}},
        "night.conf",
    ),
}


@pytest.mark.parametrize("case", VOLUMES)
def test_the_configuration_is_found_through_the_volume(case: str, api: FakeApi, options: CaptureOptions) -> None:
    path, mount, volume, key = VOLUMES[case]
    mounts = [{"name": "root", "mountPath": "/"}, {"name": "conf", **mount}]
    found = deployment(["--scheduler-conf", path], volumeMounts=mounts)
    found["spec"]["template"]["spec"]["volumes"] = [{"name": "root", "emptyDir": {}}, {"name": "conf", **volume}]
    api.objects[SCHEDULER] = deployments(found)
    data = {"day": "no", "day.conf": "no", key: OTHER}
    api.objects[settings_path("volcano-system", "mine")] = config_map("mine", data)
    snapshot = capture_cluster(options)
    assert (OTHER, []) == (snapshot.scheduler_conf, snapshot.problems)


def test_without_a_deployment_the_usual_names_are_tried(api: FakeApi, options: CaptureOptions) -> None:
    del api.objects[SCHEDULER]
    snapshot = capture_cluster(options)
    assert CONF == snapshot.scheduler_conf
    assert SchedulerFlags(server_version=(1, 34)) == snapshot.flags
    assert ["scheduler Deployment"] == [problem.object for problem in snapshot.problems]


def test_a_forbidden_deployment_is_noted(api: FakeApi, options: CaptureOptions) -> None:
    api.forbidden = {"deployments.apps"}
    assert [
        'capture: scheduler Deployment: missing permission "list deployments.apps"; using upstream\'s default flags'
    ] == [problem.format_line() for problem in capture_cluster(options).problems]


def test_a_flag_that_makes_no_sense_is_a_problem_and_a_default(api: FakeApi, options: CaptureOptions) -> None:
    api.objects[SCHEDULER] = deployments(deployment([CONF_FLAG, "--minimum-feasible-nodes=many"]))
    snapshot = capture_cluster(options)
    assert 100 == snapshot.flags.minimum_feasible_nodes
    assert ["Deployment volcano-system/volcano-scheduler: scheduler flag minimum_feasible_nodes"] == [
        problem.format_line().partition(": invalid value 'many'")[0] for problem in snapshot.problems
    ]


def test_schedulers_that_share_a_cluster_are_a_problem(api: FakeApi, options: CaptureOptions) -> None:
    env = [{"name": "MULTI_SCHEDULER_ENABLE", "value": "true"}]
    api.objects[SCHEDULER] = deployments(deployment([CONF_FLAG], env=env))
    assert ["MULTI_SCHEDULER_ENABLE"] == [problem.object for problem in capture_cluster(options).problems]


def test_several_deployments_are_noted(api: FakeApi, options: CaptureOptions) -> None:
    api.objects[SCHEDULER] = deployments(deployment([CONF_FLAG]), deployment([CONF_FLAG], namespace="b"))
    takes = "takes schedulerName volcano"
    assert [f"there are 2: volcano-system/volcano-scheduler {takes}; b/volcano-scheduler {takes}"] == [
        problem.what for problem in capture_cluster(options).problems
    ]


def test_a_configuration_that_is_missing_is_noted(api: FakeApi, options: CaptureOptions) -> None:
    del api.objects[CONFIG_MAP]
    snapshot = capture_cluster(options)
    assert snapshot.scheduler_conf is None
    assert [("ConfigMap volcano-system/volcano-scheduler-configmap", "not found")] == [
        (problem.object, problem.what) for problem in snapshot.problems
    ]


def test_a_forbidden_configuration_is_noted_with_the_permission(api: FakeApi, options: CaptureOptions) -> None:
    api.forbidden = {"configmaps"}
    can_i = "auth can-i get configmaps/volcano-scheduler-configmap --namespace volcano-system"
    assert [f'missing permission: verb "get", resource "configmaps", API group "" (check: kubectl {can_i})'] == [
        problem.what for problem in capture_cluster(options).problems
    ]


def test_the_user_may_name_the_configmap(api: FakeApi, options: CaptureOptions) -> None:
    api.objects[settings_path("batch", "mine")] = config_map("mine", {"mine.conf": OTHER, "README": "no"})
    assert OTHER == capture_cluster(replace(options, scheduler_configmap="batch/mine")).scheduler_conf


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("batch/nope", "ConfigMap batch/nope: not found"),
        ("batch/empty", "ConfigMap batch/empty: has no key volcano-scheduler.conf"),
        ("nope", "--scheduler-configmap takes namespace/name, not 'nope'"),
    ],
)
def test_a_named_configmap_must_be_there(named: str, message: str, api: FakeApi, options: CaptureOptions) -> None:
    api.objects[settings_path("batch", "empty")] = config_map("empty", {})
    with pytest.raises(CaptureError) as caught:
        capture_cluster(replace(options, scheduler_configmap=named))
    assert message == caught.value.message


@pytest.mark.parametrize("broken", [{"spec": 3}, {"spec": {"template": {"spec": {"containers": [{"args": 3}]}}}}, {}])
def test_a_deployment_of_an_odd_shape_is_no_obstacle(
    broken: dict[str, Any], api: FakeApi, options: CaptureOptions
) -> None:
    api.objects[SCHEDULER] = deployments({"metadata": {"namespace": "volcano-system"}} | broken)
    assert CONF == capture_cluster(options).scheduler_conf


DEVICES = "nvidia:\n  resourceCountName: acme.com/gpus\n"
VGPU_CONF = (
    'actions: "allocate"\n'
    "tiers:\n- plugins:\n  - name: deviceshare\n    arguments:\n      deviceshare.VGPUEnable: true\n"
    "      deviceshare.KnownGeometriesCMName: cards\n"
)


def with_devices(api: FakeApi, conf: str) -> str:
    """Add a device configuration to the server; returns its path."""
    api.objects[CONFIG_MAP] = config_map("volcano-scheduler-configmap", {"volcano-scheduler.conf": conf})
    path = settings_path("kube-system", "cards")
    api.objects[path] = config_map("cards", {"device-config.yaml": DEVICES})
    return path


@pytest.mark.parametrize("switch", ["VGPUEnable", "AscendHAMiVNPUEnable"])
def test_the_device_configuration_is_read_and_kept_where_it_is_asked_for(
    api: FakeApi, options: CaptureOptions, tmp_path: Path, switch: str
) -> None:
    path = with_devices(api, VGPU_CONF.replace("VGPUEnable", switch))
    snapshot = capture_cluster(options)
    save_snapshot(snapshot, tmp_path / "s.tar.gz")
    again = load_snapshot(tmp_path / "s.tar.gz")
    assert (DEVICES, DEVICES) == (snapshot.device_config, again.device_config)
    assert redact_snapshot(snapshot).device_config not in (None, DEVICES)
    with_devices(api, CONF)
    assert None is capture_cluster(options).device_config
    assert 1 == len([request for request in api.requests if request.path == path])


def test_a_device_configuration_that_may_not_be_read_is_missing_and_one_that_is_not_there_is_not(
    api: FakeApi, options: CaptureOptions
) -> None:
    path = with_devices(api, VGPU_CONF)
    api.scripted[path] = [status(403, "Forbidden", "no")]
    snapshot = capture_cluster(options)
    assert snapshot.provenance is not None
    assert ("the device configuration",) == snapshot.provenance.missing
    assert ["ConfigMap kube-system/cards"] == [one.object for one in snapshot.problems]
    del api.objects[path]
    assert [] == capture_cluster(options).problems


def test_device_taint_rules_are_kept_and_not_missed_where_no_server_has_them(
    api: FakeApi, options: CaptureOptions
) -> None:
    path = KIND_BY_NAME["DeviceTaintRule"].api_path
    rule = {"metadata": {"name": "broken"}, "spec": {"taint": {"key": "k", "effect": "NoSchedule"}}}
    api.objects[path]["items"] = [rule]
    assert ["broken"] == [one["metadata"]["name"] for one in capture_cluster(options).objects_of("DeviceTaintRule")]
    del api.objects[path]
    snapshot = capture_cluster(options)
    assert snapshot.provenance is not None
    assert ((), []) == (snapshot.provenance.missing, snapshot.problems)


def unlabelled(replicas: int = 1, **container: Any) -> dict[str, Any]:
    """A scheduler's Deployment without labels and with other names, which a capture finds only by --scheduler."""
    found = deployment(["--default-queue=research"], namespace="batch", image="registry.example/ours:7", name="main")
    del found["metadata"]["labels"]
    found["metadata"]["name"] = "ours"
    found["spec"]["replicas"] = replicas
    found["spec"]["template"]["spec"]["containers"][0].update(container)
    return found


@pytest.mark.parametrize("replicas", [1, 0])
def test_a_workload_without_label_is_found_by_its_name(replicas: int, api: FakeApi, options: CaptureOptions) -> None:
    api.objects["/apis/apps/v1/namespaces/batch/deployments"] = deployments(unlabelled(replicas))
    snapshot = capture_cluster(replace(options, scheduler="batch/ours", scheduler_configmap=CONFIG_NAME))
    assert "research" == snapshot.flags.default_queue
    stopped = [one.format_line() for one in snapshot.problems if one.field == "spec.replicas"]
    assert ([] if replicas else [STOPPED]) == stopped
    with pytest.raises(CaptureError, match="scheduler batch/other not found"):
        capture_cluster(replace(options, scheduler="batch/other"))


CONFIG_NAME = "volcano-system/volcano-scheduler-configmap"
STOPPED = (
    "capture: Deployment batch/ours: spec.replicas: is 0: it does not run; the replay shows what it would do, and "
    "nothing comes of it"
)


def test_several_schedulers_are_listed_with_what_each_takes(api: FakeApi, options: CaptureOptions) -> None:
    other = deployment([CONF_FLAG, "--scheduler-name=batch", "--node-selector=pool:gpu"], namespace="batch")
    api.objects[ANYWHERE] = deployments(deployment([CONF_FLAG]), other)
    (problem,) = [one for one in capture_cluster(options).problems if one.object == "schedulers"]
    assert problem.what == (
        "there are 2: volcano-system/volcano-scheduler takes schedulerName volcano; "
        "batch/volcano-scheduler takes schedulerName batch on nodes pool:gpu"
    )


def test_an_agent_scheduler_is_named_and_not_replayed(api: FakeApi, options: CaptureOptions) -> None:
    container = {"name": "agent", "image": "docker.io/volcanosh/vc-agent-scheduler:v1.15.1", "args": [CONF_FLAG]}
    metadata = {"name": "agent-1", "namespace": "volcano-system", "uid": "agent-1"}
    agent = {"metadata": metadata, "spec": {"containers": [container]}, "status": {"phase": "Running"}}
    api.objects["/api/v1/pods"]["items"].append(agent)
    snapshot = capture_cluster(options)
    assert ["is an agent-scheduler and takes schedulerName agent-scheduler"] == [
        one.what for one in snapshot.problems if one.object == "Pod volcano-system/agent-1"
    ]
    assert snapshot.provenance is not None
    assert ("volcano-system/volcano-scheduler",) == snapshot.provenance.schedulers
