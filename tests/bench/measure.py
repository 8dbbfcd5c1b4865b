"""Measures everything about one snapshot, in a process of its own, and prints JSON."""

import contextlib
import io
import json
import random
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.bench.weight import weights
from tests.effort import calibration
from vcdebug.actions import ACTIONS
from vcdebug.debugger.cursor import steps_inside
from vcdebug.debugger.debugger import Debugger
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.framework.cycle import run_cycle
from vcdebug.framework.record import PopEvent, PredicateEvent, Record, ScoreEvent
from vcdebug.framework.registry import registry_for, resolve_reference
from vcdebug.garbage_collection import collector_paused
from vcdebug.model.names import Seq
from vcdebug.plugins import OTHER_FORMS, PLUGINS
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import parse_conf, replay_cycle
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.snapshot.edit import Edit, parse_edit
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.views.node_grids import predicate_grid, score_grid
from vcdebug.views.order import comparisons_table
from vcdebug.views.table import Table
from vcdebug.whatif.branch import edited_snapshot, replay_like
from vcdebug.whatif.fit_probe import probe_alone, probe_copies

clock = time.process_time
"""Processor seconds of this process, since other processes use the machine too."""
LOOKS = 200
COPIES = 100
EXPORTED = 50_000_000
"""Bytes after which an export is stopped and its result extrapolated."""


def seconds(work: Callable[[], object]) -> float:
    """The seconds of one call."""
    started = clock()
    work()
    return clock() - started


def peak() -> float:
    """Peak memory of the process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def without_recording(snapshot: Snapshot) -> float:
    """Seconds of the same cycle with a record that stores nothing."""
    record = Record()
    record.running_call_count = 1
    conf = parse_conf(snapshot.scheduler_conf)
    with collector_paused():
        return seconds(lambda: run_cycle(snapshot, conf, record, plugins=PLUGINS, actions=ACTIONS))


class FullError(Exception):
    """Raised when enough bytes were written."""


class Counted(io.StringIO):
    """A file that only counts, and stops a long export."""

    def __init__(self) -> None:
        super().__init__()
        self.size = self.lines = 0

    def write(self, text: str) -> int:
        self.size += len(text)
        self.lines += text == "\n"
        if self.size > EXPORTED:
            raise FullError
        return len(text)


def export(recording: Recording) -> dict[str, float]:
    """Seconds and megabytes of JSON lines; a long one is measured in part and scaled by its events."""
    file = Counted()
    started = clock()
    with contextlib.suppress(FullError):
        write_jsonl(recording, file)
    share = file.lines / len(recording)
    return {"export": (clock() - started) / share, "export_mb": file.size / 1e6 / share, "export_share": share}


def read(table: Table) -> int:
    """Read every cell of a lazy table."""
    return sum(len(row.cells) for row in table.rows)


def reading(recording: Recording) -> dict[str, float]:
    """Seconds for the index, p95 of jumps and of steps back with a screen's queries, and the largest tables."""
    debugger, draw, total = Debugger(recording), random.Random(1), len(recording)
    job = next(iter(recording.session.jobs), "")
    found = {"index": seconds(recording.build_indexes)}

    def look(move: Callable[[], object]) -> float:
        return seconds(
            lambda: (
                move(),
                debugger.enclosing_name("job"),
                debugger.span_path(),
                debugger.recording.timeline.state_at(debugger.seq).job_counts(job),
            )
        )

    jumps = sorted(look(lambda: debugger.goto_event(draw.randint(1, total))) for _ in range(LOOKS))
    steps = []
    for _ in range(LOOKS):
        debugger.goto_event(draw.randint(1, total))
        steps.append(look(lambda: debugger.step_into(back=True)))
    found["jump_p95"], found["back_p95"] = jumps[LOOKS * 95 // 100], sorted(steps)[LOOKS * 95 // 100]
    return {**found, **pops(recording), **tables(recording)}


def pops(recording: Recording) -> dict[str, float]:
    """Seconds of stepping into the first pop that compared elements, and p95 and highest of any pop."""
    seqs = recording.index.seqs_of_type(PopEvent)
    compared = [seq for seq in seqs if recording.event_at(seq).left]  # type: ignore[union-attr]
    if not compared:
        return {}

    def step_into(seq: Seq) -> float:
        event = recording.event_at(seq)
        assert isinstance(event, PopEvent)
        return seconds(lambda: (steps_inside(recording, seq), comparisons_table(recording, seq, event, "", 1)))

    first = step_into(compared[0])
    later = sorted(map(step_into, random.Random(1).choices(seqs, k=LOOKS)))
    return {"pop_first": first, "pop_p95": later[LOOKS * 95 // 100], "pop_highest": max(later)}


def tables(recording: Recording) -> dict[str, float]:
    """Seconds for every cell of the largest node × reason and node × score tables."""
    events = recording.events
    found: dict[str, float] = {}
    passes = [(e.processed, n) for n, e in enumerate(events, 1) if isinstance(e, PredicateEvent)]
    scores = [(len(e.rows), n) for n, e in enumerate(events, 1) if isinstance(e, ScoreEvent)]
    if passes:
        seq = max(passes)[1]
        event = events[seq - 1]
        assert isinstance(event, PredicateEvent)
        found["table_nodes"] = event.processed
        found["predicate_table"] = seconds(lambda: read(predicate_grid(recording, seq, event)))
    if scores:
        at = max(scores)[1]
        score = events[at - 1]
        assert isinstance(score, ScoreEvent)
        found["score_table"] = seconds(lambda: read(score_grid(recording, at, score)))
    return found


def late_edit(recording: Recording) -> Edit | None:
    """An edit of the last searched job: one member fewer; None if it has no job."""
    searched = [event.task for event in recording.events if isinstance(event, PredicateEvent)]
    jobs = recording.session.jobs.values()
    late = next((job for job in jobs for task in job.tasks.values() if task.key == searched[-1]), None)
    if late is None:
        return None
    return parse_edit(f"PodGroup/{late.uid}:spec.minMember={max(1, late.min_available - 1)}")


def probes(recording: Recording) -> dict[str, float]:
    """Seconds for near-equal cycles: an edit of the last searched job, and 100 copies of a Pending job."""
    edit, jobs = late_edit(recording), recording.session.jobs.values()
    if edit is None:
        return {}
    waiting = next((job for job in jobs if job.has_pending_tasks()), next(iter(jobs)))
    return {
        "late": seconds(lambda: replay_like(edited_snapshot(recording.snapshot, [edit]), recording)),
        "fits": seconds(lambda: (probe_alone(recording, waiting.uid), probe_copies(recording, waiting.uid, COPIES))),
    }


def imports(snapshot: Snapshot) -> None:
    """Import the cycle's plugins and actions in advance; a real scheduler has them linked."""
    conf = parse_conf(snapshot.scheduler_conf, snapshot.release)
    plugins = registry_for(snapshot.release, PLUGINS, OTHER_FORMS)
    for option in (option for tier in conf.tiers for option in tier if option.name in plugins):
        resolve_reference(plugins[option.name])
    for name in (name for name in conf.actions if name in ACTIONS):
        resolve_reference(ACTIONS[name])


def measure(path: str, *, brief: bool = False) -> dict[str, Any]:
    """All figures of one snapshot; `brief` skips export and reading."""
    loop = min(calibration() for _ in range(3))
    started = clock()
    snapshot = load_snapshot(path)
    loaded, load_peak = clock() - started, peak()
    imported = seconds(lambda: imports(snapshot))
    recording = replay_cycle(snapshot, clock=clock)
    figures: dict[str, Any] = {
        "load": loaded,
        "imports": imported,
        **recording.seconds,
        "events": len(recording),
        "calibration": loop,
    }
    figures.update(load_mb=load_peak, peak_mb=peak())
    arrays, others = weights(recording)
    figures.update(
        arrays_mb=arrays / 1e6, recording_mb=(arrays + others) / 1e6, bytes_per_event=others / len(recording)
    )
    if not brief:
        figures.update(reading(recording))
        figures.update(export(recording))
        figures["survey"] = seconds(lambda: survey_jobs(recording))
        figures.update(probes(recording))
        del recording
        figures["unrecorded"] = without_recording(load_snapshot(path))
    return figures


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], brief="--brief" in sys.argv)))
