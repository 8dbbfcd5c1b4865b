"""The printable form of a document: made once, before a front end measures, wraps and draws it."""

from __future__ import annotations

from dataclasses import replace

from vcdebug.printable import make_line_printable, make_printable
from vcdebug.views.base import Line, Piece, Row, Table
from vcdebug.views.document import Block, Code, Document, Listed, Paragraph, Section


def make_document_printable(document: Document) -> Document:
    """The document whose every text is as `make_printable` leaves it."""
    return Document(
        make_line_printable(document.title),
        tuple(map(make_block_printable, document.lead)),
        tuple(map(_make_section_printable, document.sections)),
    )


def make_block_printable(block: Block) -> Block:
    """The block whose every text is as `make_printable` leaves it; cells of a table stay on their line."""
    match block:
        case Paragraph(line):
            return replace(block, line=_make_pieces_printable(line))
        case Listed(items):
            return Listed(tuple(map(_make_pieces_printable, items)))
        case Code(text):
            return Code(make_printable(text))
        case Table():
            return _make_table_printable(block)


def _make_section_printable(section: Section) -> Section:
    return replace(
        section,
        title=make_line_printable(section.title),
        blocks=tuple(map(make_block_printable, section.blocks)),
        sections=tuple(map(_make_section_printable, section.sections)),
    )


def _make_table_printable(table: Table) -> Table:
    return replace(
        table,
        title=make_printable(table.title),
        columns=tuple(replace(column, title=make_printable(column.title)) for column in table.columns),
        rows=[_make_row_printable(row) for row in table.rows],
        head=tuple(map(_make_pieces_printable, table.head)),
        foot=tuple(map(_make_pieces_printable, table.foot)),
    )


def _make_row_printable(row: Row) -> Row:
    return row._replace(cells=tuple(Piece(make_line_printable(cell.text), cell.style) for cell in row.cells))


def _make_pieces_printable(line: Line) -> Line:
    return tuple(Piece(make_printable(piece.text), piece.style) for piece in line)
