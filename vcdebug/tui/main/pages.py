"""Pages over the screen: a whole cell, a node, queue or job, why a job waits, the help, pages whose rows lead on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from vcdebug.debugger.commands import CommandReply
from vcdebug.debugger.figures import Figure
from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq
from vcdebug.trace.moment import RerunCancelledError, cancellable, refuse_long_runs
from vcdebug.tui.clipboard import Clipboard
from vcdebug.tui.main.background_work import BackgroundWork
from vcdebug.tui.main.current import LayOver, ScreenState
from vcdebug.tui.screens.detail import DetailScreen
from vcdebug.tui.screens.page import PageScreen
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.base import Table
from vcdebug.views.pages import PAGES
from vcdebug.views.pending import explanation_table, job_at


@dataclass(eq=False)
class PageOpener:
    """Opens pages, and runs the command that a page is closed with."""

    current: ScreenState
    work: BackgroundWork
    lay_over: LayOver
    clipboard: Clipboard
    go: Callable[[Seq], None]
    follow: Callable[[Figure], None]
    run: Callable[[str], None]

    def open_table(self, table: Table) -> None:
        """Show a table; its rows lead to events, its numbers to who wrote them."""
        self.lay_over(DetailScreen(table, self.clipboard), self._follow_choice)

    def _follow_choice(self, chosen: Seq | Figure | None) -> None:
        if isinstance(chosen, Figure):
            self.follow(chosen)
        elif chosen:
            self.go(chosen)

    def open_cell(self, asked: Grid.Opened) -> None:
        """The page of a node, queue or job, else the whole row."""
        from vcdebug.views.detail import cell_detail, subject_detail

        moment, (kind, name) = self.current.moment, asked.row.subject
        if moment is None or not name or asked.column != 0:
            self.open_table(cell_detail(asked.table, asked.row, asked.column))
            return

        def make_page() -> Table:
            found = subject_detail(moment.recording, moment.seq, kind, name)
            return cell_detail(asked.table, asked.row, asked.column) if found is None else found

        self._open_when_known(make_page)

    def _open_when_known(self, page: Callable[[], Table]) -> None:
        """At once, else when the cycle has run again as far as the page asks for."""
        try:
            with refuse_long_runs():
                table = page()
        except RerunCancelledError as missing:
            about = f"running the cycle again up to event {missing.seq}"
            self.work.start_work(CommandReply(text=about, work=partial(self._open_after_rerun, page)))
        else:
            self.open_table(table)

    def _open_after_rerun(self, page: Callable[[], Table]) -> CommandReply:
        with cancellable(lambda _, __: self.work.is_wanted()):
            table = page()
        return CommandReply(then=partial(self.open_after_work, table))

    def open_after_work(self, table: Table) -> CommandReply:
        """As open, at the end of long work."""
        self.open_table(table)
        return CommandReply()

    def open_explanation(self, name: str, subject: tuple[str, str]) -> bool:
        """Why a job waits: the one named, the subject's, the present one; False where there is none."""
        moment = self.current.moment
        if self.current.ready_driver() is None or moment is None:
            return True
        name = name or job_at(moment, *subject)
        if not name:
            return False
        try:
            self.open_table(explanation_table(moment.recording, name))
        except VcdebugError as error:
            self.current.say(error.format_line(), error=True)
        return True

    def open_page(self, name: str) -> None:
        """A page whose rows are commands."""
        moment = self.current.moment
        if moment is not None:
            page = PAGES[name]
            self.lay_over(PageScreen(page.view(moment), page), self._run_chosen)

    def _run_chosen(self, command: str | None) -> None:
        if command:
            self.run(command)
