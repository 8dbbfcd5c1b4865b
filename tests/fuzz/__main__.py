"""Run damaged inputs through the commands, and report each distinct fault once.

python -m tests.fuzz [--seed N] [--first N] [--inputs N] [--seconds S] [--jobs N] [--keep FOLDER]

An input depends only on the seed and its number, so `--seed 1 --first 4711 --inputs 1` repeats one. Faults are an
exception, an undocumented exit code, more than 10 s of processor time, more than 2 GiB of memory, output that a
terminal obeys, invalid JSON, and a changed input file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.child import Fault, load_modules
from tests.fuzz.inputs import FuzzInput, make_input, valid_input
from tests.fuzz.processes import minimise, run_inputs

SEED = 20261127
SECONDS_TO_MINIMISE = 20


def main(words: list[str] | None = None) -> int:
    """Run inputs as the arguments say; 1 if there were faults."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--inputs", type=int, default=10**9, help="at most this many")
    parser.add_argument("--seconds", type=float, default=120, help="on the clock")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--keep", type=Path, help="folder for the inputs that show faults")
    args = parser.parse_args(words)
    started, inputs = time.monotonic(), 0
    seen: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory(prefix="vcdebug-fuzz-") as scratch:
        folder = Path(scratch)
        load_modules(valid_input(), folder / "valid")  # before the fork, once for all child processes
        for number, faults in run_inputs(args.seed, args.first, args.inputs, args.seconds, args.jobs, folder):
            inputs += 1
            for fault in faults:
                seen[fault[:2]] += 1
                if seen[fault[:2]] == 1:
                    print(_line(fault, args.seed, number), flush=True)
                    if args.keep:
                        made = minimise(make_input(args.seed, number), fault, SECONDS_TO_MINIMISE, folder / "minimise")
                        _keep(args.keep.resolve() / f"{number}-{fault.kind.replace(' ', '-')}", made, fault)
    seconds = time.monotonic() - started
    print(f"{inputs} inputs in {seconds:.0f} s, {sum(seen.values())} faults of {len(seen)} kinds, seed {args.seed}")
    for (kind, place), count in seen.most_common():
        print(f"{count:6} {kind}: {place}")
    return 1 if seen else 0


def _line(fault: Fault, seed: int, number: int) -> str:
    return f"{fault.kind}: {fault.place} | --seed {seed} --first {number} --inputs 1 | {' '.join(fault.command)!a}"


def _keep(folder: Path, made: FuzzInput, fault: Fault) -> None:
    for name, data in {
        **made.files,
        "fault.txt": f"{fault.command}\n{fault.detail}\n".encode("utf-8", "replace"),
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    sys.exit(main())
