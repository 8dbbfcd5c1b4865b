"""A small benchmark: fails on a large regression, relative to a plain loop measured at the same time."""

from pathlib import Path
from typing import Any

import pytest

from tests.bench.made import SMALL, objects, write
from tests.bench.measure import measure
from tests.effort import at_most, calibration

MOST_LOOPS = 60
"""Limit of the cycle's time in calibration loops; about 15 when this was written."""
MOST_BYTES = 300
"""Limit of bytes per event besides per-node arrays; 225 when this was written, less on larger clusters."""
TRIES = 3


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The best figures of a few runs, since a busy machine slows some of them."""
    snapshot = write(SMALL, tmp_path_factory.mktemp("made"))
    return min((measure(str(snapshot), brief=True) for _ in range(TRIES)), key=lambda one: one["cycle"])


def test_a_cycle_costs_few_calibration_loops(figures: dict[str, Any]) -> None:
    assert figures["cycle"] / figures["calibration"] < MOST_LOOPS


def test_an_event_weighs_little_beyond_its_arrays(figures: dict[str, Any]) -> None:
    assert figures["bytes_per_event"] < MOST_BYTES


def test_every_kind_of_work_is_in_the_made_cluster(figures: dict[str, Any]) -> None:
    assert {"open", "enqueue", "allocate", "preempt", "backfill", "close"} <= figures.keys()
    assert figures["events"] > SMALL.pods


def test_a_made_cluster_is_the_same_each_time() -> None:
    assert list(objects(SMALL)) == list(objects(SMALL))


def test_a_made_cluster_has_its_size(tmp_path: Path) -> None:
    kinds = [one["kind"] for one in objects(SMALL)]
    assert (SMALL.nodes, SMALL.pods) == (kinds.count("Node"), kinds.count("Pod"))


def test_a_limit_of_processor_time_is_kept_and_broken() -> None:
    with at_most(10):
        calibration()
    with pytest.raises(AssertionError), at_most(0.001):
        sum(calibration() for _ in range(10))
