"""Questions about what the cursor is on: answered away from the keys, and remedies that are carried out meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import plural
from vcdebug.debugger.commands import CommandError, Reply
from vcdebug.debugger.commands.what_if import carry_out
from vcdebug.tui.main.background_work import BackgroundWork
from vcdebug.tui.main.current import Current, LayOver
from vcdebug.tui.main.pages import Pages
from vcdebug.tui.screens.page import PageScreen
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.base import Table
from vcdebug.views.pages import Page
from vcdebug.views.pending import job_at

if TYPE_CHECKING:
    from vcdebug.debugger.remedies.plan import Remedy
    from vcdebug.debugger.remedies.search import Search
    from vcdebug.debugger.remedies.trial import Edits, Outcome
    from vcdebug.questions.reply import Question
    from vcdebug.trace.recording import Recording

BUDGET: Final = 60.0
"""Seconds after which what was found is shown."""
MENU: Final = Page(lambda _: Table("Questions"), lambda row: (row.key,), "Enter asks it")
REMEDIES: Final = Page(lambda _: Table("Remedies"), lambda row: (row.key,), "Enter makes the change, in a branch")


@dataclass(eq=False)
class Asking:
    """Asks about the row under the cursor, else about the present job, pod, node or queue."""

    current: Current
    work: BackgroundWork
    pages: Pages
    lay_over: LayOver
    focused: Callable[[], Grid]
    run: Callable[[str], None]
    show: Callable[[Reply], None]

    def _subject(self) -> tuple[str, str]:
        row = self.focused().cursor_row
        return row.subject if row is not None else ("", "")

    # Questions

    def ask(self, words: str = "") -> None:
        """A question by its name; without one, all that fit."""
        from vcdebug.views.questions import question_named, questions, subject_of

        moment = self.current.moment
        if self.current.ready() is None or moment is None:
            return
        if not words:
            self.lay_over(
                PageScreen(questions(moment, *self._subject()), MENU), lambda command: self.run(command or "")
            )
            return
        name, _, about = words.partition(" ")
        try:
            question = question_named(name)
        except CommandError as error:
            self.current.say(error.line(), error=True)
            return
        subject = about.strip() or subject_of(moment, question, *self._subject())
        work = partial(self._answer, moment.recording, question, subject)
        self.work.start(Reply(text=f"answering: {question.words}", work=work))

    def _answer(self, recording: Recording, question: Question, subject: str) -> Reply:
        from vcdebug.views.questions import answered

        table = answered(question, subject, question.answer(recording, subject))
        return Reply(then=partial(self.pages.opened, table))

    # Remedies

    def prove(self, name: str = "") -> None:
        """Look for changes that let a job in; each is carried out and replayed before it is shown."""
        moment = self.current.moment
        if self.current.ready() is None or moment is None:
            return
        job = name or job_at(moment, *self._subject())
        if not job:
            self.current.say("no job here: put the cursor on one, or :prove JOB", error=True)
            return
        about = f"trying what lets {job} in"
        self.work.start(Reply(text=about, work=partial(self._search, moment.recording, job, about)))

    def _search(self, recording: Recording, job: str, about: str) -> Reply:
        """In the thread: trials one after the other, as long as somebody waits."""
        from vcdebug.causes.pending import explain
        from vcdebug.debugger.remedies.prove import search_for, trials_of
        from vcdebug.debugger.remedies.search import carried_out

        explanation = explain(recording, job)
        if explanation.scheduled:
            return Reply(text=f"{explanation.job} has what it needs: there is nothing to try")
        search, trials = search_for(recording, explanation), trials_of(recording, explanation)
        end = monotonic() + BUDGET

        def going(_: Search | None = None) -> bool:
            return self.work.wanted() and monotonic() < end

        def tried(edits: list[Edits]) -> list[Outcome | None]:
            found = len([one for one in search.remedies if one.proven])
            self.work.tell(f"{about}: {plural(search.trials, 'cycle')}, {found} found")
            return [trials(one) if going() else None for one in edits]

        carried_out(search, tried, going)
        return Reply(then=partial(self._found, search, explanation.job))

    def _found(self, search: Search, job: str) -> Reply:
        from vcdebug.views.remedies import remedies

        found = search.remedies
        self.lay_over(PageScreen(remedies(search, job), REMEDIES), partial(self._make, found))
        return Reply()

    def _make(self, found: list[Remedy], place: str | None) -> None:
        """Make the change that was chosen: original and branch lie side by side then."""
        driver = self.current.ready() if place else None
        if driver is not None and place:
            remedy = found[int(place)]
            self.show(carry_out(driver, remedy.plan.edits, remedy.words))
