"""Waiting times as ratios: parsing, loading, cycle, both openings of the screen, answers, edits.

python -m tests.bench.waiting [--repeats N] [--made] [--json FILE] [SNAPSHOT ...]

Every figure is processor seconds of a fresh process and its children, the lowest of several runs; compared stages run
in turns. Without snapshots: large-5k and mixed-1000 beside the checkout, if present; --made adds a generated cluster of
10,000 nodes and 100,000 pods.
"""

import argparse
import asyncio
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import made
from tests.bench.bench import CHECKOUT, PERF

Figures = dict[str, float]
SNAPSHOTS = ("large-5k", "mixed-1000")
FIXTURE = "preempt-blocked-by-gang"
PROBES = 10
"""Number of probes of the hundred that run; the others are assumed to cost the same."""
clock = time.process_time


def texts(snapshot: Path) -> list[bytes]:
    """The uncompressed JSON of a snapshot."""
    files = sorted(snapshot.glob("*.json*")) if snapshot.is_dir() else [snapshot]
    return [gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes() for file in files]


def parse(snapshot: Path, _: Path) -> Figures:
    """Seconds of Python's JSON parser on the same bytes."""
    found = texts(snapshot)
    started = clock()
    kept = [json.loads(text) for text in found]
    return {"json.loads": clock() - started, "_": float(len(kept))}


def cycle(snapshot: Path, folder: Path) -> Figures:
    """Seconds of loading, the cycle, answers about every job, and saving the recording."""
    from vcdebug.explain.pending.survey import survey_jobs
    from vcdebug.files.recording_files import save_recording
    from vcdebug.recording.replay import replay_cycle
    from vcdebug.snapshot.loader import load_snapshot

    started = clock()
    loaded = load_snapshot(snapshot)
    read = clock()
    recording = replay_cycle(loaded)
    ran = clock()
    survey_jobs(recording)
    reported_at = clock()
    save_recording(recording, folder / "stored.vcrec")
    return {"load": read - started, "cycle": ran - read, "survey": reported_at - ran, "storing": clock() - reported_at}


def late(snapshot: Path, _: Path) -> Figures:
    """Seconds of an edit of the last searched job, and of single probes whether a job fits."""
    from tests.bench.measure import late_edit
    from vcdebug.recording.replay import replay_cycle
    from vcdebug.snapshot.loader import load_snapshot
    from vcdebug.whatif.branch import edited_snapshot, replay_like
    from vcdebug.whatif.fit_probe import probe_alone

    recording = replay_cycle(load_snapshot(snapshot))
    edit = late_edit(recording)
    assert edit is not None
    started = clock()
    replay_like(edited_snapshot(recording.snapshot, [edit]), recording)
    found = {"what-if": clock() - started}
    jobs = [uid for uid, job in recording.session.jobs.items() if job.has_pending_tasks()][:PROBES]
    if jobs:
        started = clock()
        for uid in jobs:
            probe_alone(recording, uid)
        found["100 probes"] = (clock() - started) * 100 / len(jobs)
    return found


def frame(snapshot: Path, folder: Path) -> Figures:
    """Cost and memory of the process until the screen shows the recording."""
    from vcdebug.garbage_collection import raise_gc_threshold

    raise_gc_threshold()
    from tests.bench.first_screen import SIZE, main_screen
    from vcdebug.files.recording_files import RecordingCache
    from vcdebug.tui.app import VcdebugApp
    from vcdebug.tui.worker import Start

    async def first() -> Figures:
        app = VcdebugApp(Start(str(snapshot), snapshot.name), kept=RecordingCache(folder))
        async with app.run_test(size=SIZE):
            await main_screen(app)
            drawn = asyncio.Event()
            app.call_later(app.call_after_refresh, drawn.set)
            await drawn.wait()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            found = {"first frame": clock(), "peak MB": peak}
            await app.workers.wait_for_complete()
        return found

    return asyncio.run(first())


STAGES: dict[str, Callable[[Path, Path], Figures]] = {"parse": parse, "cycle": cycle, "late": late, "frame": frame}


def run_stage_in_process(stage: str, snapshot: Path, folder: Path) -> Figures:
    """Run a stage in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.waiting", "--stage", stage, "--folder", str(folder), str(snapshot)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


def explaining(snapshot: Path, folder: Path) -> Figures:
    """Processor seconds of the command that explains every job."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "vcdebug", "explain", str(snapshot)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder.resolve())}
    subprocess.run(
        command, cwd=CHECKOUT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"explain": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def turns(snapshot: Path, repeats: int) -> Iterator[tuple[str, Figures]]:
    """Run all stages in turns; caches are filled in the first turn only."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for turn in range(repeats):
            for stage in ("parse", "cycle", "late"):
                yield "", run_stage_in_process(stage, snapshot, folder)
            kept = folder / f"kept-{turn}"
            yield "first: ", run_stage_in_process("frame", snapshot, kept)
            yield "second: ", run_stage_in_process("frame", snapshot, kept)
            yield "fixture: ", run_stage_in_process("frame", Path("fixtures") / FIXTURE, kept)
            yield "first: ", explaining(snapshot, kept)
            yield "second: ", explaining(snapshot, kept)


def measured(snapshot: Path, repeats: int) -> Figures:
    """The lowest figure of each sort, then the ratios that count."""
    lowest: Figures = {}
    for prefix, found in turns(snapshot, repeats):
        for name, value in found.items():
            key = f"{prefix}{name}"
            lowest[key] = min(value, lowest.get(key, value))
    lowest.pop("_")
    spent = lowest["load"] + lowest["cycle"]
    return {
        **lowest,
        "load / json.loads": lowest["load"] / lowest["json.loads"],
        "survey / (load + cycle)": lowest["survey"] / spent,
        "storing / (load + cycle)": lowest["storing"] / spent,
        "what-if / cycle": lowest["what-if"] / lowest["cycle"],
        "first frame beyond load + cycle": lowest["first: first frame"] - spent,
        "second frame beyond a fixture's": lowest["second: first frame"] - lowest["fixture: first frame"],
        "second explain / first": lowest["second: explain"] / lowest["first: explain"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshots", nargs="*", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--made", action="store_true", help="also 10,000 nodes and 100,000 pods")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        print(json.dumps(STAGES[arguments.stage](arguments.snapshots[0], arguments.folder)))
        return
    every: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder:
        chosen = arguments.snapshots or [PERF / name for name in SNAPSHOTS if (PERF / name).exists()]
        if arguments.made:
            chosen.append(made.write(made.SIZES[-1], Path(folder)))
        for snapshot in chosen:
            print(snapshot.name, flush=True)
            every[snapshot.name] = measured(snapshot, arguments.repeats)
            for name, value in every[snapshot.name].items():
                print(f"  {name:<36}{value:>10.2f}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(every, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
