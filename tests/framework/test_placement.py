"""The search over nodes: its size, its start, and its cached errors."""

import numpy as np
import pytest

from tests.builders import cluster, node, open_session, pod_group, pods, task
from vcdebug.framework.placement import (
    PredicateHelper,
    allocate_judge,
    num_feasible_nodes_to_find,
    predicate_for_allocate_action,
)
from vcdebug.framework.record import PredicateEvent
from vcdebug.framework.session import Session
from vcdebug.model.names import Codes
from vcdebug.model.node_table import NodeRows
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.snapshot import SchedulerFlags


def session(nodes: int, role: str | None = None) -> Session:
    members = pods("j", 2, cpu="1", role=role)
    return open_session(cluster([node(f"n{i:04}") for i in range(nodes)], pod_group("j"), members), "gang")


def refuse_first(ssn: Session, task: TaskInfo, nodes: NodeRows) -> Codes:
    codes: Codes = np.where(nodes.rows == 0, ssn.reasons.error_code(f"no {task.name}"), 0).astype(np.uint16)
    return codes


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (100, 100),
        (101, 100),
        (250, 120),
        (500, 230),
        (1000, 420),
        (2000, 680),
        (3000, 780),
        (4000, 720),
        (5000, 500),
        (5625, 281),
        (10000, 500),
    ],
)
def test_number_of_feasible_nodes_that_ends_a_search(nodes: int, expected: int) -> None:
    assert expected == num_feasible_nodes_to_find(SchedulerFlags(), nodes)


def test_a_percentage_is_not_clamped_by_the_minimum_one() -> None:
    assert 100 == num_feasible_nodes_to_find(SchedulerFlags(percentage_nodes_to_find=1), 5000)
    assert 5000 == num_feasible_nodes_to_find(SchedulerFlags(percentage_nodes_to_find=100), 5000)


def test_the_search_stops_at_one_too_many_and_goes_on_from_there() -> None:
    ssn = session(150)
    helper = PredicateHelper(ssn, cache_on=True)
    found, _ = helper.predicate_nodes(task(ssn, "j-0"), ssn.all_rows(), predicate_for_allocate_action)
    assert (100, "n0000", "n0099", 101) == (
        len(found),
        found.node_names[0],
        found.node_names[-1],
        ssn.node_search_start,
    )
    found, _ = helper.predicate_nodes(task(ssn, "j-1"), ssn.all_rows(), predicate_for_allocate_action)
    assert ("n0101", "n0050", 52) == (found.node_names[0], found.node_names[-1], ssn.node_search_start)
    event = ssn.record.events[-1]
    assert isinstance(event, PredicateEvent)
    assert (150, 101) == (event.considered, event.processed)


def test_a_search_over_one_node_resets_the_start() -> None:
    ssn = session(150)
    ssn.node_search_start = 30
    PredicateHelper(ssn, cache_on=True).predicate_nodes(
        task(ssn, "j-0"), ssn.node_table.rows_named(["n0007"]), predicate_for_allocate_action
    )
    assert 0 == ssn.node_search_start


def test_search_without_nodes_leaves_the_start_and_records_no_event() -> None:
    ssn = session(3)
    ssn.node_search_start = 2
    found, errors = PredicateHelper(ssn, cache_on=True).predicate_nodes(
        task(ssn, "j-0"), ssn.node_table.rows_named([]), predicate_for_allocate_action
    )
    assert (0, 2, []) == (len(found), ssn.node_search_start, ssn.record.events)
    assert "0/0 nodes are unavailable" == errors.error_text()


@pytest.mark.parametrize(("role", "expected"), [("worker", "no j-0"), (None, "no j-1")])
def test_a_role_reuses_the_errors_of_its_first_task(role: str | None, expected: str) -> None:
    ssn = session(2, role)
    helper = PredicateHelper(ssn, cache_on=True)
    helper.predicate_nodes(task(ssn, "j-0"), ssn.all_rows(), refuse_first)
    _, errors = helper.predicate_nodes(task(ssn, "j-1"), ssn.all_rows(), refuse_first)
    assert f"0/1 nodes are unavailable: 1 {expected}." == errors.error_text()


def test_only_the_first_short_dimension_is_named() -> None:
    ssn = open_session(
        cluster(node("n1", cpu="1", memory="1G"), pod_group("j"), pods("j", 1, cpu="2", memory="2G")), "gang"
    )
    _, errors = PredicateHelper(ssn, cache_on=True).predicate_nodes(task(ssn, "j-0"), ssn.all_rows(), allocate_judge)
    assert "0/1 nodes are unavailable: 1 Insufficient cpu." == errors.error_text()
