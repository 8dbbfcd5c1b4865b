"""A document: paragraphs, tables, lists and code, in sections. Each front end and file format renders it in its way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from vcdebug.printable import make_line_printable, make_printable
from vcdebug.views.table import Column, Line, Piece, Row, Style, Table, plain_columns


@dataclass(frozen=True, slots=True)
class Code:
    """Text to be copied, or kept as it stands."""

    text: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of lines."""

    items: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or more; one that quotes a person's own words stands out."""

    line: Line
    quoted: bool = False
    indent: int = 0


Block = Table | Code | Listed | Paragraph


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands below it; one that few will read may be folded away."""

    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """The whole, whatever it is written in."""

    title: str
    lead: tuple[Block, ...]
    sections: tuple[Section, ...]


def make_paragraph(text: str, style: Style = "", indent: int = 0) -> Paragraph:
    """Text in one style; empty for a line between two blocks."""
    return Paragraph((Piece(text, style),), indent=indent)


def make_listing(heads: Sequence[str], rows: Iterable[Sequence[str]], indent: int = 0, *, prose: bool = False) -> Table:
    """Bare text under heads: one that ends in `#` stands over numbers; with prose, the last column holds sentences."""
    columns = plain_columns(*heads)
    if prose:
        columns = (*columns[:-1], Column(columns[-1].title, flexible=True))
    body = [Row(str(number), tuple(map(Piece, cells))) for number, cells in enumerate(rows)]
    return Table("", columns, body, indent=indent)


def titled_blocks(title: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks under a title, an empty line before it; nothing without any."""
    found = list(blocks)
    if found:
        yield from (make_paragraph(""), make_paragraph(title, "title"), *found)


def titled_listing(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, prose: bool = False
) -> Iterator[Block]:
    """The same for rows under heads."""
    return titled_blocks(title, [make_listing(heads, rows, 2, prose=prose)] if rows else ())


# The printable form of a document: made once, before a front end measures, wraps and draws it.


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
