"""All events that a question means, as a list that leads to each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from vcdebug.amount_text import count_noun
from vcdebug.debugger.commands.find_and_fit import find_stops
from vcdebug.debugger.fields import fields_of
from vcdebug.framework.record import Event, HookEvent, PredicateEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.views.headline import VICTIM_POINTS, event_headline
from vcdebug.views.short_names import bare_name, path_words
from vcdebug.views.table import HERE, YES, Column, Line, Piece, Row, RowsOnDemand, Table, make_line, muted_piece

FOUND_COLUMNS = (
    Column("event", right=True),
    Column(""),
    Column("where", flexible=True, least=20),
    Column("what", flexible=True, least=16),
    Column("outcome", flexible=True, least=16),
)
MAX_OUTCOMES = 6
MAX_COUNTED_EVENTS = 20_000
"""Up to so many events the outcomes are counted."""


def found_table(recording: Recording, seq: Seq, words: str) -> Table:
    """One row per event; how often which outcome stands above."""
    seqs = find_stops(recording, words)
    keys = tuple(f"event {each}" for each in seqs)
    rows = RowsOnDemand(keys, lambda i: _found_row(recording, seqs[i], seq))
    current = f"event {seq}" if seq in seqs else ""
    foot = () if seqs else (make_line(muted_piece("no event of this recording")),)
    title = f"find {words}: {count_noun(len(seqs), 'event')}"
    return Table(
        title, FOUND_COLUMNS, rows, tuple(_iter_outcome_lines(recording, seqs)), foot, current=current, wraps=False
    )


def _found_row(recording: Recording, seq: Seq, here: Seq) -> Row:
    what = event_headline(recording.event_at(seq))
    job = fields_of(recording, seq)("job")
    subject = ("job", job) if isinstance(job, str) else ("", "")
    cells = (
        Piece(str(seq)),
        Piece(HERE if seq == here else "", "here"),
        Piece(_event_place(recording, seq, bare_name(subject[1]))),
        Piece(what.what, "strong"),
        _outcome_piece(recording, seq, what.outcome),
    )
    return Row(f"event {seq}", cells, seq, subject)


def _event_place(recording: Recording, seq: Seq, job: str) -> str:
    """The spans around the event, and the job that it is about where none of them is it."""
    words = path_words(recording, seq)
    return " ▸ ".join([*words, job] if job and job not in words else words) or "between actions"


def _outcome_piece(recording: Recording, seq: Seq, outcome: Piece) -> Piece:
    """A pass over nodes also names its most frequent reason; quirks that acted follow."""
    event = recording.event_at(seq)
    reason = f": {_main_reason(recording, event)}" if isinstance(event, PredicateEvent) and len(event.failed) else ""
    quirks = "".join(f"  ! {note.code}" for note in recording.notes_at(seq))
    return Piece(f"{outcome.text}{reason}{quirks}", outcome.style)


def _main_reason(recording: Recording, event: PredicateEvent) -> str:
    codes = event.codes.tolist()
    counts = Counter(status.reason for code in codes for status in recording.reason_table.statuses_of(code))
    ((reason, number),) = counts.most_common(1)
    return f"{number} × {reason}"


def _outcome_words(event: Event) -> str:
    """The outcome without names that would make each one its own."""
    told = event_headline(event)
    if isinstance(event, HookEvent) and event.point in VICTIM_POINTS and event.victims:
        return f"{event.point} {event.plugin} {YES} offers {count_noun(len(event.victims), 'victim')}"
    if isinstance(event, HookEvent):
        return f"{event.point} {told.outcome.text}"
    return f"{told.what} {told.outcome.text}" if isinstance(event, StatementEvent) else told.outcome.text or told.what


def _iter_outcome_lines(recording: Recording, seqs: Sequence[Seq]) -> Iterator[Line]:
    """The most frequent outcomes, where there are several."""
    if not 1 < len(seqs) <= MAX_COUNTED_EVENTS:
        return
    ranked = Counter(_outcome_words(recording.event_at(seq)) for seq in seqs).most_common()
    for words, number in ranked[:MAX_OUTCOMES]:
        yield make_line(Piece(f"{number:>6} × ", "accent"), words or "(no words)")
    if len(ranked) > MAX_OUTCOMES:
        yield make_line(muted_piece(f"       and {len(ranked) - MAX_OUTCOMES} other outcomes"))
