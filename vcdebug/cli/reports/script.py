"""The report of `vcdebug script`: the result of each command."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from vcdebug.cli.arguments import DEFAULT_BUDGET_SECONDS
from vcdebug.cli.output import Output
from vcdebug.cli.render import plain_text
from vcdebug.cli.reports import comparison
from vcdebug.cli.reports import explanation as pending
from vcdebug.comparison.cycles import compare_cycles
from vcdebug.comparison.logs.message import DEFAULT_LEVEL
from vcdebug.debugger.commands import ScriptAnswer, ScriptError, run_line
from vcdebug.debugger.driver import DebuggerState, Driver
from vcdebug.errors import VcdebugError
from vcdebug.explain.answer import Explanation, QuestionReply
from vcdebug.explain.pending.explanation import explain_by_name, survey_jobs
from vcdebug.files.report_file import write_here
from vcdebug.files.text_files import load_notes, save_notes
from vcdebug.recording.trace_schema import event_json
from vcdebug.views.document import Block, make_paragraph
from vcdebug.views.headline import event_headline, path_words
from vcdebug.views.log import log_table
from vcdebug.views.panels import PAGES, find_panel, verbs_table
from vcdebug.views.pending import job_at
from vcdebug.views.table import Table, format_table
from vcdebug.whatif.branch import OpenRecordings
from vcdebug.whatif.forecast import QUESTIONS

if TYPE_CHECKING:
    from vcdebug.whatif.fixes.search import FixSearch


class AnswerReport:
    """The answer of a command with the tables and files that it asks for; raises ScriptError."""

    def __init__(self, answer: ScriptAnswer, driver: Driver) -> None:
        self.answer = answer
        self._driver = driver
        self.table = ""
        self.written = ""
        """The line about a file that was written or read."""
        self.cells: Table | None = None
        self.reply: tuple[str, QuestionReply] | None = None
        """The question of `ask` and its answer."""
        self.explanation: Explanation | None = None
        self.fixes: FixSearch | None = None
        """What `prove` tried."""
        self.waits = False
        """Whether the command explained a job that stays unscheduled."""
        try:
            self._read_answer()
        except VcdebugError as error:
            raise ScriptError(error, answer.number) from error

    def _read_answer(self) -> None:
        answer, here = self.answer, self.answer.here
        if answer.show == "help":
            self._show_table(verbs_table())
        elif answer.show == "panel":
            self._show_table(find_panel(here, answer.argument))
        elif answer.show == "log":
            self._show_table(log_table(here.recording, here.seq, int(answer.argument or DEFAULT_LEVEL)))
        elif answer.show in PAGES:
            self._show_table(PAGES[answer.show].view(here, *filter(None, (answer.argument,))))
        elif answer.show == "report":
            self.written = write_here(here, answer.argument)
        elif answer.show == "save":
            self.written = save_notes(self._driver, answer.argument)
        elif answer.show == "load":
            self.written = load_notes(self._driver, answer.argument)
        elif answer.show == "ask":
            self._ask_question(here, answer.argument)
        elif answer.show == "explain":
            self._explain_jobs(here, answer.argument or job_at(here))
        elif answer.show == "prove":
            self._search_fixes(here, answer.argument or job_at(here))

    def _show_table(self, shown: Table) -> None:
        self.table, self.cells = format_table(shown), shown

    def _ask_question(self, here: DebuggerState, words: str) -> None:
        name, _, subject = words.partition(" ")
        found = next((question for question in QUESTIONS if question.name == name), None)
        if found is None:
            raise VcdebugError(f"unknown question {name!r}", f"questions: {', '.join(one.name for one in QUESTIONS)}")
        if found.about and not subject and found.name != "next":
            raise VcdebugError(f"ask {name} needs a subject", f"name a {' or '.join(found.about)}")
        self.reply = name, pending.answer_question(here.recording, found, subject.strip())

    def _explain_jobs(self, here: DebuggerState, job: str) -> None:
        if job:
            self.explanation = explain_by_name(here.recording, job)
            self.waits = not self.explanation.scheduled
        else:
            self._show_table(PAGES["waiting"].view(here))
            self.waits = bool(survey_jobs(here.recording).unscheduled_jobs)

    def _search_fixes(self, here: DebuggerState, job: str) -> None:
        from vcdebug.cli.reports.fixes import search_fixes

        if not job:
            raise VcdebugError("say which job", "prove JOB")
        explanation = explain_by_name(here.recording, job)
        self.waits = not explanation.scheduled
        if explanation.scheduled:
            self.explanation = explanation
            return
        # With one worker: a client's process cannot be forked while it has threads.
        self.fixes = search_fixes(here.recording, explanation, Output(), seconds=DEFAULT_BUDGET_SECONDS, workers=1)


def run_command(driver: Driver, line: str, number: int = 1) -> AnswerReport:
    """What a command line comes to; raises VcdebugError if it fails."""
    try:
        return AnswerReport(run_line(driver, number, line), driver)
    except ScriptError as error:
        raise error.__cause__ or error from None


def answer_text(shown: AnswerReport) -> str:
    """The answer as a pipe gets it, without the line that repeats the command."""
    return plain_text(islice(answer_blocks(shown), 1, None))


def answer_blocks(shown: AnswerReport) -> Iterator[Block]:
    """The text report: the command, then its result."""
    answer = shown.answer
    yield make_paragraph(f":{answer.command.removeprefix(':')}", "title")
    yield from (
        make_paragraph(f"event {said.seq}  breakpoint {said.number}: {said.text}", indent=2) for said in answer.log
    )
    if answer.text:
        yield make_paragraph(answer.text, indent=2)
    if shown.written:
        yield make_paragraph(shown.written, indent=2)
    if shown.table:
        yield from (make_paragraph(text, indent=2) for text in shown.table.rstrip("\n").split("\n"))
    if shown.explanation is not None:
        yield from pending.explanation_blocks(shown.explanation)
    if shown.reply is not None:
        yield from pending.reply_blocks(*shown.reply)
    if shown.fixes is not None:
        from vcdebug.cli.reports.fixes import fix_blocks

        yield from fix_blocks(shown.fixes, answer.here.recording.snapshot.name)
    told = (answer.text, shown.table, shown.written, shown.explanation, shown.reply, shown.fixes)
    if answer.moved or not any(told):
        yield make_paragraph(_event_line(answer), indent=2)


def _event_line(answer: ScriptAnswer) -> str:
    here = answer.here
    what = event_headline(here.recording.event_at(here.seq))
    where = " > ".join(path_words(here.recording, here.seq, here.inside)) or "cycle"
    return f"event {here.seq}  {where}  {what.what}  {what.outcome.text}".rstrip() + f"  ({here.reason})"


def answer_document(shown: AnswerReport) -> dict[str, object]:
    """The JSON document of one command; the keys are a contract."""
    answer, here = shown.answer, shown.answer.here
    body: dict[str, object] = {
        "line": answer.number,
        "command": answer.command,
        "seq": here.seq,
        "reason": here.reason,
        "path": [
            {"level": span.level.name.lower(), "name": span.name} for span in here.recording.span_tree.path_to(here.seq)
        ],
        "event": event_json(here.recording, here.seq),
        "text": answer.text,
        "log": [{"seq": said.seq, "breakpoint": said.number, "text": said.text} for said in answer.log],
    }
    if here.recordings is not None:
        body["shown"] = {
            "side": here.recordings.side,
            "cycle": here.recordings.cycle,
            "cycles": here.recordings.cycle_count,
            "edits": list(here.recordings.edit_texts),
        }
    if answer.show == "diff" and here.recordings is not None and not answer.argument:
        body["comparison"] = _recordings_comparison(here.recordings)
    if shown.written:
        body["written"] = shown.written
    if shown.table:
        body["table"] = shown.table.rstrip("\n").split("\n")
    if shown.cells is not None:
        body["columns"] = [column.title for column in shown.cells.columns]
        body["rows"] = [[cell.text for cell in row.cells] for row in shown.cells.rows]
    if shown.reply is not None:
        body["answer"] = pending.reply_document(*shown.reply)
    if shown.explanation is not None:
        body["explanation"] = pending.explanation_document(shown.explanation)
    if shown.fixes is not None:
        from vcdebug.cli.reports.fixes import fix_documents

        body["remedies"] = fix_documents(shown.fixes)
    return body


def _recordings_comparison(open_: OpenRecordings) -> dict[str, object]:
    before, after = open_.both_sides()
    found = open_.found if open_.found is not None else compare_cycles(before, after)
    return comparison.comparison_document(
        found, comparison.ComparedRuns(before, after, ("original", "branch"), open_.edit_texts)
    )
