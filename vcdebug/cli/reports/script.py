"""The report of `vcdebug script`: what each command came to."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.causes.pending import explain
from vcdebug.causes.survey import survey
from vcdebug.cli.reports import comparison, pending
from vcdebug.compare.cycles import compare
from vcdebug.debugger.driver import DebuggerState, Driver
from vcdebug.debugger.recordings import Recordings
from vcdebug.debugger.script import Answer, ScriptError
from vcdebug.errors import VcdebugError
from vcdebug.explain.answer import Explanation
from vcdebug.files.notes import load_notes, save_notes
from vcdebug.files.report import write_here
from vcdebug.logs.levels import USUAL
from vcdebug.trace.codec import event_json
from vcdebug.views.base import plain
from vcdebug.views.document import Block, paragraph
from vcdebug.views.finding import finding
from vcdebug.views.headline import headline
from vcdebug.views.log import log
from vcdebug.views.names import path_words
from vcdebug.views.pages import PAGES
from vcdebug.views.panels import panel, verbs
from vcdebug.views.pending import job_at


class AnswerReport:
    """An answer with what the command asked to see."""

    def __init__(self, answer: Answer, driver: Driver) -> None:
        self.answer = answer
        self._driver = driver
        self.table = ""
        self.written = ""
        """What was written where, or read from where."""
        self.explanation: Explanation | None = None
        self.waits = False
        """Whether it is about a job that stays unscheduled."""
        try:
            self._look()
        except VcdebugError as error:
            raise ScriptError(error, answer.number) from error

    def _look(self) -> None:
        answer, here = self.answer, self.answer.here
        if answer.show == "help":
            self.table = plain(verbs())
        elif answer.show == "panel":
            self.table = plain(panel(here, answer.argument))
        elif answer.show == "log":
            self.table = plain(log(here.recording, here.seq, int(answer.argument or USUAL)))
        elif answer.show == "find":
            self.table = plain(finding(here.recording, here.seq, answer.argument))
        elif answer.show in PAGES:
            self.table = plain(PAGES[answer.show].view(here))
        elif answer.show == "report":
            self.written = write_here(here, answer.argument)
        elif answer.show == "save":
            self.written = save_notes(self._driver, answer.argument)
        elif answer.show == "load":
            self.written = load_notes(self._driver, answer.argument)
        elif answer.show == "explain":
            self._explain(here, answer.argument or job_at(here))

    def _explain(self, here: DebuggerState, job: str) -> None:
        """One job, or all that wait."""
        if job:
            self.explanation = explain(here.recording, job)
            self.waits = not self.explanation.scheduled
        else:
            self.table = plain(PAGES["waiting"].view(here))
            self.waits = bool(survey(here.recording).unscheduled)


def blocks(shown: AnswerReport) -> Iterator[Block]:
    """For people: the command, then what it came to."""
    answer = shown.answer
    yield paragraph(f":{answer.command.removeprefix(':')}", "title")
    yield from (paragraph(f"event {said.seq}  breakpoint {said.number}: {said.text}", indent=2) for said in answer.log)
    if answer.text:
        yield paragraph(answer.text, indent=2)
    if shown.written:
        yield paragraph(shown.written, indent=2)
    if shown.table:
        yield from (paragraph(text, indent=2) for text in shown.table.rstrip("\n").split("\n"))
    if shown.explanation is not None:
        yield from pending.blocks(shown.explanation)
    if answer.moved or not (answer.text or shown.table or shown.written or shown.explanation):
        yield paragraph(_place(answer), indent=2)


def _place(answer: Answer) -> str:
    here = answer.here
    what = headline(here.recording.event(here.seq))
    where = " > ".join(path_words(here.recording, here.seq)) or "cycle"
    return f"event {here.seq}  {where}  {what.what}  {what.outcome.text}".rstrip() + f"  ({here.reason})"


def document(shown: AnswerReport) -> dict[str, object]:
    """For programs; the keys are a contract."""
    answer, here = shown.answer, shown.answer.here
    body: dict[str, object] = {
        "line": answer.number,
        "command": answer.command,
        "seq": here.seq,
        "reason": here.reason,
        "path": [{"level": span.level.name.lower(), "name": span.name} for span in here.recording.tree.path(here.seq)],
        "event": event_json(here.recording, here.seq),
        "text": answer.text,
        "log": [{"seq": said.seq, "breakpoint": said.number, "text": said.text} for said in answer.log],
    }
    if here.recordings is not None:
        body["shown"] = _shown_recording(here.recordings)
    if answer.show == "diff" and here.recordings is not None:
        body["comparison"] = _comparison(here.recordings)
    if shown.written:
        body["written"] = shown.written
    if shown.table:
        body["table"] = shown.table.rstrip("\n").split("\n")
    if shown.explanation is not None:
        body["explanation"] = pending.document(shown.explanation)
    return body


def _shown_recording(open_: Recordings) -> dict[str, object]:
    """Which of the recordings one looks at."""
    return {"side": open_.side, "cycle": open_.cycle, "cycles": open_.cycles, "edits": list(open_.texts)}


def _comparison(open_: Recordings) -> dict[str, object]:
    """As `vcdebug diff` has it."""
    before, after = open_.pair()
    found = open_.found if open_.found is not None else compare(before, after)
    return comparison.document(found, comparison.Sides(before, after, ("original", "branch"), open_.texts))
