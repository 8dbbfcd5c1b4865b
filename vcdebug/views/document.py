"""Documents of sections with paragraphs, tables, lists and code, which each front end and file format renders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, structs
from msgspec.structs import replace

from vcdebug.amount_text import capitalize_first, join_names
from vcdebug.printable import make_line_printable, make_printable
from vcdebug.releases.release import Release
from vcdebug.snapshot.job_names import JobNames
from vcdebug.views.pieces import Line, Piece, Style, make_line
from vcdebug.views.table import Column, Row, RowsOnDemand, Table, table_columns


class Code(Struct, frozen=True):
    """Preformatted text, which a terminal shows indented."""

    text: str


class Listed(Struct, frozen=True):
    """A list of lines, each with its own mark, which a terminal shows indented."""

    items: tuple[Line, ...]


class Paragraph(Struct, frozen=True):
    """A line of prose; `is_quoted` marks the words of others, such as a user's note."""

    line: Line
    is_quoted: bool = False
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


def describe_release(release: Release, lead: str = "") -> str:
    """The replayed release and how far the replay can be trusted, as a sentence."""
    return f"{capitalize_first(lead + release.describe_trust())}."


def release_paragraph(release: Release, lead: str = "") -> Paragraph:
    """The replayed release for the place below an answer's first line."""
    return make_paragraph(describe_release(release, lead), "muted", 2)


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


def titled_texts(title: str, texts: Iterable[str]) -> Iterator[Block]:
    """titled_blocks with a list of the texts."""
    items = tuple(map(make_line, texts))
    return titled_blocks(title, [Listed(items)] if items else ())


def titled_listing(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, prose: bool = False
) -> Iterator[Block]:
    """titled_blocks with a listing of the rows."""
    return titled_blocks(title, [make_listing(heads, rows, 2, prose=prose)] if rows else ())


# The same block with other texts: printable ones, and with names that people know.

TextChange = Callable[[str], str]


def change_texts(block: Block, change: TextChange, change_line: TextChange | None = None) -> Block:
    """The block with every text changed; `change_line` is for the texts of one line, such as those of cells."""
    line_change = change_line or change
    match block:
        case Paragraph(line):
            return structs.replace(block, line=_change_pieces(line, change))
        case Listed(items):
            return Listed(tuple(_change_pieces(line, change) for line in items))
        case Code(text):
            return Code(change(text))
        case Table():
            return change_table(block, change, line_change)
        case Picture():
            return structs.replace(block, strips=tuple(_change_strip(strip, line_change) for strip in block.strips))


def _change_strip(strip: Strip, change: TextChange) -> Strip:
    marks = tuple(mark._replace(tooltip=change(mark.tooltip)) for mark in strip.marks)
    return strip._replace(label=change(strip.label), alt_text=change(strip.alt_text), marks=marks)


def change_table(table: Table, change: TextChange, change_line: TextChange) -> Table:
    """The table with every text changed, those of cells by `change_line`."""

    def change_row(row: Row) -> Row:
        cells = _change_pieces(row.cells, change_line)
        replaced = tuple(old.text for old, new in zip(row.cells, cells, strict=True) if old.text != new.text)
        return row._replace(cells=cells, also_found=replaced)

    rows = table.rows
    return replace(
        table,
        title=change(table.title),
        summary=change(table.summary),
        columns=tuple(structs.replace(column, title=change(column.title)) for column in table.columns),
        rows=rows.map_rows(change_row, change_line) if isinstance(rows, RowsOnDemand) else list(map(change_row, rows)),
        header=tuple(_change_pieces(line, change) for line in table.header),
        footer=tuple(_change_pieces(line, change) for line in table.footer),
    )


def _change_pieces(line: Line, change: TextChange) -> Line:
    return tuple(Piece(change(piece.text), piece.style) for piece in line)


def change_document(document: Document, change_block: Callable[[Block], Block], change_title: TextChange) -> Document:
    """The document with every block and title changed."""

    def change_section(section: Section) -> Section:
        blocks, inner = tuple(map(change_block, section.blocks)), tuple(map(change_section, section.sections))
        return structs.replace(section, title=change_title(section.title), blocks=blocks, sections=inner)

    lead, sections = tuple(map(change_block, document.lead)), tuple(map(change_section, document.sections))
    return Document(change_title(document.title), lead, sections)


def make_document_printable(document: Document) -> Document:
    """The document with every text passed through make_printable."""
    return change_document(document, make_block_printable, make_line_printable)


def make_block_printable(block: Block) -> Block:
    """The block with every text passed through make_printable; a table's cells stay on one line."""
    # Control characters in names could move a terminal's cursor. Texts are made printable first, so that a front end
    # measures and wraps what it will draw.
    return change_texts(block, make_printable, make_line_printable)


def name_jobs(block: Block, names: JobNames) -> Block:
    """The block with workloads in place of PodGroups, as people know them; what is quoted stays."""
    if isinstance(block, Table):
        return name_jobs_of_table(block, names)
    is_quoted = isinstance(block, Paragraph) and block.is_quoted
    return change_texts(block, names.in_text) if names.shown_names and not is_quoted else block


def name_jobs_of_table(table: Table, names: JobNames) -> Table:
    """As name_jobs, for a table."""
    return change_table(table, names.in_text, names.in_text) if names.shown_names and not table.is_quoted else table
