"""Pages over the screen: a whole cell, a node, queue or job, why a job waits, the help, pages whose rows lead on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from vcdebug.debugger.commands import Reply
from vcdebug.debugger.figures import Figure
from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq
from vcdebug.trace.moment import NotReachedError, as_long_as, without_waiting
from vcdebug.tui.clipboard import Clipboard
from vcdebug.tui.main.background_work import BackgroundWork
from vcdebug.tui.main.current import Current, LayOver
from vcdebug.tui.screens.detail import DetailScreen
from vcdebug.tui.screens.page import PageScreen
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.base import Table
from vcdebug.views.pages import PAGES
from vcdebug.views.pending import explanation, job_at


@dataclass(eq=False)
class Pages:
    """Opens pages, and runs the command that a page is closed with."""

    current: Current
    work: BackgroundWork
    lay_over: LayOver
    clipboard: Clipboard
    go: Callable[[Seq], None]
    follow: Callable[[Figure], None]
    run: Callable[[str], None]

    def open(self, table: Table) -> None:
        """Show a table; its rows lead to events, its numbers to who wrote them."""
        self.lay_over(DetailScreen(table, self.clipboard), self._closed)

    def _closed(self, chosen: Seq | Figure | None) -> None:
        if isinstance(chosen, Figure):
            self.follow(chosen)
        elif chosen:
            self.go(chosen)

    def open_cell(self, asked: Grid.Opened) -> None:
        """The page of a node, queue or job, else the whole row."""
        from vcdebug.views.detail import cell_detail, subject_detail

        moment, (kind, name) = self.current.moment, asked.row.subject
        if moment is None or not name or asked.column != 0:
            self.open(cell_detail(asked.table, asked.row, asked.column))
            return

        def page() -> Table:
            found = subject_detail(moment.recording, moment.seq, kind, name)
            return cell_detail(asked.table, asked.row, asked.column) if found is None else found

        self._open_when_known(page)

    def _open_when_known(self, page: Callable[[], Table]) -> None:
        """At once, else when the cycle has run again as far as the page asks for."""
        try:
            with without_waiting():
                table = page()
        except NotReachedError as missing:
            about = f"running the cycle again up to event {missing.seq}"
            self.work.start(Reply(text=about, work=partial(self._after_run, page)))
        else:
            self.open(table)

    def _after_run(self, page: Callable[[], Table]) -> Reply:
        with as_long_as(lambda _, __: self.work.wanted()):
            table = page()
        return Reply(then=partial(self.opened, table))

    def opened(self, table: Table) -> Reply:
        """As open, at the end of long work."""
        self.open(table)
        return Reply()

    def explain(self, name: str, subject: tuple[str, str]) -> bool:
        """Why a job waits: the one named, the subject's, the present one; False where there is none."""
        moment = self.current.moment
        if self.current.ready() is None or moment is None:
            return True
        name = name or job_at(moment, *subject)
        if not name:
            return False
        try:
            self.open(explanation(moment.recording, name))
        except VcdebugError as error:
            self.current.say(error.line(), error=True)
        return True

    def open_page(self, name: str) -> None:
        """A page whose rows are commands."""
        moment = self.current.moment
        if moment is not None:
            page = PAGES[name]
            self.lay_over(PageScreen(page.view(moment), page), self._page_closed)

    def _page_closed(self, command: str | None) -> None:
        if command:
            self.run(command)
