"""Columns without content in the whole cycle are left out; the others are always shown."""

from tests.recorded import BLOCKED, ROOT, bundled
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.views.nodes import nodes_table
from vcdebug.views.queues import queues_table


def heads(name: str, seq: int = 1) -> list[str]:
    titles = [column.title for column in nodes_table(bundled(name), seq).columns]
    assert ["node", "cpu", "cpu used"] == titles[:3]
    return titles[-4:]


def test_nodes_show_what_is_released_and_promised_where_the_cycle_evicts_or_pipelines() -> None:
    assert ["gpu used", "releasing", "pipelined", "pods"] == heads("preempt-works")
    assert heads("preempt-works") == heads("preempt-works", len(bundled("preempt-works")))
    assert ["gpu", "gpu used", "pods"] == heads("persist-queue-without-gpus")[-3:]


def test_nodes_show_remarks_where_one_of_them_keeps_pods_away() -> None:
    found = nodes_table(bundled("pending-no-node-fits"), 1)
    assert "remarks" == found.columns[-1].title
    assert all(len(found.columns) == len(row.cells) for row in found.rows)


def test_queues_have_no_state_where_none_is_unusual() -> None:
    assert "weight" == queues_table(bundled("preempt-works"), 1).columns[-1].title


def test_the_cluster_has_no_row_of_unrequested_resources() -> None:
    snapshot = load_snapshot(ROOT / "fixtures" / BLOCKED)
    for node in snapshot.objects_of("Node"):
        node["status"]["allocatable"]["ephemeral-storage"] = "100Gi"
    keys = [row.key for row in queues_table(replay_cycle(snapshot), 1).rows]
    assert ["cluster cpu", "cluster memory", "cluster nvidia.com/gpu"] == keys[-3:]
