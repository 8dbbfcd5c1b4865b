"""HyperNodes from their manifests: real nodes, patterns, chains of any length, cycles."""

from typing import Any

import pytest

from tests.builders import hyper_node
from tests.effort import at_most
from vcdebug.model.hyper_nodes import HyperNodes
from vcdebug.model.names import NodeName
from vcdebug.snapshot.snapshot import Manifest

NODES: dict[NodeName, dict[str, str]] = {name: {} for name in ("aaa-1", "aaa-2", "b-1")}


def selecting(name: str, **selector: Any) -> Manifest:
    return {"metadata": {"name": name}, "spec": {"tier": 1, "members": [{"type": "Node", "selector": selector}]}}


@pytest.mark.parametrize(
    ("pattern", "nodes"),
    [
        ("^aaa-", ["aaa-1", "aaa-2"]),
        ("1$", ["aaa-1", "b-1"]),
        ("^(a+)+$", []),
        ("(?=a)", []),
        ("(", []),
    ],
)
def test_a_pattern_selects_the_nodes_that_go_would_select(pattern: str, nodes: list[str]) -> None:
    tree = HyperNodes([selecting("h", regexMatch={"pattern": pattern})], NODES)
    assert nodes == list(tree.real_nodes["h"])


@pytest.mark.parametrize(("pattern", "nodes"), [("^b", ["aaa-1", "b-1"]), ("(", [])])
def test_a_refused_pattern_takes_the_exact_name_with_it(pattern: str, nodes: list[str]) -> None:
    tree = HyperNodes([selecting("h", exactMatch={"name": "aaa-1"}, regexMatch={"pattern": pattern})], NODES)
    assert nodes == list(tree.real_nodes["h"])


def test_a_chain_of_hypernodes_may_be_longer_than_any_stack() -> None:
    depth = 20_000
    spines = [hyper_node(f"h{at}", at + 1, children=(f"h{at - 1}",)) for at in range(1, depth)]
    with at_most(seconds=5):
        tree = HyperNodes([*reversed(spines), hyper_node("h0", 1, nodes=("b-1",))], NODES)
        top = tree.add_cluster_top_hyper_node(list(NODES))
        assert (True, ["b-1"]) == (tree.ready, list(tree.real_nodes[f"h{depth - 1}"]))
        assert depth + 1 == len(tree.get_ancestors("h0"))
        assert (top.name, "h7") == (tree.get_lca_hyper_node("h0", top.name), tree.get_lca_hyper_node("h0", "h7"))


def test_hypernodes_in_a_circle_are_not_ready() -> None:
    tree = HyperNodes([hyper_node("a", 1, children=("b",)), hyper_node("b", 2, children=("a",))], NODES)
    said = "cyclic dependency detected: HyperNode a is already in the ancestor chain ['a', 'b']"
    assert (False, said) == (tree.ready, tree.problem)


def test_a_child_of_two_parents_makes_the_tree_not_ready() -> None:
    tree = HyperNodes([hyper_node("a", 2, children=("c",)), hyper_node("b", 2, children=("c",))], NODES)
    said = "HyperNode c already has a parent a, and cannot set another parent b"
    assert (False, said) == (tree.ready, tree.problem)
