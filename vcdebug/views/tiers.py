"""The plugins as the session opened them: which hooks each registered, and which the configuration lets take part."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import count_noun
from vcdebug.trace.recording import Recording
from vcdebug.trace.registrations import (
    NEVER_REGISTERED,
    HookRegistration,
    event_handlers,
    iter_registrations,
    unregistered_points,
)
from vcdebug.views.base import NO, YES, Column, Line, Piece, Row, Table, make_line, muted_piece, plain_columns
from vcdebug.views.votes import rule_words

TIERS_TITLE = "Tiers"
TIER_COLUMNS = (
    *plain_columns("tier#", "plugin", "hook", "takes part"),
    Column("switch", flexible=True),
    Column("how answers combine", flexible=True, least=16),
)


def tiers_table(recording: Recording) -> Table:
    """One row per plugin and hook, in the order in which they are asked."""
    found = list(iter_registrations(recording))
    rows = [*map(_registration_row, found), *_iter_handler_rows(recording)]
    asked = [each for each in found if each.takes_part]
    head = (make_line(f"{count_noun(len(found), 'hook')} registered, {len(asked)} take part"),)
    return Table(TIERS_TITLE, TIER_COLUMNS, rows, head=head, foot=tuple(_iter_unused_lines(recording)))


def _iter_unused_lines(recording: Recording) -> Iterator[Line]:
    """The extension points of which nothing can be seen here."""
    nobody = unregistered_points(recording)
    if nobody:
        yield make_line(muted_piece(f"registered by no plugin here: {', '.join(nobody)}"))
    yield make_line(muted_piece(f"registered by no plugin of Volcano: {' and '.join(NEVER_REGISTERED)}, for scores"))


def _registration_row(each: HookRegistration) -> Row:
    state = Piece(f"{YES if each.takes_part else NO} {each.state}", "good" if each.takes_part else "bad")
    switch = (
        Piece(f"{each.switch}  ! {each.misspelt} is no switch", "warn") if each.misspelt else muted_piece(each.switch)
    )
    cells = (
        Piece(str(each.tier)),
        Piece(each.plugin, "strong"),
        Piece(each.hook),
        state,
        switch,
        muted_piece(rule_words(each.hook)),
    )
    return Row(f"{each.tier} {each.plugin} {each.hook}", cells)


def _iter_handler_rows(recording: Recording) -> Iterator[Row]:
    for plugin, told in event_handlers(recording):
        cells = (Piece(""), Piece(plugin, "strong"), Piece("event handler"), Piece(f"{YES} always", "good"))
        yield Row(f"handler {plugin}", (*cells, muted_piece(""), muted_piece(told)))
