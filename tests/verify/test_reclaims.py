"""reclaim looks on one node after the other, and what it takes there for nothing is gone: the log tells the order."""

from dataclasses import replace
from pathlib import Path

from tests.actions.outcome import ops
from tests.actions.test_reclaim import TIERS
from tests.builders import cluster, conf_of, node, pod_group, pods, queue
from tests.verify.deeds import recorded, scheduler
from vcdebug.snapshot.chance import Chance
from vcdebug.snapshot.edit_apply import released
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.replay import replay
from vcdebug.verify import verify_program
from vcdebug.verify.reclaims import Reclaims

LINE = "I1123 23:43:16.407115   7904 reclaim.go:155] Considering Task <{}> on Node <{}>."


def three_nodes() -> Snapshot:
    """Each has one task of the rich queue; two of them are half as large as what is asked for."""
    small = [pod_group("s", queue="rich", phase="Running", min_member=0), *(pods("s", 2, on="n2"))]
    small[2]["spec"]["nodeName"] = "n3"
    large = [pod_group("l", queue="rich", phase="Running", min_member=0), *pods("l", 1, cpu="2", on="n1")]
    waiting = [pod_group("p", queue="poor"), *pods("p", 1, cpu="2")]
    nodes = [node(f"n{i}", cpu="2") for i in (1, 2, 3)]
    snapshot = cluster(
        nodes, queue("rich"), queue("poor"), small, large, waiting, conf=conf_of(*TIERS, actions="reclaim")
    )
    return released(snapshot, "master,+reclaim-immediate")


def test_the_log_tells_the_nodes_in_turn() -> None:
    found = Reclaims()
    for pod, on in (("d/a", "n3"), ("d/a", "n1"), ("d/b", "n1")):
        found.read(LINE.format(pod, on))
    found.read(LINE.format("d/b", "n2").replace("reclaim.go", "preempt.go"))
    assert {"d/a": "n3;n1"} == found.texts()


def test_the_order_that_is_known_is_followed() -> None:
    snapshot = three_nodes()
    known = replace(snapshot, chance=Chance(reclaims={"default/p-0": "n3;n1"}))
    assert ["evict l-0@n1", "pipeline p-0@n1"] == ops(replay(snapshot))
    assert ["evict s-1@n3", "evict l-0@n1", "pipeline p-0@n1"] == ops(replay(known))


def test_verify_follows_the_log(tmp_path: Path) -> None:
    snapshot = three_nodes()
    drawn = replace(snapshot, chance=Chance(reclaims={"default/p-0": "n3;n1"}))
    says = [LINE.format("default/p-0", "n3"), LINE.format("default/p-0", "n1")]
    assert verify_program(snapshot, scheduler(tmp_path, snapshot, recorded(drawn), says=says)).agrees
