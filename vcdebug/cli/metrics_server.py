"""Prometheus metrics of `vcdebug watch`, over the extra `watch`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.conformance.cluster_watch import WatchFigures

DEFAULT_ADDRESS = "127.0.0.1"
MAX_PORT = 65535
BY_CAUSE = ("queue", "cause")


class WatchCollector(Collector):
    """Collects the figures at each scrape, so that causes without jobs have no series."""

    def __init__(self, figures: WatchFigures) -> None:
        self._figures = figures
        self._last = time.monotonic()

    def note_reading(self) -> None:
        """Record that the cluster has just been read."""
        self._last = time.monotonic()

    def collect(self) -> Iterator[Metric]:
        """The current metrics."""
        figures = self._figures
        for noun, counted in (("pods", figures.pending_pods), ("jobs", figures.pending_jobs)):
            metric = GaugeMetricFamily(f"vcdebug_pending_{noun}", f"Pending {noun} by queue and cause", labels=BY_CAUSE)
            for (queue, cause), count in sorted(counted.items()):
                metric.add_metric((queue, cause), count)
            yield metric
        evictions = CounterMetricFamily(
            "vcdebug_evictions", "Pods evicted, by action of the replay", labels=("action",)
        )
        for action, count in sorted(figures.evictions.items()):
            evictions.add_metric((action,), count)
        yield evictions
        yield CounterMetricFamily(
            "vcdebug_prediction_mismatches",
            "Jobs that the scheduler decided differently from the replay",
            figures.mismatches,
        )
        yield CounterMetricFamily("vcdebug_readings", "Captures that were compared", figures.readings)
        age = time.monotonic() - self._last
        yield GaugeMetricFamily("vcdebug_last_reading_age_seconds", "Time since the cluster was last read", age)


@contextmanager
def serving_metrics(figures: WatchFigures, address: str) -> Iterator[tuple[WatchCollector, int]]:
    """Serve the figures at `HOST:PORT` or `:PORT` from a thread; yields (collector, port in use)."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > MAX_PORT:
        raise VcdebugError("is not an address", "give HOST:PORT, or :PORT for this machine only", address)
    registry, collector = CollectorRegistry(), WatchCollector(figures)
    registry.register(collector)
    try:
        server, thread = start_http_server(int(port), host or DEFAULT_ADDRESS, registry)
    except OSError as error:
        raise VcdebugError(f"cannot listen there: {error.strerror or error}", where=address) from error
    try:
        yield collector, server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
