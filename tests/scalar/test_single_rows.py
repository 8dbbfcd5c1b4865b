"""Updates of a single node agree bit for bit with the computation over all nodes."""

from random import Random

import numpy as np

from tests.rows import over
from tests.scalar.world import random_session
from vcdebug.framework.session import Session
from vcdebug.kube.pod_requests import PodRequests, ScoredAmounts
from vcdebug.kube.resource_scores import ResourceScores, ScoreWeights, least_allocated, most_allocated
from vcdebug.model.node_table import LIVE_FIELDS, NodeTable
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus
from vcdebug.plugins.binpack import Binpack

SEEDS = range(60)
RUNNING = TaskStatus.RUNNING


def requests(random: Random) -> list[Resource]:
    scalars = [None, {"pods": 1.0}, {"pods": 1.0, "nvidia.com/gpu": 1000.0}]
    return [Resource(random.choice((0.0, 250.0, 5000.0)), 1e9, one) for one in scalars]


def moved(ssn: Session, random: Random) -> None:
    """Remove random pods from their nodes, in the session and in the Kubernetes view."""
    for node in ssn.nodes.values():
        for task in list(node.tasks_in_order()):
            if random.random() < 0.5:
                node.remove_task(task)
                ssn.view.remove_pod(node.row, task.pod.uid)


@over(SEEDS)
def test_scores_of_changed_nodes_are_those_of_the_arrays(seed: int) -> None:
    random = Random(seed)
    ssn = random_session(seed)
    view, rows = ssn.view, np.arange(len(ssn.view), dtype=np.int64)
    amounts = [
        ScoredAmounts(100, 2**30, 0),
        ScoredAmounts(7500, 2**33 + 1, 2),
        ScoredAmounts(0, 0, 1),
        ScoredAmounts(250, 0, 0),
    ]
    pods = [PodRequests(one, one, one, one) for one in amounts]
    kept = ResourceScores(view)
    for pod in pods:
        kept.balanced_allocation(pod, rows), kept.least_allocated(pod, rows), kept.most_allocated(pod, rows)
    moved(ssn, random)
    for pod in pods:
        fresh = ResourceScores(view).balanced_allocation(pod, rows)
        assert fresh is not None
        assert fresh.tolist() == np.asarray(kept.balanced_allocation(pod, rows)).tolist()
        parts = [kept.balance_parts(pod.incoming, row) for row in rows.tolist()]
        assert fresh.tolist() == [float(one.score) for one in parts if one is not None]
        wanted = pod.incoming_non_zero
        assert least_allocated(view, wanted, rows).tolist() == kept.least_allocated(pod, rows).tolist()
        assert most_allocated(view, wanted, rows).tolist() == kept.most_allocated(pod, rows).tolist()


@over(SEEDS)
def test_shortages_of_changed_nodes_are_those_of_the_arrays(seed: int) -> None:
    random = Random(seed)
    ssn = random_session(seed)
    asked = [(request, field) for request in requests(random) for field in LIVE_FIELDS]
    for request, field in asked:
        ssn.node_table.lacking_dimensions(request, field)
    moved(ssn, random)
    fresh = NodeTable(list(ssn.nodes.values()))
    for request, field in asked:
        assert (
            fresh.lacking_dimensions(request, field).tolist()
            == ssn.node_table.lacking_dimensions(request, field).tolist()
        )


@over(SEEDS)
def test_releasing_amounts_of_a_node_count_as_future_idle(seed: int) -> None:
    random = Random(seed)
    ssn = random_session(seed)
    table = ssn.node_table
    running = [(node, task) for node in table.nodes for task in node.tasks_in_order() if task.status is RUNNING]
    for node, task in random.sample(running, min(3, len(running))):
        both = Resource(node.future_idle().milli_cpu + task.resreq.milli_cpu)
        table.lacking_dimensions(both, "future")
        leaving = task.clone()
        leaving.status = TaskStatus.RELEASING
        assert node.update_task(leaving) is None
        assert node.fits_future_idle(both)
        assert 0 == table.lacking_dimensions(both, "future")[node.row]


@over(SEEDS)
def test_binpack_scores_one_node_as_all(seed: int) -> None:
    ssn = random_session(seed)
    binpack = ssn.plugins["binpack"]
    assert isinstance(binpack, Binpack)
    for request in requests(Random(seed)):
        all_at_once = binpack.score_rows(request, ssn.all_rows()).tolist()
        assert all_at_once == [binpack.score_node(request, node) for node in ssn.node_table.nodes]


@over([1.0, 167_772.0, 167_773.0, 1_000_000_001.0, -1_000_000_001.0])
def test_weighed_scores_keep_every_bit(weight: float) -> None:
    ssn = next(ssn for ssn in map(random_session, SEEDS) if ssn.view.complete)
    rows = ssn.node_table.row_numbers
    scores, plain = ResourceScores(ssn.view, ScoreWeights(least_requested=weight)), ResourceScores(ssn.view)
    pod = PodRequests(*[ScoredAmounts(250, 2**30, 0)] * 4)
    whole = plain.least_allocated(pod, rows).astype(np.float64)
    assert (whole * weight).tolist() == scores.least_allocated(pod, rows).tolist()
