"""The vectorised node plugins agree bit for bit with their simple implementations."""

from random import Random

from tests.builders import task
from tests.rows import over
from tests.scalar.nodeorder_twin import NodeOrderTwin, binpack, image_locality
from tests.scalar.predicates_twin import PredicatesTwin
from tests.scalar.world import World, random_session
from vcdebug.framework.hooks import BATCH_NODE_ORDER, NODE_ORDER, PRE_PREDICATE, PREDICATE
from vcdebug.framework.session import Session
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.task import TaskInfo

SEEDS = range(120)
WEIGHTS = {
    "NodeResourcesFit_LeastAllocated": 2,
    "NodeResourcesFit_MostAllocated": 1,
    "NodeResourcesBalancedAllocation": 1,
    "NodeAffinity": 2,
    "InterPodAffinity": 2,
    "TaintToleration": 3,
    "PodTopologySpread": 2,
}


def predicates(ssn: Session, incoming: TaskInfo) -> list[list[FitStatus]]:
    assert ssn.ask_plugins(PRE_PREDICATE, incoming) is None
    codes = ssn.ask_plugins(PREDICATE, incoming, ssn.all_rows())["predicates"]
    return [list(ssn.reasons.statuses_of(code)) for code in codes.tolist()]


def batch_parts(ssn: Session, incoming: TaskInfo) -> dict[str, list[float]]:
    scores = ssn.ask_plugins(BATCH_NODE_ORDER, incoming, ssn.all_rows())["nodeorder"]
    assert scores is not None
    assert [0.0] * len(ssn.nodes) == (scores.total - sum(part for _, part in scores.parts)).tolist()
    return {key.removeprefix("nodeorder/batch/"): part.tolist() for key, part in scores.parts}


def expected_parts(world: World, incoming: TaskInfo, ssn: Session) -> dict[str, list[float]]:
    plain = NodeOrderTwin(world, incoming.pod, ssn.snapshot.objects_of("Service")).scores()
    return {
        key: [float(score * WEIGHTS[key]) for score in scores] for key, scores in plain.items() if scores is not None
    }


def change(ssn: Session, world: World, random: Random, incoming: TaskInfo) -> None:
    """Place the task on a random node and sometimes evict a pod, in both models."""
    name = random.choice(world.names)
    incoming.node_name = incoming.pod.node_name = name
    assert [] == ssn.notify_allocated(incoming)
    world.pods[name].append(incoming.pod)
    running = [t for t in ssn.jobs["default/r"].tasks.values() if t.pod in world.pods[t.node_name]]
    if running and random.random() < 0.4 and not any(t.pod.spec["containers"][0].get("ports") for t in running):
        victim = random.choice(running)
        ssn.notify_deallocated(victim)
        world.pods[victim.node_name].remove(victim.pod)


@over(SEEDS)
def test_a_random_cluster_is_judged_and_scored_alike(seed: int) -> None:
    ssn, random = random_session(seed), Random(seed)
    world = World(ssn)
    for index in range(8):
        incoming = task(ssn, f"j-{index}")
        twin = PredicatesTwin(world, incoming.pod)
        assert [twin.statuses(name) for name in world.names] == predicates(ssn, incoming)
        assert expected_parts(world, incoming, ssn) == batch_parts(ssn, incoming)
        change(ssn, world, random, incoming)


@over(SEEDS)
def test_images_and_binpack_are_scored_alike(seed: int) -> None:
    ssn = random_session(seed)
    world = World(ssn)
    incoming = task(ssn, "j-0")
    answers = ssn.ask_plugins(NODE_ORDER, incoming, ssn.all_rows())
    expected = [binpack(incoming, node, {"cpu": 1, "memory": 1}, 1) for node in ssn.nodes.values()]
    assert expected == answers["binpack"].total.tolist()
    expected = [float(image_locality(world, incoming.pod, name)) for name in world.names]
    assert expected == answers["nodeorder"].total.tolist()
