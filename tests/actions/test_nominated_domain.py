"""A sub job with a HyperNode nominated by a gang action: all tasks go to their nominated nodes, or none."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from tests.builders import cluster, conf_of, open_session, pods, queue, task
from tests.releases.shown_topology import racks, with_topology
from vcdebug.actions.allocate.domains import DomainDecisions, allocate_from_nomination
from vcdebug.actions.allocate.tasks import TaskPlacement
from vcdebug.framework.order import task_queue

PROMISED = {"j-0": "a1", "j-1": "a2"}


class Outcome(NamedTuple):
    """The placed operations, the number of tasks left in the queue, and the sub job's HyperNodes."""

    placed: list[tuple[str, str, str]] | None
    left: int
    allocated: str
    nominated: str


def test_the_hypernode_saved_for_a_sub_job_replaces_its_nomination() -> None:
    ssn = open_session(cluster(racks(cpu="8"), with_topology("hard"), pods("j", 1), conf=conf_of("gang")))
    job = ssn.jobs["default/j"]
    sub_job = job.sub_jobs[job.uid]
    decisions = DomainDecisions(ssn)
    sub_job.allocated_hyper_node = "a"
    decisions.save_job_decision(job, "a")
    decisions.save_sub_job_decision(job, "a", sub_job)
    sub_job.allocated_hyper_node, sub_job.nominated_hyper_node = "", "b"
    decisions.update_decision_to_job(job)
    assert ("a", "a", "") == (
        job.allocated_hyper_node,
        sub_job.allocated_hyper_node,
        sub_job.nominated_hyper_node,
    )


def placed(nodes: Mapping[str, str], *, nominated: str = "a", cpu: str = "8", limit: str = "99") -> Outcome:
    snapshot = cluster(
        racks(cpu=cpu),
        queue("default", capability={"cpu": limit}),
        with_topology("hard"),
        pods("j", len(nodes), cpu="4"),
        conf=conf_of("priority gang", "predicates proportion nodeorder network-topology-aware"),
    )
    ssn = open_session(snapshot)
    job = ssn.jobs["default/j"]
    sub_job = job.sub_jobs[job.uid]
    sub_job.nominated_hyper_node = nominated
    tasks = task_queue(ssn)
    for name, node in nodes.items():
        task(ssn, name).pod.nominated_node_name = node
        tasks.push(task(ssn, name))
    statement = allocate_from_nomination(ssn, TaskPlacement(ssn, error_cache=True), job, sub_job, tasks)
    ops = (
        None if statement is None else [(str(op.kind), op.task.name, op.task.node_name) for op in statement.operations]
    )
    return Outcome(ops, len(tasks), sub_job.allocated_hyper_node, sub_job.nominated_hyper_node)


def test_all_tasks_are_placed_on_their_nominated_nodes() -> None:
    assert Outcome([("allocate", "j-0", "a1"), ("allocate", "j-1", "a2")], 0, "a", "a") == placed(PROMISED)


def test_one_task_is_placed_if_two_are_nominated_for_room_of_one() -> None:
    nodes = {"j-0": "a1", "j-1": "a1"}
    assert Outcome([("allocate", "j-0", "a1")], 0, "a", "a") == placed(nodes, cpu="4")


REFUSED: dict[str, dict[str, Any]] = {
    "a node that is not there": {"nodes": {"j-0": "a1", "j-1": "gone"}},
    "no node": {"nodes": {"j-0": "", "j-1": "a2"}},
    "a node of another rack": {"nodes": {"j-0": "a1", "j-1": "b1"}},
    "nodes that are too small": {"nodes": PROMISED, "cpu": "3"},
    "a queue that may not": {"nodes": PROMISED, "limit": "3"},
    "a rack that is not there": {"nodes": PROMISED, "nominated": "gone"},
}


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED.keys())
def test_failure_of_one_task_drops_the_nomination_and_places_no_task(given: dict[str, Any]) -> None:
    assert Outcome(None, 2, "", "") == placed(**given)
