"""Load, open, each action, recording, memory, reading back and export, and the ratio to the real scheduler's cycle.

python -m tests.bench.bench [--json FILE] [--made-up-to NODES] [SNAPSHOT ...]

Without snapshots: those beside the checkout where present, and clusters that the bench makes itself. Seconds are
processor seconds of a fresh process per snapshot; the imports of its plugins and actions stand in a column of their
own, since the real scheduler's cycle begins with its own linked. `read` is what makes nodes, jobs and tasks of the
manifests: the real scheduler's cache has done that before its cycle, so `less read` is the ratio without it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.made import SIZES, write

CHECKOUT = Path(__file__).resolve().parents[2]
PERF = CHECKOUT.parent / "shared" / "perf"
Figures = dict[str, Any]

COLUMNS = (
    ("load", "load s", "{:.2f}"),
    ("imports", "imports s", "{:.2f}"),
    ("read", "read s", "{:.2f}"),
    ("open", "open s", "{:.2f}"),
    ("enqueue", "enqueue", "{:.2f}"),
    ("allocate", "allocate", "{:.2f}"),
    ("preempt", "preempt", "{:.2f}"),
    ("reclaim", "reclaim", "{:.2f}"),
    ("backfill", "backfill", "{:.2f}"),
    ("close", "close", "{:.2f}"),
    ("cycle", "cycle s", "{:.2f}"),
    ("ratio", "ratio", "{:.3f}"),
    ("session_ratio", "less read", "{:.3f}"),
    ("recording", "record s", "{:.2f}"),
    ("events", "events", "{}"),
    ("bytes_per_event", "B/event", "{:.0f}"),
    ("recording_mb", "rec MB", "{:.0f}"),
    ("peak_mb", "peak MB", "{:.0f}"),
    ("index", "index s", "{:.2f}"),
    ("jump_p95", "jump s", "{:.3f}"),
    ("back_p95", "back s", "{:.3f}"),
    ("pop_first", "pop s", "{:.3f}"),
    ("pop_p95", "pops s", "{:.3f}"),
    ("pop_ratio", "pop/cycle", "{:.3f}"),
    ("predicate_table", "pred.tab", "{:.3f}"),
    ("score_table", "scor.tab", "{:.3f}"),
    ("export", "export s", "{:.1f}"),
    ("survey", "survey s", "{:.2f}"),
    ("explaining", "explain", "{:.2f}"),
    ("late", "what-if s", "{:.2f}"),
    ("late_ratio", "what-if", "{:.2f}"),
    ("fits", "fits s", "{:.2f}"),
)


def baseline() -> Figures:
    """The real scheduler's seconds by snapshot."""
    file = PERF / "baseline.json"
    found: Figures = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def measured(snapshot: Path) -> Figures:
    """Measure one snapshot in a process of its own, so that the peak memory is its own."""
    command = [sys.executable, "-m", "tests.bench.measure", str(snapshot)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{snapshot.name}: {done.stderr.strip()}", file=sys.stderr)
        return {"name": snapshot.name, "failed": done.stderr.strip()}
    figures: Figures = {"name": snapshot.name, **json.loads(done.stdout)}
    figures["recording"] = max(0.0, figures["cycle"] - figures["unrecorded"])
    spent = figures["load"] + figures["cycle"]
    figures["explaining"] = (spent + figures["survey"]) / spent
    if "pop_highest" in figures:
        figures["pop_ratio"] = figures["pop_highest"] / figures["cycle"]
    if "late" in figures:
        figures["late_ratio"] = figures["late"] / figures["cycle"]
    real = baseline().get(snapshot.name, {}).get("scheduler_seconds", {}).get("total")
    if real:
        figures["ratio"] = figures["cycle"] / real
        figures["session_ratio"] = (figures["cycle"] - figures["read"]) / real
    return figures


def snapshots(arguments: argparse.Namespace, folder: Path) -> Iterator[Path]:
    """The named snapshots, or all available ones, the smallest generated cluster first."""
    if arguments.snapshots:
        yield from arguments.snapshots
        return
    yield from (PERF / name for name in baseline())
    yield from (write(size, folder) for size in SIZES if size.nodes <= arguments.made_up_to)


def row(figures: Figures) -> str:
    """One row of the table."""
    cells = (text.format(figures[key]) if key in figures else "-" for key, _, text in COLUMNS)
    return f"{figures['name']:<20}" + "".join(f"{cell:>10}" for cell in cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshots", nargs="*", type=Path)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--made-up-to", type=int, default=10_000, metavar="NODES", help="largest cluster to make")
    arguments = parser.parse_args()
    print(f"{'snapshot':<20}" + "".join(f"{title:>10}" for _, title, _ in COLUMNS), flush=True)
    every: list[Figures] = []
    with tempfile.TemporaryDirectory() as folder:
        for snapshot in snapshots(arguments, Path(folder)):
            every.append(measured(snapshot))
            print(row(every[-1]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(every, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
