"""Repeated verification of a changing cluster gives no false alarm, and always finds a wrong configuration."""

from __future__ import annotations

import json

import pytest

from tests.apiserver.server import expired
from tests.capture.fake_server import ApiReply, ApiRequest, status
from tests.conformance.live_cluster import PACKED, LiveCluster, words_of
from vcdebug.conformance import Verification

CYCLES = 50


@pytest.fixture
def few_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try few seeds, as for a large cluster: a false alarm is likelier then, so a test that finds none proves more."""
    monkeypatch.setattr("vcdebug.conformance.nearest_replay.MAX_EFFORT", 0)


FEW_SEEDS = pytest.mark.usefixtures("few_seeds")
"""For all but test_a_wrong_configuration_is_caught, which proves that all seeds together do not excuse an error."""


def verified(cluster: LiveCluster, cycles: int = CYCLES) -> list[Verification]:
    return [cluster.verify() for _ in range(cycles)]


@FEW_SEEDS
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
    assert "overtaken" not in words, "every cycle is judged from the state that it began with"


@pytest.mark.slow
@pytest.mark.parametrize("busy", [False, True])
def test_a_wrong_configuration_is_caught(busy: bool) -> None:
    cluster = LiveCluster(12, conf=PACKED, busy=busy)
    caught = [not one.is_agreed for one in verified(cluster, 4)]
    assert caught.count(True) > len(caught) // 2


@FEW_SEEDS
@pytest.mark.slow
def test_a_cycle_that_began_before_the_capture_is_no_false_alarm() -> None:
    cluster = LiveCluster(11)
    found = [cluster.verify(deletes_unseen=number > 4) for number in range(20)]
    assert "differs" not in words_of(found)
    assert sum(len(one.observed.bound) for one in found) > 20


GONE = {"type": "ERROR", "object": status(410, "Expired", "too old resource version").body}


@pytest.mark.parametrize(
    "reply", [status(403, "Forbidden", "no watch"), expired(None), ApiReply(200, json.dumps(GONE))]
)
def test_refused_watches_are_replaced_by_lists(reply: ApiReply) -> None:
    cluster = LiveCluster(11)

    def script(request: ApiRequest) -> None:
        cluster.server.scripted[request.path] = [reply] if "watch" in request.query else []

    cluster.server.before = script
    found = verified(cluster, 4)
    assert (True, set()) == (any(one.observed.bound for one in found), {"differs"} & set(words_of(found)))


@FEW_SEEDS
@pytest.mark.slow
def test_server_without_earlier_versions_causes_no_false_alarm() -> None:
    cluster = LiveCluster(13, busy=True)
    cluster.server.exact = "ignored"
    words = words_of(verified(cluster, 20))
    assert ("differs" in words, "overtaken" in words) == (False, True)


class TwoCyclesAtOnce(LiveCluster):
    """Between two looks, the scheduler runs two cycles, and a job arrives in between."""

    def run_scheduler(self) -> None:
        super().run_scheduler()
        self.create_job(f"between-{self.server.store.revision}")
        super().run_scheduler()


@FEW_SEEDS
def test_two_cycles_before_one_look_are_judged_one_by_one() -> None:
    found = verified(TwoCyclesAtOnce(15, busy=True), 12)
    words = words_of(found)
    assert ("differs" in words, "overtaken" in words) == (False, False)
    assert {1} == {one.cycles for one in found if one.observed.bound}
    wrong = verified(TwoCyclesAtOnce(16, conf=PACKED, busy=True), 6)
    assert sum(not one.is_agreed for one in wrong) >= len(wrong) // 2


class PassingJobs(LiveCluster):
    """Between two readings, jobs come, take their nodes in one cycle and are gone before the next one."""

    def run_scheduler(self) -> None:
        passing = [f"passing-{self.server.store.revision}-{number}" for number in range(4)]
        for name in passing:
            self.create_job(name)
        super().run_scheduler()
        for name in passing:
            self.delete_job(name)
        super().run_scheduler()


@FEW_SEEDS
@pytest.mark.slow
@pytest.mark.memory  # each reading of a watch searches all of memory for garbage
def test_watch_reports_no_failure_where_several_cycles_lie_between_readings() -> None:
    figures, lines = PassingJobs(15).watch(3)
    assert (0, False) == (figures.mismatches, "not judged" in "".join(lines))
    blind = PassingJobs(15)
    blind.server.exact = "ignored"
    figures, lines = blind.watch(3)
    assert (0, True) == (figures.mismatches, "not judged" in "".join(lines))


@FEW_SEEDS
@pytest.mark.slow
@pytest.mark.memory  # each reading of a watch searches all of memory for garbage
def test_watch_finds_a_wrong_configuration_where_several_cycles_lie_between_readings() -> None:
    figures, lines = PassingJobs(16, conf=PACKED).watch(2)
    assert 0 < figures.mismatches == sum("decided differently" in line for line in lines)


@FEW_SEEDS
def test_one_cycle_after_the_other_is_judged_while_the_cluster_lives() -> None:
    cluster = LiveCluster(14, busy=True)
    found = [one for one, _ in zip(cluster.judged_cycles(), range(6), strict=False)]
    assert [True] * 6 == [one.is_agreed for one in found]
    assert 5 < sum(len(one.observed.bound) for one in found)
    words = words_of(found)
    assert ("differs" in words, words.count("agreed") > len(words) // 2) == (False, True)
