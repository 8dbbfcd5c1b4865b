"""The replay beside the real scheduler, on one machine and in turns: seconds of one cycle of both.

python -m tests.bench.paired PROGRAM [--rounds N] [SNAPSHOT ...]

PROGRAM is a vc-scheduler. It runs as under `vcdebug verify`, with a log that tells nothing but where cycles begin and
end, and its own metrics say what its actions took by the clock: all threads of it, on all cores. Opening and closing
the session are not in it, as the closing waits for the small server. The replay's cycle is counted whole, recording
included, in processor seconds of a fresh process; `less read` is the ratio without reading manifests, which the
scheduler's cache has done before. `baseline` is the replay over the seconds of baseline.json, which were measured
once, on another machine.
"""

import argparse
import json
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.bench import CHECKOUT, PERF, baseline
from vcdebug.snapshot.load import load
from vcdebug.verify.program import Program, observe

ACTION = re.compile(r'volcano_action_scheduling_latency_milliseconds_(sum|count)\{action="(\w+)"\} (\S+)')
EVERY = 0.5
"""Seconds between two looks at the metrics."""
PATIENCE = 600.0


@dataclass(slots=True)
class Metrics:
    """What a running scheduler has said of its actions, after each of its cycles."""

    port: int
    after: dict[int, float] = field(default_factory=dict)
    """Seconds of all actions of all cycles so far, by how many there were."""
    over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        """Read them again and again until told to stop."""
        while not self.over.wait(EVERY):
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as page:
                self.note(page.read().decode())

    def note(self, page: str) -> None:
        """Take down what one page says, unless a cycle is under way."""
        rows = ACTION.findall(page)
        counts = {float(value) for what, _, value in rows if what == "count"}
        if len(counts) == 1:
            self.after[int(counts.pop())] = sum(float(value) for what, _, value in rows if what == "sum") / 1000

    def of(self, cycle: int) -> float:
        """Seconds of the actions of one cycle, the first one being 1."""
        return self.after[cycle] - self.after.get(cycle - 1, 0.0)


def free_port() -> int:
    """One that nobody listens at just now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


def real(snapshot: Path, program: str) -> float:
    """Seconds of the actions of the scheduler's own cycle."""
    metrics = Metrics(free_port())
    thread = threading.Thread(target=metrics.look, daemon=True)
    thread.start()
    try:
        quiet = (
            "--v=0",
            "--vmodule=scheduler=4",
            "--enable-metrics=true",
            f"--listen-address=127.0.0.1:{metrics.port}",
        )
        observed = observe(load(snapshot), Program(program, quiet, PATIENCE))
    finally:
        metrics.over.set()
        thread.join()
    return metrics.of(observed.counted)


def ours(snapshot: Path) -> tuple[float, float]:
    """Processor seconds of the replay's cycle in a fresh process, and how many of them read manifests."""
    command = [sys.executable, "-m", "tests.bench.measure", str(snapshot), "--brief"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout)
    return figures["cycle"], figures["read"]


def row(snapshot: Path, program: str, rounds: int) -> str:
    """One line of the table: the lowest of each, both in turns."""
    pairs = [(real(snapshot, program), ours(snapshot)) for _ in range(rounds)]
    theirs, (mine, read) = (min(seconds) for seconds in zip(*pairs, strict=True))
    before = baseline().get(snapshot.name, {}).get("scheduler_seconds", {}).get("total")
    told = f"{mine / before:>10.3f}" if before else f"{'-':>10}"
    return f"{snapshot.name:<20}{theirs:>10.2f}{mine:>10.2f}{mine / theirs:>10.3f}{(mine - read) / theirs:>10.3f}{told}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="a vc-scheduler")
    parser.add_argument("snapshots", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_intermixed_args()
    print(f"{'snapshot':<20}{'real s':>10}{'replay s':>10}{'ratio':>10}{'less read':>10}{'baseline':>10}", flush=True)
    for snapshot in arguments.snapshots or [PERF / name for name in baseline()]:
        print(row(snapshot, arguments.program, arguments.rounds), flush=True)


if __name__ == "__main__":
    main()
