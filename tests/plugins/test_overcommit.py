"""overcommit admits jobs by the idle resources of a cluster enlarged by a factor."""

import pytest

from tests.builders import amounts, cluster, conf_of, node, open_session, pod, pod_group, pods
from vcdebug.framework.hooks import JOB_ENQUEUEABLE, JOB_ENQUEUED
from vcdebug.framework.session import Session
from vcdebug.plugins.overcommit import Overcommit
from vcdebug.snapshot.snapshot import Manifest


def session(*objects: Manifest | list[Manifest], factor: str | None = None) -> Session:
    arguments = {} if factor is None else {"overcommit": {"arguments": f"{{overcommit-factor: {factor}}}"}}
    return open_session(cluster(*objects, conf=conf_of("overcommit", arguments=arguments)))


def overcommit(ssn: Session) -> Overcommit:
    plugin = ssn.plugins["overcommit"]
    assert isinstance(plugin, Overcommit)
    return plugin


def admits(minimum: dict[str, str], *others: Manifest, factor: str | None = None) -> tuple[bool, list[str]]:
    ssn = session(*others, pod_group("new", phase="Pending", min_resources=minimum), factor=factor)
    answer = ssn.ask_plugins(JOB_ENQUEUEABLE, ssn.jobs["default/new"])
    return answer, [event.message for event in ssn.record.pod_group_events]


TWO_CORES = node("n1", cpu="2", memory="10G")


def test_the_minimum_must_fit_the_enlarged_cluster_without_tolerance() -> None:
    assert (True, []) == admits(amounts("2.4"), TWO_CORES)
    assert (False, ["resource in cluster is overused: overused cpu"]) == admits(amounts("2.401"), TWO_CORES)
    assert (True, []) == admits(amounts(memory="12G"), TWO_CORES)


def test_the_product_is_gos_and_a_rounding_below_the_minimum_rejects() -> None:
    assert (False, ["resource in cluster is overused: overused cpu"]) == admits(
        amounts("15.4"), node("n1", cpu="11"), factor="1.4"
    )


@pytest.mark.parametrize(("text", "factor"), [('"1.5"', 1.2), ("1.5", 1.5), ("2", 2.0), ("0.9", 1.2)])
def test_the_factor_is_a_number_of_at_least_1(text: str, factor: float) -> None:
    assert factor == overcommit(session(TWO_CORES, factor=text)).factor


def test_a_resource_that_no_node_has_rejects() -> None:
    answer = admits(amounts("1", gpu="1"), TWO_CORES)
    assert (False, ["resource in cluster is overused: overused nvidia.com/gpu"]) == answer


def test_an_overused_dimension_rejects_only_jobs_that_request_it() -> None:
    busy = pod("big", on="n1", requests=amounts("5"))
    assert (True, []) == admits(amounts(memory="1G"), TWO_CORES, busy)
    assert (False, ["resource in cluster is overused: overused cpu"]) == admits(amounts("1m"), TWO_CORES, busy)


def test_a_job_without_minimum_is_admitted() -> None:
    ssn = session(TWO_CORES, pod_group("new", phase="Pending"))
    assert ssn.ask_plugins(JOB_ENQUEUEABLE, ssn.jobs["default/new"])
    ssn.ask_plugins(JOB_ENQUEUED, ssn.jobs["default/new"])
    assert 0.0 == overcommit(ssn).inqueue.milli_cpu


def test_jobs_admitted_in_a_row_add_up() -> None:
    groups = [pod_group(name, phase="Pending", min_resources=amounts("1.5")) for name in ("a", "b")]
    ssn = session(TWO_CORES, groups)
    assert ssn.ask_plugins(JOB_ENQUEUEABLE, ssn.jobs["default/a"])
    ssn.ask_plugins(JOB_ENQUEUED, ssn.jobs["default/a"])
    assert not ssn.ask_plugins(JOB_ENQUEUEABLE, ssn.jobs["default/b"])


def test_only_admitted_jobs_reserve_and_inqueue_ones_reserve_twice_what_already_runs() -> None:
    ssn = session(
        node("n1", cpu="10"),
        pod_group("pending", phase="Pending", min_resources=amounts("1")),
        pod_group("inqueue", min_resources=amounts("2")),
        pods("inqueue", 2, on="n1"),
        pod_group("running", phase="Running", min_member=1, min_resources=amounts("4")),
        pods("running", 1, on="n1"),
        pod_group("partly", phase="Running", min_member=2, min_resources=amounts("8")),
        pods("partly", 1, on="n1"),
    )
    assert 2000.0 + 3000.0 == overcommit(ssn).inqueue.milli_cpu
    assert 12000.0 - 4000.0 == overcommit(ssn).idle.milli_cpu


def test_requests_of_gated_pods_are_not_reserved() -> None:
    gated = pods("j", 1, cpu="1", memory=None, schedulingGates=[{"name": "wait"}])
    ssn = session(TWO_CORES, pod_group("j", min_resources=amounts("3")), gated)
    assert 2000.0 == overcommit(ssn).inqueue.milli_cpu
