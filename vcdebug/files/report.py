"""The report of a cycle in the form that its file's name asks for, and its way into the file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from vcdebug import __version__
from vcdebug.debugger.driver import DebuggerState
from vcdebug.debugger.recordings import BRANCH
from vcdebug.errors import VcdebugError
from vcdebug.files.html import html
from vcdebug.files.markdown import markdown
from vcdebug.files.text import check_target, split_force, write_text
from vcdebug.model.names import Seq
from vcdebug.snapshot.bundled import is_bundled
from vcdebug.trace.recording import Recording
from vcdebug.views.printable import make_document_printable
from vcdebug.views.report import Subject, report

MARKDOWN, HTML = "md", "html"
FORMS: Final = {".md": MARKDOWN, ".markdown": MARKDOWN, ".html": HTML, ".htm": HTML}
WRITERS: Final = {MARKDOWN: markdown, HTML: html}


class ReportError(VcdebugError):
    """A report that cannot be written."""


def form_of(file: str) -> str:
    """md or html, by the file's name."""
    suffix = Path(file).suffix.lower()
    if suffix not in FORMS:
        raise ReportError("a report is Markdown or HTML", "name it .md or .html", file)
    return FORMS[suffix]


def text_of(subject: Subject, form: str) -> str:
    """The document in one of the forms."""
    return WRITERS[form](make_document_printable(report(subject)))


def target_of(file: str, *, force: bool) -> Path:
    """Where a report may go; raises for a name of no form, and as check_target does."""
    form_of(file)
    return check_target(file, force=force)


def write_report(subject: Subject, file: str, *, force: bool = False) -> str:
    """Write it in one go; answers with what was written."""
    path = target_of(file, force=force)
    text = text_of(subject, form_of(file))
    write_text(path, text)
    return f"wrote {file}, {max(1, len(text.encode()) // 1024)} KiB"


def write_here(here: DebuggerState, argument: str, place: str = "") -> str:
    """The report of the recording that one stands in, from the words of a command; place is what opens the snapshot."""
    file, force = split_force(argument)
    if not file:
        raise ReportError("say which file", "report FILE.md or FILE.html, with --force to write over it")
    place = place or _place(here.recording)
    commands = (_opening(place, here.seq),) if not (typed := _typed(here)) else (_opening(place), typed)
    return write_report(Subject(here.recording, __version__, commands, here.bookmarks), file, force=force)


def _opening(place: str, seq: Seq = 0) -> str:
    return shlex.join(["vcdebug", "open", place, *(["--goto", str(seq)] if seq else [])])


def _typed(here: DebuggerState) -> str:
    """What to type in the debugger to stand in another recording than the first one; empty for that."""
    shown = here.recordings
    if shown is None:
        return ""
    lines = [f"set {text}" for text in shown.texts] if shown.side == BRANCH else []
    lines += ["advance"] * (shown.cycle - 1)
    return "\n".join([*lines, f"goto {here.seq}"]) if lines else ""


def _place(recording: Recording) -> str:
    """What a command line calls the snapshot: a bundled one by its name."""
    snapshot = recording.snapshot
    if not snapshot.origin or is_bundled(snapshot.name, snapshot.origin):
        return snapshot.name
    return snapshot.origin
