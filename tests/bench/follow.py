"""Consecutive captures of a thousand nodes, as `open --follow` takes them: memory, and the reported changes.

The cluster keeps its size: each capture removes a node and a job and adds others. So the memory must become constant
once the maximum number of captures is open: the memory in use after all captures is compared with that after half of
them.
"""

from __future__ import annotations

import gc
import resource
import sys
import tempfile
import tracemalloc
from datetime import timedelta
from functools import partial
from pathlib import Path

from tests.builders import cluster, conf_of, node, pod_group, pods
from vcdebug.debugger.captures import MAX_OPEN_CAPTURES, CaptureSeries, NewCapture
from vcdebug.debugger.commands import execute_line
from vcdebug.debugger.driver import Driver
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.saved_files import CaptureHistory
from vcdebug.snapshot.snapshot import Snapshot

CAPTURES, NODES, JOBS, KEPT = 50, 1000, 40, 30
GROWTH = 1.05
"""Permitted memory after the last capture, relative to that after half of the captures."""
CHANGED = "8 objects"
"""The expected note: a node, a PodGroup and two pods added, and as many removed."""
CONF = conf_of("priority gang", "predicates nodeorder", actions="enqueue allocate")


def capture(number: int) -> Snapshot:
    """The cluster at its `number`th capture."""
    nodes = [node(f"n{i:05}", cpu="4") for i in range(number, number + NODES)]
    jobs = [
        part
        for i in range(number, number + JOBS)
        for part in (pod_group(f"j{i}", min_member=2), pods(f"j{i}", 2, cpu="4"))
    ]
    found = cluster(nodes, *jobs, conf=CONF)
    found.name, found.now = "prod", found.now + timedelta(seconds=number)
    return found


def main(count: int = CAPTURES) -> None:
    """Print the used memory after each capture; fail if it grows or a change goes unreported."""
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as folder:
        history = CaptureHistory(Path(folder), KEPT)
        numbers = iter(range(1, count))
        first = capture(0)

        def again() -> NewCapture:
            snapshot = capture(next(numbers))
            return NewCapture(snapshot, partial(load_snapshot, history.add_capture(snapshot)))

        driver = Driver(replay_cycle(first))
        driver.captures = CaptureSeries(again, [], [partial(load_snapshot, history.add_capture(first))])
        used: list[float] = []
        for number in range(1, count):
            reply = execute_line(driver, "recapture").run_to_end()
            if CHANGED not in reply.text:
                sys.exit(f"capture {number}: {reply.text}")
            gc.collect()
            used.append(tracemalloc.get_traced_memory()[0] / 1e6)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            words = f"{driver.open_recordings.cycle_count} open  {used[-1]:6.1f} MB in use  peak {peak} MB"
            print(f"{number + 1:>3}  {words}  {reply.text}", flush=True)
        assert driver.open_recordings.cycle_count == MAX_OPEN_CAPTURES
        assert len(history.list_captures()) == KEPT
        half = used[len(used) // 2]
        print(f"in use after {len(used) // 2 + 2} captures {half:.1f} MB, after {count} {used[-1]:.1f} MB")
        if used[-1] > GROWTH * half:
            sys.exit("it keeps growing")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
