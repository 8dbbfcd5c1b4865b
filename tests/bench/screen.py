"""How long the screen makes one wait: the first frame, first paints, filters, keys, and keys while a replay runs.

python -m tests.bench.screen [--nodes N] [--pods N] [--rows N] [--json FILE]

Keys count what the process spends on them (processor time, 95 of 100 keep within); while a replay runs, what one
waits (wall time), since two threads share the interpreter then.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from textual import events
from textual.app import App

from tests.bench import made
from vcdebug import tui
from vcdebug.tui.app import VcdebugApp
from vcdebug.tui.main.screen import MainScreen
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.start import Start
from vcdebug.views.base import Column, OnDemand, Piece, Row, Table

SIZE = (200, 60)
KEYS = 40
PAUSE = 0.05
"""Seconds between two keys while a replay runs."""
REPEATS = 5
COLUMNS = tuple(Column(title, flexible=title == "name") for title in ("name", "a", "b", "c", "d", "e", "f", "remarks"))
TYPED = "node-0042"
Figures = dict[str, float]


class FirstFrame(VcdebugApp):
    """Leaves as soon as something is on the screen."""

    CSS_PATH = str(Path(tui.__file__).with_name("vcdebug.tcss"))

    def on_ready(self) -> None:
        self.call_after_refresh(self.exit, 0)


def started(arguments: list[str]) -> float:
    """Seconds of a fresh process, best of several."""

    def once() -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return time.perf_counter() - begin

    return min(once() for _ in range(REPEATS))


def p95(found: list[float]) -> float:
    """What nineteen of twenty keep within."""
    return sorted(found)[len(found) * 95 // 100]  # exact: ints


def large_table(rows: int) -> Table:
    """As a list of nodes: every row is made when somebody looks at it."""
    names = [f"node-{number:06}" for number in range(rows)]

    def row(index: int) -> Row:
        cells = (Piece(f"{index * k % 64}/{64 * k}") for k in range(1, 7))  # exact: ints
        return Row(names[index], (Piece(names[index], "strong"), *cells, Piece("gpu=yes:NoSchedule")))

    return Table("Many", COLUMNS, OnDemand(names, row))


async def spent(app: App[Any], work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of one piece of work and of the drawing that follows."""
    drawn = asyncio.Event()
    begin = clock()
    work()
    app.call_later(app.call_after_refresh, drawn.set)
    await drawn.wait()
    return clock() - begin


async def main_screen(app: App[Any]) -> MainScreen:
    """The main screen, once the recording is there."""
    while not (isinstance(app.screen, MainScreen) and app.screen.moment is not None):
        await asyncio.sleep(0.01)
    return app.screen


def key(app: App[Any], name: str) -> None:
    """Press a key."""
    app.post_message(events.Key(name, name if len(name) == 1 else None))


async def keys(app: App[Any], name: str) -> float:
    """p95 of a key, pressed many times."""
    return p95([await spent(app, lambda: key(app, name)) for _ in range(KEYS)])


async def large_list(app: App[Any], rows: int, figures: Figures) -> None:
    """First paint and filter of a table of so many rows."""
    screen = await main_screen(app)
    panel = screen.query_one("#nodes", Panel)
    table = large_table(rows)
    figures["first paint of the rows"] = await spent(app, lambda: panel.set_table(table))
    for number in range(1, len(TYPED) + 1):
        text = TYPED[:number]
        figures[f"filter: {text}"] = await spent(app, partial(panel.set_filter, text))
    begin = time.process_time()
    while panel.writing:
        await asyncio.sleep(0)
    figures["  until every row has been looked at"] = time.process_time() - begin
    figures["filter once they have been"] = await spent(app, lambda: panel.set_filter("9"))


async def measure_keys(snapshot: Path, rows: int) -> Figures:
    """Keys over a recording of a large cluster."""
    figures: Figures = {}
    app = VcdebugApp(Start(str(snapshot), snapshot.name))
    async with app.run_test(size=SIZE):
        screen = await main_screen(app)
        figures["a key that does nothing"] = await keys(app, "f12")
        screen.show_panel("jobs")
        figures["step, jobs open"] = await keys(app, "s")
        screen.show_panel("nodes")
        figures["step, nodes open"] = await keys(app, "s")
        figures["step back, nodes open"] = await keys(app, "S")
        figures["over, nodes open"] = await keys(app, "n")
        figures["cursor down, nodes open"] = await keys(app, "down")
        figures["first filter, nodes open"] = await spent(app, lambda: screen.grid.set_filter("4"))
        await large_list(app, rows, figures)
    return figures


async def measure_meanwhile(snapshot: Path) -> Figures:
    """Keys while a replay runs in the worker."""
    found: list[float] = []
    app = VcdebugApp(Start(str(snapshot), snapshot.name))
    async with app.run_test(size=SIZE):
        while not isinstance(app.screen, MainScreen):
            await asyncio.sleep(0.01)
        screen = app.screen
        while screen.moment is None:
            found.append(await spent(app, lambda: key(app, "tab"), time.perf_counter))
            await asyncio.sleep(PAUSE)
    return {"key while it loads and replays": p95(found), "  keys in that time": float(len(found))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--first-frame", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    if arguments.first_frame:
        FirstFrame(None).run(headless=True)
        return
    figures: Figures = {
        "--help": started(["-m", "vcdebug", "--help"]),
        "first frame": started(["-m", "tests.bench.screen", "--first-frame"]),
    }
    with tempfile.TemporaryDirectory() as folder:
        snapshot = made.write(made.Size(arguments.nodes, arguments.pods), Path(folder))
        figures.update(asyncio.run(measure_meanwhile(snapshot)))
        figures.update(asyncio.run(measure_keys(snapshot, arguments.rows)))
    for name, value in figures.items():
        print(f"{name:<34}{value:>10.3f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
