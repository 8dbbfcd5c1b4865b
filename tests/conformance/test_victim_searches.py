"""preempt and reclaim try nodes in turn, and older releases keep useless evictions: the replay follows the log."""

from pathlib import Path

from msgspec.structs import replace

from tests.actions.outcome import ops
from tests.actions.test_reclaim import TIERS
from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from tests.conformance.deeds import recorded, scheduler, verify_program
from vcdebug.conformance.scheduler_log import SchedulerLog
from vcdebug.framework.chance_draws import RandomDraws
from vcdebug.model.node import NodeInfo
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Snapshot

OF_PREEMPT = "I1124 14:24:26.796526   29168 preempt.go:269] Considering Task <{}> on Node <{}>."
LINE = "I1123 23:43:16.407115   7904 reclaim.go:155] Considering Task <{}> on Node <{}>."
H = "default/h-0"


def three_nodes() -> Snapshot:
    """Three nodes with one task of queue rich each; two of these tasks are half as large as the request."""
    small = [pod_group("s", queue="rich", phase="Running", min_member=0), *(pods("s", 2, on="n2"))]
    small[2]["spec"]["nodeName"] = "n3"
    large = [pod_group("l", queue="rich", phase="Running", min_member=0), *pods("l", 1, cpu="2", on="n1")]
    waiting = [pod_group("p", queue="poor"), *pods("p", 1, cpu="2")]
    nodes = [node(f"n{i}", cpu="2") for i in (1, 2, 3)]
    snapshot = cluster(
        nodes, queue("rich"), queue("poor"), small, large, waiting, conf=conf_of(*TIERS, actions="reclaim")
    )
    return snapshot_at_release(snapshot, "master,+reclaim-immediate")


def test_the_log_tells_the_nodes_in_turn() -> None:
    found = SchedulerLog()
    for pod, on in (("d/a", "n3"), ("d/a", "n1"), ("d/b", "n1")):
        found.add_line(LINE.format(pod, on))
    found.add_line(OF_PREEMPT.format("d/b", "n2"))
    assert ChanceSettings(reclaims={"d/a": "n3;n1"}) == found.drawn_chance([])


def test_victim_search_log_reads_the_lines_of_its_action() -> None:
    found = SchedulerLog()
    for on in ("n2", "n1", "n2"):
        found.add_line(OF_PREEMPT.format("d/a", on))
        found.add_line(LINE.format("d/b", on))
    both = ChanceSettings(preempts={"d/a": "n2;n1;n2"}, reclaims={"d/b": "n2;n1"})
    assert both == found.drawn_chance([])
    found.begin_cycle()
    assert ChanceSettings() == found.drawn_chance([])


def test_the_order_that_is_known_is_followed() -> None:
    snapshot = three_nodes()
    known = replace(snapshot, chance=ChanceSettings(reclaims={"default/p-0": "n3;n1"}))
    assert ["evict l-0@n1", "pipeline p-0@n1"] == ops(replay_cycle(snapshot))
    assert ["evict s-1@n3", "evict l-0@n1", "pipeline p-0@n1"] == ops(replay_cycle(known))


def test_verify_follows_the_log(tmp_path: Path) -> None:
    snapshot = three_nodes()
    drawn = replace(snapshot, chance=ChanceSettings(reclaims={"default/p-0": "n3;n1"}))
    says = [LINE.format("default/p-0", "n3"), LINE.format("default/p-0", "n1")]
    assert verify_program(snapshot, scheduler(tmp_path, snapshot, recorded(drawn), says=says)).is_agreed


def evicted_for(drawn: ChanceSettings) -> list[str]:
    """Operations of preempt for a task as large as a node: n1 and n2 score equally, n3 scores lower."""
    low = [pod_group("l", phase="Running", priority_class="low", min_member=0), *pods("l", 3, cpu="2", on="n1")]
    for place, on in ((2, "n2"), (3, "n3")):
        low[place]["spec"]["nodeName"] = on
    high = [pod_group("h", priority_class="high"), *pods("h", 1, cpu="2")]
    taint = {"key": "a", "value": "b", "effect": "PreferNoSchedule"}
    nodes = [node("n1", cpu="2"), node("n2", cpu="2"), node("n3", cpu="2", taints=[taint])]
    classes = [priority_class("high", 100), priority_class("low", 1)]
    conf = conf_of("priority gang", "predicates nodeorder", actions="preempt")
    return ops(replay_cycle(replace(cluster(classes, nodes, low, high, conf=conf), chance=drawn)))


def test_preempt_goes_through_equally_good_nodes_in_the_order_that_is_known() -> None:
    assert ["evict l-0@n1", "pipeline h-0@n1"] == evicted_for(ChanceSettings())
    assert ["evict l-1@n2", "pipeline h-0@n2"] == evicted_for(ChanceSettings(preempts={H: "n3;n2;n1"}))
    assert ["evict l-1@n2", "pipeline h-0@n2"] == evicted_for(ChanceSettings(choices={H: "n2"}))
    assert ["evict l-1@n2", "pipeline h-0@n2"] == evicted_for(ChanceSettings(preempts={H: "n2;n1"}, choices={H: "n1"}))


def test_the_next_search_of_preempt_follows_the_rest_of_the_order() -> None:
    nodes = [NodeInfo(node(name)) for name in ("n1", "n2", "n3")]
    draws = RandomDraws(ChanceSettings(preempts={H: "n2;n1;n3;n2"}))
    turns = [draws.known_turns(nodes, H)]
    for name in ("n2", "n1"):
        draws.count_preempt(H, name)
    turns.append(draws.known_turns(nodes, H))
    assert [[1, 0, 2], [2, 1, 0]] == turns
