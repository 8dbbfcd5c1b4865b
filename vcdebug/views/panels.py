"""The panels by name, as tables: what the screen shows around a moment, for front ends without a screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from vcdebug.debugger.commands import VERBS, CommandError
from vcdebug.debugger.driver import Here
from vcdebug.views.base import NO, YES, Column, Piece, Row, Table, line
from vcdebug.views.bookmarks import bookmarks
from vcdebug.views.conf import conf
from vcdebug.views.effects import effects
from vcdebug.views.equation import equation
from vcdebug.views.evictions import evictions_table
from vcdebug.views.flow import around, flow
from vcdebug.views.funnel import funnel
from vcdebug.views.hypernodes import hypernodes
from vcdebug.views.jobs import jobs
from vcdebug.views.log import log
from vcdebug.views.moment import moment
from vcdebug.views.nodes import nodes
from vcdebug.views.order import orders
from vcdebug.views.problems import problems
from vcdebug.views.queues import queues
from vcdebug.views.quirks import quirks
from vcdebug.views.statement import statement
from vcdebug.views.watch import watches

BREAK_COLUMNS = (Column("", right=True), Column(""), Column("breakpoint", flexible=True), Column("stops", right=True))
VERB_COLUMNS = (Column("command"), Column("does", flexible=True))


def _flow(here: Here) -> Table:
    return flow(here.recording, around(here.recording, here.seq), here.seq)


def _breaks(here: Here) -> Table:
    rows = [
        Row(
            str(one.number),
            tuple(map(Piece, (str(one.number), YES if one.enabled else NO, one.text, str(len(one.hits))))),
        )
        for one in here.breakpoints
    ]
    return Table("Breaks", BREAK_COLUMNS, rows, foot=() if rows else (line("none"),))


PANEL_VIEWS: Final[Mapping[str, Callable[[Here], Table]]] = {
    "flow": _flow,
    "moment": lambda here: moment(here.recording, here.seq),
    "equation": lambda here: equation(here.recording, here.seq),
    "statement": lambda here: statement(here.recording, here.seq),
    "jobs": lambda here: jobs(here.recording, here.seq, here.job),
    "nodes": lambda here: nodes(here.recording, here.seq, here.node),
    "queues": lambda here: queues(here.recording, here.seq, here.queue),
    "breaks": _breaks,
    "problems": lambda here: problems(here.recording),
    "quirks": lambda here: quirks(here.recording, here.seq),
    "effects": lambda here: effects(here.recording, here.seq),
    "conf": lambda here: conf(here.recording),
    "hypernodes": lambda here: hypernodes(here.recording, here.node),
    "log": lambda here: log(here.recording, here.seq),
    "watch": lambda here: watches(here.recording, here.seq, here.watches),
    "bookmarks": lambda here: bookmarks(here.recording, here.seq, here.bookmarks),
    "order": lambda here: orders(here.recording, here.seq),
    "funnel": lambda here: funnel(here.recording, here.seq),
    "evictions": lambda here: evictions_table(here.recording, here.seq),
}


def panel(here: Here, name: str) -> Table:
    """A panel by its name, or by the beginning of it; without a name the one of the moment."""
    word = (name or "moment").lower()
    found = [known for known in PANEL_VIEWS if word.startswith(known) or known.startswith(word)]
    if len(found) != 1:
        raise CommandError(f"no panel {name!r}", hint=f"panels are {', '.join(PANEL_VIEWS)}")
    return PANEL_VIEWS[found[0]](here)


def verbs() -> Table:
    """Every command."""
    rows = [
        Row(verb.names[0], (Piece(f"{', '.join(verb.names)} {verb.usage}".rstrip(), "strong"), Piece(verb.help)))
        for verb in VERBS
    ]
    return Table("Commands", VERB_COLUMNS, rows)
