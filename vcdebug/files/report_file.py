"""Write the report of a cycle as Markdown or HTML, by the file's suffix."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vcdebug import __version__
from vcdebug.debugger.driver import DebuggerState
from vcdebug.errors import VcdebugError
from vcdebug.files.html import html_text
from vcdebug.files.text_files import check_target, split_force, write_text
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.sources import is_bundled
from vcdebug.views.document import Block, Code, Document, Listed, Paragraph, Picture, Section, make_document_printable
from vcdebug.views.pieces import Line, Piece, text_of
from vcdebug.views.report import ReportSubject, build_report
from vcdebug.views.table import Table, format_table
from vcdebug.whatif.branch import BRANCH

# Markdown in GitHub's dialect, escaped so that names and notes from the cluster cannot format the page.

_SPECIAL: Final = re.compile(r"([\\`*\[\]|~]|(?<!\w)_|_(?!\w))")
_BEGINS: Final = re.compile(r"^(\s*(?:\d+(?=[.)]))?)([-+#>=.)])")
_REFERENCE: Final = re.compile(r"(?<!\w)([@#])(?=\w)")
"""Signs that GitHub turns into a mention of a person or a link to an issue."""


def markdown_text(report: Document) -> str:
    """The document as Markdown, ending in a newline."""
    parts = [f"# {escape_text(report.title)}", *_iter_block_parts(report.lead)]
    for section in report.sections:
        parts += _iter_section_parts(section, 2)
    return "\n\n".join(part for part in parts if part) + "\n"


def escape_text(text: str) -> str:
    """The text on one line, with all characters escaped that are special in Markdown."""
    text = " ".join(text.split("\n"))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _REFERENCE.sub(r"\1<!-- -->", _SPECIAL.sub(r"\\\1", text))


def _iter_section_parts(section: Section, level: int) -> Iterator[str]:
    if section.folded:
        yield f"<details><summary>{escape_text(section.title)}</summary>"
    else:
        yield f"{'#' * level} {escape_text(section.title)}"
    yield from _iter_block_parts(section.blocks)
    for inner in section.sections:
        yield from _iter_section_parts(inner, level + 1)
    if section.folded:
        yield "</details>"


def _iter_block_parts(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Code(text):
                yield fence_code(text)
            case Listed(items):
                yield "\n".join(f"- {_paragraph_text(item, '- ')}" for item in items)
            case Paragraph(said, quoted):
                lines = (f"> {_line_text(line)}" for line in _iter_lines_of(said))
                yield "\n".join(lines) if quoted else _paragraph_text(said)
            case Table():
                yield from _iter_table_parts(block)
            case Picture():
                yield from _iter_table_parts(block.to_table())


def fence_code(text: str) -> str:
    """A fenced code block whose fence is longer than any backticks in the code."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _iter_lines_of(line: Line) -> Iterator[Line]:
    for text in text_of(line).splitlines() or [""]:
        yield (Piece(text),)


def _paragraph_text(line: Line, mark: str = "") -> str:
    """The line without the mark that it begins with."""
    return _BEGINS.sub(r"\1\\\2", _line_text(line).removeprefix(mark))


def _line_text(line: Line) -> str:
    return "".join(_piece_text(piece) for piece in line).strip()


def _piece_text(piece: Piece) -> str:
    text = escape_text(piece.text)
    if piece.style not in ("strong", "title") or not text.strip():
        return text
    return f"**{text.strip()}**" + (" " if text.endswith(" ") else "")


def _iter_table_parts(table: Table) -> Iterator[str]:
    """A Markdown table; a panel becomes a block of text, as on the screen."""
    if not table.rows and not table.header and not table.footer:
        return
    if (table.title and (table.header or table.current)) or not table.rows:
        yield fence_code(format_table(table).strip("\n"))
        return
    if table.title:
        yield f"**{escape_text(table.title)}**"
    yield from (_paragraph_text(line) for line in table.header if text_of(line).strip())
    if table.rows:
        yield _rows_text(table)
    yield from (_paragraph_text(line) for line in table.footer if text_of(line).strip())


def _rows_text(table: Table) -> str:
    heads = [escape_text(column.title) for column in table.columns]
    rule = ["---:" if column.right else "---" for column in table.columns]
    rows = [[_piece_text(cell).strip() for cell in row.cells] for row in table.rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rule, *rows))


MARKDOWN, HTML = "md", "html"
FORM_BY_SUFFIX: Final = {".md": MARKDOWN, ".markdown": MARKDOWN, ".html": HTML, ".htm": HTML}
REPORT_WRITERS: Final = {MARKDOWN: markdown_text, HTML: html_text}


class ReportError(VcdebugError):
    """Raised for a report that cannot be written."""


def form_of(file: str) -> str:
    """MARKDOWN or HTML by the file's suffix; raises ReportError for any other."""
    suffix = Path(file).suffix.lower()
    if suffix not in FORM_BY_SUFFIX:
        raise ReportError("unsupported report type", "the file name must end in .md or .html", file)
    return FORM_BY_SUFFIX[suffix]


def report_text(subject: ReportSubject, form: str) -> str:
    """The report in one of the forms."""
    return REPORT_WRITERS[form](make_document_printable(build_report(subject)))


def report_target(file: str, *, force: bool) -> Path:
    """The path to write a report to; raises ReportError for another suffix, VcdebugError as check_target does."""
    form_of(file)
    return check_target(file, force=force)


def write_report(subject: ReportSubject, file: str, *, force: bool = False) -> str:
    """Write the report; returns a message with the file and its size."""
    path = report_target(file, force=force)
    text = report_text(subject, form_of(file))
    write_text(path, text)
    return f"wrote {file}, {max(1, len(text.encode()) // 1024)} KiB"


def write_here(state: DebuggerState, argument: str, place: str = "") -> str:
    """Carry out the command `report ARGUMENT` for the shown recording; returns a message.

    `place` is what opens the snapshot on a command line; by default its file or bundled name.
    """
    file, force = split_force(argument)
    file = file or report_names(state.recording)[0]
    place = place or _snapshot_place(state.recording)
    typed = _typed_commands(state)
    commands = (_open_command(place), typed) if typed else (_open_command(place, state.seq),)
    recordings = state.recordings
    cycles = recordings.cycles_of(recordings.side) if recordings is not None else ()
    subject = ReportSubject(state.recording, __version__, commands, state.bookmarks, cycles=cycles)
    return write_report(subject, file, force=force)


def report_names(recording: Recording) -> list[str]:
    """The names that are proposed for a report's file, in the current folder."""
    return [f"{Path(recording.snapshot.name or 'report').name}{ending}" for ending in (".html", ".md")]


def _open_command(place: str, seq: Seq = 0) -> str:
    return shlex.join(["vcdebug", "open", place, *(["--goto", str(seq)] if seq else [])])


def _typed_commands(state: DebuggerState) -> str:
    """The debugger's commands that lead to the shown branch, cycle and event; empty in the first recording."""
    recordings = state.recordings
    if recordings is None:
        return ""
    lines = [f"set {text}" for text in recordings.edit_texts] if recordings.side == BRANCH else []
    lines += ["advance"] * (recordings.cycle - 1)
    return "\n".join([*lines, f"goto {state.seq}"]) if lines else ""


def _snapshot_place(recording: Recording) -> str:
    """The snapshot's name on a command line: a file, or the name of a bundled one."""
    snapshot = recording.snapshot
    if not snapshot.origin or is_bundled(snapshot.name, snapshot.origin):
        return snapshot.name
    return snapshot.origin
