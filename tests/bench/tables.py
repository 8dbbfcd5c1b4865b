"""Delays of a table with many rows: first paint, each letter of a filter, sorting; processor seconds.

python -m tests.bench.tables [--rows N]

Each figure ends with the next drawn frame; a filter continues with the remaining rows between keys.
"""

import argparse
import asyncio
import time
from collections.abc import Callable
from functools import partial

from textual.app import App, ComposeResult

from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.row_order import ColumnOrder
from vcdebug.views.pieces import Piece
from vcdebug.views.table import Column, Row, RowsOnDemand, Table

SIZE = (200, 60)
TITLES = ("name", "a", "b", "c", "d", "e", "f", "remarks")
COLUMNS = tuple(Column(title, flexible=title == "name") for title in TITLES)
TYPED = "node-0042"
HOPS = 20
"""Turns of the event loop until a widget has handled its messages."""


class TableApp(App[int]):
    """An application with only a table."""

    def compose(self) -> ComposeResult:
        yield Grid()


def large_table(rows: int) -> Table:
    """A table like the list of nodes, whose rows are built on access."""
    names = [f"node-{number:06}" for number in range(rows)]

    def row(index: int) -> Row:
        cells = (Piece(f"{index * k % 64}/{64 * k}") for k in range(1, 7))  # exact: ints
        return Row(names[index], (Piece(names[index], "strong"), *cells, Piece("gpu=yes:NoSchedule")))

    return Table("Many", COLUMNS, RowsOnDemand(names, row))


async def spent(app: App[int], work: Callable[[], object]) -> float:
    """Seconds of the work, of its immediate messages, and of the next frame."""
    drawn = asyncio.Event()
    begin = time.process_time()
    work()
    for _ in range(HOPS):
        await asyncio.sleep(0)
    app.call_after_refresh(drawn.set)
    await drawn.wait()
    return time.process_time() - begin


async def measured(rows: int) -> dict[str, float]:
    """Seconds of a user's operations on a large table, one after the other."""
    figures: dict[str, float] = {}
    app = TableApp()
    async with app.run_test(size=SIZE):
        grid, table = app.query_one(Grid), large_table(rows)
        figures["first paint"] = await spent(app, partial(grid.set_table, table))
        for number in range(1, len(TYPED) + 1):
            figures[f"filter: {TYPED[:number]}"] = await spent(app, partial(grid.set_filter, TYPED[:number]))
        begin = time.process_time()
        while not grid.shown.is_done:
            await asyncio.sleep(0)
        figures["  until every row has been looked at"] = time.process_time() - begin
        figures["filter once they have been"] = await spent(app, partial(grid.set_filter, "9"))
        grid.set_filter("")
        for name, column in (("names", 0), ("figures", 1)):
            figures[f"sort by {name}"] = await spent(app, partial(grid.set_order, ColumnOrder(column)))
            downwards = ColumnOrder(column, descending=True)
            figures[f"sort by {name}, downwards"] = await spent(app, partial(grid.set_order, downwards))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    for name, value in asyncio.run(measured(parser.parse_args().rows)).items():
        print(f"{name:<40}{value:>8.3f}")


if __name__ == "__main__":
    main()
