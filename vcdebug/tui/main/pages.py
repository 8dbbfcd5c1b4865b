"""Pages over the main screen, questions and tried fixes, lessons, and what commands open by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import TimeEstimate, count_noun
from vcdebug.debugger.commands import CommandReply
from vcdebug.debugger.commands.what_if import apply_edits_together
from vcdebug.debugger.driver import DebuggerState
from vcdebug.debugger.figures import RESOURCE_KINDS, Figure
from vcdebug.files.text_files import load_notes, save_notes
from vcdebug.recording.replay import RerunCancelledError, cancellable, is_large, refuse_long_runs
from vcdebug.tui.main.command_line import ScreenTools
from vcdebug.tui.main.cursor_commands import CopyCommands, MarkCommands, WhatIfCommands
from vcdebug.tui.screens.pages import AnswerScreen, Choice, PageScreen, SubjectScreen, TableScreen
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.worker import NextScreen
from vcdebug.views.document import name_jobs_of_table
from vcdebug.views.overview import SURVEY_TEXT
from vcdebug.views.panels import PAGES, Page, lessons_table
from vcdebug.views.pending import explanation_table, job_at
from vcdebug.views.pieces import make_line
from vcdebug.views.table import Table

if TYPE_CHECKING:
    from vcdebug.debugger.lesson import Lesson
    from vcdebug.explain.answer import Explanation, NamedQuestion
    from vcdebug.recording.recording import Recording
    from vcdebug.whatif.fixes.plan import TriedPlan
    from vcdebug.whatif.fixes.search import FixSearch
    from vcdebug.whatif.fixes.trial import EditTexts, TrialOutcome


class PageOpener(Struct, eq=False):
    """Opens pages and carries out the choice with which a page closes."""

    tools: ScreenTools
    follow: Callable[[Figure], None]

    def open_table(self, table: Table, kind: str = "") -> None:
        """Show a table, whose rows lead to events and whose figures lead to their last change.

        `kind`: that of the row under the cursor, if the table is about it.
        """
        shown = self.name_jobs(table), self.tools.clipboard
        self.tools.lay_over(SubjectScreen(*shown, kind) if kind else TableScreen(*shown), self._follow_choice)

    def name_jobs(self, table: Table) -> Table:
        """The table with workloads in place of PodGroups."""
        moment = self.tools.current.moment
        return table if moment is None else name_jobs_of_table(table, moment.recording.job_names)

    def _follow_choice(self, choice: Choice | None) -> None:
        if isinstance(choice, Figure):
            self.follow(choice)
        elif isinstance(choice, str):
            self.tools.commands.run_command(choice)
        elif isinstance(choice, int) and choice:
            self.tools.go_to_event(choice)

    def open_cell(self, event: Grid.Opened) -> None:
        """Show the page of the row's node, queue or job, else the whole cell."""
        from vcdebug.views.event_view import cell_detail

        moment, (kind, name) = self.tools.current.moment, event.row.subject
        if moment is None or not name or event.column != 0:
            here = moment.number if moment is not None else 0
            self.open_table(cell_detail(event.table, event.row, event.column, here))
            return

        def make_page() -> Table:
            detail = _subject_page(moment, kind, name)
            return cell_detail(event.table, event.row, event.column) if detail is None else detail

        self._open_or_rerun(make_page, partial(self.open_table, kind=kind))

    def _open_or_rerun(self, make_page: Callable[[], Table], open_page: Callable[[Table], None]) -> None:
        """Make and open a page, in a thread if it needs a rerun of the cycle or other long work."""
        try:
            # This thread handles keys, so a rerun of the cycle must run in another one.
            with refuse_long_runs():
                table = make_page()
        except RerunCancelledError as missing:
            self.tools.work.start_work(missing.work, partial(self._open_after_rerun, make_page, open_page))
        else:
            open_page(table)

    def _open_after_rerun(self, make_page: Callable[[], Table], open_page: Callable[[Table], None]) -> CommandReply:
        with cancellable(lambda _, __: self.tools.work.is_wanted()):
            table = make_page()
        return CommandReply(apply=partial(open_page, table))

    def open_explanation(self, name: str, subject: tuple[str, str]) -> bool:
        """Explain the named job, else the subject's, else the current one; returns False without a job."""
        moment = self.tools.current.ready_moment()
        if moment is None:
            return True
        name = name or job_at(moment, *subject)
        if not name:
            return False
        work = partial(self._explain_job, moment.recording, name)
        if is_large(moment.recording) and not self.tools.work.work_description:
            self.tools.work.start_work(f"explaining {name}", work)
        else:
            self.tools.current.attempt_task(lambda: self.tools.commands.show_reply(work()))
        return True

    def _explain_job(self, recording: Recording, name: str) -> CommandReply:
        # The rules are many modules, which most sessions never need.
        from vcdebug.explain.pending.explanation import explain_by_name

        answer = explain_by_name(recording, name)
        return CommandReply(apply=partial(self._show_answer, recording, name, answer))

    def _show_answer(self, recording: Recording, name: str, answer: Explanation) -> None:
        """Open the page of an answer, and test fixes in a thread."""
        tests_fixes = not self.tools.work.work_description
        waits_for_fixes = tests_fixes and answer.wants_fixes
        table = self.name_jobs(explanation_table(recording, answer, None if waits_for_fixes else ()))
        page = AnswerScreen(table, self.tools.clipboard, name if answer.wants_fixes else "")
        self.tools.lay_over(page, partial(self._follow_answer, page))
        if tests_fixes:
            work = partial(self._test_fixes, recording, answer, page)
            self.tools.work.start_work(f"testing fixes for {name}", work)

    def _follow_answer(self, page: AnswerScreen, choice: Choice | None) -> None:
        if isinstance(choice, str) and choice.isdigit():
            self.make_fix(page.plans[int(choice) - 1])
        else:
            self._follow_choice(choice)

    def make_fix(self, tried: TriedPlan) -> None:
        """Make the changes of a tested fix, in a branch."""
        driver = self.tools.current.ready_driver()
        if driver is not None:
            self.tools.commands.show_reply(apply_edits_together(driver, tried.plan.all_edits, tried.plan_words))

    def _test_fixes(self, recording: Recording, answer: Explanation, page: AnswerScreen) -> CommandReply:
        """Test a few fixes in the thread, then show them in place of the page's advice."""
        from vcdebug.whatif.fixes.search import search_few_fixes, short_plans
        from vcdebug.whatif.other_outcomes import describe_short_plans, other_outcomes

        search = None if not answer.wants_fixes else search_few_fixes(recording, answer, self.tools.work.is_wanted)
        plans = short_plans(search) if search is not None else []
        if not self.tools.work.is_wanted():
            return CommandReply()
        others = other_outcomes(recording, answer.job)
        if not plans and not others.warnings and not answer.wants_fixes:
            return CommandReply()
        table = explanation_table(recording, answer, describe_short_plans(recording, answer, plans), others)
        return CommandReply(apply=partial(self._show_tested, page, table, plans))

    def _show_tested(self, page: AnswerScreen, table: Table, plans: list[TriedPlan]) -> None:
        if page.is_attached:
            page.show_fixes(self.name_jobs(table), plans)

    def open_commands(self, table: Table, page: Page) -> None:
        """Show a table whose rows are commands, and run the chosen one."""
        self.tools.lay_over(PageScreen(self.name_jobs(table), page, self.tools.clipboard), self._follow_choice)

    def open_page(self, name: str, argument: str = "") -> None:
        """Show a page by its name; of a page of objects, the one that the argument names."""
        moment, page = self.tools.current.moment, PAGES[name]
        if moment is None:
            return
        from vcdebug.views.event_view import is_namespace  # most sessions open no page

        make_table = partial(page.view, moment, *filter(None, (argument,)))
        kind = RESOURCE_KINDS.get(name)
        if argument and kind is not None and not is_namespace(moment.recording, kind, argument):
            self._open_or_rerun(make_table, self.open_table)
        else:
            self._open_or_rerun(make_table, partial(self.open_commands, page=page))


def _subject_page(moment: DebuggerState, kind: str, name: str) -> Table | None:
    """The page of a row's subject, if it has one; that of a job begins with its PodGroup's own name."""
    from vcdebug.views.event_view import subject_detail

    detail = subject_detail(moment.recording, moment.seq, kind, name)
    fact = moment.recording.job_names.group_facts.get(name) if kind == "job" else None
    return detail if detail is None or fact is None else replace(detail, header=(make_line(fact), *detail.header))


SEARCH_SECONDS: Final = 60.0
"""Seconds after which a search for fixes ends."""
QUESTION_PAGE: Final = Page(lambda _: Table("Questions"), lambda row: (row.key,), "Enter asks it")
FIX_PAGE: Final = Page(lambda _: Table("Remedies"), lambda row: (row.key,), "Enter makes the change, in a branch")


class QuestionCommands(Struct, eq=False):
    """Questions and fixes about the row under the cursor, else about the current job, pod, node or queue."""

    tools: ScreenTools
    pages: PageOpener

    def _cursor_subject(self) -> tuple[str, str]:
        row = self.tools.focused().cursor_row
        return row.subject if row is not None else ("", "")

    def ask_question(self, words: str = "") -> None:
        """Ask a question by its name and subject; without a name, list those that fit. Raises CommandError."""
        from vcdebug.views.pending import question_named, questions_table, subject_of

        moment = self.tools.current.ready_moment()
        if moment is None:
            return
        if not words:
            self.pages.open_commands(questions_table(moment, *self._cursor_subject()), QUESTION_PAGE)
            return
        name, _, subject_text = words.partition(" ")
        question = question_named(name)
        subject = subject_text.strip() or subject_of(moment, question, *self._cursor_subject())
        work = partial(self._answer_question, moment.recording, question, subject)
        self.tools.work.start_work(f"answering: {question.question_text}", work)

    def _answer_question(self, recording: Recording, question: NamedQuestion, subject: str) -> CommandReply:
        from vcdebug.views.pending import answer_table

        table = answer_table(question, subject, question.answer(recording, subject))
        return CommandReply(apply=partial(self.pages.open_table, table))

    def search_fixes(self, name: str = "") -> None:
        """Search changes that get a job placed; each is replayed before it is shown."""
        moment = self.tools.current.ready_moment()
        if moment is None:
            return
        job = name or job_at(moment, *self._cursor_subject())
        if not job:
            self.tools.current.show_message("no job here: put the cursor on one, or :prove JOB", error=True)
            return
        words = f"testing fixes for {job}"
        self.tools.work.start_work(words, partial(self._search_fixes, moment.recording, job, words))

    def _search_fixes(self, recording: Recording, job: str, progress_text: str) -> CommandReply:
        """Run trials in the work's thread while they are wanted: for SEARCH_SECONDS, and as long as the answer did."""
        from vcdebug.explain.pending.explanation import explain_by_name
        from vcdebug.whatif.fixes.search import run_search, start_search, wants_short_search
        from vcdebug.whatif.fixes.trial import FixTrials

        explanation = explain_by_name(recording, job)
        if not explanation.wants_fixes:
            return CommandReply(text=f"{explanation.job} has what it needs: there is nothing to try")
        search, trials = start_search(recording, explanation), FixTrials.of_recording(recording, explanation)
        deadline = monotonic() + SEARCH_SECONDS

        work = self.tools.work

        def may_continue(_: FixSearch | None = None) -> bool:
            return work.is_wanted() and (monotonic() < deadline or wants_short_search(recording, search))

        def try_edits(edit_lists: list[EditTexts]) -> list[TrialOutcome | None]:
            fix_count = len([one for one in search.best_plans if one.is_proven])
            work.report_progress(f"{progress_text}: {count_noun(search.trial_count, 'cycle')}, {fix_count} found")
            return [trials(one) if may_continue() else None for one in edit_lists]

        run_search(search, try_edits, may_continue)
        return CommandReply(apply=partial(self._show_fixes, search, explanation.job))

    def _show_fixes(self, search: FixSearch, job: str) -> None:
        from vcdebug.views.pending import fixes_table

        plans = search.best_plans
        table = self.pages.name_jobs(fixes_table(search, job))
        page = PageScreen(table, FIX_PAGE, self.tools.clipboard)
        self.tools.lay_over(page, partial(self._apply_fix, plans))

    def _apply_fix(self, plans: list[TriedPlan], choice: object) -> None:
        if choice and isinstance(choice, str):
            self.pages.make_fix(plans[int(choice)])


LESSON_PAGE: Final = Page(lambda _: Table("Lessons"), lambda row: (row.key,), "Enter opens it")


@dataclass(eq=False)
class LessonCommands:
    """Opens lessons, at the first step that is not answered."""

    tools: ScreenTools
    pages: PageOpener
    _open: str = field(default="", init=False)
    """The lesson that was opened last."""

    def open_lesson(self, name: str = "") -> None:
        """Open a lesson by its name; without one, continue the last one, else list all. Raises LessonError."""
        from vcdebug.debugger.lesson import find_lesson, list_lessons

        name = name or self._open
        moment = self.tools.current.moment
        if moment is None:
            return
        if not name:
            self.pages.open_commands(lessons_table(list_lessons(), self.tools.store.answered_steps()), LESSON_PAGE)
            return
        lesson = find_lesson(name)
        if moment.recording.snapshot.name != lesson.snapshot:
            self.tools.open_next(NextScreen(lesson.snapshot, lesson=name))
            return
        # A completed lesson starts again from the first step.
        answered = self.tools.store.answered_steps().get(lesson.name, 0)
        self._open_step(lesson, answered % len(lesson.steps) + 1)

    def _open_step(self, lesson: Lesson, number: int) -> None:
        from vcdebug.debugger.lesson import find_place, show_cycle
        from vcdebug.tui.screens.dialogs import LessonScreen

        driver = self.tools.current.ready_driver()
        if driver is None:
            return
        self._open = lesson.name
        step = lesson.steps[number - 1]
        recordings = show_cycle(driver.open_recordings, step.cycle)
        recording = recordings.shown_recording
        self.tools.current.show_moment(driver.goto_in(recordings, find_place(step, recording)))
        screen = LessonScreen(lesson, number, recording, self.tools.store.save_answered)
        self.tools.lay_over(screen, partial(self._after_step, lesson, number))

    def _after_step(self, lesson: Lesson, number: int, goes_on: bool | None) -> None:
        from vcdebug.debugger.lesson import next_lesson

        if goes_on and number < len(lesson.steps):
            self._open_step(lesson, number + 1)
        elif goes_on:
            self._open = ""
            following = f":lesson {next_lesson(self.tools.store.answered_steps())} opens the next one"
            self.tools.current.show_message(f"lesson {lesson.name} is done; {following}, :lesson lists all")


class ScreenParts:
    """What keys and commands use beyond moving, and the targets that commands open by name."""

    def __init__(self, tools: ScreenTools, of_screen: Mapping[str, Callable[[str], object]]) -> None:
        """`of_screen`: callbacks of the commands that act on the screen itself, by name."""
        self.tools = tools
        self.mark_commands = MarkCommands(tools)
        self.what_if_commands = WhatIfCommands(tools)
        self.copy_commands = CopyCommands(tools)
        self.page_opener = PageOpener(tools, self.mark_commands.follow_figure)
        self.question_commands = QuestionCommands(tools, self.page_opener)
        lessons = LessonCommands(tools, self.page_opener)
        self.targets: Mapping[str, Callable[[str], object]] = {
            "report": self._write_report,
            "save": self._save_notes,
            "load": self._load_notes,
            **{name: partial(self.page_opener.open_page, name) for name in PAGES},
            "waiting": self.open_waiting_jobs,
            "ask": self.question_commands.ask_question,
            "prove": self.question_commands.search_fixes,
            "lesson": lessons.open_lesson,
            **of_screen,
        }

    def open_waiting_jobs(self, cause: str = "", *, opens_only_job: bool = False) -> None:
        """Explain all pending jobs in a thread, since hundreds take seconds, and list them, or those of a cause.

        With `opens_only_job`, the answer of a Pending job that is the only one is shown in place of the list.
        """
        moment = self.tools.current.moment
        if moment is not None:
            survey = partial(self._survey_jobs, moment.recording, cause, opens_only_job=opens_only_job)
            self.tools.work.start_work(SURVEY_TEXT, survey)

    def _survey_jobs(self, recording: Recording, cause: str, *, opens_only_job: bool) -> CommandReply:
        from vcdebug.explain.pending.survey import survey_jobs

        estimate = TimeEstimate(monotonic)

        def report_progress(done: int, total: int) -> None:
            self.tools.work.report_progress(f"{SURVEY_TEXT}: {done} of {total}{estimate.time_left('', done, total)}")

        survey = survey_jobs(recording, report_progress)
        rows = (*survey.unscheduled_jobs, *survey.partly_waiting_jobs)
        if opens_only_job and len(rows) == 1:
            return CommandReply(show="explain", argument=rows[0].explanation.subject_name)
        return CommandReply(apply=partial(self.page_opener.open_page, "waiting", cause))

    def _write_report(self, words: str) -> None:
        """Write the report in a worker thread, so that keys are answered meanwhile."""
        from vcdebug.files.report_file import write_here

        moment, snapshot_name = self.tools.current.moment, self.tools.snapshot_word
        if moment is not None:
            write = partial(write_here, moment, words, snapshot_name)
            self.tools.work.start_work("writing the report", lambda: CommandReply(text=write()))

    def _save_notes(self, words: str) -> None:
        driver = self.tools.current.driver
        if driver is not None:
            self.tools.current.show_message(save_notes(driver, words))

    def _load_notes(self, words: str) -> None:
        driver = self.tools.current.driver
        if driver is not None:
            message = load_notes(driver, words)
            self.tools.current.show_moment(driver.current_state())
            self.tools.current.show_message(message)
