"""Blocks of text and tables to stdout: with colours for a person, plain and stable for a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from vcdebug.cli.output import Output

GAP = "  "
MIN_PROSE = 40
"""Columns in which sentences are still pleasant to read."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text in one style: title, good, bad, dim or none."""

    text: str
    style: str = ""
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows under column heads; a head that ends in `#` marks a column of numbers."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    indent: int = 0
    prose: bool = False
    """Whether the last column holds sentences, which wrap where a terminal is too narrow."""


Block = Line | Grid

_RICH_STYLES = {"title": "bold", "good": "green", "bad": "red", "dim": "dim", "": ""}


def show(blocks: Iterable[Block], output: Output) -> None:
    """Write the blocks, with colours where a person reads them."""
    if output.is_terminal:
        _show_rich(blocks, output)
        return
    for block in blocks:
        for line in _lines(block):
            output.text(line)


def _lines(block: Block) -> list[str]:
    pad = " " * block.indent
    if isinstance(block, Line):
        return [f"{pad}{line}".rstrip() for line in block.text.split("\n")]
    widths = _widths(block)
    numeric = [head.endswith("#") for head in block.heads]
    rows = [[head.rstrip("#") for head in block.heads], *block.rows]
    return [pad + _row(row, widths, numeric) for row in rows]


def _row(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    aligned = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    )
    return GAP.join(aligned).rstrip()


def _widths(grid: Grid) -> list[int]:
    columns = zip([head.rstrip("#") for head in grid.heads], *grid.rows, strict=True)
    return [max(len(cell) for cell in column) for column in columns]


def _show_rich(blocks: Iterable[Block], output: Output) -> None:
    """Prose wraps between words under its indent; rows of tables are never broken by us."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(file=output.out, highlight=False)
    for block in blocks:
        if isinstance(block, Line):
            text = Text(block.text, style=_RICH_STYLES[block.style])
            console.print(Padding(text, (0, 0, 0, block.indent), expand=False) if block.text else "")
            continue
        for number, row in enumerate(_lines(block)):
            style = "bold" if number == 0 else ""
            for line in _wrapped(row, block, console.width) if block.prose else [row]:
                console.print(Text(line, style=style), soft_wrap=True)


def _wrapped(row: str, grid: Grid, width: int) -> list[str]:
    """A row whose last cell goes on below itself, or under the row where that leaves too little room."""
    start = len(" " * grid.indent + GAP.join(" " * one for one in (*_widths(grid)[:-1], 0)))
    if len(row) <= width:
        return [row]
    if width - start >= MIN_PROSE:
        cell = wrap(row[start:], width - start, break_on_hyphens=False)
        return [row[:start] + cell[0], *(" " * start + line for line in cell[1:])]
    below = " " * (grid.indent + 2 * len(GAP))
    return [
        row[:start].rstrip(),
        *(below + line for line in wrap(row[start:], max(MIN_PROSE, width - len(below)), break_on_hyphens=False)),
    ]
