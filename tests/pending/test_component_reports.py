"""Answers that repeat what controllers, webhooks and kubelets report: its cause first, then what helps."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import cluster, node, pod_group, pods
from tests.debugger.test_remedies import proven
from tests.pending.test_workloads import ENQUEUE, explained, owned
from vcdebug.explain.component_reports import KNOWN_REPORTS
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.manifest import WorkloadFacts, facts_by_name
from vcdebug.snapshot.snapshot import Manifest

EXAMPLES = (
    (
        (
            'admission webhook "validatepod.volcano.sh" denied the request: failed to get PodGroup for pod <ml/a-0>: '
            'podgroups.scheduling.volcano.sh "a-pg" not found'
        ),
        "Volcano's webhook rejects its pods, since PodGroup a-pg does not exist",
        "Delete Job j, wait until it and its PodGroup are gone",
    ),
    ("Failed to create PVC, err: pvc data is not found", "PersistentVolumeClaim data does not exist", "Create"),
    (
        "Unable to attach or mount volumes: error processing PVC default/data: PVC is not bound",
        "PersistentVolumeClaim data has no volume yet",
        "kubectl -n default describe pvc data",
    ),
    (
        'Service "j" is invalid: [metadata.name: Invalid value: "j": must be no more than 63 characters]',
        "its name is too long for its Service (at most 63 characters)",
        "under a name of at most 63 characters",
    ),
    (
        (
            'pods "j-0" is forbidden: exceeded quota: team, requested: requests.cpu=8, used: requests.cpu=60, limited: '
            "requests.cpu=64"
        ),
        "ResourceQuota team has no room for its pods (requested requests.cpu=8, limited requests.cpu=64)",
        "Raise ResourceQuota team of namespace default",
    ),
    (
        'pods "j-0" is forbidden: maximum cpu usage per Container is 4, but limit is 8',
        "a LimitRange sets the maximum cpu per Container to 4, and it asks for 8",
        "Correct cpu of the pod template (maximum 4)",
    ),
    (
        'pods "j-0" is forbidden: no PriorityClass with name urgent was found',
        "PriorityClass urgent does not exist",
        "Create PriorityClass urgent",
    ),
    (
        'error looking up service account default/spark: serviceaccount "spark" not found',
        "ServiceAccount spark does not exist",
        "Create ServiceAccount spark in namespace default",
    ),
    (
        'violates PodSecurity "restricted:latest": privileged (container "c" must not set privileged=true)',
        "PodSecurity restricted:latest of namespace default rejects its pods",
        "must not set privileged=true",
    ),
    (
        (
            'Internal error occurred: failed calling webhook "mutatepod.volcano.sh": Post "https://volcano-admission-service'
            '.volcano-system.svc:443/pods/mutate?timeout=10s": context deadline exceeded'
        ),
        "webhook mutatepod.volcano.sh does not answer",
        "Check the webhook's pods",
    ),
    (
        'admission webhook "validatejob.volcano.sh" denied the request: can only submit job to queue with state `Open`',
        "webhook validatejob.volcano.sh rejects it",
        "can only submit job to queue",
    ),
    (
        'pods "j-0" is forbidden: unable to create new content in namespace default because it is being terminated',
        "its namespace default is being deleted",
        "another namespace",
    ),
    (
        'podgroups "podgroup-1" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource',
        "may not set finalizers",
        "statefulsets/finalizers",
    ),
    (
        (
            'podgroups.scheduling.volcano.sh is forbidden: User "system:serviceaccount:ray:op" cannot create resource '
            '"podgroups" in API group "scheduling.volcano.sh" in the namespace "default"'
        ),
        "its controller may not create podgroups",
        "the verb create on podgroups of API group scheduling.volcano.sh",
    ),
    (
        'MountVolume.SetUp failed for volume "j-ssh" : secret "j-ssh" not found',
        "secret j-ssh does not exist",
        "Create the job again",
    ),
    ('secret "token" not found', "secret token does not exist", "Create secret token in namespace default"),
    (
        'Failed to pull image "repo/a:nope": rpc error: code = NotFound desc = manifest unknown',
        "image repo/a:nope cannot be pulled",
        "imagePullSecret",
    ),
    ("pod j-0 (5) is not allowed to use ResourceClaim gpu (8)", "gpu is not reserved for it", "Delete j-0"),
    (
        'Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) old-0',
        "volume pvc-1 is still attached to another node",
        "on the other node",
    ),
    (
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox",
        "cannot set up the pod's sandbox and network",
        "kubectl -n default describe pod j-0",
    ),
    (
        'AttachVolume.Attach failed for volume "pvc-1" : rpc error: code = Internal',
        "volume pvc-1 cannot be attached or mounted",
        "CSI driver of volume pvc-1",
    ),
)


def report(message: str, kind: str = "Pod", name: str = "j-0", **more: Any) -> Manifest:
    about = {"kind": kind, "namespace": "default", "name": name, "uid": f"uid-{name}"}
    metadata = {"name": f"event-{len(message)}", "namespace": "default", "uid": f"event-{len(message)}"}
    said = {"type": "Warning", "reason": "FailedCreate", "message": message, "source": {"component": "controller"}}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": about, **said, **more}


def volcano_job(**status: Any) -> Manifest:
    metadata = {"name": "j", "namespace": "default", "uid": "job-uid"}
    spec = {"minAvailable": 1, "maxRetry": 3, "volumes": [{"volumeClaim": {}}]}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def test_each_known_report_has_an_example() -> None:
    matched = [
        next(at for at, known in enumerate(KNOWN_REPORTS) if re.search(known.pattern, text)) for text, *_ in EXAMPLES
    ]
    assert list(range(len(KNOWN_REPORTS))) == matched


@pytest.mark.parametrize(("message", "cause", "advice"), EXAMPLES)
def test_a_job_without_a_pod_group_is_explained_by_what_its_controller_reports(
    message: str, cause: str, advice: str
) -> None:
    job = volcano_job(state={"phase": "Pending"})
    snapshot = cluster(node("n1"), job, report(message, "Job", "j", count=7, lastTimestamp="2026-10-31T23:30:00Z"))
    found = explain_by_name(replay_cycle(snapshot), "j")
    assert cause in found.sentence
    assert "Its controller has made no PodGroup for it, so no scheduler knows it." in found.dominant.facts
    assert any("FailedCreate (x7)" in fact for fact in found.dominant.facts)
    assert advice.replace("j-0", "j") in " ".join(found.advice_texts)


@pytest.mark.parametrize(
    ("reason", "message", "report_text", "told", "advised"),
    [
        (
            "ImagePullBackOff",
            'Back-off pulling image "repo/a:nope"',
            "",
            "image repo/a:nope cannot be pulled",
            "Correct",
        ),
        (
            "ContainerCreating",
            "",
            'configmap "j-svc" not found',
            "configmap j-svc does not exist",
            "Create the job again",
        ),
        ("CreateContainerConfigError", 'secret "key" not found', "", "secret key does not exist", "Create secret key"),
        ("CrashLoopBackOff", "back-off 5m0s", "", "", "kubectl -n default logs j-0 -c main --previous"),
        ("ContainerCreating", "", "something unknown", "", "kubectl -n default describe pod j-0"),
    ],
)
def test_bound_pods_that_do_not_start_are_explained_by_their_kubelet(
    reason: str, message: str, report_text: str, told: str, advised: str
) -> None:
    bound = pods("j", 2, on="n1", phase="Pending")
    for each in bound:
        waiting = {"reason": reason, **({"message": message} if message else {})}
        each["status"]["containerStatuses"] = [{"name": "main", "state": {"waiting": waiting}}]
    reports = [report(report_text)] if report_text else []
    for name, start in (("default/j", "2 of 2 pods are"), ("default/j-0", "it is")):
        found = explained(cluster(node("n1"), pod_group("j", phase="Running"), bound, reports), name)
        assert f"{name} is scheduled, but does not start: {start} {reason} on n1" in found.sentence
        assert told in found.sentence
        assert advised in " ".join(found.advice_texts)
        assert found.scheduled


def test_a_cause_that_is_too_long_for_the_first_line_is_a_fact() -> None:
    bound, image = pods("j", 1, on="n1", phase="Pending"), f"registry.example.com/{'team/' * 25}image:nope"
    waiting = {"reason": "ErrImagePull", "message": f'Back-off pulling image "{image}"'}
    bound[0]["status"]["containerStatuses"] = [{"name": "main", "state": {"waiting": waiting}}]
    found = explained(cluster(node("n1"), pod_group("j", phase="Running"), bound), "default/j")
    assert "default/j is scheduled, but does not start: 1 of 1 pod is ErrImagePull on n1." == found.sentence
    assert f"Image {image} cannot be pulled." == found.dominant.facts[0]


def test_bound_pods_that_start_as_usual_need_no_advice() -> None:
    bound = pods("j", 2, on="n1", phase="Pending")
    bound[0]["status"]["containerStatuses"] = [{"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}]
    found = explained(cluster(node("n1"), pod_group("j", phase="Running"), bound), "default/j")
    assert "default/j is scheduled and starting: 1 of 2 pods is ContainerCreating on n1." == found.sentence
    assert () == found.advice_texts


@pytest.mark.parametrize(
    ("status", "told", "advised"),
    [
        ({"retryCount": 3}, "since retryCount 3 has reached spec.maxRetry 3", "higher spec.maxRetry"),
        ({"retryCount": 1}, "its state is Failed.", "Create the job again"),
    ],
)
def test_an_ended_job_is_explained_by_its_retries(status: dict[str, int], told: str, advised: str) -> None:
    states = ["Running", "Aborting", "Aborted", "Restarting", "Failed"]
    job = volcano_job(state={"phase": "Failed"}, conditions=[{"status": state} for state in states], **status)
    found = explain_by_name(replay_cycle(cluster(node("n1"), job)), "j")
    assert told in found.sentence
    assert advised in found.advice_texts[0]
    resumed = [fact for fact in found.dominant.facts if "resumed 1 time " in fact]
    assert (status["retryCount"] == 3) is bool(resumed)


def test_only_a_failed_job_is_to_be_created_again() -> None:
    ended = (cluster(node("n1"), volcano_job(state={"phase": phase})) for phase in ("Aborted", "Failed"))
    assert [False, True] == ["Create the job again" in "".join(explained(each, "j").advice_texts) for each in ended]


@pytest.mark.parametrize("named", ["j", "default/j-0"])
def test_a_rejected_pod_of_an_ended_job_shows_what_its_node_states(named: str) -> None:
    rejected, holder = pods("j", 1, on="n1", phase="Failed")[0], pods("big", 1, on="n1")[0]
    text = "Pod was rejected: requested number of devices unavailable for a.com/gpu. Requested: 2, Available: 0, which"
    rejected["status"].update({"reason": "UnexpectedAdmissionError", "message": text})
    rejected["metadata"]["labels"] = {"volcano.sh/job-name": "j"}
    rejected["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j", "uid": "job-uid"}]
    holder["spec"]["containers"][0]["resources"]["limits"] = {"a.com/gpu": "1"}
    worker = node("n1")
    worker["status"]["allocatable"]["a.com/gpu"] = "4"
    snapshot = cluster(worker, volcano_job(state={"phase": "Failed"}), rejected, holder)
    found = explain_by_name(replay_cycle(snapshot), named)
    assert "job default/j has ended: its state is Failed; the kubelet of n1 rejected j-0 (Unexpected" in found.sentence
    stated = "n1 states 4 a.com/gpu as allocatable; pods on it request: default/big-0 (1)."
    assert stated == found.dominant.facts[0]
    assert any("device plugin of a.com/gpu on n1" in line for line in found.advice_texts)


@pytest.mark.parametrize(("claims", "told"), [(1, False), (3, True)])
def test_claims_that_a_controller_made_again_and_again_are_counted(claims: int, told: bool) -> None:
    made = [
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": f"j-pvc-{at}",
                "namespace": "default",
                "uid": f"claim-{at}",
                "ownerReferences": [{"kind": "Job", "name": "j", "uid": "job-uid"}],
            },
            "spec": {"accessModes": ["ReadWriteOnce"]},
        }
        for at in range(claims)
    ]
    job = volcano_job(state={"phase": "Pending"})
    snapshot = cluster(node("n1"), job, made, report("pvc data is not found", "Job", "j"))
    found = explain_by_name(replay_cycle(snapshot), "j")
    assert told is any(fact.startswith("It has made 3 claims for 1 volume") for fact in found.dominant.facts)


def controller(kind: str, name: str, owner: str = "", **spec: Any) -> Manifest:
    metadata: Manifest = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "web", "uid": "uid-owner"}]
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": {"replicas": 3, **spec}}


CONTROLLERS = [
    ("StatefulSet", controller("StatefulSet", "web"), "web", "StatefulSet"),
    ("LeaderWorkerSet", controller("StatefulSet", "web", "LeaderWorkerSet"), "web", "StatefulSet"),
    ("Deployment", controller("ReplicaSet", "web-5d4f7", "Deployment"), "default/web", "Deployment"),
]


@pytest.mark.parametrize(("owner", "manifest", "named", "kind"), CONTROLLERS)
@pytest.mark.parametrize("reported", [True, False])
def test_a_controller_without_pods_is_known_by_name_and_shows_why(
    owner: str, manifest: Manifest, named: str, kind: str, reported: bool
) -> None:
    refusal = report(EXAMPLES[0][0], manifest["kind"], manifest["metadata"]["name"], count=18)
    found = explain_by_name(replay_cycle(cluster(node("n1"), manifest, [refusal] if reported else [])), named)
    if reported:
        assert f"{kind} default/web is Pending: {EXAMPLES[0][1]}." == found.sentence
        assert "0 of 3 pods are in this snapshot." == found.dominant.facts[0]
        assert any("FailedCreate (x18)" in fact for fact in found.dominant.facts)
        remove = f"or remove annotation scheduling.k8s.io/group-name from the pod template of {owner} web."
        is_operator = owner == "LeaderWorkerSet"
        advice = f"Find out why {owner} web did not create PodGroup a-pg" if is_operator else remove
        assert advice in found.advice_texts[0]
    else:
        assert f"{kind} default/web is Pending: 0 of 3 pods are in this snapshot." == found.sentence
        assert f"kubectl -n default describe {kind.lower()} web" in found.advice_texts[0]


@pytest.mark.parametrize(("owner", "manifest", "named", "kind"), CONTROLLERS)
@pytest.mark.parametrize("scheduler", ["volcano", "default-scheduler"])
def test_pods_of_a_controller_without_a_pod_group_are_found_by_its_name(
    owner: str, manifest: Manifest, named: str, kind: str, scheduler: str
) -> None:
    plain = pods("web", 2)
    for each in plain:
        each["metadata"]["annotations"].pop("scheduling.k8s.io/group-name")
        owning = {"kind": manifest["kind"], "name": manifest["metadata"]["name"], "uid": manifest["metadata"]["uid"]}
        each["metadata"]["ownerReferences"] = [owning]
        each["spec"]["schedulerName"] = scheduler
    found = explain_by_name(replay_cycle(cluster(node("n1"), manifest, plain)), named)
    if scheduler == "volcano":
        assert (
            f"{kind} default/web is Pending: web-0, web-1 have no PodGroup, so no scheduler knows them."
            == found.sentence
        )
        assert "grep default/web-0" in found.advice_texts[0]
    else:
        assert "other-scheduler" == found.cause_code
        assert f"{kind} default/web is Pending: 2 pods use schedulerName default-scheduler" in found.sentence


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("SparkApplication", "webhook.enable=true"),
        ("RayCluster", "batchScheduler.name=volcano"),
        ("PyTorchJob", "--gang-scheduler-name=volcano"),
        ("Workflow", "Create the pods with spec.schedulerName volcano."),
    ],
)
@pytest.mark.parametrize("on", ["n1", ""])
@pytest.mark.parametrize("grouped", [True, False])
def test_pods_that_an_operator_left_to_another_scheduler_are_named(
    kind: str, setting: str, on: str, grouped: bool
) -> None:
    plain = pods("etl", 2, on=on)
    for each, above in zip(plain, (kind, "Pod"), strict=True):
        each["metadata"]["annotations"].pop("scheduling.k8s.io/group-name")
        owner = {"kind": above, "name": "etl" if above == kind else "etl-0", "uid": "e"}
        each["metadata"]["ownerReferences"] = [owner | ({"uid": plain[0]["metadata"]["uid"]} if above == "Pod" else {})]
        each["spec"]["schedulerName"] = "default-scheduler"
    group = pod_group("etl-pg", min_resources={"cpu": "3"})
    snapshot = cluster(node("n1"), owned([group], kind, "etl") if grouped else [], plain)
    if kind != "Workflow":
        snapshot = replace(snapshot, workloads={f"default/{kind} etl": WorkloadFacts()})
    found = explain_by_name(replay_cycle(snapshot), "default/etl")
    state = "is not scheduled by Volcano" if on else "is Pending"
    told = (
        f"{kind} default/etl {state}: 2 pods use schedulerName default-scheduler; this scheduler handles only volcano."
    )
    assert (told, "other-scheduler") == (found.sentence, found.cause_code)
    reserved = "They do not name its PodGroup etl-pg, which has no pods, is Inqueue and reserves 3 cpu."
    assert grouped is (reserved in found.dominant.facts)
    advice = " ".join(found.advice_texts)
    assert setting in advice.replace("else create", "Create")
    assert (on != "" and kind == "Workflow") is ("Nothing has to change if default-scheduler is meant" in advice)


COMPLETE = {"conditions": [{"type": "Running", "status": "False"}, {"type": "Succeeded", "status": "True"}]}


@pytest.mark.parametrize(
    ("kind", "status", "state"),
    [
        ("RayJob", {"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete"}, "Complete"),
        ("SparkApplication", {"applicationState": {"state": "COMPLETED"}}, "COMPLETED"),
        ("PyTorchJob", COMPLETE, "Succeeded"),
        ("Workflow", {"phase": "Failed"}, "Failed"),
        ("RayCluster", {"state": "ready"}, ""),
        ("PyTorchJob", {"conditions": [{"type": "Failed", "status": "False"}]}, ""),
    ],
)
@pytest.mark.parametrize("phase", ["", "Succeeded"])
def test_a_workload_that_has_ended_is_named_where_its_pod_group_holds_the_room(
    kind: str, status: Manifest, state: str, phase: str
) -> None:
    manifest = {"kind": kind, "metadata": {"name": "old", "namespace": "default"}, "status": status}
    old = owned([pod_group("old-pg", min_resources={"cpu": "10"})], kind, "old")
    done = owned(pods("old-pg", 1, on="n1", phase=phase), kind, "old") if phase else []
    waits = pod_group("j", phase="Pending", min_resources={"cpu": "6"})
    snapshot = replace(cluster(node("n1"), old, done, waits, conf=ENQUEUE), workloads=facts_by_name([manifest]))
    found = explain_by_name(replay_cycle(snapshot), "default/j")
    assert "enqueue-held-by-inqueue" == found.cause_code
    assert bool(state) is (f"PodGroup old-pg belongs to {kind} old, which is {state}." in found.dominant.facts)
    own = explain_by_name(replay_cycle(snapshot), "old-pg")
    left = "Completed" if phase else "Inqueue and reserves 10 cpu"
    ended = f"{kind} default/old has ended: its state is {state}; PodGroup old-pg is left {left}."
    assert bool(state) is (own.sentence == ended)
    assert bool(state) is any("delete podgroup old-pg" in line for line in own.advice_texts)


def test_a_workload_that_has_ended_without_a_pod_group_is_not_pending() -> None:
    manifest = {
        "kind": "RayJob",
        "metadata": {"name": "old", "namespace": "default"},
        "status": {"jobStatus": "FAILED"},
    }
    snapshot = replace(cluster(node("n1")), workloads=facts_by_name([manifest]))
    found = explain_by_name(replay_cycle(snapshot), "old")
    assert ("RayJob default/old has ended: its state is FAILED.", True) == (found.sentence, found.scheduled)


def test_quotes_that_a_controller_has_escaped_are_read() -> None:
    escaped = EXAMPLES[0][0].replace('"', '\\"')
    snapshot = cluster(node("n1"), volcano_job(state={"phase": "Pending"}), report(escaped, "Job", "j"))
    assert "since PodGroup a-pg does not exist." in explain_by_name(replay_cycle(snapshot), "j").sentence


def crashing(name: str, image: str) -> Manifest:
    made = pods(name, 1, on="n1")[0]
    made["metadata"]["annotations"].pop("scheduling.k8s.io/group-name")
    made["metadata"]["namespace"] = "operators"
    made["spec"] |= {"schedulerName": "default-scheduler", "containers": [{"name": "main", "image": image}]}
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    made["status"]["containerStatuses"] = [{"name": "main", "state": state, "restartCount": 9}]
    return made


@pytest.mark.parametrize(
    ("kind", "image"),
    [
        ("RayCluster", "quay.io/kuberay/operator:v1.2.2"),
        ("SparkApplication", "ghcr.io/kubeflow/spark-operator:2.1"),
        ("PyTorchJob", "kubeflow/training-operator:v1.8"),
        ("Job", "volcanosh/vc-controller-manager:v1.12.0"),
    ],
)
@pytest.mark.parametrize("crashes", [True, False])
def test_a_controller_that_does_not_run_explains_why_nothing_is_created(kind: str, image: str, crashes: bool) -> None:
    controller_pod = crashing("operator", image)
    if not crashes:
        controller_pod["status"].pop("containerStatuses")
    jobs = [volcano_job(state={"phase": "Pending"})] if kind == "Job" else []
    snapshot = cluster(node("n1"), controller_pod, jobs)
    if kind != "Job":
        snapshot = replace(snapshot, workloads={f"default/{kind} j": WorkloadFacts()})
    found = explain_by_name(replay_cycle(snapshot), "default/j")
    reason = "its controller does not run: pod operators/operator-0 is CrashLoopBackOff (9 restarts)."
    assert crashes is found.sentence.endswith(reason)
    assert crashes is any("kubectl -n operators logs operator-0 --previous" in line for line in found.advice_texts)
    assert kind == "Job" or "operators logs operator-0" in " ".join(found.advice_texts)


@pytest.mark.parametrize(("flows", "told"), [(["a"], "its 1 Job has ended"), (["a", "b"], "has made no Job of b")])
@pytest.mark.parametrize("phase", ["Terminated", "Completed"])
def test_the_flow_of_an_ended_job_is_named(flows: list[str], told: str, phase: str) -> None:
    metadata = {"name": "flow", "namespace": "default", "uid": "flow"}
    spec = {"flows": [{"name": each} for each in flows]}
    flow = {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "metadata": metadata, "spec": spec}
    job = owned([volcano_job(state={"phase": phase})], "JobFlow", "flow")
    job[0]["metadata"]["name"] = "flow-a"
    found = explain_by_name(replay_cycle(cluster(node("n1"), flow, job)), "flow")
    assert f"job default/flow-a has ended: its state is {phase}." == found.sentence
    assert "JobFlow flow is Pending" in found.dominant.facts[0]
    assert told in found.dominant.facts[0]
    uncounted = phase == "Terminated" and flows == ["a"]
    assert uncounted is ("before v1.13 its controller does not count Terminated" in found.dominant.facts[0])


def test_failed_pods_of_a_job_are_counted_among_its_other_pods() -> None:
    mine = [*pods("j", 2, on="n1"), *pods("j", 3, on="n1", phase="Failed", prefix="f")]
    found = explained(cluster(node("n1"), pod_group("j", phase="Running"), mine), "default/j")
    assert "default/j has no Pending pods: 3 of 5 pods were already Failed when the cycle began." == found.sentence


def test_a_report_replaces_the_remark_that_an_incomplete_gang_is_skipped() -> None:
    gang = [pod_group("j", min_member=2), *pods("j", 1)]
    for reports in ([], [report("PodGroup default/j is not owned by LeaderWorkerSet web", count=25)]):
        facts = explained(cluster(node("n1"), gang, reports), "default/j").dominant.facts
        assert ("gang rejects such a job, so none of its pods is tried on a node." in facts) is not bool(reports)
        assert bool(reports) is ("not owned by" in facts[0])


def test_missing_pods_are_copies_of_a_pod_of_their_role() -> None:
    gang = [pod_group("j", min_member=3, min_task_member={"master": 1, "worker": 2})]
    gang += [*pods("j", 1, role="master", prefix="m"), *pods("j", 1, cpu="3", role="worker", prefix="w")]
    fixes = proven(cluster(node("n1"), gang), "default/j")
    assert any("of role worker (like w-0)" in words for words in fixes)
