"""What commands open, by name: one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from vcdebug.debugger.commands import CommandReply
from vcdebug.files.notes import load_notes, save_notes
from vcdebug.tui.main.background_work import BackgroundWork
from vcdebug.tui.main.current import ScreenState
from vcdebug.tui.main.pages import PageOpener
from vcdebug.views.estimate import TimeEstimate
from vcdebug.views.pages import PAGES

if TYPE_CHECKING:
    from vcdebug.trace.recording import Recording

SURVEY_TEXT: Final = "explaining every job that waits"


class CommandTargets:
    """Opens pages and panels, and reads and writes files, as commands ask; `by_name` has all of it."""

    def __init__(
        self,
        current: ScreenState,
        pages: PageOpener,
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
            "report": self._write_report,
            "save": self._save_notes,
            "load": self._load_notes,
            "find": self._open_search_results,
            **{name: partial(self._open_page, name) for name in PAGES},
            "waiting": self.open_waiting_jobs,
            **of_screen,
        }

    def open_target(self, name: str, argument: str) -> None:
        """What a command names."""
        self.by_name[name](argument)

    def open_waiting_jobs(self, _: str = "") -> None:
        """Every job that waits, worked out away from the keys: hundreds of jobs take seconds."""
        moment = self._current.moment
        if moment is not None:
            work = partial(self._survey_jobs, moment.recording)
            self._work.start_work(CommandReply(text=SURVEY_TEXT, work=work))

    def _survey_jobs(self, recording: Recording) -> CommandReply:
        from vcdebug.causes.survey import survey_jobs

        estimate = TimeEstimate(monotonic)

        def report_progress(done: int, total: int) -> None:
            self._work.report_progress(f"{SURVEY_TEXT}: {done} of {total}{estimate.time_left('', done, total)}")

        survey_jobs(recording, report_progress)
        return CommandReply(then=self._open_survey)

    def _open_survey(self) -> CommandReply:
        self._pages.open_page("waiting")
        return CommandReply()

    def _open_page(self, name: str, _: str) -> None:
        self._pages.open_page(name)

    def _open_search_results(self, words: str) -> None:
        from vcdebug.views.finding import found_table

        moment = self._current.moment
        if moment is not None:
            self._pages.open_table(found_table(moment.recording, moment.seq, words))

    def _write_report(self, words: str) -> None:
        """Write the report in a worker thread, so that keys are answered meanwhile."""
        from vcdebug.files.report import write_here

        moment, place = self._current.moment, self._place
        if moment is not None:
            work = partial(write_here, moment, words, place)
            self._work.start_work(CommandReply(text="writing the report", work=lambda: CommandReply(text=work())))

    def _save_notes(self, words: str) -> None:
        driver = self._current.driver
        if driver is not None:
            self._current.say(save_notes(driver, words))

    def _load_notes(self, words: str) -> None:
        driver = self._current.driver
        if driver is not None:
            said = load_notes(driver, words)
            self._current.show_moment(driver.current_state())
            self._current.say(said)
