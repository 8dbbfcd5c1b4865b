"""The panel Queues, the page of one queue, and the page of the cluster's room for admission."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from vcdebug.amount_text import count_noun, format_amount, format_number, short_amounts, short_name, short_resource_text
from vcdebug.explain.answer import age_since
from vcdebug.explain.decisions import queue_figures
from vcdebug.explain.decisions.victim_funnel import Refusal, queue_refusals
from vcdebug.explain.plugins.proportion import QueuePortion, portions_by_queue, queue_overused
from vcdebug.framework.figures import Figures
from vcdebug.grouping import group_by_key
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.resource import PODS, Resource
from vcdebug.plugins import CAPACITY, OVERCOMMIT, PROPORTION
from vcdebug.recording.recording import Recording
from vcdebug.recording.timeline import ClusterState
from vcdebug.views.cell_figures import queue_figure
from vcdebug.views.equation import equation_table
from vcdebug.views.pieces import (
    BEYOND,
    NO,
    QUEUE_SIGNS,
    YES,
    Line,
    Piece,
    Style,
    draw_bar,
    labelled_line,
    make_line,
    muted_lines,
    muted_piece,
    value_text,
)
from vcdebug.views.table import Column, Row, Table, embed_table, table_columns

AMOUNT_FIGURES = ("deserved", "allocated", "request", "inqueue", "guarantee", "capability", "realCapability", "elastic")
QUEUE_COLUMNS = table_columns(
    "queue@", "dim", "alloc#", "deserved#", "of limit", "share#~", "request#", "inqueue#", "limit#", "weight#", "state~"
)
MAX_PAIRS = 6
BAR_WIDTH: Final = 12
ENDLESS: Final = 1e18
"""Amounts from here on mean no limit, for which upstream uses Go's largest float."""
NO_RESOURCE: Final = Resource()
NO_SHARER = "no plugin shares out: neither proportion nor capacity is configured"
BROKEN_TREE = (
    f"{NO} capacity could not build its tree of queues: these figures are incomplete, and it refuses everything"
)


def queues_table(recording: Recording, seq: Seq, current: str = "") -> Table:
    """Every queue at an event, a row per dimension, children below parents, with the sharing plugin's figures."""
    state, plugin = recording.timeline.state_at(seq), queue_figures.sharing_plugin(recording)
    rows: list[Row] = []
    for place in queue_figures.queue_places(recording):
        rows += _iter_queue_rows(recording, seq, place, state.books[plugin].get(place.name, {}) if plugin else {})
    rows += _iter_cluster_rows(state, dict.fromkeys(row.key.rpartition(" ")[2] for row in rows))
    # The column of states is left out if every queue is open and reclaimable, as in most clusters.
    columns = QUEUE_COLUMNS
    if not any(row.cells[-1].text for row in rows):
        columns, rows = QUEUE_COLUMNS[:-1], [row._replace(cells=row.cells[:-1]) for row in rows]
    foot = (*_iter_cluster_words(state), *_iter_queues_foot(recording, seq, plugin))
    figures = partial(queue_figure, recording, plugin, columns)
    return Table("Queues", columns, rows, footer=foot, current=f"{current} cpu" if current else "", figures=figures)


def _iter_queues_foot(recording: Recording, seq: Seq, plugin: str) -> Iterator[Line]:
    if not plugin:
        yield make_line(muted_piece(NO_SHARER))
        return
    if queue_figures.tree_is_broken(recording):
        yield make_line(Piece(BROKEN_TREE, "bad"))
        return
    lines = list(iter_pair_lines(queue_figures.starved_pairs(recording, seq)))
    yield from lines[:MAX_PAIRS]
    if len(lines) > MAX_PAIRS:
        yield make_line(muted_piece(f"+{len(lines) - MAX_PAIRS} more"))


def iter_pair_lines(pairs: Sequence[queue_figures.StarvedPair]) -> Iterator[Line]:
    """A line per pair of a queue below its deserved amount and one above it."""
    for (starved, above), entries in group_by_key(((pair.starved, pair.richer), pair) for pair in pairs).items():
        lacks = short_amounts([(pair.dimension, pair.shortage) for pair in entries])
        start = (Piece(f"{NO} {starved}", "bad"), Piece(f" lacks {lacks} of what it deserves; "))
        if not above:
            yield make_line(*start, muted_piece("no queue holds more of it than it deserves"))
            continue
        surplus = short_amounts([(pair.dimension, pair.surplus) for pair in entries])
        reclaim = "" if entries[0].reclaimable else ", but is not reclaimable"
        yield make_line(*start, Piece(f"{BEYOND} {above}", "warn"), f" holds {surplus} more than it deserves{reclaim}")


def _iter_queue_rows(
    recording: Recording, seq: Seq, place: queue_figures.QueuePlace, figures: Figures
) -> Iterator[Row]:
    name = place.name
    amounts = amounts_of(figures)
    state = Piece(state_words(recording, name), "warn")
    for index, dim in enumerate(shown_dimensions(amounts)):
        first = index == 0
        cells = (
            Piece("  " * place.depth + name if first else "", "strong"),
            muted_piece(short_name(dim)),
            _allocated_piece(queue_figures.sharing_plugin(recording), amounts, dim),
            _amount_piece(amounts, "deserved", dim),
            _bar_piece(amounts, dim),
            Piece(_share_text(recording, seq, name, figures) if first else ""),
            *(_amount_piece(amounts, key, dim) for key in ("request", "inqueue")),
            _limit_piece(amounts, dim),
            Piece(str(recording.session.queues[name].weight) if first else ""),
            state if first else Piece(""),
        )
        yield Row(f"{name} {dim}", cells, subject=("queue", name))


def amounts_of(figures: Figures) -> dict[str, Resource]:
    """Name → figure, for the figures that are amounts."""
    return {key: figures[key] for key in AMOUNT_FIGURES if isinstance(figures.get(key), Resource)}


def _share_text(recording: Recording, seq: Seq, name: str, figures: Figures) -> str:
    """The share and the dimension that decides it; `–` without a share."""
    if figures.get("share") is None:
        return "–"
    share = queue_figures.queue_share(recording, seq, name)
    dimension_words = f" {short_name(share.deciding_name)}" if share.deciding_name else ""
    return f"{value_text(figures['share'])}{dimension_words}"


def _iter_cluster_rows(state: ClusterState, queued: Mapping[str, None]) -> Iterator[Row]:
    """Rows of overcommit's figures of the whole cluster, in the dimensions of the queues and of its own inqueue."""
    books = state.books.get(OVERCOMMIT)
    if books is None:
        return
    figures = books[""]
    dims = [*queued, *(dim for dim in shown_dimensions({"inqueue": figures["inqueue"]}) if dim not in queued)]
    for index, dim in enumerate(dims):
        idle, reserved = (format_amount(dim, figures[key].get(dim)) for key in ("idle", "inqueue"))
        name = Piece("cluster" if index == 0 else "", "strong")
        nothing = muted_piece("–")
        cells = (name, muted_piece(short_name(dim)), *[nothing] * 3, Piece(""), nothing, Piece(reserved), Piece(idle))
        yield Row(f"cluster {dim}", (*cells, Piece(""), Piece("")), subject=("cluster", OVERCOMMIT))


def _iter_cluster_words(state: ClusterState) -> Iterator[Line]:
    books = state.books.get(OVERCOMMIT)
    if books is not None:
        yield make_line(
            muted_piece(f"cluster: the limit is idle at {format_number(books['']['factor'])}× (overcommit)")
        )


def shown_dimensions(amounts: Mapping[str, Resource]) -> list[str]:
    """The dimensions with any amount, and always cpu and memory, so that a queue without amounts has rows."""
    dims: dict[str, None] = dict.fromkeys(("cpu", "memory"))
    for key in ("guarantee", "deserved", "allocated", "request", "inqueue", "idle"):
        resource = amounts.get(key, NO_RESOURCE)
        dims.update((n, None) for n, v in resource.items() if v and n != PODS and not n.startswith("attachable"))
    return list(dims)


def state_words(recording: Recording, name: str) -> str:
    """The state in words: `Closed, not reclaimable, child of q1`; empty for an ordinary queue."""
    queue = recording.session.queues[name]
    parts = [] if queue.state in ("", "Open") else [queue.state]
    if not queue.reclaimable:
        parts.append("not reclaimable")
    if queue.parent and queue.parent != "root" and queue_figures.capacity_tree(recording) is None:
        parts.append(f"child of {queue.parent}")
    return ", ".join(parts)


def _amount_piece(amounts: Mapping[str, Resource], key: str, dim: str) -> Piece:
    return Piece(format_amount(dim, amounts[key].get(dim))) if key in amounts else muted_piece("–")


def _allocated_piece(plugin: str, amounts: Mapping[str, Resource], dim: str) -> Piece:
    if "allocated" not in amounts:
        return muted_piece("–")
    allocated = amounts["allocated"]
    over = "deserved" in amounts and queue_figures.surplus_of(plugin, amounts["deserved"], allocated, dim) > 0
    style: Style = "warn" if over else ""
    return Piece(f"{f'{BEYOND} ' if over else ''}{format_amount(dim, allocated.get(dim))}", style)


def _limit_piece(amounts: Mapping[str, Resource], dim: str) -> Piece:
    limit = limit_of(amounts, dim)
    return muted_piece("–") if limit is None else Piece(format_amount(dim, limit))


def limit_of(amounts: Mapping[str, Resource], dim: str) -> float | None:
    """The limit of a queue in a dimension; None without one."""
    limits = (amounts[key] for key in ("realCapability", "capability") if key in amounts)
    return next((limit.get(dim) for limit in limits if limit.has_dimension(dim)), None)


def _bar_piece(amounts: Mapping[str, Resource], dim: str) -> Piece:
    """A bar of allocated amounts up to and beyond deserved, relative to the limit or else to the larger amount."""
    allocated, deserved = (amounts.get(key, NO_RESOURCE).get(dim) for key in ("allocated", "deserved"))
    # A queue without a limit of its own may deserve an infinite amount.
    stated_limit = limit_of(amounts, dim) or 0.0
    stated_limit = stated_limit if stated_limit < ENDLESS else 0.0
    deserved = min(deserved, max(stated_limit, allocated)) if stated_limit or deserved >= ENDLESS else deserved
    limit, within = max(stated_limit, allocated, deserved), min(allocated, deserved)
    parts = (within, deserved - within, allocated - within, limit - max(allocated, deserved))
    drawn = draw_bar(parts, QUEUE_SIGNS, limit, BAR_WIDTH)
    return Piece(drawn, "accent") if drawn else muted_piece("–")


# The page of a queue: amounts, share, limits, rounds of deserved, and the PodGroups behind its inqueue.

LEDGER_COLUMNS = table_columns("PodGroup@", "phase", "age#", "reserves~", "why~16", "minResources~")
AMOUNT_KEYS = ("guarantee", "deserved", "allocated", "request", "inqueue", "elastic", "realCapability")
SHORT_HEADS = {"realCapability": "limit"}
ROUND_COLUMNS = table_columns(
    "round#", "dim", "dealt#", "× weight#", "+ had#", "= available#", "deserved#", "decided by"
)
MAX_ROUNDS = 12


def queue_page(recording: Recording, seq: Seq, name: QueueName) -> Table:
    """One queue at an event: how its figures are computed, then a row per PodGroup and per refused job."""
    plugin = queue_figures.sharing_plugin(recording)
    entries = queue_figures.reservation_ledger(recording, seq, name if plugin else "")
    queues = recording.owners.queues
    rows = [_entry_row(recording, entry) for entry in entries if plugin or queues.get(entry.job) == name]
    rows += [_refusal_row(refusal) for refusal in queue_refusals(recording, name)]
    head = [_about_line(recording, name), *_iter_queue_parts(recording, seq, name, plugin)]
    if plugin and not queue_figures.tree_is_broken(recording):
        head += _ledger_head(f"Inqueue of queue {name}", entries)
    return Table(f"Queue {name}", LEDGER_COLUMNS, rows, header=tuple(head))


def cluster_page(recording: Recording, seq: Seq) -> Table:
    """The PodGroups that overcommit counts against the cluster, and the room that it leaves."""
    state, entries = recording.timeline.state_at(seq), queue_figures.reservation_ledger(recording, seq)
    total, idle = (state.plugin_amount(OVERCOMMIT, "", figure) for figure in ("total", "idle"))
    factor = state.plugin_figure(OVERCOMMIT, "", "factor")
    formula = f"idle = total × {format_number(factor)} − used;  admitted while minResources + inqueue ≤ idle"
    columns = tuple(
        Column(title, right=bool(title))
        for title in ("", f"total × {format_number(factor)}", "− used", "= idle", "inqueue", "left")
    )
    rows = [
        _room_row(name, total.get(name) * factor, idle.get(name), queue_figures.total_reserved(entries).get(name))
        for name in queue_figures.finite_dimensions(total, idle)
    ]
    head = [
        *embed_table(Table("Room for admission", columns, rows, header=muted_lines(formula))),
        *_ledger_head("Inqueue", entries),
    ]
    ledger = [_entry_row(recording, entry) for entry in entries]
    return Table("Cluster (overcommit)", LEDGER_COLUMNS, ledger, header=tuple(head))


def _room_row(name: str, enlarged: float, idle: float, reserved: float) -> Row:
    figures = (enlarged, enlarged - idle, idle, reserved, idle - reserved)
    last = len(figures) - 1
    cells = (
        Piece(format_amount(name, value), "bad" if index == last and value < 0 else "")
        for index, value in enumerate(figures)
    )
    return Row(name, (Piece(short_name(name)), *cells))


def _about_line(recording: Recording, name: QueueName) -> Line:
    queue = recording.session.queues[name]
    return labelled_line(
        weight=str(queue.weight),
        priority=str(queue.priority),
        state=queue.state or "not set",
        reclaimable="yes" if queue.reclaimable else "no",
        **({"parent": queue.parent} if queue.parent else {}),
    )


def _iter_queue_parts(recording: Recording, seq: Seq, name: QueueName, plugin: str) -> Iterator[Line]:
    if not plugin:
        yield make_line(muted_piece(NO_SHARER))
        return
    figures = recording.timeline.state_at(seq).books[plugin].get(name)
    if figures is None:
        yield make_line(muted_piece(f"{plugin} keeps no figures of this queue: it has no job"))
        return
    if queue_figures.tree_is_broken(recording):
        yield make_line(Piece(BROKEN_TREE, "bad"))
    yield ()
    yield from embed_table(_amounts_table(figures))
    yield from embed_table(equation_table(queue_figures.queue_share(recording, seq, name)))
    yield from _iter_overused_lines(recording, seq, name, plugin)
    for equation in (
        queue_figures.real_capability(recording, name),
        queue_figures.stated_deserved(recording, name) if plugin == CAPACITY else None,
    ):
        if equation is not None:
            yield from embed_table(equation_table(equation))
    if plugin == PROPORTION:
        yield from embed_table(_rounds_table(name, portions_by_queue(recording).get(name, ())))
    yield from _iter_pair_lines(recording, seq, name)


def _amounts_table(figures: Figures) -> Table:
    amounts = amounts_of(figures)
    keys = [key for key in AMOUNT_KEYS if key in amounts]
    columns = (Column(""), *(Column(SHORT_HEADS.get(key, key), right=True) for key in keys))
    rows = [
        Row(name, (Piece(short_name(name)), *(Piece(format_amount(name, amounts[key].get(name))) for key in keys)))
        for name in queue_figures.finite_dimensions(*amounts.values())
    ]
    return Table("Amounts", columns, rows)


def _iter_overused_lines(recording: Recording, seq: Seq, name: QueueName, plugin: str) -> Iterator[Line]:
    if plugin == CAPACITY:
        yield make_line(muted_piece("capacity calls no queue overused: tasks are held against the limit, one by one"))
    else:
        # queue_overused gives the state before an event; this page shows the state after it.
        overused = queue_overused(recording, seq + 1, name)
        words = f"{NO} overused" if overused.verdict else f"{YES} not overused"
        note = muted_piece(f"  {overused.note}" if overused.note else "")
        yield make_line(Piece(words, "bad" if overused.verdict else "good"), note)
    yield ()


def _rounds_table(name: QueueName, portions: Sequence[QueuePortion]) -> Table:
    """A row per round of proportion's division and dimension that the queue requests or deserves."""
    rows = [
        _round_row(portion, dim)
        for portion in portions[:MAX_ROUNDS]
        for dim in queue_figures.finite_dimensions(portion.queue.attr.request, portion.queue.deserved)
        if portion.queue.attr.request.get(dim) or portion.queue.deserved.get(dim)
    ]
    words = "each round deals what remains by weight; bounded by limit and request, raised to guarantee"
    head = muted_lines(words)
    more_words = f"+{len(portions) - MAX_ROUNDS} more rounds" if len(portions) > MAX_ROUNDS else ""
    foot = muted_lines(more_words) if more_words else ()
    return Table(f"What queue {name} deserves, round by round", ROUND_COLUMNS, rows, header=head, footer=foot)


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
    pairs = [pair for pair in queue_figures.starved_pairs(recording, seq) if name in (pair.starved, pair.richer)]
    yield from iter_pair_lines(pairs)
    if pairs:
        yield ()


def _ledger_head(title: str, entries: Sequence[queue_figures.LedgerEntry]) -> list[Line]:
    counted = [entry for entry in entries if entry.reserved is not None]
    total = short_resource_text(queue_figures.total_reserved(entries))
    words = f"  {len(counted)} of {len(entries)} PodGroups count: {total}"
    return [(Piece(title, "title"), muted_piece(words))]


def _entry_row(recording: Recording, entry: queue_figures.LedgerEntry) -> Row:
    counts = entry.reserved is not None
    cells = (
        Piece(f"{YES if counts else '–'} {entry.job}", "strong" if counts else "muted"),
        Piece(entry.phase or "–"),
        Piece(age_since(recording, entry.created_text)),
        Piece(short_resource_text(entry.reserved)) if entry.reserved is not None else muted_piece("–"),
        Piece(entry.reason if counts else f"does not count: {entry.reason}", "" if counts else "muted"),
        Piece("–" if entry.minimum is None else short_resource_text(entry.minimum)),
    )
    return Row(entry.job, cells, entry.seq, ("job", entry.job))


def _refusal_row(refusal: Refusal) -> Row:
    of = f" for {count_noun(len(refusal.tasks), 'task')}" if refusal.tasks else ""
    job, reason = Piece(f"{NO} {refusal.job}", "bad"), Piece(f"refused: {refusal.reason}{of}", "bad")
    cells = (job, Piece(refusal.action), Piece(""), muted_piece("–"), reason, Piece(""))
    return Row(f"refused {refusal.seq} {refusal.reason}", cells, refusal.seq, ("job", refusal.job))
