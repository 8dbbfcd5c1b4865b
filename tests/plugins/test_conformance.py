"""conformance protects critical pods, by class name or namespace."""

from tests.builders import cluster, names, node, open_session, pod, pod_group, task
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE, UNIFIED_EVICTABLE
from vcdebug.framework.plugin_answers import EvictionContext, EvictionKind
from vcdebug.framework.session import Session


def session(*tiers: str) -> Session:
    return open_session(
        cluster(
            node("n1"),
            pod_group("system", namespace="kube-system"),
            pod("dns", "system", namespace="kube-system", on="n1"),
            pod_group("user"),
            pod("critical", "user", on="n1", priorityClassName="system-node-critical"),
            pod("important", "user", on="n1", priorityClassName="important", priority=2_000_000_000),
            pod("plain", "user", on="n1"),
            pod_group("waiting"),
            pod("preemptor", "waiting"),
        ),
        *tiers,
    )


def test_every_victim_hook_protects_critical_classes_and_kube_system() -> None:
    ssn = session("conformance")
    candidates = [t for job in ssn.jobs.values() for t in job.tasks.values() if t.node_name]
    context = EvictionContext(EvictionKind.GANG_PREEMPT, ssn.jobs["default/waiting"], "")
    preemptor = task(ssn, "preemptor")
    expected = ["important", "plain"]
    assert expected == names(ssn.ask_plugins(PREEMPTABLE, preemptor, candidates))
    assert expected == names(ssn.ask_plugins(RECLAIMABLE, preemptor, candidates))
    assert expected == names(ssn.ask_plugins(UNIFIED_EVICTABLE, context, candidates))


def test_later_tier_may_allow_victims_that_conformance_protects() -> None:
    ssn = session("conformance", "gang")
    ssn.jobs["default/user"].min_available = 0
    assert ["critical"] == names(ssn.ask_plugins(PREEMPTABLE, task(ssn, "preemptor"), [task(ssn, "critical")]))
