"""A document: paragraphs, tables, lists and code, in sections. Each front end and file format renders it in its way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vcdebug.views.base import Column, Line, Piece, Row, Style, Table, plain_columns


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
