"""What commands can open, by name: one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from vcdebug.cli.reports.notes import load_notes, save_notes
from vcdebug.debugger.commands import Reply
from vcdebug.tui.panels.log import LogPanel
from vcdebug.views.finding import finding
from vcdebug.views.pages import PAGES
from vcdebug.views.waiting import survey_of

if TYPE_CHECKING:
    from vcdebug.tui.screens.commanding import Commanding
    from vcdebug.tui.screens.supposing import Supposing


def _log(screen: Supposing, level: str) -> None:
    screen.show_panel("log")
    if level:
        screen.query_one(LogPanel).set_level(int(level))


def _page(name: str) -> Callable[[Supposing, str], object]:
    return lambda screen, _: screen.open_page(name)


def _find(screen: Commanding, words: str) -> None:
    """The list lies over the screen."""
    moment = screen.moment
    if moment is not None:
        screen.open_detail(finding(moment.recording, moment.seq, words))


def _waiting(screen: Supposing, _: str) -> None:
    """Worked out away from the keys: hundreds of jobs take seconds."""
    moment = screen.moment
    if moment is None:
        return

    def shown() -> Reply:
        screen.open_page("waiting")
        return Reply()

    def work() -> Reply:
        survey_of(moment.recording)
        return Reply(then=shown)

    screen.start_work(Reply(text="explaining every job that waits", work=work))


def _report(screen: Commanding, words: str) -> None:
    """Written away from the keys."""
    from vcdebug.cli.reports.report import write_here

    moment, place = screen.moment, screen.start.place()
    if moment is not None:
        screen.start_work(Reply(text="writing the report", work=lambda: Reply(text=write_here(moment, words, place))))


def _save(screen: Commanding, words: str) -> None:
    if screen.driver is not None:
        screen.say(save_notes(screen.driver, words))


def _load(screen: Commanding, words: str) -> None:
    if screen.driver is not None:
        said = load_notes(screen.driver, words)
        screen.moment = screen.driver.moment()
        screen.say(said)


OPENS: Final[Mapping[str, Callable[[Supposing, str], object]]] = {
    "help": lambda screen, _: screen.action_help(),
    "explain": lambda screen, job: screen.action_explain(job),
    "panel": lambda screen, name: screen.show_panel(name),
    "log": _log,
    "report": _report,
    "save": _save,
    "load": _load,
    "find": _find,
    "theme": lambda screen, name: screen.choose_theme(name),
    "filter": lambda screen, text: screen.grid.set_filter(text),
    "open": lambda screen, snapshot: screen.leave(lambda: screen.dismiss(snapshot)),
    "quit": lambda screen, _: screen.leave(lambda: screen.app.exit(0)),
    **{name: _page(name) for name in PAGES},
    "waiting": _waiting,
}
