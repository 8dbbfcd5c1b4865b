"""Times until the screen is drawn: the first frame, steps, filters, the command line.

python -m tests.bench.screen [SNAPSHOT ...] [--sizes 80x24,120x40,200x60] [--rounds N] [--beside CHECKOUT] [--json FILE]

The program runs in a terminal of its own and gets keys; measured is the processor time from the key to the last byte of
its output. Printed are the lowest of the rounds' medians and 95th percentiles, the number of function calls, which
hardly varies between runs, and the bytes sent to the terminal. With --beside, two checkouts run in turns: trust the
ratios on a busy machine.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from tests.bench.bench import CHECKOUT, PERF
from tests.bench.terminal import Size, Terminal

SNAPSHOTS: Final = (CHECKOUT / "fixtures" / "preempt-blocked-by-gang", PERF / "large-1k", PERF / "large-5k")
SIZES: Final = "80x24,120x40,200x60"
PRESENT: Final = "●".encode()
"""A sign that every frame shows once the recording is ready, and none before."""
STEPS, FEW, FRAMES = 60, 12, 9
BARE_APP: Final = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("●")
Bare().run()
"""
PANEL_KEYS: Final = "i0VE79pT6"
"""Keys of panels that the dock shows."""
ESCAPE, DOWN = "\x1b", "\x1b[B"
TYPED: Final = "node"
Figures = dict[str, float]
Measured = tuple[Figures, Figures, Figures]
"""Seconds, calls and bytes."""


class Run(NamedTuple):
    """A run of the program on a snapshot in a terminal of one size."""

    checkout: Path
    snapshot: Path
    size: Size

    def seconds(self) -> Figures:
        """Processor seconds by kind of key."""
        with self._terminal(counted=False) as terminal:
            first = terminal.until(PRESENT).processor
            return {"first frame": first, **_keys(lambda keys: terminal.press(keys).processor)}

    def calls(self) -> Figures:
        """Number of function calls by kind of key."""
        with self._terminal(counted=True) as terminal:
            terminal.until(PRESENT)
            first = terminal.calls()

            def spent(keys: str) -> float:
                before = terminal.calls()
                terminal.press(keys)
                return terminal.calls() - before

            return {"first frame": first, **_keys(spent)}

    def bytes_sent(self) -> Figures:
        """Number of bytes sent to the terminal, by kind of key."""
        with self._terminal(counted=False) as terminal:
            terminal.until(PRESENT)
            first = len(terminal.shown)

            def sent(keys: str) -> float:
                terminal.press(keys)
                return len(terminal.shown)

            return {"first frame": first, **_keys(sent)}

    def _terminal(self, *, counted: bool) -> Terminal:
        home = Path(tempfile.mkdtemp())
        return Terminal(self.checkout, ["open", str(self.snapshot), "--fresh"], self.size, home, counted=counted)


def beside_a_bare_app(run: Run) -> str:
    """Median processor seconds of the first frame and of a minimal application's, run in turns."""
    ours, bare = [], []
    for _ in range(FRAMES):
        with run._terminal(counted=False) as terminal:
            ours.append(terminal.until(PRESENT).processor)
        with Terminal(run.checkout, [], run.size, Path(tempfile.mkdtemp()), code=BARE_APP) as terminal:
            bare.append(terminal.until(PRESENT).processor)
    return f"first frame {median(ours):.2f} s, {median(ours) / median(bare):.2f} times a bare Textual application"


def _keys(spent: Callable[[str], float]) -> Figures:
    """The cost of each kind of key; the first of each kind fills the caches."""

    figures: Figures = {}

    def keep(name: str, found: list[float]) -> None:
        figures[name] = median(found)
        figures[f"{name}, p95"] = sorted(found)[-(len(found) // 20) - 1]

    def press_often(name: str, key: str, times: int = FEW) -> None:
        spent(key)
        keep(name, [spent(key) for _ in range(times)])

    press_often("a step into", "s", STEPS)
    press_often("back", "S")
    keep("another panel", [spent(key) for key in PANEL_KEYS * 2])
    for panel, key in (("jobs", "5"), ("nodes", "6")):
        spent(key)
        press_often(f"into, {panel} focused", "s")
    press_often("over", "n")
    press_often("cursor down", DOWN)
    spent("/")
    keep("a letter of a filter", [spent(letter) for letter in TYPED])
    figures["end of the filter"] = spent(ESCAPE)
    keep(": and Esc", [spent(":") + spent(ESCAPE) for _ in range(FEW)])
    return figures


def _lowest(rounds: list[Figures]) -> Figures:
    return {name: min(figures[name] for figures in rounds) for name in rounds[0]}


def _measured(runs: list[Run], rounds: int) -> Iterator[Measured]:
    """Seconds, calls and bytes of each of the runs, which take turns."""
    seconds = [[run.seconds() for run in runs] for _ in range(rounds)]
    for number, run in enumerate(runs):
        yield _lowest([figures[number] for figures in seconds]), run.calls(), run.bytes_sent()


def _printed(found: list[Measured]) -> Iterator[str]:
    """A line per sort of key: milliseconds, calls and bytes of each run, and the ratios of the first to the second."""
    for name in found[0][0]:
        parts = [f"{name:<24}"]
        for seconds, calls, sent in found:
            parts.append(f"{seconds[name] * 1000:9.1f} ms{calls[name]:12,.0f}{sent[name]:10,.0f} B")
        if len(found) > 1:
            parts += [f"{ours[name] / theirs[name]:8.2f}" for ours, theirs in zip(*found[:2], strict=True)]
        yield "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshots", nargs="*", type=Path, default=[path for path in SNAPSHOTS if path.exists()])
    parser.add_argument("--sizes", default=SIZES, help="columns x lines")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beside", type=Path, help="another checkout to compare with, in turns")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    figures: dict[str, list[Measured]] = {}
    checkouts = [CHECKOUT, *([arguments.beside.resolve()] if arguments.beside else [])]
    for snapshot in arguments.snapshots:
        for size in arguments.sizes.split(","):
            columns, lines = map(int, size.split("x"))
            runs = [Run(checkout, snapshot.resolve(), Size(columns, lines)) for checkout in checkouts]
            found = figures[f"{snapshot.name} {size}"] = list(_measured(runs, arguments.rounds))
            print(f"\n{snapshot.name}, {size}", *_printed(found), beside_a_bare_app(runs[0]), sep="\n", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
