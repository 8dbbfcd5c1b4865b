"""Hierarchical drf: the derived tree equals the plugin's own after each event; the level that decides is named."""

import pytest

from tests.builders import cluster, queue
from tests.pending.situations import CLASSES, RECLAIM, WANTED, conf, nodes, running, wanted
from tests.recorded import bundled
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.plugins.drf import hierarchy_at
from vcdebug.framework.record import Event, OpEvent
from vcdebug.framework.session import Session
from vcdebug.model.names import Seq
from vcdebug.plugins.drf import Drf, HierarchyNode
from vcdebug.recording.replay import observe_rerun, replay_cycle
from vcdebug.snapshot.snapshot import Manifest

Branch = dict[str, tuple[float, float, bool, object]]


def branches(node: HierarchyNode, path: str = "root") -> Branch:
    """(weight, share, saturated, allocated) by path."""
    found: Branch = {path: (node.weight, node.share.value, node.saturated, dict(node.share.allocated.items()))}
    for name, child in node.children.items():
        found.update(branches(child, f"{path}/{name}"))
    return found


def test_the_tree_is_the_plugins_own_after_every_placement() -> None:
    recording = bundled("shared-by-hierarchy")
    trees: dict[Seq, Branch] = {}

    def look(session: Session, seq: Seq, event: Event) -> None:
        plugin = session.plugins["drf"]
        if isinstance(event, OpEvent) and isinstance(plugin, Drf) and plugin.hierarchy is not None:
            live = plugin.hierarchy.root.clone()
            plugin.hierarchy.update_hierarchical_share(live, plugin.hierarchy.allocated)
            trees[seq] = branches(live)

    observe_rerun(recording, look)
    assert 5 == len(trees)
    for seq, live in trees.items():
        hierarchy = hierarchy_at(recording, seq)
        assert hierarchy is not None
        assert live == branches(hierarchy)
    assert 5 == len({str(sorted(tree.items())) for tree in trees.values()})


def hierarchical(name: str, path: str, weights: str) -> Manifest:
    return queue(name, annotations={"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights})


@pytest.mark.parametrize(
    ("other", "level"),
    [
        (hierarchical("other", "root/alt", "1/1"), "the weighted share of dev would be 0.75, that of alt 0.25"),
        (hierarchical("other", "root/dev/far", "1/1/1"), "the weighted share of own would be 0.75, that of far 0.25"),
        (hierarchical("other", "root/alt", "1/9"), "the weighted share of dev would be 0.75, that of alt 0.0278"),
    ],
)
def test_a_veto_of_reclaim_names_the_level_of_the_tree_at_which_the_queues_are_compared(
    other: Manifest, level: str
) -> None:
    """The jobs' own shares decide nothing there: a single pod of the job would have the smallest share."""
    used = [*running("a", "n1", queue="own"), *running("b", "n2", queue="other")]
    arguments = {"drf": {"enableHierarchy": "true"}}
    text = conf(RECLAIM, "drf predicates nodeorder", "priority", arguments)
    own = hierarchical("own", "root/dev/own", "1/1/1")
    objects = [*CLASSES, own, other, *nodes("n1", "n2"), *used, *wanted(queue="own", priority_class="low")]
    found = explain_by_name(replay_cycle(cluster(objects, conf=text)), WANTED)
    assert "drf" == found.cause_code
    assert f"queue own would not come before other in the hierarchy: {level}." in found.full_text
    assert any("volcano.sh/hierarchy-weights" in text for text in found.advice_texts)
