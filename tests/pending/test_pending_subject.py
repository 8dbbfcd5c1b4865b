"""Jobs and pods are found by full name, by bare name, and by the name of their Volcano Job."""

import pytest

from tests.builders import cluster, node, pod, pod_group, pods
from vcdebug.errors import VcdebugError
from vcdebug.explain.job_view import ExplainSubject
from vcdebug.explain.subject_names import find_subject, with_namespace
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest, Snapshot

GROUPS = [pod_group("train"), pod_group("train", namespace="ml"), pod_group("serve-x1f9")]
PODS = [
    *pods("train", 2),
    *pods("train", 1, namespace="ml", prefix="trainer"),
    pod("serve-0", "serve-x1f9", annotations={"volcano.sh/job-name": "serve"}),
    pod("alone"),
    pod("lost-0", "lost"),
]


@pytest.fixture
def snapshot() -> Snapshot:
    return cluster(node("n1"), GROUPS, PODS)


@pytest.mark.parametrize(
    ("word", "subject"),
    [
        ("default/train", ExplainSubject("default/train")),
        ("ml/train", ExplainSubject("ml/train")),
        ("serve-x1f9", ExplainSubject("default/serve-x1f9")),
        ("serve", ExplainSubject("default/serve-x1f9")),
        ("default/serve", ExplainSubject("default/serve-x1f9")),
        ("trainer-0", ExplainSubject("ml/train", "ml/trainer-0")),
        ("default/train-1", ExplainSubject("default/train", "default/train-1")),
        ("alone", ExplainSubject("", "default/alone")),
        ("default/lost", ExplainSubject("default/lost")),
    ],
)
def test_a_word_selects_one_subject(snapshot: Snapshot, word: str, subject: ExplainSubject) -> None:
    assert subject == find_subject(replay_cycle(snapshot), word)


@pytest.mark.parametrize(
    ("word", "subject"),
    [
        ("pod/trainer-0", ExplainSubject("ml/train", "ml/trainer-0")),
        ("pods/ml/trainer-0", ExplainSubject("ml/train", "ml/trainer-0")),
        ("Pod default/train-1", ExplainSubject("default/train", "default/train-1")),
        ("po/alone", ExplainSubject("", "default/alone")),
        ("podgroup/ml/train", ExplainSubject("ml/train")),
        ("podgroups.scheduling.volcano.sh/serve-x1f9", ExplainSubject("default/serve-x1f9")),
        ("jobs.batch.volcano.sh/serve", ExplainSubject("default/serve-x1f9")),
        ("vcjob/default/serve", ExplainSubject("default/serve-x1f9")),
        ("pg/lost", ExplainSubject("default/lost")),
        ("job/clash", ExplainSubject("job/clash")),
        ("pod/clash", ExplainSubject("default/owner", "default/clash")),
    ],
)
def test_the_kind_may_stand_before_a_name_as_for_kubectl(
    snapshot: Snapshot, word: str, subject: ExplainSubject
) -> None:
    snapshot.objects["PodGroup"] += [pod_group("clash", namespace="job"), pod_group("owner"), pod_group("clash")]
    snapshot.objects["Pod"].append(pod("clash", "owner"))
    assert subject == find_subject(replay_cycle(snapshot), word)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("podgroup/trainer-0", "no such job or pod"),
        ("pod/serve", "no such job or pod"),
        ("pod/train-9", "did you mean default/train-"),
        ("queue/default", "is not a job or pod; ask holders queue/default lists its pods"),
        ("no/n1", "is not a job or pod; ask holders node/n1 lists its pods"),
        ("podgroup/train", "is not unique; one of default/train, ml/train"),
    ],
)
def test_a_name_of_another_kind_is_refused(snapshot: Snapshot, word: str, says: str) -> None:
    with pytest.raises(VcdebugError) as caught:
        find_subject(replay_cycle(snapshot), word)
    assert says in caught.value.format_line()


@pytest.mark.parametrize("namespace", ["jobs", "q", "pod", "svc"])
def test_a_name_in_a_namespace_that_is_named_like_a_kind_is_of_no_other_namespace(
    snapshot: Snapshot, namespace: str
) -> None:
    snapshot.objects["PodGroup"].append(pod_group("other", namespace=namespace))
    with pytest.raises(VcdebugError) as caught:
        find_subject(replay_cycle(snapshot), f"{namespace}/serve")
    assert caught.value.format_line().startswith(f"{namespace}/serve: no such job or pod")


@pytest.mark.parametrize(
    ("word", "full"),
    [
        ("train", "team/train"),
        ("pod/train-0", "pod/team/train-0"),
        ("ml/train", "ml/train"),
        ("pod/ml/train-0", "pod/ml/train-0"),
        ("pvc/data", "pvc/team/data"),
        ("node/n1", "node/n1"),
        ("port/80", "port/80"),
        ("", ""),
    ],
)
def test_a_namespace_is_added_to_names_that_can_have_one(word: str, full: str) -> None:
    assert full == with_namespace(word, "team")
    assert word == with_namespace(word, "")


def owned(member: Manifest, kind: str, name: str) -> Manifest:
    member["metadata"]["ownerReferences"] = [{"kind": kind, "name": name, "uid": f"uid-{name}"}]
    return member


def revision(name: str, deployment: str) -> Manifest:
    manifest = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "uid": f"uid-{name}"}}
    return owned({**manifest, "spec": {}}, "Deployment", deployment)


@pytest.mark.parametrize("read", [True, False])
def test_a_deployment_is_known_by_its_name_with_and_without_its_replica_sets(read: bool) -> None:
    old = [
        pod_group("pg-1", phase="Running"),
        owned(pod("web-5d9c7b6f4-a", "pg-1", on="n1"), "ReplicaSet", "web-5d9c7b6f4"),
    ]
    new = [pod_group("pg-2"), owned(pod("web-7f6b8d9c5-b", "pg-2"), "ReplicaSet", "web-7f6b8d9c5")]
    sets = [revision("web-5d9c7b6f4", "web"), revision("web-7f6b8d9c5", "web")] if read else []
    found = find_subject(replay_cycle(cluster(node("n1"), sets, *old, *new)), "default/web")
    assert ExplainSubject("default/pg-2") == found, "the revision with Pending pods"


def test_a_name_in_two_namespaces_is_refused_with_both(snapshot: Snapshot) -> None:
    with pytest.raises(VcdebugError) as caught:
        find_subject(replay_cycle(snapshot), "train")
    assert "train: is not unique; one of default/train, ml/train" == caught.value.format_line()


def test_an_unknown_name_is_answered_with_the_closest(snapshot: Snapshot) -> None:
    with pytest.raises(VcdebugError) as caught:
        find_subject(replay_cycle(snapshot), "ml/trian")
    assert "did you mean ml/train" in caught.value.format_line()
    with pytest.raises(VcdebugError) as caught:
        find_subject(replay_cycle(snapshot), "zzz")
    assert (
        "zzz: no such job or pod; available: default/train, ml/train, default/serve-x1f9" == caught.value.format_line()
    )
