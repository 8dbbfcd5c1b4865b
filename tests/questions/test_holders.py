"""`ask holders`: limits of queues that rejected the job, and what plugins answered about evicting a holder."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, queue
from tests.explain.test_filters import REFERS, claiming
from tests.recorded import BUNDLED, GOLDEN, bundled, golden, recorded, recorded_path
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.explain.questions.holders import find_holders
from vcdebug.framework.record import HookEvent
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release

NOT_PROTECTED, UNASKED = ": no plugin protects it", ", unless a plugin protects it"


@pytest.mark.parametrize("name", [*BUNDLED, *GOLDEN])
def test_each_verdict_about_a_holder_is_the_last_answer_of_the_trace(name: str) -> None:
    recording = bundled(name) if name in BUNDLED else golden(name)
    owners = recording.owners.jobs
    for one in survey_jobs(recording).unscheduled_jobs:
        job = one.explanation.job
        if job not in recording.session.jobs:
            continue
        last: dict[str, dict[str, HookEvent]] = {}
        for _, event in recording.events_of_type(HookEvent):
            if event.point in ("Preemptable", "Reclaimable") and owners.get(event.task) == job:
                for pod in event.candidates:
                    last.setdefault(pod, {})[event.plugin] = event
        holders: Any = find_holders(recording, job).data["holders"]
        for holder in holders:
            words, answers = holder["takenBack"], last.get(holder["pod"], {})
            if words.endswith(UNASKED) and words.startswith("by preempt,"):
                assert not answers
            if NOT_PROTECTED in words:
                assert any(holder["pod"] in (answer.result or ()) for answer in answers.values())
            if " protects it" in words and words.startswith("no: "):
                plugin = words.partition(" protects it")[0].rpartition(" ")[2]
                assert holder["pod"] not in answers[plugin].result


def test_a_pod_that_its_plan_did_evict_is_not_said_to_be_protected() -> None:
    holders: Any = find_holders(bundled(), "research/llm-finetune").data["holders"]
    verdicts = {one["pod"]: one["takenBack"] for one in holders}
    assert "by preempt: no plugin protects it" == verdicts.pop("research/resnet-sweep-worker-0")
    assert 11 == len(verdicts)
    assert all(words.startswith("no: preempt: gang protects it (") for words in verdicts.values())


def test_the_pods_of_a_queue_hold_what_its_limit_rejected_though_another_cause_decides() -> None:
    """gangpreempt evicts for the queue's quota; at the end of the cycle the nodes have room."""
    recording = recorded(recorded_path("threads/r1-evicted-for-a-job-that-got-nothing"))
    reply = find_holders(recording, "default/job-21")
    queue: Any = find_holders(recording, "queue/q2").data["holders"]
    holders: Any = reply.data["holders"]
    assert [one["pod"] for one in queue] == [one["pod"] for one in holders]
    assert "A limit of queue q2 rejected it in this cycle" in reply.lines[0]


EVICTING = conf_of("gang conformance", "predicates proportion", actions="allocate, preempt, reclaim")


@pytest.mark.parametrize("queue_name", ["", "gone"])
@pytest.mark.parametrize("actions", ["allocate", "allocate, preempt, reclaim"])
def test_pods_of_no_job_hold_room_too(queue_name: str, actions: str) -> None:
    """Pods of another scheduler, and pods of a PodGroup with a queue that does not exist."""
    group, used = "g" if queue_name else None, {"cpu": "8"}
    scheduler = "volcano" if group else "other"
    others = [pod(f"w-{at}", group, on=f"n{at}", requests=used, schedulerName=scheduler) for at in (1, 2)]
    conf = conf_of("gang", "predicates proportion", actions=actions)
    nodes, groups = [node("n1"), node("n2")], [pod_group("j"), pod_group("g", queue=queue_name)]
    recording = replay_cycle(cluster(nodes, groups, pods("j", 1, cpu="4"), others, conf=conf))
    for subject, count in (("default/j", 2), ("node/n1", 1), ("quota/default", 2)):
        reply = find_holders(recording, subject)
        holders: Any = reply.data["holders"]
        assert reply.sentence.startswith(f"{count} pod{'s' if count > 1 else ''} of no job in this cycle use")
        assert count == len(holders)
        assert {"no (of no job in this cycle)"} == {one["takenBack"] for one in holders}
    if "reclaim" in actions:
        words = "of jobs that are not in the session" if queue_name else "not managed by Volcano (other: Pod"
        assert any(f"2 {words}" in fact for fact in explain_by_name(recording, "default/j").dominant.facts)


def test_the_port_of_a_pod_of_no_job_is_held_by_it() -> None:
    ports = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]}]
    other = pod("w", on="n1", schedulerName="other", containers=ports)
    given = [node("n1"), pod_group("j"), pod("j-0", "j", containers=ports), other]
    recording = replay_cycle(cluster(*given, conf=EVICTING))
    for subject in ("default/j", "port/80"):
        holders: Any = find_holders(recording, subject).data["holders"]
        assert ["default/w"] == [one["pod"] for one in holders]


@pytest.mark.parametrize("count", [1, 2])
def test_pods_that_terminate_hold_what_only_they_keep_from_the_pod(count: int) -> None:
    """The release evicts pods and reserves no room: at the end of the cycle nodes only wait for the evicted pods."""
    nodes = [node(f"n{at}", cpu="4") for at in range(count)]
    victims = [pod(f"w-{at}", "w", on=f"n{at}", requests={"cpu": "3", "memory": "1G"}) for at in range(count)]
    groups = [pod_group("j", queue="q"), pod_group("w", queue="other", min_member=0, phase="Running")]
    queues = [queue("q", deserved={"cpu": "4", "memory": "8G"}), queue("other", deserved={"cpu": "1", "memory": "1G"})]
    conf = conf_of("conformance", "predicates capacity", actions="allocate, reclaim")
    snapshot = cluster(nodes, groups, queues, victims, pods("j", 1, cpu="2", memory="4G"), conf=conf)
    recording = replay_cycle(snapshot.with_release(resolve_release("v1.10.0").release))
    holders: Any = find_holders(recording, "default/j").data["holders"]
    assert [f"default/w-{at}" for at in range(count)] == [one["pod"] for one in holders]
    assert {"already terminating"} == {one["takenBack"] for one in holders}


def test_what_keeps_a_job_pending_is_named_where_a_node_is_free_for_the_pod() -> None:
    lone = [pod_group("j", min_member=2), pod("j-0", "j", requests={"cpu": "4"})]
    busy = [pod_group("g"), pod("g-0", "g", on="n1", requests={"cpu": "8"})]
    recording = replay_cycle(cluster(node("n1"), node("n2"), lone, busy, conf=EVICTING))
    reply = find_holders(recording, "default/j")
    assert "1 pod of 1 job (1 queue) uses resources that j-0 needs (4 cpu)." == reply.sentence
    assert any("minMember" in line for line in reply.lines)


def test_the_pods_that_hold_the_devices_of_a_claim_are_its_holders() -> None:
    held = [{"name": "h", "resourceClaimName": "held"}]
    running = [pod("old", "r", on="n1", requests={}, resourceClaims=held), pod("bystander", "r", on="n1", requests={})]
    waiting = [pod_group("w"), pod("w-0", "w", requests={}, resourceClaims=REFERS)]
    conf = conf_of("gang", "predicates")
    snapshot = cluster(node("n1"), *claiming(count=2), pod_group("r", phase="Running"), running, waiting, conf=conf)
    holders: Any = find_holders(replay_cycle(snapshot), "default/w").data["holders"]
    by_pod = {one["pod"]: one["holds"] for one in holders}
    assert by_pod["default/old"].startswith("devices for default/c (request r)")
    assert "devices" not in by_pod.get("default/bystander", "")
