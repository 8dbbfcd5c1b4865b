"""The report of a cycle in the form that its file's name asks for, and its way into the file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from vcdebug import __version__
from vcdebug.debugger.driver import DebuggerState
from vcdebug.errors import VcdebugError
from vcdebug.files.html import html_text
from vcdebug.files.markdown import markdown_text
from vcdebug.files.text_files import check_target, split_force, write_text
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.bundled import is_bundled
from vcdebug.views.document import make_document_printable
from vcdebug.views.report import ReportSubject, build_report
from vcdebug.whatif.branch import BRANCH

MARKDOWN, HTML = "md", "html"
FORM_BY_SUFFIX: Final = {".md": MARKDOWN, ".markdown": MARKDOWN, ".html": HTML, ".htm": HTML}
REPORT_WRITERS: Final = {MARKDOWN: markdown_text, HTML: html_text}


class ReportError(VcdebugError):
    """A report that cannot be written."""


def form_of(file: str) -> str:
    """md or html, by the file's name."""
    suffix = Path(file).suffix.lower()
    if suffix not in FORM_BY_SUFFIX:
        raise ReportError("a report is Markdown or HTML", "name it .md or .html", file)
    return FORM_BY_SUFFIX[suffix]


def report_text(subject: ReportSubject, form: str) -> str:
    """The document in one of the forms."""
    return REPORT_WRITERS[form](make_document_printable(build_report(subject)))


def report_target(file: str, *, force: bool) -> Path:
    """Where a report may go; raises for a name of no form, and as check_target does."""
    form_of(file)
    return check_target(file, force=force)


def write_report(subject: ReportSubject, file: str, *, force: bool = False) -> str:
    """Write it in one go; answers with what was written."""
    path = report_target(file, force=force)
    text = report_text(subject, form_of(file))
    write_text(path, text)
    return f"wrote {file}, {max(1, len(text.encode()) // 1024)} KiB"


def write_here(here: DebuggerState, argument: str, place: str = "") -> str:
    """The report of the recording that one stands in, from the words of a command; place is what opens the snapshot."""
    file, force = split_force(argument)
    if not file:
        raise ReportError("say which file", "report FILE.md or FILE.html, with --force to write over it")
    place = place or _snapshot_place(here.recording)
    commands = (
        (_open_command(place, here.seq),) if not (typed := _typed_commands(here)) else (_open_command(place), typed)
    )
    return write_report(ReportSubject(here.recording, __version__, commands, here.bookmarks), file, force=force)


def _open_command(place: str, seq: Seq = 0) -> str:
    return shlex.join(["vcdebug", "open", place, *(["--goto", str(seq)] if seq else [])])


def _typed_commands(here: DebuggerState) -> str:
    """What to type in the debugger to stand in another recording than the first one; empty for that."""
    shown = here.recordings
    if shown is None:
        return ""
    lines = [f"set {text}" for text in shown.edit_texts] if shown.side == BRANCH else []
    lines += ["advance"] * (shown.cycle - 1)
    return "\n".join([*lines, f"goto {here.seq}"]) if lines else ""


def _snapshot_place(recording: Recording) -> str:
    """What a command line calls the snapshot: a bundled one by its name."""
    snapshot = recording.snapshot
    if not snapshot.origin or is_bundled(snapshot.name, snapshot.origin):
        return snapshot.name
    return snapshot.origin
