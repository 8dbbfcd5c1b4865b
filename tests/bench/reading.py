"""Reading back a recording of a million events: first jumps, every later one, states, breakpoints, tables.

python -m tests.bench.reading [--events N] [--json FILE]

A *first* figure is the cost of the first such key in a recording with empty caches; the screen fills all caches before
the first key. Seconds are processor seconds.
"""

import argparse
import gc
import json
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from tests.bench import made
from tests.builders import snapshot_from_objects
from vcdebug.debugger.debugger import Debugger
from vcdebug.debugger.driver import Driver
from vcdebug.framework.record import Level
from vcdebug.recording.effects import timeline_marks
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.views.event_view import event_view

EVENTS = 1_000_000
EVENTS_PER_POD = 11
"""Number of events for a pod that is placed at the first try."""
NODES = 100
LOOKS = 200
clock = time.process_time
BREAKPOINTS = ('vote if plugin == "gang"', "statement commit", 'predicate if job == "{job}"')


def cluster(events: int) -> Snapshot:
    """A cluster with enough Pending pods for this many events, and nodes with room for all."""
    pods = events // EVENTS_PER_POD // made.GANG * made.GANG + made.GANG  # exact: ints
    room = {"cpu": "2000", "memory": "8Ti", "pods": "4000", "ephemeral-storage": "100Gi"}
    objects = [*made.fixed(made.Size(NODES, pods))]
    for manifest in objects:
        if manifest["kind"] == "Node":
            manifest["status"].update(capacity=room, allocatable=room)
    objects.extend(made.waiting(pods, random.Random(NODES)))
    conf = made.CONF.replace("preempt, ", "")
    return snapshot_from_objects(objects, conf=conf, name=f"made-{events}", now="2026-11-01T00:00:00Z")


def seconds(work: Callable[[], object]) -> float:
    """The seconds of one call."""
    started = clock()
    work()
    return clock() - started


def p95(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """The 95th percentile of the calls' seconds."""
    found = []
    for _ in range(LOOKS):
        before()
        found.append(seconds(work))
    return sorted(found)[LOOKS * 95 // 100]  # exact: ints


def unread(recording: Recording) -> Recording:
    """The recording with empty caches."""
    return Recording(recording.snapshot, recording.conf, recording.session, recording.seconds)


def firsts(recording: Recording) -> Iterator[tuple[str, float]]:
    """Seconds of the first key of each kind, each on a recording with empty caches."""
    jobs, tasks = list(recording.session.jobs), [span.name for span in recording.spans if span.level is Level.TASK]
    subjects = (("job", jobs[-1]), ("task", tasks[-1]), ("node", recording.node_names[-1]), ("plugin", "gang"))
    for kind, name in subjects:
        debugger = Debugger(unread(recording))
        yield f"first jump about a {kind}", seconds(partial(look, debugger, partial(debugger.next_about, kind, name)))
    fresh = unread(recording)
    yield "first state", seconds(lambda: fresh.timeline.state_at(len(fresh)).job_counts(jobs[-1]))
    fresh = unread(recording)
    yield "first marks", seconds(lambda: timeline_marks(fresh))
    fresh = unread(recording)
    yield "all of the index", seconds(partial(read_all, fresh))


def read_all(recording: Recording) -> None:
    """Build everything that the screen builds before the first key."""
    recording.index.build_all()
    _ = recording.span_tree, recording.timeline.opening_tasks


def look(debugger: Debugger, move: Callable[[], object]) -> None:
    """A movement, followed by the queries of every screen."""
    move()
    _ = debugger.enclosing_name("job"), debugger.span_path()


def later(recording: Recording) -> Iterator[tuple[str, float]]:
    """The 95th percentile of every later key."""
    debugger, draw, total = Debugger(recording), random.Random(1), len(recording)
    jobs, nodes = list(recording.session.jobs), list(recording.node_names)

    def anywhere() -> None:
        debugger.goto_event(draw.randint(1, total))

    def jump() -> None:
        anywhere()
        _ = debugger.enclosing_name("job"), debugger.span_path()
        debugger.recording.timeline.state_at(debugger.seq).job_counts(draw.choice(jobs))

    yield "jump", p95(jump)
    yield "step back", p95(lambda: look(debugger, lambda: debugger.step_into(back=True)), anywhere)
    yield "step over", p95(lambda: look(debugger, lambda: debugger.step_over()), anywhere)
    yield "next about a job", p95(lambda: debugger.next_about("job", draw.choice(jobs)), anywhere)
    last_change = recording.timeline.last_change
    yield "last change of a node", p95(lambda: last_change("node", draw.choice(nodes), debugger.seq), anywhere)
    yield "state: a node and its tasks", p95(lambda: tasks_on(debugger, draw.choice(nodes)), anywhere)
    yield "view of the moment", p95(lambda: event_view(recording, debugger.seq), anywhere)


def tasks_on(debugger: Debugger, node: str) -> None:
    """The query of a node's page."""
    state = debugger.recording.timeline.state_at(debugger.seq)
    _ = state.nodes[node], state.tasks_on(node)


def breakpoints(recording: Recording) -> Iterator[tuple[str, float]]:
    """Seconds for setting a breakpoint, which finds all hits, and for going to the next hit."""
    job = list(recording.session.jobs)[-1]
    for words in BREAKPOINTS:
        line, driver, draw = words.replace("{job}", job), Driver(recording), random.Random(2)
        yield f"set: {words}", seconds(partial(driver.add_breakpoint, line))
        stop = partial(driver.take_step, "continue", back=False)
        yield "  next stop", p95(stop, partial(goto_any, driver, draw, len(recording)))


def goto_any(driver: Driver, draw: random.Random, total: int) -> None:
    """Go to a random event."""
    driver.goto_event(draw.randint(1, total))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    recording = replay_cycle(cluster(arguments.events), clock=clock)
    gc.collect()
    gc.freeze()
    sizes = (("events", len(recording)), ("cycle", recording.seconds["cycle"]))
    found: dict[str, float] = {}
    for name, value in chain(sizes, firsts(recording), later(recording), breakpoints(recording)):
        print(f"{name:<40}{value:>12,}" if isinstance(value, int) else f"{name:<40}{value:>12.4f} s", flush=True)
        found[name] = value
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
