"""Consecutive captures of one cluster, opened as cycles."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod_group, pods
from vcdebug.comparison.cycles import compare_captures
from vcdebug.debugger.captures import MAX_OPEN_CAPTURES, CaptureSeries, NewCapture
from vcdebug.debugger.commands import execute_line
from vcdebug.debugger.driver import Driver
from vcdebug.errors import VcdebugError
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.views.comparison import capture_changes

CONF = conf_of("priority gang", "predicates nodeorder", actions="enqueue allocate")


def with_nodes(count: int) -> Snapshot:
    """A cluster of `count` nodes and a gang of three pods that needs one node per pod."""
    nodes = [node(f"n{i}", cpu="2") for i in range(count)]
    return cluster(nodes, pod_group("j", min_member=3), pods("j", 3, cpu="2"), conf=CONF)


class Cluster:
    """A cluster that gains one node with each capture, up to three."""

    def __init__(self) -> None:
        self.taken = 1
        self.read = 0

    def again(self) -> NewCapture:
        self.taken += 1
        snapshot = with_nodes(min(self.taken, 3))
        return NewCapture(snapshot, lambda: self.again_from_disk(snapshot))

    def again_from_disk(self, snapshot: Snapshot) -> Snapshot:
        self.read += 1
        return snapshot

    def opened(self) -> Driver:
        driver = Driver(replay_cycle(with_nodes(1)))
        driver.captures = CaptureSeries(self.again, [], [lambda: self.again_from_disk(with_nodes(1))])
        return driver


def run(driver: Driver, line: str) -> str:
    return execute_line(driver, line).run_to_end().text


def test_a_new_capture_says_what_changed_and_is_shown() -> None:
    driver = Cluster().opened()
    assert "captured; changed: 1 object; :changes lists it" == run(driver, "recapture")
    assert (2, 2) == (driver.open_recordings.cycle, driver.open_recordings.cycle_count)
    said = run(driver, "recapture")
    assert "3 pods decided differently" in said
    names = {row.cells[1].text for row in capture_changes(driver.current_state()).rows}
    assert {"default/j-0", "default/j", "n2"} <= names


def test_changes_list_objects_decisions_and_causes_separately() -> None:
    found = compare_captures(replay_cycle(with_nodes(2)), replay_cycle(with_nodes(3)))
    assert [("Node", "n2", "new")] == [tuple(one) for one in found.objects]
    assert ["default/j-0", "default/j-1", "default/j-2"] == [one.name for one in found.decisions.tasks]
    assert [("default/j", None)] == [(one.name, one.after) for one in found.causes]


def test_captures_that_differ_only_in_resource_versions_have_no_changes() -> None:
    same = with_nodes(2)
    stamped = [{**one, "metadata": {**one["metadata"], "resourceVersion": "7"}} for one in same.objects_of("Node")]
    later = replace(same, objects={**same.objects, "Node": stamped})
    found = compare_captures(replay_cycle(same), replay_cycle(later))
    assert "no changes" == found.format_changes()
    assert found.first_difference_seq is None


def test_position_and_breakpoints_are_kept() -> None:
    driver = Cluster().opened()
    for _ in range(3):
        run(driver, "recapture")
    run(driver, "break statement")
    here = driver.goto_event(9)
    run(driver, "recapture")
    assert here.seq == driver.current_state().seq
    assert here.recording is not driver.current_state().recording
    assert ["break statement"] == [point.text for point in driver.current_state().breakpoints]


def test_recapture_keeps_an_earlier_capture_on_screen() -> None:
    driver = Cluster().opened()
    run(driver, "recapture")
    run(driver, "previous-cycle")
    run(driver, "recapture")
    assert (1, 3) == (driver.open_recordings.cycle, driver.open_recordings.cycle_count)


def test_recapture_replaces_predicted_cycles() -> None:
    driver = Cluster().opened()
    run(driver, "advance 2")
    run(driver, "recapture")
    assert (2, 2) == (driver.open_recordings.cycle, driver.open_recordings.cycle_count)


def test_many_captures_stay_bounded_and_earlier_ones_are_read_again() -> None:
    live = Cluster()
    driver = live.opened()
    for _ in range(MAX_OPEN_CAPTURES + 5):
        run(driver, "recapture")
    assert (MAX_OPEN_CAPTURES, MAX_OPEN_CAPTURES) == (driver.open_recordings.cycle, driver.open_recordings.cycle_count)
    assert driver.captures is not None
    assert 6 == len(driver.captures.earlier_captures)
    run(driver, "cycle 1")
    run(driver, "previous-cycle")
    assert (1, MAX_OPEN_CAPTURES, 1) == (driver.open_recordings.cycle, driver.open_recordings.cycle_count, live.read)


def test_staying_at_an_earlier_capture_bounds_the_open_captures() -> None:
    driver = Cluster().opened()
    run(driver, "recapture")
    run(driver, "previous-cycle")
    said = [run(driver, "recapture") for _ in range(2 * MAX_OPEN_CAPTURES)]
    assert (1, MAX_OPEN_CAPTURES) == (driver.open_recordings.cycle, driver.open_recordings.cycle_count)
    assert "3 pods decided differently" in said[0]
    assert {"captured; no changes"} == set(said[1:])
    for _ in range(2 * MAX_OPEN_CAPTURES + 1):
        run(driver, "next-cycle")
    assert (MAX_OPEN_CAPTURES, MAX_OPEN_CAPTURES) == (driver.open_recordings.cycle, driver.open_recordings.cycle_count)
    assert driver.captures is not None
    assert [] == driver.captures.later_captures
    assert "captured; no changes" == run(driver, "recapture")
    assert MAX_OPEN_CAPTURES == driver.open_recordings.cycle


def test_going_back_through_many_keeps_no_more_open_than_going_on() -> None:
    driver = Cluster().opened()
    for _ in range(3 * MAX_OPEN_CAPTURES):
        run(driver, "recapture")
    for _ in range(3 * MAX_OPEN_CAPTURES):
        run(driver, "previous-cycle")
    assert driver.captures is not None
    assert (1, MAX_OPEN_CAPTURES, []) == (
        driver.open_recordings.cycle,
        driver.open_recordings.cycle_count,
        driver.captures.earlier_captures,
    )
    assert 2 * MAX_OPEN_CAPTURES + 1 == len(driver.captures.later_captures)
    assert "captured; no changes" == run(driver, "recapture")


def test_edits_keep_their_capture_open_and_no_more_than_usual() -> None:
    driver = Cluster().opened()
    run(driver, "set queue default spec.weight=3")
    for _ in range(2 * MAX_OPEN_CAPTURES):
        run(driver, "recapture")
    assert MAX_OPEN_CAPTURES == len(driver.open_recordings.original)
    assert ("n0",) == tuple(driver.open_recordings.branch[0].node_names)
    run(driver, "undo")
    assert ["n0"] == list(driver.current_state().recording.node_names)


def test_a_bookmark_stays_in_its_capture_when_the_oldest_is_no_longer_open() -> None:
    driver = Cluster().opened()
    driver.goto_event(3)
    run(driver, "bookmark one node")
    run(driver, "recapture")
    driver.goto_event(4)
    run(driver, "bookmark two nodes")
    for _ in range(MAX_OPEN_CAPTURES):
        run(driver, "recapture")
    assert () == driver.current_state().bookmarks
    assert [-1, 0] == [mark.cycle for mark in driver.current_state().bookmarks_elsewhere]
    run(driver, "bookmarks 2")
    assert (4, 2) == (driver.current_state().seq, len(driver.current_state().recording.node_names))
    assert ["two nodes"] == [mark.note for mark in driver.current_state().bookmarks]
    run(driver, "previous-cycle")
    assert ["one node"] == [mark.note for mark in driver.current_state().bookmarks]


def test_bookmarks_of_a_timeline_are_kept_with_their_captures() -> None:
    driver = Driver(replay_cycle(with_nodes(2)))
    driver.captures = CaptureSeries(None, [lambda: with_nodes(1)], [lambda: with_nodes(2)])
    run(driver, "bookmark")
    data = driver.notebook.to_data()
    run(driver, "previous-cycle")
    assert data == driver.notebook.to_data()
    again = Driver(replay_cycle(with_nodes(2)))
    again.captures = CaptureSeries(None, [lambda: with_nodes(1)], [lambda: with_nodes(2)])
    assert [] == again.notebook.load_data(data)
    assert [1] == [mark.cycle for mark in again.current_state().bookmarks]


def test_a_folders_first_capture_is_the_first() -> None:
    driver = Driver(replay_cycle(with_nodes(2)))
    driver.captures = CaptureSeries(None, [lambda: with_nodes(1)], [lambda: with_nodes(2)])
    run(driver, "previous-cycle")
    assert ["n0"] == list(driver.current_state().recording.node_names)
    with pytest.raises(VcdebugError, match="this is the first cycle"):
        execute_line(driver, "previous-cycle")


def test_recapture_is_refused_without_a_cluster() -> None:
    with pytest.raises(VcdebugError, match="of no live cluster"):
        execute_line(Driver(replay_cycle(with_nodes(1))), "recapture")
    with pytest.raises(VcdebugError, match="nothing before"):
        execute_line(Driver(replay_cycle(with_nodes(1))), "changes")
