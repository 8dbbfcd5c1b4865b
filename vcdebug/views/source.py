"""The page Source: upstream's function of the event, with its text where the user has a checkout."""

from collections.abc import Callable, Sequence
from typing import Final

from vcdebug.debugger.facts import EventFact
from vcdebug.debugger.origins import origin_of
from vcdebug.model.names import Seq
from vcdebug.recording.call_stack import function_at, source_of
from vcdebug.recording.recording import Recording
from vcdebug.views.pieces import Piece, make_line, muted_piece
from vcdebug.views.table import Column, Row, Table, plain_columns

SourceReader = Callable[[str], Sequence[str]]
"""The lines of a file below pkg/scheduler of the user's checkout; none where it has no such file."""
SOURCE_COLUMNS: Final = (*plain_columns("line#"), Column("text", flexible=True))
"""The line of upstream's file, and its text."""
NO_CHECKOUT: Final = "--source DIR or VCDEBUG_SOURCE names a checkout of Volcano, whose text is then shown"


def source_table(recording: Recording, seq: Seq, source: SourceReader | None) -> Table:
    """The function's place and rule; with a checkout, its text."""
    function, release = function_at(recording, seq), recording.session.release.display_name()
    place = f"{function.file}:{function.first}-{function.last}"
    head = [make_line(Piece(function.short_name, "strong"), f" {place}", muted_piece(f" in {release}"))]
    if rule := origin_of(recording, EventFact(seq)).rule:
        head.append(make_line(f"rule: {rule}"))
    shown = function.lines_in(source) if source is not None else ()
    if source is None:
        head.append(make_line(muted_piece(NO_CHECKOUT)))
    elif not shown:
        commit = source_of(recording).commit
        head.append(make_line(Piece(f"! the checkout has something else there: git checkout {commit} has it", "warn")))
    rows = [_line_row(number, line) for number, line in enumerate(shown, function.first)]
    return Table("Source", SOURCE_COLUMNS, rows, tuple(head))


def _line_row(number: int, line: str) -> Row:
    # A terminal would draw a tab as wide as it likes.
    return Row(str(number), (Piece(str(number), "muted"), Piece(line.replace("\t", "    "))))
