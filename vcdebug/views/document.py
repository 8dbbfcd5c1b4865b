"""Documents of sections with paragraphs, tables, lists and code, which each front end and file format renders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from msgspec import Struct, structs

from vcdebug.amount_text import capitalize_first, join_names
from vcdebug.printable import make_line_printable, make_printable
from vcdebug.releases.release import Release
from vcdebug.views.pieces import Line, Piece, Style
from vcdebug.views.table import Column, Row, Table, table_columns


class Code(Struct, frozen=True):
    """Preformatted text."""

    text: str


class Listed(Struct, frozen=True):
    """A list of lines."""

    items: tuple[Line, ...]


class Paragraph(Struct, frozen=True):
    """A line of prose; `quoted` marks a user's own words."""

    line: Line
    quoted: bool = False
    indent: int = 0


class Mark(NamedTuple):
    """A rectangle of a strip: start and width as fractions of the strip's width, row and height in rows."""

    start: float
    width: float
    style: Style = ""
    row: int = 0
    height: int = 1
    shade: float = 1.0
    tooltip: str = ""


class Strip(NamedTuple):
    """One labelled line of a picture, made of marks."""

    label: str
    alt_text: str
    """The content of the marks as text, for readers and formats without pictures."""
    marks: tuple[Mark, ...]
    rows: int = 1


class Picture(Struct, frozen=True):
    """Strips below each other, with a legend that explains position and shade."""

    title: str
    legend: str
    strips: tuple[Strip, ...]

    def to_table(self) -> Table:
        """The picture as a table of labels and words."""
        rows = [Row(strip.label, (Piece(strip.label), Piece(strip.alt_text))) for strip in self.strips]
        return Table(self.title, table_columns("", "~"), rows)


Block = Table | Code | Listed | Paragraph | Picture


def release_paragraph(release: Release, lead: str = "") -> Paragraph:
    """The replayed release and how far the replay can be trusted, for the place below an answer's first line."""
    return make_paragraph(f"{capitalize_first(lead + release.describe_trust())}.", "muted", 2)


def iter_release_paragraphs(names: Mapping[Release, Sequence[str]]) -> Iterator[Paragraph]:
    """The replayed releases of several snapshots, each once; with the snapshots' names where releases differ."""
    for release, replayed in names.items():
        yield release_paragraph(release, f"{join_names(replayed)}: " if len(names) > 1 else "")


class Section(Struct, frozen=True):
    """A heading, its blocks and inner sections; `folded` hides them until they are opened."""

    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    folded: bool = False


class Document(Struct, frozen=True):
    """A title, leading blocks and sections."""

    title: str
    lead: tuple[Block, ...]
    sections: tuple[Section, ...]


def make_paragraph(text: str, style: Style = "", indent: int = 0) -> Paragraph:
    """Text in one style; empty text makes a blank line."""
    return Paragraph((Piece(text, style),), indent=indent)


def make_listing(heads: Sequence[str], rows: Iterable[Sequence[str]], indent: int = 0, *, prose: bool = False) -> Table:
    """A table of bare text; heads as for table_columns; with `prose` the last column may wrap."""
    columns = table_columns(*heads)
    if prose:
        columns = (*columns[:-1], Column(columns[-1].title, flexible=True))
    body = [Row(str(number), tuple(map(Piece, cells))) for number, cells in enumerate(rows)]
    return Table("", columns, body, indent=indent)


def titled_blocks(title: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """A blank line, a title and the blocks; nothing if there are no blocks."""
    body = list(blocks)
    if body:
        yield from (make_paragraph(""), make_paragraph(title, "title"), *body)


def titled_listing(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, prose: bool = False
) -> Iterator[Block]:
    """titled_blocks with a listing of the rows."""
    return titled_blocks(title, [make_listing(heads, rows, 2, prose=prose)] if rows else ())


# The printable form: control characters in names could move a terminal's cursor.
# Texts are made printable first, so that a front end measures and wraps what it will draw.


def make_document_printable(document: Document) -> Document:
    """The document with every text passed through make_printable."""
    return Document(
        make_line_printable(document.title),
        tuple(map(make_block_printable, document.lead)),
        tuple(map(_make_section_printable, document.sections)),
    )


def make_block_printable(block: Block) -> Block:
    """The block with every text passed through make_printable; a table's cells stay on one line."""
    match block:
        case Paragraph(line):
            return structs.replace(block, line=_make_pieces_printable(line))
        case Listed(items):
            return Listed(tuple(map(_make_pieces_printable, items)))
        case Code(text):
            return Code(make_printable(text))
        case Table():
            return _make_table_printable(block)
        case Picture():
            return structs.replace(block, strips=tuple(map(_make_strip_printable, block.strips)))


def _make_strip_printable(strip: Strip) -> Strip:
    marks = tuple(mark._replace(tooltip=make_line_printable(mark.tooltip)) for mark in strip.marks)
    return strip._replace(label=make_line_printable(strip.label), marks=marks)


def _make_section_printable(section: Section) -> Section:
    return structs.replace(
        section,
        title=make_line_printable(section.title),
        blocks=tuple(map(make_block_printable, section.blocks)),
        sections=tuple(map(_make_section_printable, section.sections)),
    )


def _make_table_printable(table: Table) -> Table:
    return replace(
        table,
        title=make_printable(table.title),
        columns=tuple(structs.replace(column, title=make_printable(column.title)) for column in table.columns),
        rows=[_make_row_printable(row) for row in table.rows],
        header=tuple(map(_make_pieces_printable, table.header)),
        footer=tuple(map(_make_pieces_printable, table.footer)),
    )


def _make_row_printable(row: Row) -> Row:
    return row._replace(cells=tuple(Piece(make_line_printable(cell.text), cell.style) for cell in row.cells))


def _make_pieces_printable(line: Line) -> Line:
    return tuple(Piece(make_printable(piece.text), piece.style) for piece in line)
