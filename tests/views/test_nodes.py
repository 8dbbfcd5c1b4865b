"""The marks in the panel of nodes."""

from tests.builders import cluster, conf_of, node, pod, pod_group
from vcdebug.recording.replay import replay_cycle
from vcdebug.views.nodes import nodes_table


def test_idle_below_zero_is_marked_nothing_idle_is_muted_and_the_rest_is_plain() -> None:
    overfull = [
        pod("a-0", "a", on="n1", requests={"cpu": "3", "memory": "1Gi", "nvidia.com/gpu": "1"}),
        pod("a-1", "a", on="n1", requests={"cpu": "3"}),
    ]
    snapshot = cluster(
        node("n1", cpu="4", memory="4Gi", gpu="1", pods="9"),
        pod_group("a", phase="Running"),
        overfull,
        conf=conf_of("gang predicates"),
    )
    recording = replay_cycle(snapshot)
    table = nodes_table(recording, len(recording))
    marks = {head.title: (cell.text, cell.style) for head, cell in zip(table.columns, table.rows[0].cells, strict=True)}
    assert ("-2/4", "warn") == marks["cpu"]
    assert ("3Gi/4Gi", "") == marks["mem"]
    assert ("0/1", "muted") == marks["gpu"]
    assert ("idle below 0: cpu", "warn") == marks["remarks"]
