"""The panels Bookmarks, Breaks and Watch, and the list of events that `find` finds."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from vcdebug.amount_text import count_noun, short_name
from vcdebug.debugger.breakpoint import Breakpoint, breakpoint_for
from vcdebug.debugger.driver import BreakpointStatus, DebuggerState
from vcdebug.debugger.fields import fields_of
from vcdebug.debugger.figures import Figure, find_figure
from vcdebug.debugger.notebook import Bookmark, Watch, WatchValue, evaluate_watch
from vcdebug.framework import hooks
from vcdebug.framework.record import BestEvent, HookEvent, OpEvent, PredicateEvent, ScoreEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.recording.visits import VICTIM_POINTS
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.headline import event_headline, event_place
from vcdebug.views.pieces import BREAK, HERE, NO, SKIPPED, YES, Line, Piece, make_line, muted_lines, muted_piece
from vcdebug.views.table import Row, RowsOnDemand, Table, table_columns

BOOKMARK_COLUMNS = table_columns("#", "event#", "note~12", "what happened~12", "where~")


def bookmarks_table(
    recording: Recording, seq: Seq, marks: Sequence[Bookmark], elsewhere: Sequence[Bookmark] = ()
) -> Table:
    """The bookmarks of this recording in order of events, then those of other cycles."""
    rows = [*(_bookmark_row(recording, mark) for mark in marks), *map(_row_elsewhere, elsewhere)]
    current = next((str(mark.number) for mark in marks if mark.seq == seq), "")
    foot = () if rows else muted_lines("no bookmarks: m marks this event, or :bookmark NOTE")
    return Table("Bookmarks", BOOKMARK_COLUMNS, rows, footer=foot, current=current)


def _bookmark_row(recording: Recording, mark: Bookmark) -> Row:
    # Another version of vcdebug or an edited snapshot may give a shorter recording without this event.
    exists = mark.seq <= len(recording)
    cells = (
        Piece(str(mark.number)),
        Piece(str(mark.seq)),
        Piece(mark.note, "strong") if mark.note else muted_piece("–"),
        Piece(event_words(recording, mark.seq)) if exists else Piece("! this recording is shorter", "warn"),
        muted_piece(event_place(recording, mark.seq) if exists else "between actions"),
    )
    return Row(str(mark.number), cells, mark.seq if exists else 0)


def _row_elsewhere(mark: Bookmark) -> Row:
    """The row of a bookmark in a recording that is not shown; its key, the number, opens it."""
    side = "the branch" if mark.branch else "the original"
    place = f"in cycle {mark.cycle} of {side}" if mark.cycle > 0 else f"{1 - mark.cycle} before the first that is open"
    note = Piece(mark.note, "strong") if mark.note else muted_piece("–")
    cells = (Piece(str(mark.number)), Piece(str(mark.seq)), note, muted_piece(place), muted_piece(""))
    return Row(str(mark.number), cells)


def event_words(recording: Recording, seq: Seq) -> str:
    """An event in a few words: what happened and its outcome."""
    headline = event_headline(recording, seq)
    return f"{headline.event_text} {headline.outcome.text}".strip()


# Breakpoints.

NO_BREAKPOINTS: Final = 'none yet: b sets one, or :break victim if job == "ns/name"'
BREAKPOINT_COLUMNS: Final = table_columns("#", "", "breakpoint~", "hits#", "next#")


def breakpoints_table(seq: Seq, breakpoints: Iterable[BreakpointStatus]) -> Table:
    """A row per breakpoint, with the number of its hits in this recording and the next one after the event."""
    rows = [_breakpoint_row(status, seq) for status in breakpoints]
    return Table("Breaks", BREAKPOINT_COLUMNS, rows, footer=() if rows else muted_lines(NO_BREAKPOINTS))


def _breakpoint_row(status: BreakpointStatus, seq: Seq) -> Row:
    number, next_hit = str(status.number), next((hit for hit in status.hits if hit > seq), 0)
    mark = Piece(f"{BREAK} on", "good") if status.enabled else muted_piece(f"{NO} off")
    words = status.text.removeprefix("break ")
    return Row(number, make_line(number, mark, words, str(len(status.hits)), str(next_hit or SKIPPED)), next_hit)


_KIND_BY_POINT = {
    hooks.JOB_STARVING.upstream: "starving",
    hooks.OVERUSED.upstream: "overused",
    hooks.JOB_ENQUEUEABLE.upstream: "enqueue",
    hooks.PREEMPTABLE.upstream: "victim",
    hooks.RECLAIMABLE.upstream: "victim",
    hooks.UNIFIED_EVICTABLE.upstream: "victim",
    hooks.PREDICATE.upstream: "predicate",
}
_KIND_BY_TYPE = {
    PredicateEvent: "predicate",
    ScoreEvent: "score",
    BestEvent: "tie",
    OpEvent: "statement",
    StatementEvent: "statement",
}
USUAL_KIND = "victim"


def fitting_kind(recording: Recording, seq: Seq) -> str:
    """The kind of breakpoint that stops at an event."""
    event = recording.event_at(seq)
    if isinstance(event, HookEvent):
        return _KIND_BY_POINT.get(event.point, USUAL_KIND)
    return _KIND_BY_TYPE.get(type(event), USUAL_KIND)


# Watches.
WATCH_COLUMNS = table_columns("#", "watched~", "now~", "event#", "change~")


def watches_table(recording: Recording, seq: Seq, watched: Sequence[Watch]) -> Table:
    """Every watch with its value at an event; a row leads to its last change."""
    rows = [_watch_row(evaluate_watch(recording, seq, watch), seq) for watch in watched]
    hint = "nothing is watched: A watches the number under the cursor, :watch any other"
    foot = () if rows else muted_lines(hint)
    return Table("Watch", WATCH_COLUMNS, rows, footer=foot, figures=partial(_watch_figure, recording, watched))


def _watch_row(watched: WatchValue, seq: Seq) -> Row:
    """A watch with its value and last change; a change by the event itself is highlighted."""
    number, value = make_line(
        str(watched.watch.number), Piece(watched.current, "strong" if watched.current != watched.before else "")
    )
    name = Piece(_short_watch(watched.watch))
    change = watched.change
    if change is None:
        was = "" if watched.current == watched.before or not watched.before else f"{watched.before} → {watched.current}"
        never = muted_piece("–")
        return Row(number.text, (number, name, value, muted_piece("–"), Piece(was, "warn") if was else never))
    here = change.seq == seq
    event, values = Piece(str(change.seq), "here" if here else ""), f"{watched.old} → {watched.new}"
    return Row(number.text, (number, name, value, event, Piece(values, "warn" if here else "")), change.seq)


def _short_watch(watch: Watch) -> str:
    """A figure without kind, namespace and plugin: `research allocated cpu`."""
    if not watch.is_figure:
        return watch.text
    _, name, part, *dim = watch.text.split(" ")
    return " ".join((bare_name(name), bare_name(part), *map(short_name, dim)))


def _watch_figure(recording: Recording, watched: Sequence[Watch], row: Row, column: int) -> Figure | None:
    watch = next((watch for watch in watched if str(watch.number) == row.key), None)
    return None if watch is None or not watch.is_figure else find_figure(recording, tuple(watch.text.split()))


# Events that `find` lists.

FOUND_COLUMNS = table_columns("event#", "", "where~20", "what~16", "outcome~16")
MAX_OUTCOMES = 6
MAX_COUNTED_EVENTS = 20_000
"""Events up to which outcomes are counted."""


class FoundEvent(NamedTuple):
    """A found event: its recording, its number, and its place in the form of `goto`."""

    recording: Recording
    seq: Seq
    place_text: str
    point: Breakpoint
    """The breakpoint that would stop there."""


def found_page(here: DebuggerState, words: str) -> Table:
    """The found events of all open cycles; the key of each row is its `goto` command."""
    open_ = here.recordings
    if open_ is None or open_.cycle_count == 1:
        return found_table(here.recording, here.seq, words)
    found = [
        one
        for cycle, recording in enumerate(open_.cycles_of(open_.side), start=1)
        for one in _find_events(recording, words, f"{cycle}:")
    ]
    title = f"{words} in {count_noun(open_.cycle_count, 'cycle')}"
    return _list_found(found, f"{open_.cycle}:{here.seq}", title, _empty_words(here.recording, words))


def found_table(recording: Recording, seq: Seq, words: str) -> Table:
    """A row per event that `find WORDS` stops at, with the number of each outcome above."""
    return _list_found([*_find_events(recording, words)], str(seq), words, _empty_words(recording, words))


def _empty_words(recording: Recording, words: str) -> str:
    """What a list without events says."""
    return breakpoint_for(recording, words).unknown_name(recording) or "no event of this recording"


def _find_events(recording: Recording, words: str, place: str = "") -> Iterator[FoundEvent]:
    point = breakpoint_for(recording, words)
    return (FoundEvent(recording, seq, f"{place}{seq}", point) for seq in point.hit_seqs(recording))


def _list_found(found: Sequence[FoundEvent], here: str, words: str, empty_words: str) -> Table:
    keys = tuple(f"goto {one.place_text}" for one in found)
    rows = RowsOnDemand(keys, lambda i: _found_row(found[i], here))
    foot = () if found else muted_lines(empty_words)
    title, head = f"find {words}: {count_noun(len(found), 'event')}", tuple(_iter_outcome_lines(found))
    current = f"goto {here}" if f"goto {here}" in keys else ""
    return Table(title, FOUND_COLUMNS, rows, head, foot, current=current, wraps=False)


def _found_row(found: FoundEvent, here: str) -> Row:
    recording, seq, place, point = found
    what = event_headline(recording, seq)
    job, change = fields_of(recording, seq)("job"), point.kind.change_text(recording, seq)
    subject = ("job", job) if isinstance(job, str) else ("", "")
    cells = (
        Piece(place),
        Piece(HERE if place == here else "", "here"),
        Piece(event_place(recording, seq, bare_name(subject[1]))),
        Piece(what.event_text, "strong"),
        _outcome_piece(recording, seq, Piece(change) if change else what.outcome),
    )
    # The number of an event of another cycle means another event here.
    leads = place.rpartition(":")[0] == here.rpartition(":")[0]
    return Row(f"goto {place}", cells, seq if leads else 0, subject)


def _outcome_piece(recording: Recording, seq: Seq, outcome: Piece) -> Piece:
    """The outcome, with the most frequent reason of a predicate event, and the event's quirks."""
    event = recording.event_at(seq)
    reason = f": {_main_reason(recording, event)}" if isinstance(event, PredicateEvent) and len(event.failed) else ""
    quirks = "".join(f"  ! {note.code}" for note in recording.notes_at(seq))
    return Piece(f"{outcome.text}{reason}{quirks}", outcome.style)


def _main_reason(recording: Recording, event: PredicateEvent) -> str:
    codes = event.codes.tolist()
    counts = Counter(status.reason for code in codes for status in recording.reason_table.statuses_of(code))
    ((reason, number),) = counts.most_common(1)
    return f"{number} × {reason}"


def _outcome_words(found: FoundEvent) -> str:
    """The outcome without names, so that equal outcomes can be counted."""
    recording, seq, _, point = found
    if change := point.kind.change_text(recording, seq):
        return change
    event, headline = recording.event_at(seq), event_headline(recording, seq)
    outcome = headline.outcome.text
    if isinstance(event, HookEvent) and event.point in VICTIM_POINTS and event.victims:
        return f"{event.point} {event.plugin} {YES} allows {count_noun(len(event.victims), 'victim')}"
    if isinstance(event, HookEvent | OpEvent):
        return f"{event.point if isinstance(event, HookEvent) else event.op} {outcome}"
    return f"{headline.event_text} {outcome}" if isinstance(event, StatementEvent) else outcome or headline.event_text


def _iter_outcome_lines(found: Sequence[FoundEvent]) -> Iterator[Line]:
    """The most frequent outcomes and their numbers, if there are several events."""
    if not 1 < len(found) <= MAX_COUNTED_EVENTS:
        return
    ranked = Counter(map(_outcome_words, found)).most_common()
    for words, number in ranked[:MAX_OUTCOMES]:
        yield make_line(Piece(f"{number:>6} × ", "accent"), words or "(no text)")
    if len(ranked) > MAX_OUTCOMES:
        yield make_line(muted_piece(f"       and {count_noun(len(ranked) - MAX_OUTCOMES, 'other outcome')}"))
