"""The plugins as the session opened them: which hooks each registered, and which the configuration lets take part."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import plural
from vcdebug.trace.recording import Recording
from vcdebug.trace.registrations import NEVER_REGISTERED, Registration, handlers, registrations, unregistered
from vcdebug.views.base import NO, YES, Column, Line, Piece, Row, Table, line, muted, plain_columns
from vcdebug.views.votes import rule_words

TITLE = "Tiers"
COLUMNS = (
    *plain_columns("tier#", "plugin", "hook", "takes part"),
    Column("switch", flexible=True),
    Column("how answers combine", flexible=True, least=16),
)


def tiers(recording: Recording) -> Table:
    """One row per plugin and hook, in the order in which they are asked."""
    found = list(registrations(recording))
    rows = [*map(_row, found), *_handlers(recording)]
    asked = [each for each in found if each.takes_part]
    head = (line(f"{plural(len(found), 'hook')} registered, {len(asked)} take part"),)
    return Table(TITLE, COLUMNS, rows, head=head, foot=tuple(_unused(recording)))


def _unused(recording: Recording) -> Iterator[Line]:
    """The extension points of which nothing can be seen here."""
    nobody = unregistered(recording)
    if nobody:
        yield line(muted(f"registered by no plugin here: {', '.join(nobody)}"))
    yield line(muted(f"registered by no plugin of Volcano: {' and '.join(NEVER_REGISTERED)}, for scores"))


def _row(each: Registration) -> Row:
    state = Piece(f"{YES if each.takes_part else NO} {each.state}", "good" if each.takes_part else "bad")
    switch = Piece(f"{each.switch}  ! {each.misspelt} is no switch", "warn") if each.misspelt else muted(each.switch)
    cells = (
        Piece(str(each.tier)),
        Piece(each.plugin, "strong"),
        Piece(each.hook),
        state,
        switch,
        muted(rule_words(each.hook)),
    )
    return Row(f"{each.tier} {each.plugin} {each.hook}", cells)


def _handlers(recording: Recording) -> Iterator[Row]:
    for plugin, told in handlers(recording):
        cells = (Piece(""), Piece(plugin, "strong"), Piece("event handler"), Piece(f"{YES} always", "good"))
        yield Row(f"handler {plugin}", (*cells, muted(""), muted(told)))
