"""Panels have room: no name is cut to its neighbour's, no column is off screen, no first row is blank."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from rich.cells import cell_len

from tests.recorded import ROOT, bundled
from vcdebug.debugger.driver import DebuggerState, Driver
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.tui.widgets.table_layout import EMPTY_CELLS, PlacedLine, TableLayout, lay_out, unfold_row
from vcdebug.tui.widgets.text_wrap import pad_text, tighten_leaf, tighten_levels
from vcdebug.views.panels import PANELS
from vcdebug.views.pieces import Piece
from vcdebug.views.table import Table

MIDDLE = ("moment", "equation", "statement")
FLOW = ("flow",)
WIDTHS = {25: FLOW, 35: FLOW, 45: FLOW, 49: FLOW, 51: MIDDLE, 66: MIDDLE, 68: MIDDLE, 76: (), 117: (), 146: ()}
"""What panels have at 80×24, 120×40 and 200×60: the flow without the keys and with them, the middle, the lists."""
FIXTURES = sorted(path.name for path in (ROOT / "fixtures").iterdir() if path.is_dir())
LARGE = ROOT.parent / "shared" / "perf" / "large-1k"
LOOKED_AT = 200
GUIDES = "│ ▾▸"
"""What stands before a name in a tree."""


def moments(recording: Recording) -> Iterator[DebuggerState]:
    driver = Driver(recording)
    for seq in dict.fromkeys((1, len(recording) // 2 + 1, len(recording))):
        driver.goto_event(seq)
        yield driver.current_state()


def shown(layout: TableLayout, table: Table, row: int, column: int) -> str:
    """A name as it is drawn."""
    if layout.tree is not None:
        return layout.placed_line(row, table.rows[row], 0).cells[column].text.strip(GUIDES)
    width = layout.column_span(column)[1]
    text = table.rows[row].cells[column].text.removeprefix(layout.shared[column])
    return pad_text(text, width, right=False, name=True).strip()


def drawn_heads(layout: TableLayout) -> Iterator[tuple[Piece, int]]:
    """Each line of a head, and the cells that it has."""
    for line in layout.top:
        if line.heads:
            yield from zip(line.cells, layout.bands[line.band].widths, strict=True)


def flow_faults(layout: TableLayout, table: Table) -> Iterator[str]:
    """Names in the tree that are cut although they would have room, and lines that are too wide."""
    room = layout.tree
    if room is None:
        return
    for index, row in enumerate(table.rows[:LOOKED_AT]):
        placed = layout.placed_line(index, row, 0)
        label = tighten_levels(row.cells[0].text) if room.close else row.cells[0].text
        cells = zip(placed.cells, placed.widths, strict=True)
        if sum(placed.widths) != room.width or any(len(cell.text) > wide for cell, wide in cells):
            yield f"{row.cells[0].text} takes {placed.widths} of {room.width} cells"
        if placed.cells[0].text not in (label, tighten_leaf(label)) and len(tighten_leaf(label)) <= room.width:
            yield f"{label} is cut to {placed.cells[0].text}"


Unfolded = Sequence[tuple[PlacedLine, ...]]
"""The lines of each row where the cursor stands."""


def under_the_cursor(layout: TableLayout, table: Table, said: Unfolded) -> str:
    """The heads of the columns without a place whose cells the rows have below them, where the cursor stands."""
    rows = table.rows[:LOOKED_AT]
    texts = [" ".join(piece.text for line in lines if line.band < 0 for piece in line.cells) for lines in said]
    shown = [
        i
        for i in layout.left_out_columns
        if all(row.cells[i].text in (*EMPTY_CELLS, *text.split()) for row, text in zip(rows, texts, strict=True))
    ]
    return " ".join(["", *(table.columns[i].title for i in shown)])


def cut_under_the_cursor(layout: TableLayout, table: Table, width: int, said: Unfolded) -> Iterator[str]:
    """Text, names apart, that is not whole even where the cursor stands."""
    for index, row in enumerate(table.rows[:LOOKED_AT] if layout.tree is None else ()):
        uniform = [layout.placed_line(index, row, band) for band in range(len(layout.bands))]
        for line in said[index] or (uniform if index >= layout.wrapped else ()):
            band = layout.bands[line.band]
            cells = zip(band.columns, band.widths, line.cells, strict=True) if line.band >= 0 else ()
            yield from (
                f"{cell.text} has {wide} cells of {width}"
                for i, wide, cell in cells
                if cell_len(cell.text) > wide and not table.columns[i].name
            )


def faults(table: Table, width: int) -> Iterator[str]:
    layout = lay_out(table, table.rows, width)
    said = [unfold_row(layout, table.columns, i, row, width) for i, row in enumerate(table.rows[:LOOKED_AT])]
    if len(table.rows) and layout.columns_width > width:
        yield f"{layout.columns_width} cells for {width}"
    heads = " ".join(cell.text for line in layout.top if line.heads for cell in line.cells)
    if len(table.rows):
        heads += under_the_cursor(layout, table, said)
        yield from (f"head {c.title}" for c in table.columns if not all(word in heads for word in c.title.split()))
        yield from flow_faults(layout, table)
        yield from (f"head {one.text} in {cells} cells" for one, cells in drawn_heads(layout) if len(one.text) > cells)
    yield from cut_under_the_cursor(layout, table, width, said)
    rows = range(min(len(table.rows), LOOKED_AT))
    for column in [i for i, one in enumerate(table.columns) if one.name]:
        names = [(table.rows[row].cells[column].text.strip(GUIDES), shown(layout, table, row, column)) for row in rows]
        for (one, seen), (other, also) in pairwise(names):
            if one != other and seen == also:
                yield f"{one} and {other} are both {seen}"
    if layout.body and not any(cell.text.strip() for cell in layout.body[0].cells):
        yield "the first row is blank"


def all_faults(recording: Recording) -> list[str]:
    return [
        f"{panel.command_name} at event {here.seq}, {width} cells: {fault}"
        for here in moments(recording)
        for panel in PANELS
        for table in [panel.build_table(here)]
        for width, only in WIDTHS.items()
        if panel.command_name in only or (not only and panel.command_name not in (*MIDDLE, *FLOW))
        for fault in faults(table, width)
    ]


@pytest.mark.parametrize("name", FIXTURES)
def test_every_panel_has_room_for_what_it_shows(name: str) -> None:
    assert [] == all_faults(bundled(name))


@pytest.mark.corpus
@pytest.mark.skipif(not LARGE.exists(), reason="the large snapshot lies beside the checkout only")
def test_a_thousand_nodes_have_room_too() -> None:
    with disposing(replay_cycle(load_snapshot(LARGE))) as recording:
        assert [] == all_faults(recording)
