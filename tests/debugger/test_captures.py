"""Captures of one cluster, one after the other, as cycles lie open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods
from vcdebug.compare.captures import changes
from vcdebug.debugger.captures import MOST_OPEN, Captures, Taken
from vcdebug.debugger.commands import Reply, execute
from vcdebug.debugger.driver import Driver
from vcdebug.errors import VcdebugError
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.replay import replay
from vcdebug.views.captures import capture_changes

CONF = conf_of("priority gang", "predicates nodeorder", actions="enqueue allocate")


def with_nodes(count: int) -> Snapshot:
    """A gang of three pods that needs a node each."""
    nodes = [node(f"n{i}", cpu="2") for i in range(count)]
    return cluster(nodes, pod_group("j", min_member=3), pods("j", 3, cpu="2"), conf=CONF)


class Cluster:
    """Each capture of it has one node more, up to three."""

    def __init__(self) -> None:
        self.taken = 1
        self.read = 0

    def again(self) -> Taken:
        self.taken += 1
        snapshot = with_nodes(min(self.taken, 3))
        return Taken(snapshot, lambda: self.again_from_disk(snapshot))

    def again_from_disk(self, snapshot: Snapshot) -> Snapshot:
        self.read += 1
        return snapshot

    def opened(self) -> Driver:
        driver = Driver(replay(with_nodes(1)))
        driver.captures = Captures(self.again, [], [lambda: self.again_from_disk(with_nodes(1))])
        return driver


def done(reply: Reply) -> Reply:
    """As a screen carries it out."""
    while reply.work is not None or reply.then is not None:
        reply = reply.work() if reply.work is not None else reply.then() if reply.then is not None else reply
    return reply


def run(driver: Driver, line: str) -> str:
    return done(execute(driver, line)).text


def test_a_new_capture_says_what_changed_and_is_shown() -> None:
    driver = Cluster().opened()
    assert "captured; changed: 1 object; :changes lists it" == run(driver, "recapture")
    assert (2, 2) == (driver.recordings.cycle, driver.recordings.cycles)
    said = run(driver, "recapture")
    assert "3 pods decided otherwise" in said
    names = {row.cells[1].text for row in capture_changes(driver.moment()).rows}
    assert {"default/j-0", "default/j", "n2"} <= names


def test_objects_decisions_and_causes_are_told_apart() -> None:
    found = changes(replay(with_nodes(2)), replay(with_nodes(3)))
    assert [("Node", "n2", "new")] == [tuple(one) for one in found.objects]
    assert ["default/j-0", "default/j-1", "default/j-2"] == [one.task for one in found.decisions.tasks]
    assert [("default/j", "")] == [(one.job, one.after) for one in found.causes]


def test_nothing_new_is_said_to_be_nothing() -> None:
    same = with_nodes(2)
    stamped = [{**one, "metadata": {**one["metadata"], "resourceVersion": "7"}} for one in same.of("Node")]
    later = replace(same, objects={**same.objects, "Node": stamped})
    found = changes(replay(same), replay(later))
    assert "nothing has changed" == found.words()
    assert found.parted is None


def test_position_and_breakpoints_are_kept() -> None:
    driver = Cluster().opened()
    for _ in range(3):
        run(driver, "recapture")
    run(driver, "break statement")
    here = driver.goto(9)
    run(driver, "recapture")
    assert here.seq == driver.moment().seq
    assert here.recording is not driver.moment().recording
    assert ["break statement"] == [point.text for point in driver.moment().breakpoints]


def test_whoever_looks_at_an_earlier_capture_stays_there() -> None:
    driver = Cluster().opened()
    run(driver, "recapture")
    run(driver, "previous-cycle")
    run(driver, "recapture")
    assert (1, 3) == (driver.recordings.cycle, driver.recordings.cycles)


def test_what_was_foreseen_gives_way_to_what_came() -> None:
    driver = Cluster().opened()
    run(driver, "advance 2")
    run(driver, "recapture")
    assert (2, 2) == (driver.recordings.cycle, driver.recordings.cycles)


def test_many_captures_stay_bounded_and_earlier_ones_are_read_again() -> None:
    live = Cluster()
    driver = live.opened()
    for _ in range(MOST_OPEN + 5):
        run(driver, "recapture")
    assert (MOST_OPEN, MOST_OPEN) == (driver.recordings.cycle, driver.recordings.cycles)
    assert driver.captures is not None
    assert 6 == len(driver.captures.earlier)
    run(driver, "cycle 1")
    run(driver, "previous-cycle")
    assert (1, MOST_OPEN + 1, 1) == (driver.recordings.cycle, driver.recordings.cycles, live.read)


def test_a_folders_first_capture_is_the_first() -> None:
    driver = Driver(replay(with_nodes(2)))
    driver.captures = Captures(None, [lambda: with_nodes(1)], [lambda: with_nodes(2)])
    run(driver, "previous-cycle")
    assert ["n0"] == list(driver.moment().recording.node_names)
    with pytest.raises(VcdebugError, match="this is the first cycle"):
        execute(driver, "previous-cycle")


def test_without_a_cluster_there_is_nothing_to_capture() -> None:
    with pytest.raises(VcdebugError, match="of no live cluster"):
        execute(Driver(replay(with_nodes(1))), "recapture")
    with pytest.raises(VcdebugError, match="nothing before"):
        execute(Driver(replay(with_nodes(1))), "changes")
