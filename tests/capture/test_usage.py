"""Usage metrics come from the scheduler's Prometheus; missing metrics are reported."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from urllib.error import URLError
from urllib.parse import parse_qs, urlsplit

import pytest

from vcdebug.capture.cluster import measure_usage
from vcdebug.snapshot.problems import Problem

NOW = datetime(2026, 11, 7, 9, 30, tzinfo=UTC)
CONF = """actions: "allocate"
tiers:
- plugins: [{name: usage}]
metrics: {type: prometheus, address: "http://prometheus.monitoring:9090/"}
"""


class Prometheus:
    """Answers each query with one row per node."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, url: str) -> bytes:
        self.asked.append(url)
        query = parse_qs(urlsplit(url).query)["query"][0]
        value = "12.5" if "node_cpu" in query else "NaN"
        rows = [{"metric": {"instance": "node-1"}, "value": [1, value]}]
        return json.dumps({"status": "success", "data": {"resultType": "vector", "result": rows}}).encode()


def test_every_node_has_what_the_scheduler_would_have_measured() -> None:
    problems: list[Problem] = []
    usage = measure_usage(CONF, "", ["node-1", "node-2"], NOW, problems, Prometheus())
    assert {"time": "2026-11-07T09:30:00Z", "cpu": {"10m": 12.5}, "mem": {"10m": 0.0}} == usage["node-1"]
    assert ({"10m": 0.0}, []) == (usage["node-2"]["cpu"], problems)


@pytest.mark.parametrize("conf", [None, 'actions: "allocate"\n', CONF.replace("prometheus", "elasticsearch", 1)])
def test_capture_queries_no_metrics_that_the_scheduler_does_not_query(conf: str | None) -> None:
    prometheus = Prometheus()
    assert ({}, []) == (measure_usage(conf, "", ["node-1"], NOW, [], prometheus), prometheus.asked)


def test_another_address_may_be_named() -> None:
    prometheus = Prometheus()
    measure_usage(CONF, "http://127.0.0.1:9090", ["node-1"], NOW, [], prometheus)
    assert all(url.startswith("http://127.0.0.1:9090/api/v1/query?") for url in prometheus.asked)


def refusing(url: str) -> bytes:
    raise URLError("no route")


def elsewhere(url: str) -> bytes:
    return b"<html>"


@pytest.mark.parametrize(
    ("ask", "what"),
    [(refusing, "no answer"), (elsewhere, "not a Prometheus response")],
    ids=["gone", "another server"],
)
def test_a_source_that_does_not_answer_is_a_problem(ask: object, what: str) -> None:
    problems: list[Problem] = []
    assert {} == measure_usage(CONF, "", ["node-1"], NOW, problems, ask)  # type: ignore[arg-type]  # one of two functions
    assert [f"cannot be read from prometheus: {what}"] == [problem.what for problem in problems]
