"""A report as GitHub's Markdown: readable raw, and safe whatever names and notes contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from vcdebug.views.base import Line, Piece, Row, Table, plain, text_of
from vcdebug.views.document import Block, Code, Document, Listed, Paragraph, Section

_SPECIAL: Final = re.compile(r"([\\`*\[\]|~]|(?<!\w)_|_(?!\w))")
_BEGINS: Final = re.compile(r"^(\s*)([-+#>=]|\d+(?=[.)]))")
_REFERENCE: Final = re.compile(r"(?<!\w)([@#])(?=\w)")
"""What GitHub would make a mention of a person or a link to an issue of."""


def markdown(report: Document) -> str:
    """The document, with a line end at its end."""
    parts = [f"# {escaped(report.title)}", *_blocks(report.lead)]
    for section in report.sections:
        parts += _section(section, 2)
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """Text that means nothing to Markdown, on one line."""
    text = " ".join(text.split("\n"))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _REFERENCE.sub(r"\1<!-- -->", _SPECIAL.sub(r"\\\1", text))


def _section(section: Section, level: int) -> Iterator[str]:
    if section.folded:
        yield f"<details><summary>{escaped(section.title)}</summary>"
    else:
        yield f"{'#' * level} {escaped(section.title)}"
    yield from _blocks(section.blocks)
    for inner in section.sections:
        yield from _section(inner, level + 1)
    if section.folded:
        yield "</details>"


def _blocks(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Code(text):
                yield fenced(text)
            case Listed(items):
                yield "\n".join(f"- {_line(item)}" for item in items)
            case Paragraph(said, quoted):
                yield "\n".join(f"> {_line(one)}" for one in _lines_of(said)) if quoted else _paragraph(said)
            case Table():
                yield from _table(block)


def fenced(text: str) -> str:
    """A block of code, whatever backticks are in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _lines_of(said: Line) -> Iterator[Line]:
    for text in text_of(said).splitlines() or [""]:
        yield (Piece(text),)


def _paragraph(said: Line) -> str:
    return _BEGINS.sub(r"\1\\\2", _line(said))


def _line(said: Line) -> str:
    return "".join(_piece(piece) for piece in said).strip()


def _piece(piece: Piece) -> str:
    text = escaped(piece.text)
    if piece.style not in ("strong", "title") or not text.strip():
        return text
    return f"**{text.strip()}**" + (" " if text.endswith(" ") else "")


def _table(table: Table) -> Iterator[str]:
    """As a table of Markdown where heads name its columns, else as text in columns."""
    if not table.rows and not table.head and not table.foot:
        return
    if _is_panel(table):
        yield fenced(plain(table).strip("\n"))
        return
    if table.title:
        yield f"**{escaped(table.title)}**"
    yield from (_paragraph(said) for said in table.head if text_of(said).strip())
    if table.rows:
        yield _rows(table)
    yield from (_paragraph(said) for said in table.foot if text_of(said).strip())


def _is_panel(table: Table) -> bool:
    """What the screen draws: lines around it, or rows where one is the present one."""
    return bool(table.title and (table.head or table.current)) or not table.rows


def _rows(table: Table) -> str:
    heads = [escaped(column.title) for column in table.columns]
    rule = ["---:" if column.right else "---" for column in table.columns]
    rows = [_cells(row) for row in table.rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rule, *rows))


def _cells(row: Row) -> list[str]:
    return [_piece(cell).strip() for cell in row.cells]
