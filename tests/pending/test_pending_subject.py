"""Jobs and pods are found by full name, by bare name, and by the name of their Volcano Job."""

import pytest

from tests.builders import cluster, node, pod, pod_group, pods
from vcdebug.errors import VcdebugError
from vcdebug.explain.job_view import ExplainSubject, find_subject
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
    assert "zzz: no such job or pod; vcdebug run lists the jobs" == caught.value.format_line()
