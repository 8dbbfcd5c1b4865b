"""The palette: everything by name, found by some of its letters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.fuzzy import Matcher

from vcdebug.debugger.commands import VERBS, Verb
from vcdebug.tui.panels import PANELS
from vcdebug.tui.themes import THEMES

if TYPE_CHECKING:
    from vcdebug.tui.screens.habits import Habits

MOST_JOBS = 2_000


class Entry(NamedTuple):
    """One line of the palette."""

    name: str
    help: str
    run: Callable[[], None]


class Everything(Provider):
    """Commands, panels, jobs and themes."""

    async def discover(self) -> Hits:
        """Before anything is typed: panels and commands."""
        for entry in (*panels(self._main), *verbs(self._main)):
            yield DiscoveryHit(Content(entry.name), entry.run, entry.name, entry.help)

    async def search(self, query: str) -> Hits:
        """What matches, the best first."""
        matcher = self.matcher(query)
        for entry in entries(self._main):
            score = matcher.match(entry.name)
            if score > 0:
                yield Hit(score, highlighted(matcher, entry.name), entry.run, entry.name, entry.help)

    @property
    def _main(self) -> Habits:
        from vcdebug.tui.screens.habits import Habits

        assert isinstance(self.screen, Habits)
        return self.screen


def highlighted(matcher: Matcher, name: str) -> Content:
    """The letters that match stand out; the matcher's own method takes brackets for markup and drops them."""
    content = Content(name)
    for offset in matcher.fuzzy_search.match(matcher.query, name)[1]:
        content = content.stylize(matcher.match_style, offset, offset + 1)
    return content


def entries(main: Habits) -> Iterator[Entry]:
    """Every line, for the moment that the screen shows."""
    yield from panels(main)
    yield from verbs(main)
    for name in THEMES:
        yield Entry(f"theme {name}", "what the screen looks like", partial(main.run_command, f"theme {name}"))
    if main.moment is not None:
        for job in list(main.moment.recording.session.jobs)[:MOST_JOBS]:
            yield Entry(f"explain {job}", "why it waits", partial(main.run_command, f"explain {job}"))
            yield Entry(f"about job {job}", "its next event", partial(main.run_command, f"about job {job}"))


def panels(main: Habits) -> Iterator[Entry]:
    """Every panel."""
    for panel in PANELS:
        yield Entry(f"panel {panel.TITLE}", panel.HELP, partial(main.show_panel, panel.TITLE.lower()))


def verbs(main: Habits) -> Iterator[Entry]:
    """Every command; one that needs words opens the line with its name."""
    for verb in VERBS:
        yield Entry(f"{verb.names[0]} {verb.usage}".rstrip(), verb.help, partial(_take, main, verb))


def _take(main: Habits, verb: Verb) -> None:
    if verb.usage and not verb.usage.startswith("["):
        main.type_command(f"{verb.names[0]} ")
    else:
        main.run_command(verb.names[0])
