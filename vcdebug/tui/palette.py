"""The palette: everything by name, found by some of its letters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.fuzzy import Matcher

from vcdebug.debugger import commands
from vcdebug.debugger.commands import Verb
from vcdebug.debugger.driver import DebuggerState
from vcdebug.tui.panels import PANELS
from vcdebug.tui.themes import THEMES

MAX_JOBS = 2_000


@runtime_checkable
class PaletteScreen(Protocol):
    """The screen that the palette acts on."""

    @property
    def moment(self) -> DebuggerState | None: ...
    def run_command(self, text: str) -> None: ...
    def type_command(self, text: str) -> None: ...
    def show_panel(self, name: str) -> None: ...


class PaletteEntry(NamedTuple):
    """One line of the palette."""

    name: str
    help: str
    run: Callable[[], None]


class PaletteProvider(Provider):
    """Commands, panels, jobs and themes."""

    async def discover(self) -> Hits:
        """Before anything is typed: panels and commands."""
        for entry in (*panel_entries(self._main_screen), *verb_entries(self._main_screen)):
            yield DiscoveryHit(Content(entry.name), entry.run, entry.name, entry.help)

    async def search(self, query: str) -> Hits:
        """What matches, the best first."""
        matcher = self.matcher(query)
        for entry in palette_entries(self._main_screen):
            score = matcher.match(entry.name)
            if score > 0:
                yield Hit(score, highlight_matches(matcher, entry.name), entry.run, entry.name, entry.help)

    @property
    def _main_screen(self) -> PaletteScreen:
        screen: object = self.screen
        assert isinstance(screen, PaletteScreen)
        return screen


def highlight_matches(matcher: Matcher, name: str) -> Content:
    """The letters that match stand out; the matcher's own method takes brackets for markup and drops them."""
    content = Content(name)
    for offset in matcher.fuzzy_search.match(matcher.query, name)[1]:
        content = content.stylize(matcher.match_style, offset, offset + 1)
    return content


def palette_entries(main: PaletteScreen) -> Iterator[PaletteEntry]:
    """Every line, for the moment that the screen shows."""
    yield from panel_entries(main)
    yield from verb_entries(main)
    for name in THEMES:
        yield PaletteEntry(f"theme {name}", "what the screen looks like", partial(main.run_command, f"theme {name}"))
    if main.moment is not None:
        for job in list(main.moment.recording.session.jobs)[:MAX_JOBS]:
            yield PaletteEntry(f"explain {job}", "why it waits", partial(main.run_command, f"explain {job}"))
            yield PaletteEntry(f"about job {job}", "its next event", partial(main.run_command, f"about job {job}"))


def panel_entries(main: PaletteScreen) -> Iterator[PaletteEntry]:
    """Every panel."""
    for panel in PANELS:
        yield PaletteEntry(f"panel {panel.title}", panel.help, partial(main.show_panel, panel.command_name))


def verb_entries(main: PaletteScreen) -> Iterator[PaletteEntry]:
    """Every command; one that needs words opens the line with its name."""
    for verb in commands.list_verbs():
        yield PaletteEntry(f"{verb.names[0]} {verb.usage}".rstrip(), verb.help, partial(_take_verb, main, verb))


def _take_verb(main: PaletteScreen, verb: Verb) -> None:
    if verb.usage and not verb.usage.startswith("["):
        main.type_command(f"{verb.names[0]} ")
    else:
        main.run_command(verb.names[0])
