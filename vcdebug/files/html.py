"""Render a report as one HTML file: no script, no external resource, light or dark as the reader's system."""

from collections.abc import Iterator
from html import escape
from typing import Final

from vcdebug.views.document import Block, Code, Document, Listed, Paragraph, Section
from vcdebug.views.pieces import Line, Piece, Style
from vcdebug.views.table import Column, Row, Table

CONTENT_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""Names and notes come from the cluster: even unescaped HTML in one could load nothing."""
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
    yield f"<style>{PAGE_STYLE}</style>"
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


def _iter_block_lines(blocks: tuple[Block, ...], about: str) -> Iterator[str]:
    for block in blocks:
        match block:
            case Code(text):
                yield f'<pre tabindex="0"><code>{escape(text)}</code></pre>'
            case Listed(items):
                yield "<ul>" + "".join(f"<li>{_line_html(item)}</li>" for item in items) + "</ul>"
            case Paragraph(said, quoted):
                yield f"<blockquote><p>{_line_html(said)}</p></blockquote>" if quoted else f"<p>{_line_html(said)}</p>"
            case Table():
                yield from _iter_table_lines(block, about)


def _line_html(said: Line) -> str:
    return "".join(_piece_html(piece) for piece in said)


def _piece_html(piece: Piece) -> str:
    text, kind = escape(piece.text), CSS_CLASSES.get(piece.style)
    return f'<span class="{kind}">{text}</span>' if kind and text.strip() else text


def _iter_table_lines(table: Table, about: str) -> Iterator[str]:
    """A table that scrolls on its own if it is wider than the page, also by keys."""
    if not table.rows and not table.head and not table.foot:
        return
    yield '<div class="table">'
    title = escape(table.title)
    if title:
        yield f'<p class="title">{title}</p>'
    yield from _iter_lines_html(table.head)
    if table.rows:
        yield f'<div class="scroll" tabindex="0" role="region" aria-label="{title or escape(about)}"><table>'
        yield from _iter_head_row_lines(table.columns)
        yield "<tbody>"
        yield from (_row_html(table, row) for row in table.rows)
        yield "</tbody></table></div>"
    yield from _iter_lines_html(table.foot)
    yield "</div>"


def _iter_lines_html(lines: tuple[Line, ...]) -> Iterator[str]:
    shown = [_line_html(said) for said in lines]
    while shown and not shown[-1].strip():
        shown.pop()
    if shown:
        yield '<p class="lines">' + "\n".join(shown) + "</p>"


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
    here = bool(table.current) and row.key == table.current
    mark = ' class="here" aria-current="true"' if here else ""
    cells = (_cell_html(cell, column) for cell, column in zip(row.cells, table.columns, strict=True))
    return f"<tr{mark}>" + "".join(cells) + "</tr>"


def _cell_html(cell: Piece, column: Column) -> str:
    kind = ' class="number"' if column.right else ' class="text"' if column.flexible else ""
    return f"<td{kind}>{_piece_html(cell)}</td>"


# The page's style: two palettes, a fixed line length, tables that scroll on their own, rules for paper.

PAGE_STYLE: Final = """
:root { color-scheme: light dark; --text: #1c2024; --soft: #5b6470; --page: #ffffff; --line: #d8dde3; --tint: #f4f6f8;
  --good: #1a6b34; --bad: #b3261e; --warn: #8a5200; --accent: #0b57a4; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --soft: #a3adb9; --page: #14171a; --line: #333a42;
  --tint: #1d2226; --good: #7ad492; --bad: #ff9d93; --warn: #f0bd6d; --accent: #8fc3ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem 4rem; background: var(--page); color: var(--text);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 .75rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .5rem; overflow-wrap: anywhere; }
p, ul, blockquote, pre { margin: .6rem 0; }
p, li { max-width: 46rem; overflow-wrap: anywhere; }
a { color: var(--accent); text-underline-offset: .15em; }
a:focus-visible, summary:focus-visible, .scroll:focus-visible, pre:focus-visible { outline: 2px solid var(--accent);
  outline-offset: 2px; }
nav { margin: 1.5rem 0 0; padding: .75rem 1.25rem; background: var(--tint); border-radius: 6px; font-size: .95rem; }
nav ol { margin: 0; padding-left: 1.4rem; }
nav ol ol { list-style: none; padding-left: .25rem; }
blockquote { padding: .1rem 1rem; border-left: 3px solid var(--accent); white-space: pre-wrap; }
pre { padding: .7rem .9rem; background: var(--tint); border-radius: 6px; overflow-x: auto; }
pre, code, .lines { font-family: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace;
  font-size: .875rem; line-height: 1.5; }
.table { margin: .9rem 0 1.2rem; }
.lines { margin: .3rem 0; max-width: none; white-space: pre-wrap; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .925rem; font-variant-numeric: tabular-nums; }
p.title { text-align: left; font-weight: 600; padding: .2rem 0 .35rem; margin: 0; }
th { text-align: left; font-weight: 600; color: var(--soft); }
th, td { padding: .28rem 1.1rem .28rem 0; border-bottom: 1px solid var(--line); vertical-align: top;
  white-space: pre; }
th:first-child, td:first-child { padding-left: .4rem; }
td.text { white-space: pre-wrap; min-width: 14rem; overflow-wrap: anywhere; }
.number { text-align: right; }
tr.here > td { background: var(--tint); }
tr.here > td:first-child { box-shadow: inset 3px 0 0 var(--accent); }
summary { cursor: pointer; }
summary > h2 { display: inline-block; border: 0; margin-bottom: 0; }
.strong { font-weight: 600; }
.muted { color: var(--soft); }
.good { color: var(--good); }
.bad { color: var(--bad); }
.warn { color: var(--warn); }
.accent { color: var(--accent); font-weight: 600; }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; }
  section { break-inside: auto; } tr, h2, h3 { break-inside: avoid; break-after: auto; } .scroll { overflow: visible; }
  td, th { white-space: pre-wrap; } }
"""
"""Every colour has a contrast of at least 4.5:1 on both backgrounds; no meaning is in colour alone."""
