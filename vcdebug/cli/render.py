"""Writes blocks of a document to stdout: with colours on a terminal, plain and stable for a pipe."""

import math
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate
from textwrap import wrap
from typing import Final, ParamSpec

from msgspec.structs import replace

from vcdebug.amount_text import count_noun
from vcdebug.cli.output import Output
from vcdebug.releases.release import Release
from vcdebug.views.document import Block, Code, Listed, Paragraph, make_block_printable, name_jobs, release_paragraph
from vcdebug.views.pieces import Line, Piece, Style, make_line, muted_piece, text_of
from vcdebug.views.table import Table, pad_cells

ReportArguments = ParamSpec("ReportArguments")
COLUMN_GAP = "  "
MIN_PROSE_WIDTH = 40
"""Width in cells below which a sentence moves to separate lines."""
_COLOURS: Final[dict[Style, str]] = {
    "title": "bold",
    "strong": "bold",
    "good": "green",
    "bad": "red",
    "warn": "yellow",
    "muted": "dim",
}


def write_answer(
    args: Namespace,
    output: Output,
    document: Callable[ReportArguments, Mapping[str, object]],
    blocks: Callable[ReportArguments, Iterable[Block]],
    *arguments: ReportArguments.args,
    **options: ReportArguments.kwargs,
) -> None:
    """Write the document (with --json) or the blocks that these functions build from the further arguments."""
    if args.json:
        output.write_json(document(*arguments, **options))
    else:
        write_blocks(blocks(*arguments, **options), output)


def write_release_answer(
    args: Namespace,
    output: Output,
    release: Release,
    document: Callable[ReportArguments, Mapping[str, object]],
    blocks: Callable[ReportArguments, Iterable[Block]],
    *arguments: ReportArguments.args,
    **options: ReportArguments.kwargs,
) -> None:
    """Same as write_answer, with the replayed release and how far it is verified: a key, or the second line."""
    if args.json:
        output.write_json({**document(*arguments, **options), "release": release.build_document()})
    else:
        first, *rest = blocks(*arguments, **options)
        write_blocks([first, release_paragraph(release), *rest], output)


def write_blocks(blocks: Iterable[Block], output: Output) -> None:
    """Write the printable form of the blocks, with workloads' names for jobs, and with colours on a terminal."""
    if output.job_names is not None:
        blocks = map(partial(name_jobs, names=output.job_names), blocks)
    printable = _without_last_blank(map(make_block_printable, blocks))
    if output.is_terminal:
        _write_rich_blocks(printable, output)
        return
    for line in _iter_plain_lines(printable):
        output.write_text(line)


def _without_last_blank(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks without blank lines at their end: those separate what follows."""
    blank_blocks: list[Block] = []
    for block in blocks:
        if isinstance(block, Paragraph) and not text_of(block.line):
            blank_blocks.append(block)
            continue
        yield from blank_blocks
        blank_blocks.clear()
        yield block


def plain_text(blocks: Iterable[Block]) -> str:
    """The printable form of the blocks as a pipe gets it."""
    return "\n".join(_iter_plain_lines(map(make_block_printable, blocks)))


def _iter_plain_lines(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        for line, indent in _block_lines(block):
            if indent is None:
                yield text_of(line)
            else:
                yield from (f"{' ' * indent}{part}".rstrip() for part in text_of(line).split("\n"))


def _block_lines(block: Block, width: float = math.inf) -> Iterator[tuple[Line, int | None]]:
    """(line, its indent) of a block; a line with None for its indent is never broken."""
    match block:
        case Paragraph(line, _, indent):
            yield line, indent
        case Listed(items):
            yield from ((item, 2) for item in items)
        case Code(text):
            yield from ((make_line(line), 2) for line in text.split("\n"))
        case Table():
            if block.title:
                yield make_line(Piece(block.title, "title")), 0
            yield from ((line, block.indent) for line in block.header)
            yield from _row_lines(block, width)
            yield from ((line, block.indent) for line in block.footer)


def _row_lines(table: Table, width: float) -> Iterator[tuple[Line, int | None]]:
    """The heads and rows; rows are wrapped only where they hold prose, else columns are left out."""
    table, hidden = _fit_columns(table, width)
    for number, row in enumerate(_table_lines(table)):
        style: Style = "" if number else "title"
        parts = _wrap_row(row, table, int(width)) if len(row) > width and table.columns[-1].flexible else [row]
        yield from ((make_line(Piece(part, style)), None) for part in parts)
    if hidden:
        words = f"{count_noun(len(hidden), 'column')} hidden, the terminal is too narrow: {', '.join(hidden)}"
        yield make_line(muted_piece(words)), table.indent


def _table_lines(table: Table) -> list[str]:
    if not table.columns:
        return []
    widths = _column_widths(table)
    pad = " " * table.indent
    return [pad + COLUMN_GAP.join(pad_cells(cells, table.columns, widths)).rstrip() for cells in _table_cells(table)]


def _table_cells(table: Table) -> list[list[str]]:
    return [[column.title for column in table.columns], *([cell.text for cell in row.cells] for row in table.rows)]


def _column_widths(table: Table) -> list[int]:
    return [max(len(cell) for cell in column) for column in zip(*_table_cells(table), strict=True)]


def _write_rich_blocks(blocks: Iterable[Block], output: Output) -> None:
    """Write with colours; paragraphs wrap between words under their indent."""
    # Imported here: it takes 25 ms, and output to a pipe does not need it.
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(file=output.out, highlight=False)
    for block in blocks:
        for line, indent in _block_lines(block, console.width):
            text = Text.assemble(*((span.text, _COLOURS.get(span.style, "")) for span in line))
            if indent is None:
                console.print(text, soft_wrap=True)
            else:
                console.print(Padding(text, (0, 0, 0, indent), expand=False) if text else "")


def _fit_columns(table: Table, width: float) -> tuple[Table, list[str]]:
    """(table without the last columns that do not fit, their titles); unchanged if the last column wraps."""
    wraps = width == math.inf or (bool(table.columns) and table.columns[-1].flexible)
    widths = _column_widths(table) if table.columns and not wraps else []
    needed = list(accumulate((size + len(COLUMN_GAP) for size in widths), initial=table.indent - len(COLUMN_GAP)))
    count = max(1, len([end for end in needed[1:] if end <= width]))
    if wraps or count >= len(table.columns):
        return table, []
    rows = [row._replace(cells=row.cells[:count]) for row in table.rows]
    return replace(table, columns=table.columns[:count], rows=rows), [column.title for column in table.columns[count:]]


def _wrap_row(row: str, table: Table, width: int) -> list[str]:
    """The lines of a row: the last cell continues in its column, or below the row if the column is too narrow."""
    start = len(" " * table.indent + COLUMN_GAP.join(" " * size for size in (*_column_widths(table)[:-1], 0)))
    if width - start >= MIN_PROSE_WIDTH:
        cell = wrap(row[start:], width - start, break_on_hyphens=False)
        return [row[:start] + cell[0], *(" " * start + line for line in cell[1:])]
    below = " " * (table.indent + 2 * len(COLUMN_GAP))
    return [
        row[:start].rstrip(),
        *(below + line for line in wrap(row[start:], max(MIN_PROSE_WIDTH, width - len(below)), break_on_hyphens=False)),
    ]
