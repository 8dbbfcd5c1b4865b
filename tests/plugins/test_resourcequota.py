"""resourcequota: admission within the ResourceQuotas of a namespace, by literal names and exact amounts."""

from tests.builders import cluster, metadata, node, open_session, pod_group
from vcdebug.framework.hooks import JOB_ENQUEUEABLE, JOB_ENQUEUED
from vcdebug.framework.session import Session
from vcdebug.snapshot.snapshot import Manifest


def resource_quota(hard: dict[str, str], used: dict[str, str] | None = None, name: str = "q") -> Manifest:
    return {
        "kind": "ResourceQuota",
        "metadata": metadata(name, "default"),
        "spec": {"hard": {"cpu": "0"}},
        "status": {"hard": hard, "used": used or {}},
    }


def session(*objects: Manifest) -> Session:
    return open_session(cluster(node("n1"), *objects), "resourcequota")


def job(minimum: dict[str, str] | None, name: str = "a") -> Manifest:
    return pod_group(name, phase="Pending", min_resources=minimum)


def admits(ssn: Session, name: str = "a") -> bool:
    return ssn.ask_plugins(JOB_ENQUEUEABLE, ssn.jobs[f"default/{name}"])


def test_usage_plus_minimum_may_equal_the_hard_limit() -> None:
    quota = resource_quota({"cpu": "2"}, {"cpu": "1500m"})
    assert admits(session(quota, job({"cpu": "500m"})))
    assert not admits(session(quota, job({"cpu": "501m"})))


def test_amounts_are_exact_where_floats_are_not() -> None:
    quota = resource_quota({"storage": "9007199254740993"}, {"storage": "9007199254740992"})
    assert admits(session(quota, job({"storage": "1"})))
    assert not admits(session(quota, job({"storage": "1000000001n"})))


def test_names_are_compared_literally() -> None:
    quota = resource_quota({"requests.cpu": "1", "count/pods": "1"})
    assert admits(session(quota, job({"cpu": "9", "pods": "9"})))
    assert not admits(session(quota, job({"count/pods": "2"})))


def test_a_name_that_is_not_asked_for_may_be_over_its_limit() -> None:
    assert admits(session(resource_quota({"cpu": "1", "memory": "1Gi"}, {"memory": "2Gi"}), job({"cpu": "1"})))


def test_only_the_status_is_read() -> None:
    quota = resource_quota({})
    assert admits(session(quota, job({"cpu": "9"})))


def test_jobs_admitted_in_the_session_count_together() -> None:
    ssn = session(resource_quota({"cpu": "3"}), job({"cpu": "2"}), job({"cpu": "2"}, "b"))
    assert admits(ssn)
    assert admits(ssn, "b")
    ssn.ask_plugins(JOB_ENQUEUED, ssn.jobs["default/a"])
    assert not admits(ssn, "b")


def test_every_quota_of_the_namespace_must_hold() -> None:
    assert not admits(session(resource_quota({"cpu": "9"}), resource_quota({"cpu": "1"}, name="r"), job({"cpu": "2"})))


def test_without_a_minimum_or_a_quota_every_job_is_admitted_and_nothing_is_pending() -> None:
    assert admits(session(resource_quota({"cpu": "0"}), job(None)))
    ssn = session(job({"cpu": "9"}))
    assert admits(ssn)
    ssn.ask_plugins(JOB_ENQUEUED, ssn.jobs["default/a"])
    assert {} == ssn.plugins["resourcequota"].pending  # type: ignore[attr-defined]


def test_the_event_names_what_is_exceeded_in_gos_own_form() -> None:
    quota = resource_quota({"cpu": "1", "memory": "1Gi", "pods": "9"}, {"cpu": "500m"})
    ssn = session(quota, job({"cpu": "2", "memory": "1500Mi", "pods": "1"}))
    assert not admits(ssn)
    message = (
        "resource quota insufficient, "
        "requested: map[cpu:{{2 0} {<nil>} 2 DecimalSI} memory:{{1572864000 0} {<nil>} 1500Mi BinarySI}], "
        "used: map[cpu:{{500 -3} {<nil>} 500m DecimalSI}], "
        "limited: map[cpu:{{1 0} {<nil>} 1 DecimalSI} memory:{{1073741824 0} {<nil>} 1Gi BinarySI}]"
    )
    assert [message] == [event.message for event in ssn.record.pod_group_events]
