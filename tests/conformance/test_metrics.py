"""The node usage that the test server reports to a scheduler program."""

from __future__ import annotations

import json
import urllib.request
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from tests.builders import cluster, conf_of, node
from vcdebug.capture.cluster import USAGE_QUERIES, measure_usage
from vcdebug.conformance.api_server import ApiServer
from vcdebug.conformance.loopback_server import LoopbackServer, serve_on_loopback
from vcdebug.conformance.object_store import conf_with_metrics, metrics_of, with_metrics
from vcdebug.snapshot.snapshot import Snapshot

NOW = datetime(2026, 11, 1, tzinfo=UTC)
CPU = (
    'avg_over_time(clamp_min(100 - (avg by (instance) (rate(node_cpu_seconds_total{mode="idle",instance="%s"}[5m]))'
    " * 100), 0)[10m:30s])"
)
MEM = (
    '100*avg_over_time(((1-node_memory_MemAvailable_bytes{instance="%s"}/'
    'node_memory_MemTotal_bytes{instance="%s"}))[10m:30s])'
)


def busy() -> Snapshot:
    """Two nodes, one with usage metrics."""
    snapshot = cluster([node("n1"), node("n2")], conf=conf_of("usage"))
    snapshot.usage = {"n1": {"time": "2026-10-01T00:00:00Z", "cpu": {"10m": 44.6, "5m": 1.0}, "mem": {"10m": 20.25}}}
    return snapshot


def test_each_node_is_told_as_prometheus_tells_it() -> None:
    metrics = metrics_of(busy())
    assert metrics is not None
    measured = [
        metrics.answer_query(query % ((name,) * query.count("%s"))).body
        for name in ("n1", "n2")
        for query in (CPU, MEM)
    ]
    values = [[row["value"][1] for row in body["data"]["result"]] for body in measured]
    assert [["44.6"], ["20.25"], [], []] == values


def test_a_round_is_over_when_the_next_one_begins() -> None:
    metrics = metrics_of(busy())
    assert metrics is not None
    metrics.answer_query(CPU % "n1")
    metrics.answer_query(CPU % "n1")
    assert not metrics.is_round_complete
    for query in (MEM % ("n1", "n1"), CPU % "n2", MEM % ("n2", "n2")):
        metrics.answer_query(query)
    assert not metrics.is_round_complete
    metrics.answer_query(CPU % "n1")
    assert metrics.is_round_complete


def test_our_own_queries_are_answered_over_the_wire_in_either_form() -> None:
    snapshot = busy()
    metrics = metrics_of(snapshot)
    wire = LoopbackServer(ApiServer(metrics=metrics), "secret")
    with serve_on_loopback(wire) as address:
        conf = conf_with_metrics(snapshot.scheduler_conf or "", address)
        found = measure_usage(conf, "", ["n1", "n2"], NOW, [])
        form = urlencode({"query": USAGE_QUERIES["cpu"]}).encode()
        with urllib.request.urlopen(f"{address}/api/v1/query", form) as answer:
            posted = json.loads(answer.read())
        with urllib.request.urlopen(f"{address}/api/v1/query?query={quote(USAGE_QUERIES['cpu'])}") as answer:
            assert posted == json.loads(answer.read())
    assert (44.6, 20.25, 0.0) == (found["n1"]["cpu"]["10m"], found["n1"]["mem"]["10m"], found["n2"]["cpu"]["10m"])
    assert 0 == wire.requests
    assert found == with_metrics(snapshot, metrics, NOW).usage


def test_the_metrics_address_is_replaced_or_removed() -> None:
    conf = 'actions: "allocate"\nmetrics:\n  type: elasticsearch\n  address: http://prod\n'
    assert "prod" not in conf_with_metrics(conf, "http://127.0.0.1:1/x")
    assert "http://127.0.0.1:1/x" in conf_with_metrics(conf, "http://127.0.0.1:1/x")
    assert 'actions: "allocate"\n' == conf_with_metrics(conf, "")
    assert "tiers: [" == conf_with_metrics("tiers: [", "http://x")
    assert "{a: 1}" == conf_with_metrics("{a: 1}", "")


def test_a_scheduler_that_refuses_its_configuration_asks_for_no_measurements() -> None:
    snapshot = busy()
    snapshot.scheduler_conf = "actions: [allocate\n"
    assert metrics_of(snapshot) is None


def test_first_document_of_the_configuration_is_served() -> None:
    text = "actions: allocate\nmetrics: {type: prometheus, address: prod}\n---\nactions: enqueue\n"
    assert "actions: allocate\n" == conf_with_metrics(text, "")
