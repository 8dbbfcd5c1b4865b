"""Fifty captures of a thousand nodes, one after the other, as `open --follow` takes them: memory, and what is told."""

from __future__ import annotations

import resource
import sys
import tempfile
from datetime import timedelta
from functools import partial
from pathlib import Path

from tests.builders import cluster, conf_of, node, pod_group, pods
from vcdebug.debugger.captures import MOST_OPEN, Captures, Taken
from vcdebug.debugger.commands import Reply, execute
from vcdebug.debugger.driver import Driver
from vcdebug.snapshot.history import History
from vcdebug.snapshot.load import load
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.replay import replay

CAPTURES, NODES, KEPT = 50, 1000, 30
CONF = conf_of("priority gang", "predicates nodeorder", actions="enqueue allocate")


def capture(number: int) -> Snapshot:
    """The cluster at its `number`th capture: one node more, one job more."""
    nodes = [node(f"n{i:04}", cpu="4") for i in range(NODES + number)]
    jobs = [part for i in range(number + 1) for part in (pod_group(f"j{i}", min_member=2), pods(f"j{i}", 2, cpu="4"))]
    found = cluster(nodes, *jobs, conf=CONF)
    found.name, found.now = "prod", found.now + timedelta(seconds=number)
    return found


def main() -> None:
    """Print after each capture how much memory there is in use, and fail where a change goes untold."""
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder), KEPT)
        numbers = iter(range(1, CAPTURES))
        first = capture(0)

        def again() -> Taken:
            snapshot = capture(next(numbers))
            return Taken(snapshot, partial(load, history.keep(snapshot)))

        driver = Driver(replay(first))
        driver.captures = Captures(again, [], [partial(load, history.keep(first))])
        for number in range(1, CAPTURES):
            reply = done(execute(driver, "recapture"))
            if "3 objects" not in reply.text and "4 objects" not in reply.text:
                sys.exit(f"capture {number}: {reply.text}")
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{number + 1:>3}  {driver.recordings.cycles} open  peak {peak} MB  {reply.text}", flush=True)
        assert driver.recordings.cycles == MOST_OPEN
        assert len(history.files()) == KEPT


def done(reply: Reply) -> Reply:
    """As a screen carries it out."""
    while reply.work is not None or reply.then is not None:
        reply = reply.work() if reply.work is not None else reply.then() if reply.then is not None else reply
    return reply


if __name__ == "__main__":
    main()
