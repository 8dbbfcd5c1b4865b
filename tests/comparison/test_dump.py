"""The scheduler's cache dump against the replay: the recorded pair agrees, altered values are named."""

import gzip
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.logs.log_cases import CASES
from tests.recorded import recorded_path
from vcdebug.comparison.cache_dump import (
    DOCUMENT_NAMES,
    FieldDifference,
    compare_dump,
    hyper_node_fields,
    job_fields,
    node_fields,
    real_node_fields,
    tier_fields,
)
from vcdebug.errors import VcdebugError
from vcdebug.model.cluster import ClusterInfo
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot

PAIR = recorded_path("dumps/preempt-0000.dump.json.gz")
Documents = dict[str, Any]


@cache
def snapshot(name: str = "hypernode-0005") -> Snapshot:
    return load_snapshot(CASES / name)


def own_documents(name: str = "hypernode-0005") -> Documents:
    """A cache dump made from the replay's own objects."""
    cluster = ClusterInfo(snapshot(name))
    tree = cluster.hyper_nodes
    documents = {
        "Nodes": {name: node_fields(node) for name, node in cluster.nodes.items()},
        "HyperNodesSetByTier": tier_fields(tree),
        "HyperNodeTierNameMap": dict(tree.tier_names),
        "RealNodesSet": real_node_fields(tree),
        "HyperNodes": hyper_node_fields(tree),
        "Jobs": {uid: job_fields(job) for uid, job in cluster.jobs.items()},
    }
    copied: Documents = json.loads(json.dumps(documents))
    return copied


def text_of(documents: Documents) -> str:
    return "\n".join(json.dumps(documents[name]) for name in DOCUMENT_NAMES)


def differences(alter: Callable[[Documents], object]) -> tuple[FieldDifference, ...]:
    documents = own_documents()
    alter(documents)
    return compare_dump(text_of(documents), snapshot()).differences


def test_the_given_pair_has_no_difference() -> None:
    text = gzip.decompress(PAIR.read_bytes()).decode()
    comparison = compare_dump(text, load_snapshot(recorded_path("random/preempt-0000")))
    assert ((), (), 9, 15) == (comparison.differences, comparison.unread, comparison.nodes, comparison.jobs)
    assert comparison.fields > 2000


def test_an_altered_value_of_the_given_pair_is_named() -> None:
    text = gzip.decompress(PAIR.read_bytes()).decode().replace('"pods":109}', '"pods":108}', 1)
    comparison = compare_dump(text, load_snapshot(recorded_path("random/preempt-0000")))
    assert (FieldDifference("node node-000", "Idle.ScalarResources.pods", "108", "109"),) == comparison.differences


def test_a_dump_of_the_same_cluster_agrees() -> None:
    comparison = compare_dump(text_of(own_documents()), snapshot())
    assert comparison.has_no_difference
    assert comparison.nodes > 0
    assert comparison.jobs > 0


def test_a_node_amount_is_named_with_both_values() -> None:
    name = next(iter(own_documents()["Nodes"]))
    before = int(own_documents()["Nodes"][name]["Idle"]["MilliCPU"])
    found = differences(lambda dump: dump["Nodes"][name]["Idle"].update(MilliCPU=before + 1))
    assert (FieldDifference(f"node {name}", "Idle.MilliCPU", str(before + 1), str(before)),) == found


def test_a_missing_scalar_is_named() -> None:
    name = next(iter(own_documents()["Nodes"]))
    found = differences(lambda dump: dump["Nodes"][name]["Allocatable"]["ScalarResources"].pop("pods"))
    assert [(f"node {name}", "Allocatable.ScalarResources.pods", "absent")] == [
        (one.object, one.field, one.dumped) for one in found
    ]


def test_a_field_of_a_task_is_named() -> None:
    job, uid = next((job, next(iter(entry["Tasks"]))) for job, entry in own_documents()["Jobs"].items())
    found = differences(lambda dump: dump["Jobs"][job]["Tasks"][uid].update(TaskRole="other"))
    assert [(f"job {job}", f"Tasks.{uid}.TaskRole", "other")] == [(one.object, one.field, one.dumped) for one in found]


def test_a_task_that_only_one_side_has_is_named() -> None:
    job, uid = next((job, next(iter(entry["Tasks"]))) for job, entry in own_documents()["Jobs"].items())
    found = differences(lambda dump: dump["Jobs"][job]["Tasks"].pop(uid))
    assert (FieldDifference(f"job {job}", f"Tasks.{uid}", "absent", "present"),) == found


def test_objects_that_one_side_lacks_are_named() -> None:
    node, job = (next(iter(own_documents()[name])) for name in ("Nodes", "Jobs"))

    def alter(dump: Documents) -> None:
        del dump["Nodes"][node]
        dump["Jobs"]["default/stranger"] = dump["Jobs"][job]

    expected = (
        FieldDifference(f"node {node}", "", "absent", "present"),
        FieldDifference("job default/stranger", "", "present", "absent"),
    )
    assert expected == differences(alter)


def test_a_hypernode_in_another_tier_is_named() -> None:
    tier, name = next((tier, next(iter(names))) for tier, names in own_documents()["HyperNodesSetByTier"].items())
    found = differences(lambda dump: dump["HyperNodesSetByTier"][tier].pop(name))
    assert ["HyperNodesSetByTier"] == [one.object for one in found]


def test_a_truncated_dump_compares_what_it_holds_and_says_where_it_ends() -> None:
    text = text_of(own_documents())
    comparison = compare_dump(text[:-40], snapshot())
    assert ((), ("Jobs",), 6, False) == (
        comparison.differences,
        comparison.unread,
        comparison.broken_at,
        comparison.has_no_difference,
    )


@pytest.mark.parametrize("text", ["", "not json", '{"a": ', "[1, 2]"])
def test_invalid_dump_is_an_error(text: str) -> None:
    with pytest.raises(VcdebugError, match="not a dump"):
        compare_dump(text, snapshot())
