"""Higher priority comes first and may preempt lower priority."""

from tests.builders import cluster, names, node, open_session, pod, pod_group, pods, priority_class, task, tasks
from vcdebug.framework.hooks import JOB_STARVING, PREEMPTABLE, SUB_JOB_ORDER, TASK_ORDER, UNIFIED_EVICTABLE
from vcdebug.framework.plugin_answers import EvictionContext, EvictionKind
from vcdebug.framework.session import Session


def classes() -> list[dict[str, object]]:
    return [priority_class("low", 10), priority_class("mid", 50, default=True), priority_class("high", 100)]


def two_jobs(victim: str | None, preemptor: str | None) -> Session:
    return open_session(
        cluster(
            node("n1"),
            classes(),
            pod_group("running", priority_class=victim),
            pods("running", 2, on="n1", priority=7),
            pod_group("waiting", priority_class=preemptor),
            pods("waiting", 1, priority=7),
        ),
        "priority",
    )


def victims(ssn: Session, preemptor: str, *candidates: str) -> list[str]:
    return names(ssn.ask_plugins(PREEMPTABLE, task(ssn, preemptor), tasks(ssn, *candidates)))


def test_a_job_of_lower_priority_gives_way() -> None:
    ssn = two_jobs("low", "high")
    assert ["running-0", "running-1"] == victims(ssn, "waiting-0", "running-0", "running-1")


def test_jobs_of_equal_priority_keep_their_room() -> None:
    assert [] == victims(two_jobs("high", "high"), "waiting-0", "running-0")


def test_an_unknown_priority_class_means_the_global_default() -> None:
    ssn = two_jobs("low", "nobody-knows")
    assert 50 == ssn.jobs["default/waiting"].priority
    assert ["running-0"] == victims(ssn, "waiting-0", "running-0")


def test_inside_one_job_the_task_priority_decides() -> None:
    ssn = open_session(
        cluster(
            node("n1"),
            pod_group("j"),
            pod("a", "j", on="n1", priority=5),
            pod("b", "j", on="n1", priority=4),
            pod("c", "j", priority=5),
        ),
        "priority",
    )
    assert ["b"] == victims(ssn, "c", "a", "b")


def test_the_annotation_beats_the_pods_priority_and_the_default_is_1() -> None:
    ssn = open_session(
        cluster(
            pod_group("j"),
            pod("annotated", "j", priority=5, annotations={"volcano.sh/task-priority": "9"}),
            pod("unparsable", "j", priority=5, annotations={"volcano.sh/task-priority": "nine"}),
            pod("plain", "j"),
        ),
        "priority",
    )
    assert [9, 5, 1] == [task(ssn, name).priority for name in ("annotated", "unparsable", "plain")]
    assert -1 == ssn.ask_plugins(TASK_ORDER, task(ssn, "annotated"), task(ssn, "unparsable"))
    assert 1 == ssn.ask_plugins(TASK_ORDER, task(ssn, "plain"), task(ssn, "unparsable"))


def test_preemptable_abstains_for_a_preemptor_without_a_job() -> None:
    ssn = two_jobs("low", "high")
    orphan = task(ssn, "waiting-0").clone()
    orphan.job = "default/gone"
    assert ssn.ask_plugins(PREEMPTABLE, orphan, tasks(ssn, "running-0")) is None


def test_a_candidate_without_a_job_is_passed_over() -> None:
    ssn = two_jobs("low", "high")
    orphan, other = tasks(ssn, "running-0", "running-1")
    orphan.job = "default/gone"
    assert ["running-1"] == names(ssn.ask_plugins(PREEMPTABLE, task(ssn, "waiting-0"), [orphan, other]))


def test_a_reclaim_of_gangs_does_not_look_at_priority() -> None:
    ssn = two_jobs("high", "low")
    job = ssn.jobs["default/waiting"]
    asked = {
        kind: names(ssn.ask_plugins(UNIFIED_EVICTABLE, EvictionContext(kind, job, ""), tasks(ssn, "running-0")))
        for kind in (EvictionKind.GANG_RECLAIM, EvictionKind.GANG_PREEMPT)
    }
    assert {EvictionKind.GANG_RECLAIM: ["running-0"], EvictionKind.GANG_PREEMPT: []} == asked


def test_a_failed_pod_keeps_its_job_starving() -> None:
    ssn = open_session(
        cluster(
            node("n1"),
            pod_group("whole"),
            pods("whole", 2, on="n1"),
            pod_group("broken"),
            pods("broken", 2, on="n1"),
            pod("broken-2", "broken", on="n1", phase="Failed"),
        ),
        "priority",
    )
    starving = {name: ssn.ask_plugins(JOB_STARVING, job) for name, job in ssn.jobs.items()}
    assert {"default/broken": True, "default/whole": False} == starving


def test_a_sub_job_is_never_below_priority_0() -> None:
    policies = [{"name": "group", "subGroupSize": 1, "matchLabelKeys": ["volcano.sh/group"]}]
    snapshot = cluster(
        pod_group("j", subGroupPolicy=policies),
        pod("a", "j", priority=-5),
        pod("b", "j", priority=3),
        pod("c", "j", priority=4),
    )
    for name, group in (("a", "1"), ("b", "2"), ("c", "2")):
        found = next(manifest for manifest in snapshot.objects_of("Pod") if manifest["metadata"]["name"] == name)
        found["metadata"]["labels"] = {"volcano.sh/group": group}
    ssn = open_session(snapshot, "priority")
    first, second = ssn.jobs["default/j"].sub_jobs_in_order()
    assert [0, 4] == [first.priority, second.priority]
    assert 1 == ssn.ask_plugins(SUB_JOB_ORDER, first, second)
