"""A queue's page: its amounts, its share, its limits and what it deserves step by step, and who holds its inqueue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vcdebug.amount_text import count_noun, format_age, format_amount, format_number, short_name, short_resource_text
from vcdebug.explain.decisions.queue_figures import (
    LedgerEntry,
    finite_dimensions,
    queue_share,
    real_capability,
    reservation_ledger,
    sharing_plugin,
    starved_pairs,
    stated_deserved,
    total_reserved,
    tree_is_broken,
)
from vcdebug.explain.decisions.victim_funnel import Refusal, queue_refusals
from vcdebug.explain.plugins.proportion import QueuePortion, portions_by_queue, queue_overused
from vcdebug.framework.figures import Figures
from vcdebug.gotime import parse_time
from vcdebug.model.names import QueueName, Seq
from vcdebug.plugins import CAPACITY, OVERCOMMIT, PROPORTION
from vcdebug.recording.recording import Recording
from vcdebug.views.equation import equation_table
from vcdebug.views.queues import BROKEN_TREE, NO_SHARER, amounts_of, iter_pair_lines
from vcdebug.views.table import (
    NO,
    YES,
    Column,
    Line,
    Piece,
    Row,
    Table,
    embed_table,
    make_line,
    muted_piece,
    plain_columns,
)

LEDGER_COLUMNS = (
    Column("PodGroup", name=True),
    Column("phase"),
    Column("age", right=True),
    Column("reserves", flexible=True),
    Column("why", flexible=True, least=16),
    Column("minResources", flexible=True),
)
AMOUNT_KEYS = ("guarantee", "deserved", "allocated", "request", "inqueue", "elastic", "realCapability")
SHORT_HEADS = {"realCapability": "limit"}
ROUND_COLUMNS = plain_columns("round#", "dim", "dealt#", "× weight#", "+ had#", "= offered#", "deserved#", "decided by")
MAX_ROUNDS = 12


def queue_page(recording: Recording, seq: Seq, name: QueueName) -> Table:
    """Derivations above, one row per PodGroup below."""
    plugin = sharing_plugin(recording)
    entries = reservation_ledger(recording, seq, name) if plugin else reservation_ledger(recording, seq)
    rows = [_entry_row(recording, entry) for entry in entries if plugin or _is_in_queue(recording, entry, name)]
    rows += [_refusal_row(each) for each in queue_refusals(recording, name)]
    head = [_about_line(recording, name), *_iter_queue_parts(recording, seq, name, plugin)]
    if plugin and not tree_is_broken(recording):
        head += _ledger_head(f"Inqueue of queue {name}", entries)
    return Table(f"Queue {name}", LEDGER_COLUMNS, rows, head=tuple(head))


def cluster_page(recording: Recording, seq: Seq) -> Table:
    """Who holds what overcommit counts against the cluster."""
    state, entries = recording.timeline.state_at(seq), reservation_ledger(recording, seq)
    whole, idle = (state.plugin_amount(OVERCOMMIT, "", figure) for figure in ("total", "idle"))
    factor = state.plugin_figure(OVERCOMMIT, "", "factor")
    formula = f"idle = total × {format_number(factor)} − used;  admitted while minResources + inqueue ≤ idle"
    columns = tuple(
        Column(title, right=bool(title))
        for title in ("", f"total × {format_number(factor)}", "− used", "= idle", "inqueue", "left")
    )
    rows = [
        _room_row(name, whole.get(name) * factor, idle.get(name), total_reserved(entries).get(name))
        for name in finite_dimensions(whole, idle)
    ]
    head = [
        *embed_table(Table("Room for admission", columns, rows, head=(make_line(muted_piece(formula)),))),
        *_ledger_head("Inqueue", entries),
    ]
    return Table(
        "Cluster (overcommit)", LEDGER_COLUMNS, [_entry_row(recording, entry) for entry in entries], head=tuple(head)
    )


def _room_row(name: str, enlarged: float, idle: float, held: float) -> Row:
    figures = (enlarged, enlarged - idle, idle, held, idle - held)
    last = len(figures) - 1
    cells = (
        Piece(format_amount(name, value), "bad" if index == last and value < 0 else "")
        for index, value in enumerate(figures)
    )
    return Row(name, (Piece(short_name(name)), *cells))


def _is_in_queue(recording: Recording, entry: LedgerEntry, name: QueueName) -> bool:
    return recording.owners.queues.get(entry.job) == name


def _about_line(recording: Recording, name: QueueName) -> Line:
    queue = recording.session.queues[name]
    facts = (
        ("weight", str(queue.weight)),
        ("priority", str(queue.priority)),
        ("state", queue.state or "not set"),
        ("reclaimable", "yes" if queue.reclaimable else "no"),
        ("parent", queue.parent),
    )
    return make_line(*(piece for key, text in facts if text for piece in (muted_piece(f"{key} "), Piece(f"{text}  "))))


def _iter_queue_parts(recording: Recording, seq: Seq, name: QueueName, plugin: str) -> Iterator[Line]:
    if not plugin:
        yield make_line(muted_piece(NO_SHARER))
        return
    figures = recording.timeline.state_at(seq).books[plugin].get(name)
    if figures is None:
        yield make_line(muted_piece(f"{plugin} keeps no figures of this queue: it has no job"))
        return
    if tree_is_broken(recording):
        yield make_line(Piece(BROKEN_TREE, "bad"))
    yield ()
    yield from embed_table(_amounts_table(figures))
    yield from embed_table(equation_table(queue_share(recording, seq, name)))
    yield from _iter_overused_lines(recording, seq, name, plugin)
    for found in (real_capability(recording, name), stated_deserved(recording, name) if plugin == CAPACITY else None):
        if found is not None:
            yield from embed_table(equation_table(found))
    if plugin == PROPORTION:
        yield from embed_table(_rounds_table(name, portions_by_queue(recording).get(name, ())))
    yield from _iter_pair_lines(recording, seq, name)


def _amounts_table(figures: Figures) -> Table:
    amounts = amounts_of(figures)
    told = [key for key in AMOUNT_KEYS if key in amounts]
    columns = (Column(""), *(Column(SHORT_HEADS.get(key, key), right=True) for key in told))
    rows = [
        Row(name, (Piece(short_name(name)), *(Piece(format_amount(name, amounts[key].get(name))) for key in told)))
        for name in finite_dimensions(*amounts.values())
    ]
    return Table("Amounts", columns, rows)


def _iter_overused_lines(recording: Recording, seq: Seq, name: QueueName, plugin: str) -> Iterator[Line]:
    if plugin == CAPACITY:
        yield make_line(muted_piece("capacity calls no queue overused: tasks are held against the limit, one by one"))
    else:
        found = queue_overused(recording, seq + 1, name)
        words = f"{NO} overused" if found.verdict else f"{YES} not overused"
        yield make_line(
            Piece(words, "bad" if found.verdict else "good"), muted_piece(f"  {found.note}" if found.note else "")
        )
    yield ()


def _rounds_table(name: QueueName, portions: Sequence[QueuePortion]) -> Table:
    """One row per round and dimension that the queue asks for."""
    rows = [
        _round_row(portion, dim)
        for portion in portions[:MAX_ROUNDS]
        for dim in finite_dimensions(portion.queue.attr.request, portion.queue.deserved)
        if portion.queue.attr.request.get(dim) or portion.queue.deserved.get(dim)
    ]
    head = (
        make_line(
            muted_piece("each round deals what remains by weight; bounded by limit and request, raised to guarantee")
        ),
    )
    more = f"+{len(portions) - MAX_ROUNDS} more rounds" if len(portions) > MAX_ROUNDS else ""
    foot = (make_line(muted_piece(more)),) if more else ()
    return Table(f"What queue {name} deserves, round by round", ROUND_COLUMNS, rows, head=head, foot=foot)


def _round_row(portion: QueuePortion, dim: str) -> Row:
    figures = (portion.queue.before.get(dim), portion.offered_amount(dim), portion.queue.deserved.get(dim))
    cells = (
        Piece(str(portion.number)),
        Piece(short_name(dim)),
        Piece(format_amount(dim, portion.round.remaining.get(dim))),
        Piece(f"{portion.queue.attr.weight}/{portion.round.weight}"),
        *(Piece(format_amount(dim, value)) for value in figures),
        muted_piece(portion.deciding_limit(dim)),
    )
    return Row(f"{portion.number} {dim}", cells)


def _iter_pair_lines(recording: Recording, seq: Seq, name: QueueName) -> Iterator[Line]:
    found = [pair for pair in starved_pairs(recording, seq) if name in (pair.starved, pair.above)]
    yield from iter_pair_lines(found)
    if found:
        yield ()


def _ledger_head(title: str, entries: Sequence[LedgerEntry]) -> list[Line]:
    held = [entry for entry in entries if entry.reserved is not None]
    words = f"  {len(held)} of {len(entries)} PodGroups count: {short_resource_text(total_reserved(entries))}"
    return [(Piece(title, "title"), muted_piece(words))]


def _entry_row(recording: Recording, entry: LedgerEntry) -> Row:
    counts = entry.reserved is not None
    cells = (
        Piece(f"{YES if counts else '–'} {entry.job}", "strong" if counts else "muted"),
        Piece(entry.phase or "–"),
        Piece(_age(recording, entry.created)),
        Piece(short_resource_text(entry.reserved)) if entry.reserved is not None else muted_piece("–"),
        Piece(entry.why if counts else f"does not count: {entry.why}", "" if counts else "muted"),
        Piece("–" if entry.minimum is None else short_resource_text(entry.minimum)),
    )
    return Row(entry.job, cells, entry.seq, ("job", entry.job))


def _refusal_row(refusal: Refusal) -> Row:
    of = f" for {count_noun(len(refusal.tasks), 'task')}" if refusal.tasks else ""
    cells = (
        Piece(f"{NO} {refusal.job}", "bad"),
        Piece(refusal.action),
        Piece(""),
        muted_piece("–"),
        Piece(f"refused: {refusal.why}{of}", "bad"),
        Piece(""),
    )
    return Row(f"refused {refusal.seq} {refusal.why}", cells, refusal.seq, ("job", refusal.job))


def _age(recording: Recording, created: str) -> str:
    moment = parse_time(created)
    return "–" if moment is None else format_age((recording.snapshot.now - moment).total_seconds())
