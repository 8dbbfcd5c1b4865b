"""A running cluster for the tests that `make live` starts; other runs do not collect them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.live.cluster import Cluster
from tests.live.programs import what_is_missing

collect_ignore_glob = [] if os.environ.get("VCDEBUG_LIVE") and not what_is_missing() else ["test_*.py"]


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("live")).running() as cluster:
        yield cluster


@pytest.fixture
def cluster(started: Cluster) -> Iterator[Cluster]:
    """The cluster without workloads, whose scheduler runs with the configuration of its ConfigMap."""
    yield started
    started.clear()
