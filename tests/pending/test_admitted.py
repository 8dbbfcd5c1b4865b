"""A Volcano Job whose PodGroup is admitted before the controller has created the pods."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, priority_class, queue
from tests.pending.situations import CLASSES, PLAIN, WANTED, conf, running
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.explain.questions.holders import find_next_job
from vcdebug.explain.subject_names import NotFoundError
from vcdebug.framework.record import CloseEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.edited_snapshot import snapshot_at_release

VOLCANO_JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "wanted", "uid": "1"}


def recorded(
    cpu: str = "4", min_member: int = 2, phase: str = "Pending", owner: Any = VOLCANO_JOB, parts: Any = ()
) -> Recording:
    group = pod_group("wanted", min_member=min_member, phase=phase, min_resources={"cpu": cpu} if cpu else None)
    group["metadata"]["ownerReferences"] = [owner] if owner else []
    objects = [*CLASSES, node("n1", cpu="8"), node("n2", cpu="8"), group, *parts]
    return replay_cycle(cluster(objects, conf=conf(PLAIN)))


def asked(**how: Any) -> Explanation:
    return explain_by_name(recorded(**how), WANTED)


@pytest.mark.parametrize(
    ("cpu", "min_member", "fact"),
    [
        ("4", 2, "2 pods of 2 cpu (minResources / minMember) would fit on n1."),
        ("15", 3, "3 pods of 5 cpu (minResources / minMember) would not fit now: the nodes have room for 2."),
        ("12", 2, "2 pods of 6 cpu (minResources / minMember) would fit on n1, n2."),
        ("", 2, "Its PodGroup has no minResources, so whether the pods would fit is unknown."),
    ],
)
def test_an_admitted_volcano_job_without_pods_is_healthy(cpu: str, min_member: int, fact: str) -> None:
    found = asked(cpu=cpu, min_member=min_member)
    assert ("admitted", True) == (found.cause_code, found.scheduled)
    assert f"{WANTED} is admitted in this cycle: its controller creates its pods next." == found.sentence
    assert (fact,) == found.dominant.facts


BATCH_JOB = {**VOLCANO_JOB, "apiVersion": "batch/v1"}


@pytest.mark.parametrize("phase", ["Pending", "Inqueue"])
@pytest.mark.parametrize(("owner", "ready"), [(VOLCANO_JOB, False), (VOLCANO_JOB, True), (BATCH_JOB, False)])
def test_a_controller_that_does_not_run_creates_no_pods(phase: str, owner: Any, ready: bool) -> None:
    (controller,) = pods("", 1, on="n1", prefix="volcano-controllers")
    state = {"running": {}} if ready else {"waiting": {"reason": "CrashLoopBackOff"}}
    controller["status"]["containerStatuses"] = [{"name": "c", "restartCount": 3, "state": state}]
    found = asked(phase=phase, owner=owner, parts=[controller])
    down = "controller does not run: pod default/volcano-controllers-0 is CrashLoopBackOff (3 restarts)"
    is_blamed = owner is VOLCANO_JOB and not ready
    assert is_blamed is (down in found.full_text)
    assert not is_blamed or "creates its pods next" not in found.sentence
    assert not is_blamed or found.advice_texts[0].startswith("See why: kubectl -n default logs volcano-controllers-0")


@pytest.mark.parametrize("status", ["True", "False"])
def test_the_condition_of_an_admitted_job_without_pods_is_called_no_error(status: str) -> None:
    message = "1/0 tasks in gang unschedulable: pod group is not ready, 1 minAvailable"
    condition = {"type": "Unschedulable", "status": status, "reason": "NotEnoughResources", "message": message}
    group = pod_group("wanted", phase="Pending", min_resources={"cpu": "4"})
    group["metadata"]["ownerReferences"] = [VOLCANO_JOB]
    group["status"]["conditions"] = [condition]
    recording = replay_cycle(cluster([*CLASSES, node("n1", cpu="8"), group], conf=conf(PLAIN)))
    # The close of the same cycle writes it again, although the job is admitted.
    assert message in str(list(recording.events_of_type(CloseEvent)))
    first, *others = explain_by_name(recording, WANTED).dominant.facts
    assert first.endswith("would fit on n1.")
    no_error = "is not an error: releases before v1.12.0 write it as long as the job has no pods."
    assert any(fact.endswith(no_error) for fact in others) is (status == "True")


@pytest.mark.parametrize("how", [{"phase": "Inqueue"}, {"owner": None}])
def test_job_that_gets_no_pods_in_this_cycle_still_lacks_them(how: dict[str, Any]) -> None:
    found = asked(**how)
    assert ("not-enough-pods", False) == (found.cause_code, found.scheduled)


def test_the_survey_counts_an_admitted_job_neither_as_unscheduled_nor_as_partly_waiting() -> None:
    found = survey_jobs(recorded())
    assert ([], []) == (found.unscheduled_jobs, found.partly_waiting_jobs)


def test_a_running_pod_of_a_job_with_pending_pods_is_answered_for_itself() -> None:
    more = pods("a", 1, cpu="16")
    more[0]["metadata"] |= {"name": "a-late", "uid": "a-late"}
    objects = [*CLASSES, node("n1", cpu="8"), *running("a", "n1"), *more]
    recording = replay_cycle(cluster(objects, conf=conf(PLAIN)))
    running_pod, late = (explain_by_name(recording, f"default/{name}") for name in ("a-0", "a-late"))
    assert "default/a-0 is not Pending: it was already Running when the cycle began." == running_pod.sentence
    assert (True, False) == (running_pod.scheduled, late.scheduled)


@pytest.mark.parametrize("word", ["train", "default/train"])
def test_a_job_is_found_by_its_owners_name_before_its_pods_exist(word: str) -> None:
    recording = recorded(owner=VOLCANO_JOB | {"name": "train"})
    assert WANTED == explain_by_name(recording, word).job


def test_an_owner_of_another_namespace_is_not_found() -> None:
    with pytest.raises(NotFoundError):
        explain_by_name(recorded(owner=VOLCANO_JOB | {"name": "train"}), "other/train")


def test_a_job_is_found_by_the_name_of_its_pods_owner() -> None:
    group = pod_group("podgroup-1234", min_member=1)
    members = pods("podgroup-1234", 1)
    members[0]["metadata"]["ownerReferences"] = [{"kind": "StatefulSet", "apiVersion": "apps/v1", "name": "web"}]
    recording = replay_cycle(cluster([node("n1"), group, *members], conf=conf(PLAIN)))
    assert "default/podgroup-1234" == explain_by_name(recording, "web").job


def templated(cpu: str, **spec: Any) -> list[Any]:
    """A Volcano Job of a master and two workers without pods, and its Pending PodGroup."""
    tasks = [
        {
            "name": name,
            "replicas": count,
            "template": {"spec": {**pods("t", 1, cpu=each, memory=None)[0]["spec"], **spec}},
        }
        for name, count, each in (("master", 1, "1"), ("worker", 2, cpu))
    ]
    job = {
        "kind": "Job",
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "metadata": {"name": "wanted", "namespace": "default"},
    }
    group = pod_group("wanted", min_member=3, phase="Pending", min_resources={"cpu": "3"})
    group["metadata"]["ownerReferences"] = [VOLCANO_JOB]
    return [*CLASSES, node("n1", cpu="8"), node("n2", cpu="8"), {**job, "spec": {"tasks": tasks}}, group]


@pytest.mark.parametrize(
    ("cpu", "spec", "fact"),
    [
        ("3", {}, "1 pod of 1 cpu, 2 pods of 3 cpu (pod template) would fit on n1."),
        ("6", {}, "1 pod of 1 cpu, 2 pods of 6 cpu (pod template) would fit on n1, n2."),
        ("8", {}, "1 pod of 1 cpu, 2 pods of 8 cpu (pod template) would not fit now: the nodes have room for 2."),
        (
            "1",
            {"nodeSelector": {"pool": "a"}},
            "1 pod of 1 cpu, 2 pods of 1 cpu (pod template) would not fit now: node(s) didn't match",
        ),
    ],
)
def test_the_pods_to_come_are_those_of_the_jobs_templates(cpu: str, spec: dict[str, Any], fact: str) -> None:
    found = explain_by_name(replay_cycle(cluster(templated(cpu, **spec), conf=conf(PLAIN))), WANTED)
    assert "admitted" == found.cause_code
    assert found.dominant.facts[0].startswith(fact)


@pytest.mark.parametrize("used", ["In use on n1 (cpu): default/old-0 8.", ""])
def test_who_uses_the_room_for_the_pods_to_come_is_told(used: str) -> None:
    old = [pod_group("old", phase="Running"), *pods("old", 1, cpu="8", on="n1")]
    more = pods("old", 1, cpu="8", prefix="more", on="n2") if used else []
    group = pod_group("wanted", phase="Pending", min_resources={"cpu": "2"})
    group["metadata"]["ownerReferences"] = [VOLCANO_JOB]
    hosts = [*CLASSES, node("n1", cpu="8"), node("n2", cpu="8")]
    found = explain_by_name(replay_cycle(cluster(hosts, old, more, group, conf=conf(PLAIN))), WANTED)
    assert found.dominant.facts[0].endswith(used or "would fit on n2.")
    assert bool(used) is ("would not fit now: Insufficient cpu (2 nodes). " in found.dominant.facts[0])


# What the PodGroup's minResources say to enqueue

ENQUEUE = conf_of("gang", "overcommit predicates nodeorder", actions="enqueue, allocate")


@pytest.mark.parametrize(("asked", "told"), [("11", True), ("9", False)])
def test_pods_of_a_job_that_was_admitted_with_more_than_the_cluster_has_are_told_so(asked: str, told: bool) -> None:
    job = [pod_group("j", phase="Running", min_resources={"cpu": asked}), *pods("j", 1, cpu="6", on="n1")]
    snapshot = cluster(node("n1"), job, pods("j", 1, cpu="5", prefix="more"), conf=ENQUEUE)
    found = explain_by_name(replay_cycle(snapshot), "default/j")
    assert told is (
        f"The PodGroup was admitted with minResources of {asked} cpu; the cluster has 10." in found.full_text
    )
    assert told is any(line.text.startswith("Set overcommit-factor to 1: ") for line in found.advised)


@pytest.mark.parametrize(("cpu", "told"), [("20", True), ("8", False)])
def test_what_no_node_has_is_not_admitted_and_a_cluster_autoscaler_needs_pods(cpu: str, told: bool) -> None:
    full = [pod_group("old", phase="Running"), *pods("old", 1, cpu="9", on="n1")]
    snapshot = cluster(node("n1"), full, pod_group("j", phase="Pending", min_resources={"cpu": cpu}), conf=ENQUEUE)
    found = explain_by_name(replay_cycle(snapshot), "default/j")
    assert "enqueue-overcommit" == found.cause_code
    assert told is any(line.text.startswith("For a cluster autoscaler, drop enqueue") for line in found.advised)


@pytest.mark.parametrize(("priority", "told"), [(1, "(of lower priority)"), (9, "(created later)"), (20, "")])
def test_smaller_jobs_that_enqueue_admits_after_rejecting_one_are_named_with_the_plugin_that_reserves(
    priority: int, told: str
) -> None:
    full = [pod_group("old", phase="Running"), *pods("old", 1, cpu="7", on="n1")]
    big = pod_group("j", phase="Pending", min_resources={"cpu": "8"}, priority_class="p9")
    small = pod_group("s", phase="Pending", min_resources={"cpu": "1"}, priority_class=f"p{priority}")
    small["metadata"] |= {"creationTimestamp": "2026-10-31T13:00:00Z"}
    classes = [priority_class(f"p{value}", value) for value in {9, priority}]
    settings = conf_of("priority gang", "overcommit predicates", actions="enqueue, allocate")
    found = explain_by_name(replay_cycle(cluster(node("n1"), classes, full, big, small, conf=settings)), "default/j")
    assert "enqueue-overcommit" == found.cause_code
    fact = f"default/s {told} is admitted in this cycle, since enqueue goes on with jobs that fit."
    assert bool(told) is (fact in found.dominant.facts)
    assert bool(told) is any(line.text.startswith("Plugin sla, in a tier before") for line in found.advised)


@pytest.mark.parametrize(
    ("phase", "cause"), [("Pending", "enqueue-overcommit"), ("Inqueue", "enqueue-held-by-inqueue")]
)
@pytest.mark.parametrize("queues", [("default", "default"), ("default", "other")])
def test_a_job_that_this_cycle_admitted_first_is_named_and_only_an_earlier_one_is_said_to_be_stuck(
    phase: str, cause: str, queues: tuple[str, str]
) -> None:
    first = pod_group("first", phase=phase, queue=queues[0], min_resources={"cpu": "9"}, priority_class="p9")
    late = pod_group("j", phase="Pending", queue=queues[1], min_resources={"cpu": "4"})
    settings = conf_of("priority gang", "overcommit predicates", actions="enqueue, allocate")
    found = explain_by_name(
        replay_cycle(cluster(node("n1"), queue("other"), priority_class("p9", 9), first, late, conf=settings)),
        "default/j",
    )
    assert cause == found.cause_code
    assert (phase == "Pending") is ("Admitted before it in this cycle (cpu): default/first 9." in found.dominant.facts)
    assert (phase == "Inqueue") is any("Delete PodGroup default/first" in line.text for line in found.advised)


@pytest.mark.parametrize(
    ("first", "others"), [("overcommit proportion", 1), ("proportion overcommit", 1), ("overcommit", 0)]
)
def test_a_limit_that_an_earlier_rejection_left_unasked_is_named_too(first: str, others: int) -> None:
    waits = pod_group("j", phase="Pending", queue="q", min_resources={"cpu": "20"})
    settings = conf_of("priority gang", f"{first} predicates", actions="enqueue, allocate")
    recording = replay_cycle(cluster(node("n1"), queue("q", capability={"cpu": "4"}), waits, conf=settings))
    found = explain_by_name(recording, "default/j")
    causes = {found.cause_code, *(finding.cause for finding in found.contributing)}
    assert ({"enqueue-overcommit", "enqueue-queue-quota"} <= causes) is bool(others)


@pytest.mark.parametrize(
    ("state", "release", "closed"), [("Closed", "master", 1), ("Closed", "v1.11.2", 0), ("Open", "master", 0)]
)
@pytest.mark.parametrize("limit", ["overcommit", "capability"])
def test_a_closed_queue_is_named_where_the_release_reads_its_state(
    state: str, release: str, closed: int, limit: str
) -> None:
    """Whether overcommit rejects before the queue's plugin is asked, or that plugin rejects for its limit."""
    plugins, capability = ("overcommit proportion", "99") if limit == "overcommit" else ("proportion", "4")
    waits = pod_group("j", phase="Pending", queue="q", min_resources={"cpu": "20"})
    settings = conf_of("priority gang", f"{plugins} predicates", actions="enqueue, allocate")
    objects = [node("n1"), queue("q", state=state, capability={"cpu": capability}), waits]
    found = explain_by_name(replay_cycle(snapshot_at_release(cluster(objects, conf=settings), release)), "default/j")
    causes = [found.cause_code, *(finding.cause for finding in found.contributing)]
    assert closed == causes.count("queue-closed")


def test_a_starving_job_is_not_said_to_lack_a_plugin_that_reports_it() -> None:
    low = [pod_group("low", phase="Running"), *pods("low", 2, cpu="5", on="n1", priority=1)]
    waits = [pod_group("j", queue="q", priority_class="high"), *pods("j", 1, cpu="5", priority=1000)]
    snapshot = cluster(CLASSES, node("n1"), queue("q"), low, waits, conf=conf("allocate, preempt"))
    old = replace(snapshot, flags=replace(snapshot.flags, release=resolve_release("v1.11.0").release))
    for each in (snapshot, old):
        found = explain_by_name(replay_cycle(each), "default/j")
        texts = [found.sentence, *(str(finding.headline) for finding in found.contributing)]
        assert not [text for text in texts if "no enabled plugin reports starvation" in text]


def test_of_nodes_that_lack_as_much_the_one_with_pods_of_other_jobs_is_named() -> None:
    own = [pod_group("j", min_member=3, phase="Running"), *pods("j", 2, cpu="5", on="n1"), pods("j", 3, cpu="5")[2]]
    other = [pod_group("thief", phase="Running"), *pods("thief", 2, cpu="5", on="n2")]
    recording = replay_cycle(cluster(node("n1"), node("n2"), own, other, conf=conf(PLAIN)))
    facts = explain_by_name(recording, "default/j").dominant.facts
    assert "In use on n2 (cpu): default/thief-0 5, default/thief-1 5." in facts
    assert "2 of the 3 pods that minMember requires already run." in facts


def test_the_next_job_is_not_denied_where_jobs_have_no_pods_yet() -> None:
    conf = conf_of("gang", "predicates", actions="enqueue, allocate")
    reply = find_next_job(replay_cycle(cluster(node("n1"), pod_group("j", phase="Inqueue"), conf=conf)))
    assert reply.sentence == "No pod is Pending; no pods exist yet of default/j."
    assert find_next_job(replay_cycle(cluster(node("n1"), conf=conf))).sentence == "No Pending jobs."


def test_a_configuration_without_actions_is_named_as_the_cause() -> None:
    # Later releases reject it.
    snapshot = cluster(node("n1"), pod_group("j"), pods("j", 1, cpu="1"), conf="tiers: []\n")
    found = explain_by_name(replay_cycle(snapshot_at_release(snapshot, "v1.13.3")), "default/j")
    assert found.sentence.endswith("the configuration lacks the allocate action (actions: none).")


@pytest.mark.parametrize("placed", [True, False])
@pytest.mark.parametrize("low", [1, 9])
def test_a_job_of_lower_priority_in_a_queue_that_is_served_first_is_named_with_the_reason(
    low: int, placed: bool
) -> None:
    classes, queues = [priority_class("low", low), priority_class("high", 5)], [queue("idle"), queue("busy")]
    runs = [pod_group("runs", queue="busy", phase="Running"), *pods("runs", 1, cpu="2", on="n1")]
    first = pod_group("first", queue="idle", priority_class="low", phase="Pending", min_resources={"cpu": "4"})
    late = pod_group("late", queue="busy", priority_class="high", phase="Pending", min_resources={"cpu": "8"})
    members = [*pods("first", 1, cpu="4" if placed else "20"), *pods("late", 1, cpu="8")]
    conf = conf_of("priority gang", "overcommit predicates proportion", actions="enqueue, allocate")
    recording = replay_cycle(cluster(node("n1", cpu="10"), classes, queues, runs, first, late, members, conf=conf))
    facts = " ".join(explain_by_name(recording, "default/late").dominant.facts)
    assert placed is ("Admitted before it in this cycle (cpu): default/first 4." in facts)
    why = "default/first has a lower priority (1): queue idle is served before busy"
    assert (placed and low == 1) is (why in facts)


@pytest.mark.parametrize(
    ("total", "used", "said"),
    [
        ("8", "2", "overcommit allows 7.6 more (8 x 1.2 - 2 used), 1.4 short"),
        ("4", "8", "overcommit allows no more (4 x 1.2, less than the 8 used), 12.2 short"),
        ("0", "0", "which no node provides (overcommit)"),
    ],
)
def test_room_that_overcommit_does_not_have_is_no_negative_amount(total: str, used: str, said: str) -> None:
    host = node("n1", cpu="100", **{"example.com/card": "8"})
    host["status"]["allocatable"] = {**host["status"]["capacity"], "example.com/card": total}
    runs = [pod_group("runs", phase="Running"), pod("runs-0", "runs", on="n1", requests={"example.com/card": used})]
    late = pod_group("late", phase="Pending", min_resources={"example.com/card": "9"})
    conf = conf_of("gang", "overcommit predicates", actions="enqueue, allocate")
    recording = replay_cycle(cluster(host, runs, late, pods("late", 1), conf=conf))
    assert explain_by_name(recording, "default/late").dominant.reason.endswith(said)
