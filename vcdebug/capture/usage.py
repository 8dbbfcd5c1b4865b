"""How busy the nodes are, from the Prometheus that the plugin usage is configured with, by its own queries."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from urllib.error import URLError
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

from vcdebug.capture.permission import PROBLEM_FILE
from vcdebug.plugins import USAGE
from vcdebug.snapshot.json_values import Json, JsonDict
from vcdebug.snapshot.problem import Problem

USAGE_PLUGIN, USAGE_SOURCE = USAGE, "prometheus"
USAGE_PERIOD = "10m"
USAGE_QUERIES = {
    "cpu": (
        'avg_over_time(clamp_min(100 - (avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[5m])) * 100), 0)'
        f"[{USAGE_PERIOD}:30s])"
    ),
    "mem": f"100*avg_over_time(((1-node_memory_MemAvailable_bytes/node_memory_MemTotal_bytes))[{USAGE_PERIOD}:30s])",
}
"""As the scheduler asks, for all nodes at once."""
TIMEOUT_SECONDS = 10.0
UNMEASURED_EFFECT = "every node counts as unmeasured; name a reachable address with --usage-url, or add usage.json"

Ask = Callable[[str], bytes]


class NotMeasured(Exception):
    """No measurements: the source does not answer, or not as Prometheus does."""


def measure_usage(
    conf: str | None, url: str, nodes: list[str], now: datetime, problems: list[Problem], ask: Ask | None = None
) -> JsonDict:
    """Node to usage, as usage.json has it; empty where the scheduler does not ask either."""
    from vcdebug.trace.conf import parse_conf

    parsed = parse_conf(conf)
    if USAGE_PLUGIN not in parsed.plugin_names() or (parsed.metrics.get("type") != USAGE_SOURCE and not url):
        return {}
    address = url or parsed.metrics.get("address", "")
    try:
        found = {name: _values_by_instance(address, query, ask or _get_url) for name, query in USAGE_QUERIES.items()}
    except NotMeasured as failure:
        problems.append(
            Problem(PROBLEM_FILE, "node usage", "", f"cannot be read from {USAGE_SOURCE}: {failure}", UNMEASURED_EFFECT)
        )
        return {}
    time = now.isoformat().replace("+00:00", "Z")
    return {
        node: {"time": time, **{name: {USAGE_PERIOD: values.get(node, 0.0)} for name, values in found.items()}}
        for node in nodes
    }


def _values_by_instance(address: str, query: str, ask: Ask) -> Mapping[str, float]:
    """What one query says of each node."""
    if urlsplit(address).scheme not in ("http", "https"):
        raise NotMeasured("no address")
    try:
        answer = json.loads(ask(f"{address.rstrip('/')}/api/v1/query?query={quote(query)}"))
        return dict(_iter_instance_values(answer["data"]["result"]))
    except (URLError, OSError) as failure:
        raise NotMeasured("no answer") from failure
    except (ValueError, KeyError, TypeError, IndexError) as failure:
        raise NotMeasured("the answer is none of Prometheus") from failure


def _iter_instance_values(result: list[Json]) -> Iterator[tuple[str, float]]:
    for row in result:
        value = float(row["value"][1])
        yield str(row["metric"]["instance"]), value if math.isfinite(value) else 0.0


def _get_url(url: str) -> bytes:
    """One GET, without credentials."""
    with urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
        content: bytes = answer.read()
    return content
