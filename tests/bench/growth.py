"""Growth of the commands' cost with each cluster shape: processor seconds at two sizes, and the exponent.

python -m tests.bench.growth [--scale FACTOR] [--rounds N] [SHAPE ...]

The sizes of a shape differ by a factor of two in one count and run in turns, each command in a process of its own.
What the same command takes on a tiny snapshot of the shape, mostly imports, is subtracted. An exponent above 1.15 is
too much; so is an `explain` of all jobs that takes more than twice the seconds of `cycle`, which reads the
snapshot and runs its cycle, or twice its memory.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.made import CONF, Manifest, group, make_object, node, pod

CHECKOUT = Path(__file__).resolve().parents[2]
CYCLE = "from vcdebug.recording.replay import replay_cycle as r; from vcdebug.snapshot.loader import load_snapshot as l"
COMMANDS: dict[str, list[str]] = {
    "load": ["-c", "import sys; from vcdebug.snapshot.loader import load_snapshot; load_snapshot(sys.argv[1])"],
    "cycle": ["-c", f"import sys; {CYCLE}; r(l(sys.argv[1]))"],
    "run": ["-m", "vcdebug", "run", "--no-cache"],
    "run --json": ["-m", "vcdebug", "run", "--no-cache", "--json"],
    "--trace": ["-m", "vcdebug", "run", "--no-cache", "--trace", os.devnull],
    "explain": ["-m", "vcdebug", "explain", "--no-cache"],
}
JOBS = 20
"""Number of Pending jobs in the shapes that grow in nodes; more jobs would add a second factor of growth."""


class Cost(NamedTuple):
    """Processor seconds and peak memory of one process."""

    seconds: float
    megabytes: float


def queues(count: int) -> Iterator[Manifest]:
    """Queues with five PodGroups of one pod each, and a hundred nodes, all of which each pod is compared with."""
    yield from (make_queue(f"queue-{number}") for number in range(count))
    yield from (sized_node(number, max(count // 40, 1)) for number in range(100))
    yield from (each for number in range(5 * count) for each in job(f"job-{number}", f"queue-{number % count}", 1))


def tasks(count: int) -> Iterator[Manifest]:
    """One job of `count` tasks that find no room on a hundred nodes."""
    yield make_queue("default")
    yield from (node(number) for number in range(100))
    yield from job("job", "default", count)


def pods_per_node(count: int) -> Iterator[Manifest]:
    """Twenty nodes with `count` gang-protected pods each, and JOBS of higher priority."""
    yield make_queue("default")
    yield from priorities()
    for number in range(20):
        yield sized_node(number, count)
        yield group(f"low-{number}", "default", "low", count, "Running")
        yield from (pod(f"low-{number}", each, "1", "1Gi", "low", f"node-{number:05}") for each in range(count))
    yield from (each for number in range(JOBS) for each in job(f"high-{number}", "default", 2, "3", "high"))


def nodes(count: int) -> Iterator[Manifest]:
    """Full nodes, and JOBS of higher priority."""
    yield make_queue("default")
    yield from priorities()
    yield from (each for number in range(count) for each in full_node(number, 1))
    yield from (each for number in range(JOBS) for each in job(f"high-{number}", "default", 2, "3", "high"))


def nodes_and_jobs(count: int) -> Iterator[Manifest]:
    """Full nodes, and as many Pending jobs, which have one of three requests."""
    yield make_queue("default")
    yield from priorities()
    yield from (each for number in range(count) for each in full_node(number, 1))
    yield from (
        each for number in range(count) for each in job(f"high-{number}", "default", 2, str(number % 3 + 3), "high")
    )


def hyper_nodes(count: int) -> Iterator[Manifest]:
    """Racks of eight nodes, halls of sixteen racks, and JOBS of ten pods that must fit into one rack, and do not."""
    yield make_queue("default")
    yield from (node(number) for number in range(8 * count))
    for rack in range(count):
        yield hyper_node(f"rack-{rack}", 1, "Node", [f"node-{8 * rack + each:05}" for each in range(8)])
    for hall in range(-(-count // 16)):
        racks = range(16 * hall, min(16 * hall + 16, count))
        yield hyper_node(f"hall-{hall}", 2, "HyperNode", [f"rack-{rack}" for rack in racks])
    for number in range(JOBS):
        least, *members = job(f"job-{number}", "default", 10, "15")
        least["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
        yield from (least, *members)


def pod_groups(count: int) -> Iterator[Manifest]:
    """PodGroups of two pods each beside twenty full nodes, which every one of them tries."""
    yield make_queue("default")
    yield from priorities()
    yield from (each for number in range(20) for each in full_node(number))
    yield from (each for number in range(count) for each in job(f"job-{number}", "default", 2, "3", "high"))


def sized_node(number: int, cpu: int) -> Manifest:
    """A node with room for a pod on each of its CPUs and for fifty more."""
    one = node(number)
    one["status"]["allocatable"] = {"cpu": str(cpu), "memory": "4Ti", "pods": str(cpu + 50)}
    return one


def full_node(number: int, least: int = 10) -> Iterator[Manifest]:
    """A node with a job of ten running pods that fill it."""
    yield node(number)
    yield group(f"low-{number}", "default", "low", least, "Running")
    yield from (pod(f"low-{number}", each, "2", "1Gi", "low", f"node-{number:05}") for each in range(10))


def make_queue(name: str) -> Manifest:
    body = make_object("scheduling.volcano.sh/v1beta1", "Queue", name, None)
    return {**body, "spec": {"weight": 1}, "status": {"state": "Open"}}


def priorities() -> Iterator[Manifest]:
    for name, value in (("low", 10), ("high", 1000)):
        yield {**make_object("scheduling.k8s.io/v1", "PriorityClass", name, None), "value": value}


def job(name: str, queue: str, members: int, cpu: str = "1", priority: str = "low") -> Iterator[Manifest]:
    """A PodGroup whose minMember is the number of its Pending pods."""
    yield group(name, queue, priority, members, "Inqueue")
    yield from (pod(name, number, cpu, "1Gi", priority) for number in range(members))


def hyper_node(name: str, tier: int, kind: str, members: list[str]) -> Manifest:
    selectors = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
    body = make_object("topology.volcano.sh/v1alpha1", "HyperNode", name, None)
    return {**body, "spec": {"tier": tier, "members": selectors}}


WITHOUT_PREEMPT = CONF.replace("preempt, ", "")
WITH_TOPOLOGY = WITHOUT_PREEMPT.replace("  - name: binpack", "  - name: binpack\n  - name: network-topology-aware")


class Shape(NamedTuple):
    """Makes a snapshot of a size; the smaller of the two measured sizes; the scheduler's configuration."""

    manifests: Callable[[int], Iterator[Manifest]]
    size: int
    conf: str
    tiny: int = 2
    """The size whose seconds are subtracted, mostly imports: large enough that jobs are Pending for the same cause."""


SHAPES = {
    "nodes": Shape(nodes, 2_000, CONF),
    "nodes and jobs": Shape(nodes_and_jobs, 500, WITHOUT_PREEMPT),
    "queues": Shape(queues, 1_000, WITHOUT_PREEMPT, 16),
    "PodGroups": Shape(pod_groups, 500, CONF),
    "tasks of one job": Shape(tasks, 5_000, WITHOUT_PREEMPT),
    "pods per node": Shape(pods_per_node, 1_000, WITHOUT_PREEMPT),
    "pods per node, preempt": Shape(pods_per_node, 1_000, CONF),
    "HyperNodes": Shape(hyper_nodes, 64, WITH_TOPOLOGY),
}


def write(shape: Shape, size: int, folder: Path) -> Path:
    """A snapshot of this size."""
    target = folder / f"{shape.manifests.__name__}-{size}-{'preempt' in shape.conf}"
    target.mkdir(exist_ok=True)
    # Writes one object at a time: a child process inherits the peak memory of its parent.
    with (target / "cluster.json").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in shape.manifests(size))
    (target / "scheduler.conf").write_text(shape.conf, encoding="utf-8")
    return target


def cost(command: list[str], snapshot: Path) -> Cost:
    """The cost of one process; explain of Pending jobs exits with 2."""
    with subprocess.Popen([sys.executable, *command, str(snapshot)], cwd=CHECKOUT, stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 2):
        raise SystemExit(f"{command} {snapshot}: exit status {child.returncode}")
    return Cost(usage.ru_utime, usage.ru_maxrss / 1024)


def costs(command: list[str], snapshots: list[Path], rounds: int) -> list[Cost]:
    """The lowest cost of each snapshot minus the first snapshot's seconds; snapshots run in turns."""
    runs = [[cost(command, snapshot) for snapshot in snapshots] for _ in range(rounds)]
    best = [min(column) for column in zip(*runs, strict=True)]
    return [Cost(max(each.seconds - best[0].seconds, 1e-3), each.megabytes) for each in best[1:]]


def rows(shape: Shape, arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[Any, ...]]:
    """Command, seconds at both sizes, exponent, seconds and memory as multiples of the cycle's."""
    size = int(shape.size * arguments.scale)
    snapshots = [write(shape, each, folder) for each in (shape.tiny, size, 2 * size)]
    cycle = Cost(math.inf, math.inf)
    for name, command in COMMANDS.items():
        small, large = costs(command, snapshots, arguments.rounds)
        cycle = large if name == "cycle" else cycle
        exponent = math.log2(large.seconds / small.seconds)
        yield name, *small, *large, exponent, large.seconds / cycle.seconds, large.megabytes / cycle.megabytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=", ".join(SHAPES))
    parser.add_argument("--scale", type=float, default=1, metavar="FACTOR", help="multiply every size")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="take the lowest of N runs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.shapes or SHAPES:
            print(f"{name + ' x 2':<24} small s      MB  large s      MB exponent  /cycle  MB/cycle", flush=True)
            for row in rows(SHAPES[name], arguments, Path(folder)):
                print("  {:<20} {:9.2f} {:7.0f} {:8.2f} {:7.0f} {:8.2f} {:7.2f} {:9.2f}".format(*row), flush=True)


if __name__ == "__main__":
    main()
