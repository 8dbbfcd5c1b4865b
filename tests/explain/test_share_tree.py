"""The derived tree of hierarchical drf equals the plugin's own tree after each event."""

from tests.recorded import bundled
from vcdebug.explain.plugins.drf import hierarchy_at
from vcdebug.framework.record import Event, OpEvent
from vcdebug.framework.session import Session
from vcdebug.model.names import Seq
from vcdebug.plugins.drf import Drf, HierarchyNode
from vcdebug.recording.replay import observe_rerun

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
