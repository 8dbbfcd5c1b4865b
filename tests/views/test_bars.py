"""Bars read without colour and never leave out what is there."""

import pytest

from vcdebug.framework.record import NodeAmounts
from vcdebug.model.resource import CPU, Resource
from vcdebug.views.bars import draw_bar, fullest_dimension, node_bar


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


def test_a_promise_is_made_on_what_leaves_first() -> None:
    amounts = NodeAmounts(idle=cores(2), used=cores(6), releasing=cores(2), pipelined=cores(3))
    assert "████□□□·" == node_bar(amounts, cores(8), CPU, 8)


def test_nothing_offered_has_no_bar() -> None:
    amounts = NodeAmounts(idle=cores(0), used=cores(0), releasing=cores(0), pipelined=cores(0))
    assert "" == node_bar(amounts, cores(0), CPU, 8)
    assert "" == fullest_dimension(amounts, cores(0), [CPU])
