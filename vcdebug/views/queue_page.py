"""A queue's page: its amounts, its share, its limits and what it deserves step by step, and who holds its inqueue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vcdebug.amount_text import age, amount, number, plural, resource_text, short_name
from vcdebug.explain.ledger import Entry, ledger, pairs, total
from vcdebug.explain.plugins.proportion import Portion, dealt, queue_overused
from vcdebug.explain.queues import (
    dimensions_of,
    queue_share,
    real_capability,
    sharer,
    stated_deserved,
    tree_is_broken,
)
from vcdebug.explain.refusals import Refusal, queue_refusals
from vcdebug.framework.figures import Figures
from vcdebug.gotime import time_in
from vcdebug.model.names import QueueName, Seq
from vcdebug.plugins import CAPACITY, OVERCOMMIT, PROPORTION
from vcdebug.trace.recording import Recording
from vcdebug.views.base import NO, YES, Column, Line, Piece, Row, Table, line, muted, plain_columns
from vcdebug.views.equation import equation_table
from vcdebug.views.parts import part
from vcdebug.views.queues import BROKEN_TREE, NO_SHARER, amounts_of, pair_lines

LEDGER_COLUMNS = (
    Column("PodGroup", name=True),
    Column("phase"),
    Column("age", right=True),
    Column("reserves", flexible=True),
    Column("why", flexible=True, least=16),
    Column("minResources", flexible=True),
)
AMOUNTS = ("guarantee", "deserved", "allocated", "request", "inqueue", "elastic", "realCapability")
SHORT = {"realCapability": "limit"}
ROUNDS = plain_columns("round#", "dim", "dealt#", "× weight#", "+ had#", "= offered#", "deserved#", "decided by")
MOST_ROUNDS = 12


def queue_page(recording: Recording, seq: Seq, name: QueueName) -> Table:
    """Derivations above, one row per PodGroup below."""
    plugin = sharer(recording)
    entries = ledger(recording, seq, name) if plugin else ledger(recording, seq)
    rows = [_entry_row(recording, entry) for entry in entries if plugin or _in(recording, entry, name)]
    rows += [_refusal_row(each) for each in queue_refusals(recording, name)]
    head = [_about(recording, name), *_parts(recording, seq, name, plugin)]
    if plugin and not tree_is_broken(recording):
        head += _ledger_head(f"Inqueue of queue {name}", entries)
    return Table(f"Queue {name}", LEDGER_COLUMNS, rows, head=tuple(head))


def cluster_page(recording: Recording, seq: Seq) -> Table:
    """Who holds what overcommit counts against the cluster."""
    state, entries = recording.timeline.state_at(seq), ledger(recording, seq)
    whole, idle = (state.amount(OVERCOMMIT, "", figure) for figure in ("total", "idle"))
    factor = state.figure(OVERCOMMIT, "", "factor")
    formula = f"idle = total × {number(factor)} − used;  admitted while minResources + inqueue ≤ idle"
    columns = tuple(
        Column(title, right=bool(title))
        for title in ("", f"total × {number(factor)}", "− used", "= idle", "inqueue", "left")
    )
    rows = [
        _room_row(name, whole.get(name) * factor, idle.get(name), total(entries).get(name))
        for name in dimensions_of(whole, idle)
    ]
    head = [
        *part(Table("Room for admission", columns, rows, head=(line(muted(formula)),))),
        *_ledger_head("Inqueue", entries),
    ]
    return Table(
        "Cluster (overcommit)", LEDGER_COLUMNS, [_entry_row(recording, entry) for entry in entries], head=tuple(head)
    )


def _room_row(name: str, enlarged: float, idle: float, held: float) -> Row:
    figures = (enlarged, enlarged - idle, idle, held, idle - held)
    last = len(figures) - 1
    cells = (
        Piece(amount(name, value), "bad" if index == last and value < 0 else "") for index, value in enumerate(figures)
    )
    return Row(name, (Piece(short_name(name)), *cells))


def _in(recording: Recording, entry: Entry, name: QueueName) -> bool:
    return recording.owners.queues.get(entry.job) == name


def _about(recording: Recording, name: QueueName) -> Line:
    queue = recording.session.queues[name]
    facts = (
        ("weight", str(queue.weight)),
        ("priority", str(queue.priority)),
        ("state", queue.state or "not set"),
        ("reclaimable", "yes" if queue.reclaimable else "no"),
        ("parent", queue.parent),
    )
    return line(*(piece for key, text in facts if text for piece in (muted(f"{key} "), Piece(f"{text}  "))))


def _parts(recording: Recording, seq: Seq, name: QueueName, plugin: str) -> Iterator[Line]:
    if not plugin:
        yield line(muted(NO_SHARER))
        return
    figures = recording.timeline.state_at(seq).books[plugin].get(name)
    if figures is None:
        yield line(muted(f"{plugin} keeps no figures of this queue: it has no job"))
        return
    if tree_is_broken(recording):
        yield line(Piece(BROKEN_TREE, "bad"))
    yield ()
    yield from part(_amounts(figures))
    yield from part(equation_table(queue_share(recording, seq, name)))
    yield from _overused(recording, seq, name, plugin)
    for found in (real_capability(recording, name), stated_deserved(recording, name) if plugin == CAPACITY else None):
        if found is not None:
            yield from part(equation_table(found))
    if plugin == PROPORTION:
        yield from part(_rounds(name, dealt(recording).get(name, ())))
    yield from _pair_lines(recording, seq, name)


def _amounts(figures: Figures) -> Table:
    amounts = amounts_of(figures)
    told = [key for key in AMOUNTS if key in amounts]
    columns = (Column(""), *(Column(SHORT.get(key, key), right=True) for key in told))
    rows = [
        Row(name, (Piece(short_name(name)), *(Piece(amount(name, amounts[key].get(name))) for key in told)))
        for name in dimensions_of(*amounts.values())
    ]
    return Table("Amounts", columns, rows)


def _overused(recording: Recording, seq: Seq, name: QueueName, plugin: str) -> Iterator[Line]:
    if plugin == CAPACITY:
        yield line(muted("capacity calls no queue overused: tasks are held against the limit, one by one"))
    else:
        found = queue_overused(recording, seq + 1, name)
        words = f"{NO} overused" if found.verdict else f"{YES} not overused"
        yield line(Piece(words, "bad" if found.verdict else "good"), muted(f"  {found.note}" if found.note else ""))
    yield ()


def _rounds(name: QueueName, portions: Sequence[Portion]) -> Table:
    """One row per round and dimension that the queue asks for."""
    rows = [
        _round_row(portion, dim)
        for portion in portions[:MOST_ROUNDS]
        for dim in dimensions_of(portion.queue.attr.request, portion.queue.deserved)
        if portion.queue.attr.request.get(dim) or portion.queue.deserved.get(dim)
    ]
    head = (line(muted("each round deals what remains by weight; bounded by limit and request, raised to guarantee")),)
    more = f"+{len(portions) - MOST_ROUNDS} more rounds" if len(portions) > MOST_ROUNDS else ""
    foot = (line(muted(more)),) if more else ()
    return Table(f"What queue {name} deserves, round by round", ROUNDS, rows, head=head, foot=foot)


def _round_row(portion: Portion, dim: str) -> Row:
    figures = (portion.queue.before.get(dim), portion.offered(dim), portion.queue.deserved.get(dim))
    cells = (
        Piece(str(portion.number)),
        Piece(short_name(dim)),
        Piece(amount(dim, portion.round.remaining.get(dim))),
        Piece(f"{portion.queue.attr.weight}/{portion.round.weight}"),
        *(Piece(amount(dim, value)) for value in figures),
        muted(portion.decides(dim)),
    )
    return Row(f"{portion.number} {dim}", cells)


def _pair_lines(recording: Recording, seq: Seq, name: QueueName) -> Iterator[Line]:
    found = [pair for pair in pairs(recording, seq) if name in (pair.starved, pair.above)]
    yield from pair_lines(found)
    if found:
        yield ()


def _ledger_head(title: str, entries: Sequence[Entry]) -> list[Line]:
    held = [entry for entry in entries if entry.reserved is not None]
    words = f"  {len(held)} of {len(entries)} PodGroups count: {resource_text(total(entries))}"
    return [(Piece(title, "title"), muted(words))]


def _entry_row(recording: Recording, entry: Entry) -> Row:
    counts = entry.reserved is not None
    cells = (
        Piece(f"{YES if counts else '–'} {entry.job}", "strong" if counts else "muted"),
        Piece(entry.phase or "–"),
        Piece(_age(recording, entry.created)),
        Piece(resource_text(entry.reserved)) if entry.reserved is not None else muted("–"),
        Piece(entry.why if counts else f"does not count: {entry.why}", "" if counts else "muted"),
        Piece("–" if entry.minimum is None else resource_text(entry.minimum)),
    )
    return Row(entry.job, cells, entry.seq, ("job", entry.job))


def _refusal_row(refusal: Refusal) -> Row:
    of = f" for {plural(len(refusal.tasks), 'task')}" if refusal.tasks else ""
    cells = (
        Piece(f"{NO} {refusal.job}", "bad"),
        Piece(refusal.action),
        Piece(""),
        muted("–"),
        Piece(f"refused: {refusal.why}{of}", "bad"),
        Piece(""),
    )
    return Row(f"refused {refusal.seq} {refusal.why}", cells, refusal.seq, ("job", refusal.job))


def _age(recording: Recording, created: str) -> str:
    moment = time_in(created)
    return "–" if moment is None else age((recording.snapshot.now - moment).total_seconds())
