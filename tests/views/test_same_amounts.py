"""The panel, the page, the debugger, explain and the report format the same quantity alike."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import cluster, conf_of, node, pod, pod_group, queue
from vcdebug.amount_text import format_amount, short_name
from vcdebug.debugger import figures
from vcdebug.debugger.figures import Figure
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.files.report_file import report_text
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.views.nodes import node_page, nodes_table
from vcdebug.views.report import ReportSubject
from vcdebug.views.table import format_table

CSI = "ebs.csi.aws.com"
VOLUMES = f"attachable-volumes-csi-{CSI}"
QUANTITIES = {
    "cpu": st.integers(1, 200_000).map(lambda milli: f"{milli}m"),
    "memory": st.integers(1 << 20, 1 << 45).map(str),
    "ephemeral-storage": st.integers(1 << 20, 1 << 45).map(str),
    "hugepages-2Mi": st.integers(1, 1 << 20).map(lambda pages: str(pages << 21)),
    "nvidia.com/gpu": st.integers(1, 5_000).map(str),
}


def replayed(name: str, quantity: str) -> Recording:
    """The cycle of a node with this amount of a resource and a pod that requests four times as much."""
    number, unit = (quantity[:-1], "m") if quantity.endswith("m") else (quantity, "")
    has = {"cpu": "1000", "memory": "64Gi", name: quantity}
    asks = {"cpu": "1", "memory": "1Mi", name: f"{int(number) * 4}{unit}"}
    return replay_cycle(
        cluster(
            node("n1", **has),
            queue("default"),
            pod_group("train", min_member=1),
            pod("train-0", "train", requests=asks),
            conf=conf_of("gang predicates", actions="allocate"),
        )
    )


@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from(sorted(QUANTITIES)))
def test_panel_page_debugger_explain_and_report_write_an_amount_alike(data: st.DataObject, name: str) -> None:
    recording = replayed(name, data.draw(QUANTITIES[name]))
    figure = Figure("node", "n1", "allocatable", name)
    end, value = len(recording), figures.figure_value(recording, figure, 0)
    assert isinstance(value, float)
    text = format_amount(name, value)
    assert text == figures.format_figure(figure, value)
    assert f" {text}/{text} " in format_table(nodes_table(recording, end))
    page = next(
        line for line in format_table(node_page(recording, end, "n1")).splitlines() if line.startswith(short_name(name))
    )
    assert page.endswith(f"  0 of {text} used")
    found = explain_by_name(recording, "default/train")
    assert f"more than any node has (largest: n1, {text})" in found.sentence
    # Searching fixes would replay many cycles, and adds nothing to the sentence.
    with patch("vcdebug.whatif.fixes.search.search_few_fixes", return_value=None):
        assert found.sentence in report_text(ReportSubject(recording, "1", (), (), ("default/train",)), "md")


def driver(count: int) -> Manifest:
    return {
        "kind": "CSINode",
        "metadata": {"name": "n1"},
        "spec": {"drivers": [{"name": CSI, "nodeID": "n1", "allocatable": {"count": count}}]},
    }


def test_volumes_that_a_node_can_attach_are_counted_everywhere() -> None:
    recording = replay_cycle(
        cluster(node("n1"), driver(39), queue("default"), conf=conf_of("gang", actions="allocate"))
    )
    assert " 39/39 " in format_table(nodes_table(recording, len(recording)))
    assert "  0 of 39 used" in format_table(node_page(recording, len(recording), "n1"))
    figure = Figure("node", "n1", "allocatable", VOLUMES)
    value = figures.figure_value(recording, figure, 0)
    assert ("39", 39.0) == (figures.format_figure(figure, value), figures.comparable_value(figure, value))
