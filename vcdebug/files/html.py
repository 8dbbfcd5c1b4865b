"""Render a report as one HTML file without scripts and external resources, light or dark like the system."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final

from vcdebug.views.document import Block, Code, Document, Listed, Mark, Paragraph, Picture, Section, Strip
from vcdebug.views.pieces import Line, Piece, Style, text_of
from vcdebug.views.table import Column, Row, Table

CONTENT_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""Content policy of the page: names and notes come from the cluster; with it, even unescaped HTML loads nothing."""
PAGE_STYLE: Final = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
"""Every colour has a contrast of at least 4.5:1 on both backgrounds; no meaning is in colour alone."""
CSS_CLASSES: Final[dict[Style, str]] = {
    "title": "strong",
    "strong": "strong",
    "muted": "muted",
    "good": "good",
    "bad": "bad",
    "warn": "warn",
    "accent": "accent",
    "here": "accent",
}


def html_text(report: Document) -> str:
    """The document as HTML, ending in a newline."""
    body = [
        f"<header><h1>{escape(report.title)}</h1>",
        *_iter_block_lines(report.lead, report.title),
        "</header>",
        *_iter_contents_lines(report),
        "<main>",
    ]
    for number, section in enumerate(report.sections, start=1):
        body += _iter_section_lines(section, 2, f"s{number}")
    return "\n".join([*_iter_head_lines(report), *body, "</main>", "</body>", "</html>"]) + "\n"


def _iter_head_lines(report: Document) -> Iterator[str]:
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>{escape(report.title)}</title>"
    yield f"<style>\n{PAGE_STYLE}</style>"
    yield "</head>"
    yield "<body>"


def _iter_contents_lines(report: Document) -> Iterator[str]:
    yield '<nav aria-label="Contents"><ol>'
    for number, section in enumerate(report.sections, start=1):
        yield f'<li><a href="#s{number}">{escape(section.title)}</a>{_inner_contents(section, f"s{number}")}</li>'
    yield "</ol></nav>"


def _inner_contents(section: Section, anchor: str) -> str:
    if not section.sections:
        return ""
    items = (
        f'<li><a href="#{anchor}-{number}">{escape(inner.title)}</a></li>'
        for number, inner in enumerate(section.sections, start=1)
    )
    return f"<ol>{''.join(items)}</ol>"


def _iter_section_lines(section: Section, level: int, anchor: str) -> Iterator[str]:
    yield f'<section id="{anchor}" aria-labelledby="{anchor}-h">'
    heading = f'<h{level} id="{anchor}-h">{escape(section.title)}</h{level}>'
    yield f"<details><summary>{heading}</summary>" if section.folded else heading
    yield from _iter_block_lines(section.blocks, section.title)
    for number, inner in enumerate(section.sections, start=1):
        yield from _iter_section_lines(inner, level + 1, f"{anchor}-{number}")
    if section.folded:
        yield "</details>"
    yield "</section>"


def _iter_block_lines(blocks: tuple[Block, ...], label: str) -> Iterator[str]:
    for block in blocks:
        match block:
            case Code(text):
                yield f'<pre tabindex="0"><code>{escape(text)}</code></pre>'
            case Listed(items):
                yield "<ul>" + "".join(f"<li>{_line_html(item).removeprefix('- ')}</li>" for item in items) + "</ul>"
            case Paragraph(line, quoted) if text_of(line):
                yield f"<blockquote><p>{_line_html(line)}</p></blockquote>" if quoted else f"<p>{_line_html(line)}</p>"
            case Table():
                yield from _iter_table_lines(block, label)
            case Picture():
                yield from _iter_picture_lines(block)


UNITS: Final = 1000
"""Width of a strip in units of its SVG, whose rows are ROW_UNITS high; the page stretches the drawing."""
ROW_UNITS: Final = 10
TICK_UNITS: Final = 4


def _iter_picture_lines(picture: Picture) -> Iterator[str]:
    yield f'<figure><figcaption>{escape(picture.title)}</figcaption><ul class="strips">'
    for strip in picture.strips:
        yield f"<li><span>{escape(strip.label)}</span>{_strip_svg(strip)}<span>{escape(strip.alt_text)}</span></li>"
    yield f'</ul><p class="muted">{escape(picture.legend)}</p></figure>'


def _strip_svg(strip: Strip) -> str:
    """The SVG of a strip, without text, which the page would stretch."""
    box = f'viewBox="0 0 {UNITS} {strip.rows * ROW_UNITS}" preserveAspectRatio="none"'
    height = f'style="height:{max(1.1, 0.6 * strip.rows):g}rem"'
    return f'<svg aria-hidden="true" {box} {height}>{"".join(map(_mark_svg, strip.marks))}</svg>'


def _mark_svg(mark: Mark) -> str:
    x, y = f"{mark.start * UNITS:.4g}", mark.row * ROW_UNITS
    size = f'width="{max(TICK_UNITS, mark.width * UNITS - 1):.4g}" height="{mark.height * ROW_UNITS - 1}"'
    kind = f' class="{CSS_CLASSES[mark.style]}"' if mark.style in CSS_CLASSES else ""
    shade = f' fill-opacity="{mark.shade:.2g}"' if mark.shade < 1 else ""
    tip = f"><title>{escape(mark.tooltip)}</title></rect>" if mark.tooltip else "/>"
    return f'<rect x="{x}" y="{y}" {size}{kind}{shade}{tip}'


def _line_html(line: Line) -> str:
    return "".join(_piece_html(piece) for piece in line)


def _piece_html(piece: Piece) -> str:
    text, kind = escape(piece.text), CSS_CLASSES.get(piece.style)
    return f'<span class="{kind}">{text}</span>' if kind and text.strip() else text


def _iter_table_lines(table: Table, label: str) -> Iterator[str]:
    """The HTML of a table; if it is wider than the page, it scrolls by itself, also by keys."""
    if not table.rows and not table.header and not table.footer:
        return
    yield '<div class="table">'
    title = escape(table.title)
    if title:
        yield f'<p class="title">{title}</p>'
    yield from _iter_lines_html(table.header)
    if table.rows:
        yield f'<div class="scroll" tabindex="0" role="region" aria-label="{title or escape(label)}"><table>'
        yield from _iter_head_row_lines(table.columns)
        yield "<tbody>"
        yield from (_row_html(table, row) for row in table.rows)
        yield "</tbody></table></div>"
    yield from _iter_lines_html(table.footer)
    yield "</div>"


def _iter_lines_html(lines: tuple[Line, ...]) -> Iterator[str]:
    texts = [_line_html(line) for line in lines]
    while texts and not texts[-1].strip():
        texts.pop()
    if texts:
        yield '<p class="lines">' + "\n".join(texts) + "</p>"


def _iter_head_row_lines(columns: tuple[Column, ...]) -> Iterator[str]:
    if not any(column.title for column in columns):
        return
    yield "<thead><tr>" + "".join(_head_cell(column) for column in columns) + "</tr></thead>"


def _head_cell(column: Column) -> str:
    if not column.title:
        return "<td></td>"
    kind = ' class="number"' if column.right else ""
    return f'<th scope="col"{kind}>{escape(column.title)}</th>'


def _row_html(table: Table, row: Row) -> str:
    is_current = bool(table.current) and row.key == table.current
    mark = ' class="here" aria-current="true"' if is_current else ""
    cells = (_cell_html(cell, column) for cell, column in zip(row.cells, table.columns, strict=True))
    return f"<tr{mark}>" + "".join(cells) + "</tr>"


def _cell_html(cell: Piece, column: Column) -> str:
    kind = ' class="number"' if column.right else ' class="text"' if column.flexible else ""
    return f"<td{kind}>{_piece_html(cell)}</td>"
