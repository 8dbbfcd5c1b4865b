"""A capture with rights in one namespace: its answers, and what they call unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.apiserver.clusters import Direct, small_server
from tests.apiserver.server import ApiServer
from tests.cli.transcripts import call
from tests.conformance.test_captures import PUBLIC, allowed
from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.capture.permission import namespace_role
from vcdebug.conformance.api_objects import ApiReply, ApiRequest, refusal_reply
from vcdebug.errors import CaptureError
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.redaction import redact_snapshot
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.snapshot import Snapshot

RULES = yaml.safe_load(namespace_role("team-a"))["rules"]
SAYS = "0/3 nodes are unavailable: 3 Insufficient cpu."


class OneNamespace(ApiServer):
    """A server that allows only what the printed Role grants in team-a."""

    def answer_request(self, request: ApiRequest) -> ApiReply:
        public = request.path in PUBLIC or request.path.endswith("/selfsubjectaccessreviews")
        if not public and not ("/namespaces/team-a/" in request.path and allowed(RULES, request.path)):
            self.requests.append(request)
            return refusal_reply(403, "Forbidden", f"{request.path} is forbidden")
        return super().answer_request(request)


@pytest.fixture
def server() -> OneNamespace:
    served = small_server()
    pods = KIND_BY_NAME["Pod"].api_path
    for item in served.store.objects_at(pods, served.store.revision):
        if item["metadata"]["name"] == "waiting-1":
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": SAYS}
            served.store.put_object(pods, {**item, "status": {"phase": "Pending", "conditions": [condition]}})
    return OneNamespace(store=served.store, singles=served.singles)


def captured(server: OneNamespace, namespace: str = "team-a") -> Snapshot:
    return capture_cluster(CaptureOptions(namespace=namespace, first_wait=0.0), transport=Direct(server))


def test_namespace_capture_keeps_readable_kinds_and_reports_the_others_once(server: OneNamespace) -> None:
    found = captured(server)
    assert {"Pod": 5, "PodGroup": 2} == {kind: len(each) for kind, each in found.objects.items() if each}
    (problem,) = [one for one in found.problems if "its rights do not show" in one.what]
    assert problem.what.startswith("its rights do not show nodes, queues.scheduling.volcano.sh, priorityclasses")
    assert found.provenance is not None
    assert ("team-a", "one namespace") == (found.provenance.namespace, found.provenance.access)
    assert {"Node", "Queue"} <= set(found.provenance.missing)


@pytest.mark.parametrize("redacted", [False, True])
def test_explain_quotes_the_scheduler_and_names_the_missing_kinds(
    server: OneNamespace, tmp_path: Path, redacted: bool
) -> None:
    found = redact_snapshot(captured(server)) if redacted else captured(server)
    save_snapshot(found, tmp_path / "x.tar.gz")
    recording = replay_cycle(load_snapshot(tmp_path / "x.tar.gz"))
    waiting = next(one for one in survey_jobs(recording).unscheduled_jobs if SAYS in one.explanation.sentence)
    facts = " ".join(waiting.explanation.dominant.facts)
    assert "Its PodGroup is Pending, with 2 pods and minMember 2." in facts
    assert "cannot be explained: the snapshot has no Node and no Queue" in facts
    assert "was read; pods of other namespaces use room that is not known" in waiting.explanation.doubt


def test_running_job_is_not_reported_as_pending(server: OneNamespace) -> None:
    found = explain_by_name(replay_cycle(captured(server)), "team-a/train")
    assert found.sentence == "team-a/train has no Pending pods: its 3 pods have nodes."
    assert found.scheduled


def test_capture_fails_without_rights_in_the_namespace(server: OneNamespace) -> None:
    with pytest.raises(CaptureError, match='verb "list", resource "pods", API group "" in namespace team-b') as caught:
        captured(server, "team-b")
    assert caught.value.hint.endswith("auth can-i list pods --namespace team-b")
    with pytest.raises(CaptureError) as caught:
        captured(server, "")
    assert "--namespace NAME" in caught.value.hint


def test_namespace_capture_with_all_rights_reads_only_the_pods_of_the_namespace() -> None:
    found = capture_cluster(CaptureOptions(namespace="team-b", first_wait=0.0), transport=Direct(small_server()))
    assert [3, 0] == [len(found.objects_of(kind)) for kind in ("Node", "Pod")]


def test_the_role_is_printed() -> None:
    document = yaml.safe_load(call(["capture", "--rbac", "--namespace", "team-a"])[1])
    assert ("Role", "team-a") == (document["kind"], document["metadata"]["namespace"])
    named = [name for rule in document["rules"] for name in rule["resources"]]
    assert ("pods" in named, "events" in named, "nodes" in named, "configmaps" in named) == (True, True, False, False)
    verbs = {name: rule["verbs"] for rule in document["rules"] for name in rule["resources"]}
    assert ["watch"] == verbs.pop("pods") == verbs.pop("podgroups")
    assert all(["list"] == allowed for allowed in verbs.values())
