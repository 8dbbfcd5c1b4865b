"""A cluster that is verified over and over: no false alarm, and a wrong configuration is caught whatever others do."""

from __future__ import annotations

import pytest

from tests.conformance.live_cluster import PACKED, LiveCluster, words_of
from vcdebug.conformance import Verification

CYCLES = 50


def verified(cluster: LiveCluster, cycles: int = CYCLES) -> list[Verification]:
    return [cluster.verify() for _ in range(cycles)]


@pytest.mark.slow
@pytest.mark.parametrize("busy", [False, True])
def test_fifty_cycles_raise_no_false_alarm(busy: bool) -> None:
    found = verified(LiveCluster(11, busy=busy))
    words = words_of(found)
    assert "differs" not in words
    conclusive = [one for one in found if not one.is_inconclusive]
    assert len(conclusive) > CYCLES // 2, "verdicts that say nothing are no proof"
    assert sum(len(one.observed.bound) for one in found) > CYCLES
    assert sum(len(one.observed.evicted) for one in found) > 0
    assert busy or "overtaken" not in words


@pytest.mark.slow
@pytest.mark.parametrize("busy", [False, True])
def test_a_wrong_configuration_is_caught(busy: bool) -> None:
    cluster = LiveCluster(12, conf=PACKED, busy=busy)
    caught = [not one.is_agreed for one in verified(cluster, 12)]
    assert caught.count(True) > len(caught) // 2
