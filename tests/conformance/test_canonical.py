"""The form in which a server serves a pod."""

import pytest

from tests.builders import cluster, node, pod
from vcdebug.conformance.api_objects import ApiRequest
from vcdebug.conformance.api_server import ApiServer
from vcdebug.conformance.loopback_server import canonical_amount, canonical_pod
from vcdebug.conformance.scheduler_program import fill_server


@pytest.mark.parametrize(
    ("text", "served"),
    [
        ("0.5Gi", "512Mi"),
        ("1.5Gi", "1536Mi"),
        ("2.0Gi", "2Gi"),
        ("0.5Ki", "512"),
        ("0.3Gi", "322122547200m"),
        ("1.5Ei", "1536Pi"),
        ("0.0Gi", "0"),
        ("a.bGi", "a.bGi"),
    ],
)
def test_a_binary_fraction_is_served_in_whole_units(text: str, served: str) -> None:
    assert served == canonical_amount(text)


def test_of_a_pod_only_binary_fractions_among_its_amounts_are_written_anew() -> None:
    def of(text: str) -> dict[str, object]:
        container = {"name": "1.5Gi", "resources": {"requests": {"cpu": "0.5", "memory": text}}}
        made = pod("j-0", "j", containers=[container], annotations={"a": "1.5Gi"})
        made["spec"] |= {"overhead": {"memory": text}, "resources": {"requests": {"memory": text}}}
        return made

    assert of("1536Mi") == canonical_pod(of("1.5Gi"))


def test_a_program_reads_whole_units() -> None:
    made = pod("j-0", "j")
    made["spec"]["resources"] = {"requests": {"memory": "0.5Gi"}}
    api = ApiServer()
    fill_server(api, cluster(node("n1"), made))
    served = api.answer_request(ApiRequest("GET", "/api/v1/namespaces/default/pods/j-0", {}, {}, None)).body
    assert isinstance(served, dict)
    assert {"requests": {"memory": "512Mi"}} == served["spec"]["resources"]
