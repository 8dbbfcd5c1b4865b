"""Pod requests as the Kubernetes scorers compute them."""

from typing import Any

import pytest

from vcdebug.kube.pod_requests import GPU, PodRequests, ScoredAmounts, pod_requests
from vcdebug.snapshot.snapshot import SchedulerFlags

MIB = 2**20


def container(name: str = "c", *, sidecar: bool = False, **requests: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": name,
        "resources": {"requests": {k.replace("gpu", GPU): v for k, v in requests.items()}},
    }
    return {**made, "restartPolicy": "Always"} if sidecar else made


def read(spec: dict[str, Any], status: dict[str, Any] | None = None, version: tuple[int, int] = (1, 36)) -> PodRequests:
    return pod_requests(spec, status or {}, SchedulerFlags(server_version=version).is_gate_on)


def test_defaults_are_per_container_and_resource() -> None:
    asked = read({"containers": [container(cpu="1"), container(memory="1Mi"), container(cpu="0", memory="0")]})
    assert ScoredAmounts(1000, MIB, 0) == asked.requested
    assert ScoredAmounts(1100, 201 * MIB, 0) == asked.non_zero == asked.incoming_non_zero


def test_init_containers_raise_to_their_maximum_and_sidecars_stay() -> None:
    spec = {
        "containers": [container(cpu="1", gpu="1")],
        "initContainers": [container(cpu="2"), container(sidecar=True, cpu="500m"), container(cpu="1600m")],
    }
    assert ScoredAmounts(2100, 0, 1) == read(spec).requested


def test_fractions_are_rounded_up_once_after_adding() -> None:
    spec = {"containers": [container(memory="1500m"), container(memory="1500m")]}
    assert 3 == read(spec).requested.memory


def test_pod_level_requests_replace_the_sum_except_for_the_waiting_pods_defaults() -> None:
    spec = {
        "containers": [container(cpu="1"), container()],
        "resources": {"requests": {"cpu": "3", "hugepages-2Mi": "2Mi", GPU: "5"}},
        "overhead": {"cpu": "100m"},
    }
    asked = read(spec)
    assert ScoredAmounts(3100, 0, 0) == asked.requested == asked.incoming
    assert ScoredAmounts(3100, 400 * MIB, 0) == asked.non_zero
    assert ScoredAmounts(1200, 400 * MIB, 0) == asked.incoming_non_zero
    assert ScoredAmounts(1100, 0, 0) == read(spec, version=(1, 33)).requested


@pytest.mark.parametrize(("infeasible", "expected"), [(False, 3000), (True, 2000)])
def test_a_resized_container_counts_its_largest_request_once_it_is_placed(*, infeasible: bool, expected: int) -> None:
    status: dict[str, Any] = {
        "containerStatuses": [
            {"name": "c", "resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "2"}}
        ]
    }
    if infeasible:
        status["conditions"] = [{"type": "PodResizePending", "reason": "Infeasible"}]
    spec = {"containers": [container(cpu="3")]}
    asked = read(spec, status)
    assert expected == asked.requested.milli_cpu == asked.non_zero.milli_cpu
    assert 3000 == asked.incoming.milli_cpu == asked.incoming_non_zero.milli_cpu
    assert 3000 == read(spec, status, version=(1, 32)).requested.milli_cpu


def test_amounts_beyond_int64_wrap_as_go_s_do() -> None:
    spec = {"containers": [container(cpu=str(2**63 - 1), memory=str(2**63 - 1)), container(memory="2")]}
    assert ScoredAmounts(-1000, -(2**63) + 1, 0) == read(spec).requested
