"""Questions about what the cursor is on: answered away from the keys, and remedies that are carried out meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import count_noun
from vcdebug.debugger.commands import CommandError, CommandReply
from vcdebug.debugger.commands.what_if import carry_out
from vcdebug.tui.main.background_work import BackgroundWork
from vcdebug.tui.main.current import LayOver, ScreenState
from vcdebug.tui.main.pages import PageOpener
from vcdebug.tui.screens.page import PageScreen
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.base import Table
from vcdebug.views.pages import Page
from vcdebug.views.pending import job_at

if TYPE_CHECKING:
    from vcdebug.debugger.remedies.plan import TriedPlan
    from vcdebug.debugger.remedies.search import FixSearch
    from vcdebug.debugger.remedies.trial import EditTexts, TrialOutcome
    from vcdebug.questions.reply import NamedQuestion
    from vcdebug.trace.recording import Recording

SEARCH_SECONDS: Final = 60.0
"""Seconds after which what was found is shown."""
QUESTION_PAGE: Final = Page(lambda _: Table("Questions"), lambda row: (row.key,), "Enter asks it")
FIX_PAGE: Final = Page(lambda _: Table("Remedies"), lambda row: (row.key,), "Enter makes the change, in a branch")


@dataclass(eq=False)
class QuestionCommands:
    """Asks about the row under the cursor, else about the present job, pod, node or queue."""

    current: ScreenState
    work: BackgroundWork
    pages: PageOpener
    lay_over: LayOver
    focused: Callable[[], Grid]
    run: Callable[[str], None]
    show: Callable[[CommandReply], None]

    def _cursor_subject(self) -> tuple[str, str]:
        row = self.focused().cursor_row
        return row.subject if row is not None else ("", "")

    # Questions

    def ask_question(self, words: str = "") -> None:
        """A question by its name; without one, all that fit."""
        from vcdebug.views.questions import question_named, questions_table, subject_of

        moment = self.current.moment
        if self.current.ready_driver() is None or moment is None:
            return
        if not words:
            self.lay_over(
                PageScreen(questions_table(moment, *self._cursor_subject()), QUESTION_PAGE),
                lambda command: self.run(command or ""),
            )
            return
        name, _, about = words.partition(" ")
        try:
            question = question_named(name)
        except CommandError as error:
            self.current.say(error.format_line(), error=True)
            return
        subject = about.strip() or subject_of(moment, question, *self._cursor_subject())
        work = partial(self._answer_question, moment.recording, question, subject)
        self.work.start_work(CommandReply(text=f"answering: {question.words}", work=work))

    def _answer_question(self, recording: Recording, question: NamedQuestion, subject: str) -> CommandReply:
        from vcdebug.views.questions import answer_table

        table = answer_table(question, subject, question.answer(recording, subject))
        return CommandReply(then=partial(self.pages.open_after_work, table))

    # Remedies

    def search_fixes(self, name: str = "") -> None:
        """Look for changes that let a job in; each is carried out and replayed before it is shown."""
        moment = self.current.moment
        if self.current.ready_driver() is None or moment is None:
            return
        job = name or job_at(moment, *self._cursor_subject())
        if not job:
            self.current.say("no job here: put the cursor on one, or :prove JOB", error=True)
            return
        about = f"trying what lets {job} in"
        self.work.start_work(CommandReply(text=about, work=partial(self._search_fixes, moment.recording, job, about)))

    def _search_fixes(self, recording: Recording, job: str, about: str) -> CommandReply:
        """In the thread: trials one after the other, as long as somebody waits."""
        from vcdebug.causes.pending import explain_by_name
        from vcdebug.debugger.remedies.prove import start_search, trials_of
        from vcdebug.debugger.remedies.search import run_search

        explanation = explain_by_name(recording, job)
        if explanation.scheduled:
            return CommandReply(text=f"{explanation.job} has what it needs: there is nothing to try")
        search, trials = start_search(recording, explanation), trials_of(recording, explanation)
        end = monotonic() + SEARCH_SECONDS

        def may_continue(_: FixSearch | None = None) -> bool:
            return self.work.is_wanted() and monotonic() < end

        def try_edits(edits: list[EditTexts]) -> list[TrialOutcome | None]:
            found = len([one for one in search.best_plans if one.is_proven])
            self.work.report_progress(f"{about}: {count_noun(search.trial_count, 'cycle')}, {found} found")
            return [trials(one) if may_continue() else None for one in edits]

        run_search(search, try_edits, may_continue)
        return CommandReply(then=partial(self._show_fixes, search, explanation.job))

    def _show_fixes(self, search: FixSearch, job: str) -> CommandReply:
        from vcdebug.views.remedies import fixes_table

        found = search.best_plans
        self.lay_over(PageScreen(fixes_table(search, job), FIX_PAGE), partial(self._apply_fix, found))
        return CommandReply()

    def _apply_fix(self, found: list[TriedPlan], place: str | None) -> None:
        """Make the change that was chosen: original and branch lie side by side then."""
        driver = self.current.ready_driver() if place else None
        if driver is not None and place:
            remedy = found[int(place)]
            self.show(carry_out(driver, remedy.plan.all_edits, remedy.plan_words))
