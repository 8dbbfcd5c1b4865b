"""Load, cycle, events, peak memory, and the ratio to the time that the real scheduler needed.

Takes snapshots as arguments; without any, the measured ones beside the checkout, and without those the bundled ones.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from vcdebug.snapshot.bundled import bundled

CHECKOUT = Path(__file__).resolve().parents[2]
PERF = CHECKOUT.parent / "shared" / "perf"
HEADER = ("snapshot", "load s", "cycle s", "events", "peak MB", "ratio")


def snapshots() -> list[Path]:
    measured = [PERF / name for name in baseline()]
    return [Path(name) for name in sys.argv[1:]] or measured or [one.path for one in bundled()]


def baseline() -> dict[str, Any]:
    file = PERF / "baseline.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def run(snapshot: Path) -> dict[str, Any] | None:
    """The answer of `vcdebug run --json`, plus the peak memory of its process; None when it failed."""
    command = [sys.executable, "-m", "tests.bench.bench", "--measure", str(snapshot)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{snapshot.name}: {done.stderr.strip()}", file=sys.stderr)
        return None
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def measure(snapshot: str) -> None:
    """Run in a process of its own, so that the peak is this snapshot's."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        command = [sys.executable, "-m", "vcdebug", "run", snapshot, "--json"]
        code = subprocess.run(command, stdout=out, check=False).returncode
        out.seek(0)
        text = out.read()
    if code:
        raise SystemExit(code)
    answer = json.loads(text)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps({"seconds": answer["seconds"], "events": answer["events"], "peak": peak}))


def row(snapshot: Path) -> tuple[str, ...]:
    answer = run(snapshot)
    if answer is None:
        return (snapshot.name, "failed", "", "", "", "")
    seconds = answer["seconds"]
    real = baseline().get(snapshot.name, {}).get("scheduler_seconds", {}).get("total")
    ratio = f"{seconds['cycle'] / real:.2f}" if real else "-"
    numbers = (f"{seconds['load']:.2f}", f"{seconds['cycle']:.2f}", str(answer["events"]), f"{answer['peak']:.0f}")
    return (snapshot.name, *numbers, ratio)


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
        return
    for cells in (HEADER, *map(row, snapshots())):
        print(f"{cells[0]:<32}" + "".join(f"{cell:>10}" for cell in cells[1:]), flush=True)


if __name__ == "__main__":
    main()
