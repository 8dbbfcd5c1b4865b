"""The answers of a Prometheus about nodes, from what the snapshot has measured; and the configuration that asks it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import yaml

from vcdebug.conformance.api_requests import ApiReply
from vcdebug.recording.replay import parse_conf
from vcdebug.snapshot.go_yaml import edited_document
from vcdebug.snapshot.manifest import JsonDict, name_of
from vcdebug.snapshot.snapshot import Snapshot

QUERY_PATH: Final = "/api/v1/query"
PERIOD: Final = "10m"
"""The only one that a scheduler asks for."""
INTERVAL: Final = "1s"
ONE_INSTANCE: Final = re.compile(r'instance="([^"]*)"')
CPU_SERIES: Final = "node_cpu_seconds_total"
METRICS_SECTION: Final = "metrics"


@dataclass(slots=True)
class NodeMetrics:
    """One value per node, each of cpu and mem; any node that lacks one is said not to be measured."""

    values: Mapping[str, Mapping[str, float]]
    nodes: tuple[str, ...]
    _asked: dict[str, None] = field(default_factory=dict)
    _rounds: int = 0

    @property
    def is_taken(self) -> bool:
        """Whether all nodes have been asked about, and the scheduler went on from there."""
        return self._rounds > 0 or not self.nodes

    def answer_query(self, query: str) -> ApiReply:
        """One query, about one node or all of them."""
        what = "cpu" if CPU_SERIES in query else "mem"
        one = ONE_INSTANCE.search(query)
        wanted = self.nodes if one is None else (one[1],)
        self._note_query(f"{what} {one[1] if one is not None else ''}", every=one is None)
        rows = [
            {"metric": {"instance": name}, "value": [0, repr(self.values[name][what])]}
            for name in wanted
            if what in self.values.get(name, {})
        ]
        return ApiReply(200, {"status": "success", "data": {"resultType": "vector", "result": rows}})

    def _note_query(self, asked: str, *, every: bool) -> None:
        """What is asked again begins the next round: the one before has been taken over, if it was about all nodes."""
        if asked in self._asked:
            self._rounds += every or len(self._asked) >= 2 * len(self.nodes)
            self._asked.clear()
        self._asked[asked] = None


def metrics_of(snapshot: Snapshot) -> NodeMetrics | None:
    """What there is to tell; None where nothing was measured, or where nobody will ask.

    A scheduler that refuses its configuration runs on a built-in one, which names no source of measurements.
    """
    if not snapshot.usage or _is_conf_refused(snapshot):
        return None
    names = tuple(name_of(node) for node in snapshot.objects_of("Node"))
    return NodeMetrics({name: dict(_iter_usage_values(snapshot.usage.get(name) or {})) for name in names}, names)


def _is_conf_refused(snapshot: Snapshot) -> bool:
    return bool(snapshot.scheduler_conf) and parse_conf(snapshot.scheduler_conf, snapshot.release).built_in


def _iter_usage_values(usage: JsonDict) -> Iterator[tuple[str, float]]:
    for what in ("cpu", "mem"):
        value = (usage.get(what) or {}).get(PERIOD)
        if value is not None:
            yield what, float(value)


def with_metrics(snapshot: Snapshot, metrics: NodeMetrics | None, now: datetime) -> Snapshot:
    """As a scheduler sees it that has just asked about every node: what is not measured counts as 0."""
    if metrics is None:
        return snapshot
    usage: JsonDict = {
        name: {
            "time": now.isoformat().replace("+00:00", "Z"),
            **{what: {PERIOD: metrics.values[name].get(what, 0.0)} for what in ("cpu", "mem")},
        }
        for name in metrics.nodes
    }
    return replace(snapshot, usage=usage)


def conf_with_metrics(conf: str, address: str) -> str:
    """The configuration with its source of measurements at an address, or without any; all else stays as it is."""
    try:
        root = edited_document(conf)
    except (yaml.YAMLError, ValueError):
        return conf
    if not isinstance(root, yaml.MappingNode):
        return conf
    entries = [(key, value) for key, value in root.value if key.value != METRICS_SECTION]
    if not address and len(entries) == len(root.value):
        return conf
    root.value = entries
    text: str = yaml.serialize(root, Dumper=yaml.SafeDumper)
    if not address:
        return text
    return text + yaml.safe_dump({METRICS_SECTION: {"type": "prometheus", "address": address, "interval": INTERVAL}})
