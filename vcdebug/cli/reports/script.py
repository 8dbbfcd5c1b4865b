"""The report of `vcdebug script`: the result of each command."""

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
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.files.report_file import write_here
from vcdebug.files.text_files import load_notes, save_notes
from vcdebug.recording.recording import Recording
from vcdebug.recording.trace_schema import event_json
from vcdebug.views.answer import explanation_blocks, listed_fixes
from vcdebug.views.document import Block, make_paragraph, name_jobs, name_jobs_of_table
from vcdebug.views.headline import event_headline, path_words
from vcdebug.views.log import log_table
from vcdebug.views.panels import PAGES, find_panel, verbs_table
from vcdebug.views.pending import job_at, question_named
from vcdebug.views.table import Table, format_table
from vcdebug.whatif.branch import OpenRecordings

if TYPE_CHECKING:
    from vcdebug.whatif.fixes.search import FixSearch


class AnswerReport:
    """The result of a script command with the tables and files that it requests; raises ScriptError."""

    def __init__(self, answer: ScriptAnswer, driver: Driver) -> None:
        self.script_answer = answer
        self._driver = driver
        self.table: Table | None = None
        self.file_message = ""
        """Message about a file that was written or read; empty for none."""
        self.reply: tuple[str, QuestionReply] | None = None
        """(question of `ask`, its answer); None for other commands."""
        self.explanation: Explanation | None = None
        self.fixes: FixSearch | None = None
        """The search of `prove`; None for other commands."""
        self.is_pending = False
        """Whether the command explained a job that stays unscheduled."""
        try:
            self._read_answer()
        except VcdebugError as error:
            raise ScriptError(error, answer.number) from error

    def _read_answer(self) -> None:
        answer, state = self.script_answer, self.script_answer.state
        if answer.show == "help":
            self.table = verbs_table()
        elif answer.show == "panel":
            self.table = find_panel(state, answer.argument)
        elif answer.show == "log":
            self.table = log_table(state.recording, state.seq, int(answer.argument or DEFAULT_LEVEL))
        elif answer.show in PAGES:
            self.table = PAGES[answer.show].view(state, *filter(None, (answer.argument,)))
        elif answer.show == "report":
            self.file_message = write_here(state, answer.argument)
        elif answer.show == "save":
            self.file_message = save_notes(self._driver, answer.argument)
        elif answer.show == "load":
            self.file_message = load_notes(self._driver, answer.argument)
        elif answer.show == "ask":
            self._ask_question(state, answer.argument)
        elif answer.show == "explain":
            self._explain_jobs(state, answer.argument or job_at(state))
        elif answer.show == "prove":
            self._search_fixes(state, answer.argument or job_at(state))

    def _ask_question(self, state: DebuggerState, words: str) -> None:
        name, _, subject = words.partition(" ")
        question = question_named(name)
        question.require_subject(subject)
        self.reply = question.name, pending.answer_question(state.recording, question, subject.strip())

    def _explain_jobs(self, state: DebuggerState, job: str) -> None:
        if job:
            self.explanation = explain_by_name(state.recording, job)
            self.is_pending = not self.explanation.scheduled
        else:
            self.table = PAGES["waiting"].view(state)
            self.is_pending = bool(survey_jobs(state.recording).unscheduled_jobs)

    def _search_fixes(self, state: DebuggerState, job: str) -> None:
        from vcdebug.cli.reports.fixes import search_fixes

        if not job:
            raise VcdebugError("say which job", "prove JOB")
        explanation = explain_by_name(state.recording, job)
        self.is_pending = not explanation.scheduled
        if not explanation.wants_fixes:
            self.explanation = explanation
            return
        # With one worker: a client's process cannot be forked while it has threads.
        self.fixes = search_fixes(state.recording, explanation, Output(), seconds=DEFAULT_BUDGET_SECONDS, workers=1)


def run_command(driver: Driver, line: str, number: int = 1) -> AnswerReport:
    """Run a command line; returns its answer. Raises VcdebugError."""
    try:
        return AnswerReport(run_line(driver, number, line), driver)
    except ScriptError as error:
        raise error.__cause__ or error from None


def answer_text(report: AnswerReport) -> str:
    """The answer as plain text, without the line that repeats the command and an empty line below it."""
    return plain_text(islice(answer_blocks(report), 1, None)).lstrip("\n")


def answer_blocks(report: AnswerReport) -> Iterator[Block]:
    """The text report: the command, then its result, with workloads in place of PodGroups."""
    names = report.script_answer.state.recording.job_names
    for block in _iter_answer_blocks(report):
        if isinstance(block, Table):
            lines = format_table(name_jobs_of_table(block, names)).rstrip("\n").split("\n")
            yield from (make_paragraph(text, indent=2) for text in lines)
        else:
            yield name_jobs(block, names)


def _iter_answer_blocks(report: AnswerReport) -> Iterator[Block]:
    answer = report.script_answer
    yield make_paragraph(f":{answer.command.removeprefix(':')}", "title")
    yield from (
        make_paragraph(f"event {line.seq}  breakpoint {line.number}: {line.text}", indent=2) for line in answer.log
    )
    if answer.text:
        yield make_paragraph(answer.text, indent=2)
    if report.file_message:
        yield make_paragraph(report.file_message, indent=2)
    if report.table is not None:
        yield report.table
    if report.explanation is not None:
        yield from _explanation_blocks(answer.state.recording, report.explanation)
    if report.reply is not None:
        yield from pending.reply_blocks(*report.reply)
    if report.fixes is not None:
        from vcdebug.cli.reports.fixes import fix_blocks

        yield from fix_blocks(report.fixes, answer.state.recording.snapshot.name)
    results = (answer.text, report.table, report.file_message, report.explanation, report.reply, report.fixes)
    if answer.is_position or not any(results):
        yield make_paragraph(_event_line(answer), indent=2)


def _explanation_blocks(recording: Recording, explanation: Explanation) -> Iterator[Block]:
    """The whole answer, with its tested fixes and what other releases and random choices give."""
    from vcdebug.whatif.other_outcomes import other_outcomes

    fixes = listed_fixes(explanation, pending.short_fixes(recording, explanation))
    yield from explanation_blocks(explanation, recording.job_names, fixes, other_outcomes(recording, explanation.job))


def _event_line(answer: ScriptAnswer) -> str:
    state = answer.state
    headline = event_headline(state.recording, state.seq)
    path = " > ".join(path_words(state.recording, state.seq, state.inside)) or "cycle"
    return f"event {state.seq}  {path}  {headline.event_text}  {headline.outcome.text}".rstrip() + f"  ({state.reason})"


def answer_document(report: AnswerReport) -> dict[str, object]:
    """The JSON document of one command; the keys are a contract."""
    answer, state = report.script_answer, report.script_answer.state
    body: dict[str, object] = {
        "line": answer.number,
        "command": answer.command,
        "seq": state.seq,
        "reason": state.reason,
        "path": [
            {"level": span.level.name.lower(), "name": span.name}
            for span in state.recording.span_tree.path_to(state.seq)
        ],
        "event": event_json(state.recording, state.seq),
        "text": answer.text,
        "log": [{"seq": line.seq, "breakpoint": line.number, "text": line.text} for line in answer.log],
    }
    if state.recordings is not None:
        body["shown"] = _shown_cycle(state.recordings)
    if answer.show == "diff" and state.recordings is not None and not answer.argument:
        body["comparison"] = _recordings_comparison(state.recordings)
    return body | _report_parts(report)


def _report_parts(report: AnswerReport) -> dict[str, object]:
    """The keys of what the command wrote, listed or explained."""
    body: dict[str, object] = {}
    if report.file_message:
        body["written"] = report.file_message
    if report.table is not None:
        body["table"] = format_table(report.table).rstrip("\n").split("\n")
        body["columns"] = [column.title for column in report.table.columns]
        body["rows"] = [[cell.text for cell in row.cells] for row in report.table.rows]
    if report.reply is not None:
        body["answer"] = pending.reply_document(*report.reply)
    if report.explanation is not None:
        from vcdebug.whatif.other_outcomes import other_outcomes

        others = other_outcomes(report.script_answer.state.recording, report.explanation.job)
        body["explanation"] = pending.explanation_document(report.explanation) | others.build_document()
    if report.fixes is not None:
        from vcdebug.cli.reports.fixes import fix_documents

        body["remedies"] = fix_documents(report.fixes)
    return body


def _shown_cycle(open_: OpenRecordings) -> dict[str, object]:
    return {
        "side": open_.side,
        "cycle": open_.cycle,
        "cycles": open_.cycle_count,
        "edits": list(open_.edit_texts),
    }


def _recordings_comparison(open_: OpenRecordings) -> dict[str, object]:
    before, after = open_.both_sides()
    difference = open_.comparison if open_.comparison is not None else compare_cycles(before, after)
    return comparison.comparison_document(
        difference, comparison.ComparedRuns(before, after, ("original", "branch"), open_.edit_texts)
    )
