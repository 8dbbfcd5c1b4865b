"""What commands open, by name: one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from vcdebug.debugger.commands import Reply
from vcdebug.files.notes import load_notes, save_notes
from vcdebug.tui.main.background_work import BackgroundWork
from vcdebug.tui.main.current import Current
from vcdebug.tui.main.pages import Pages
from vcdebug.views.estimate import Estimate
from vcdebug.views.pages import PAGES

if TYPE_CHECKING:
    from vcdebug.trace.recording import Recording

SURVEYING: Final = "explaining every job that waits"


class Opening:
    """Opens pages and panels, and reads and writes files, as commands ask; `by_name` has all of it."""

    def __init__(
        self,
        current: Current,
        pages: Pages,
        work: BackgroundWork,
        place: str,
        of_screen: Mapping[str, Callable[[str], object]],
    ) -> None:
        self._current = current
        self._pages = pages
        self._work = work
        self._place = place
        """What a command line calls the snapshot."""
        self.by_name: Mapping[str, Callable[[str], object]] = {
            "report": self._report,
            "save": self._save,
            "load": self._load,
            "find": self._find,
            **{name: partial(self._page, name) for name in PAGES},
            "waiting": self.waiting,
            **of_screen,
        }

    def open(self, name: str, argument: str) -> None:
        """What a command names."""
        self.by_name[name](argument)

    def waiting(self, _: str = "") -> None:
        """Every job that waits, worked out away from the keys: hundreds of jobs take seconds."""
        moment = self._current.moment
        if moment is not None:
            work = partial(self._survey, moment.recording)
            self._work.start(Reply(text=SURVEYING, work=work))

    def _survey(self, recording: Recording) -> Reply:
        from vcdebug.causes.survey import survey

        estimate = Estimate(monotonic)

        def tell(done: int, total: int) -> None:
            self._work.tell(f"{SURVEYING}: {done} of {total}{estimate.left('', done, total)}")

        survey(recording, tell)
        return Reply(then=self._surveyed)

    def _surveyed(self) -> Reply:
        self._pages.open_page("waiting")
        return Reply()

    def _page(self, name: str, _: str) -> None:
        self._pages.open_page(name)

    def _find(self, words: str) -> None:
        from vcdebug.views.finding import finding

        moment = self._current.moment
        if moment is not None:
            self._pages.open(finding(moment.recording, moment.seq, words))

    def _report(self, words: str) -> None:
        """Write the report in a worker thread, so that keys are answered meanwhile."""
        from vcdebug.files.report import write_here

        moment, place = self._current.moment, self._place
        if moment is not None:
            work = partial(write_here, moment, words, place)
            self._work.start(Reply(text="writing the report", work=lambda: Reply(text=work())))

    def _save(self, words: str) -> None:
        driver = self._current.driver
        if driver is not None:
            self._current.say(save_notes(driver, words))

    def _load(self, words: str) -> None:
        driver = self._current.driver
        if driver is not None:
            said = load_notes(driver, words)
            self._current.show(driver.moment())
            self._current.say(said)
