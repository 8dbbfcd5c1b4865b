"""Bars are readable without colour and show every nonzero part."""

import pytest

from tests.recorded import BLOCKED, bundled
from vcdebug.framework.record import NodeAmounts
from vcdebug.model.resource import CPU, Resource
from vcdebug.views.nodes import nodes_table
from vcdebug.views.pieces import draw_bar, node_bar
from vcdebug.views.queues import queues_table


@pytest.mark.parametrize(
    ("parts", "drawn"),
    [
        ((0, 0, 0, 8), "········"),
        ((8, 0, 0, 0), "████████"),
        ((4, 2, 0, 2), "████▒▒··"),
        ((4, 0, 4, 0), "████□□□□"),
        ((7.99, 0, 0, 0.01), "███████·"),
        ((0.01, 0.01, 0.01, 7.97), "█▒□·····"),
    ],
)
def test_each_part_that_is_there_has_a_sign(parts: tuple[float, ...], drawn: str) -> None:
    assert drawn == draw_bar(parts, "█▒□·", 8, 8)


def cores(value: float) -> Resource:
    return Resource(milli_cpu=value * 1000)


def test_bar_shows_pipelined_amounts_on_releasing_ones_first() -> None:
    amounts = NodeAmounts(idle=cores(2), used=cores(6), releasing=cores(2), pipelined=cores(3))
    assert "████▣▣□·" == node_bar(amounts, cores(8), CPU, 8)


def test_node_without_the_resource_has_no_bar() -> None:
    amounts = NodeAmounts(idle=cores(0), used=cores(0), releasing=cores(0), pipelined=cores(0))
    assert "" == node_bar(amounts, cores(0), CPU, 8)


def test_a_queues_bar_shows_allocated_up_to_deserved_beyond_it_and_the_rest_of_the_limit() -> None:
    recording = bundled(BLOCKED)
    table = queues_table(recording, 120)
    at = [column.title for column in table.columns].index("of limit")
    drawn = {row.key: row.cells[at].text for row in table.rows}
    assert ("███░········", "█████████░░·") == (drawn["research cpu"], drawn["research nvidia.com/gpu"])
    assert "–" == drawn["default cpu"]


def test_nodes_have_a_bar_for_each_dimension_that_jobs_compete_for() -> None:
    table = nodes_table(bundled(BLOCKED), 120)
    heads = [column.title for column in table.columns]
    row = next(row for row in table.rows if row.key == "gpu-a100-01")
    used = {head: row.cells[at].text for at, head in enumerate(heads) if head.endswith(" used")}
    assert {"cpu used": "█▣□·····", "mem used": "█▣□·····", "gpu used": "████▣▣□□"} == used
