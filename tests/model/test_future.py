"""A node's future idle is bit-identical whether or not the amounts are materialised."""

import random

from tests.builders import node
from tests.rows import over
from vcdebug.model.node import NodeInfo
from vcdebug.model.pod import Pod
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo

NAMES = ("pods", "nvidia.com/gpu", "ephemeral-storage")


def drawn(draw: random.Random) -> Resource:
    kinds: list[dict[str, float] | None] = [None, {}, {name: draw.choice((0.0, 0.05, 1.0, 2.5)) for name in NAMES}]
    scalars = draw.choice(kinds)
    if scalars and draw.random() < 0.5:
        del scalars[draw.choice(NAMES)]
    return Resource(draw.choice((0.0, 0.1, 999.9, 1000.0)), draw.choice((0.0, 0.3, 1e9)), scalars)


@over(range(300))
def test_future_idle_holds_what_the_comparison_of_amounts_says(seed: int) -> None:
    draw = random.Random(seed)
    info = NodeInfo(node("n"))
    info.idle, info.releasing, info.pipelined, request = drawn(draw), drawn(draw), drawn(draw), drawn(draw)
    gone = [TaskInfo(Pod({}), drawn(draw)) for _ in range(draw.randint(0, 3))]
    future = info.future_idle()
    for task in gone:
        future.add(task.resreq)
    assert request.less_equal(future) == info.fits_future_idle(request, gone)
