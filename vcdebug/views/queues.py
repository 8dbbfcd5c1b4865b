"""The queues as they stand at an event, as a tree, with the figures of the plugin that shares out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from vcdebug.amount_text import format_amount, format_number, short_amounts, short_name
from vcdebug.explain.decisions.queue_figures import (
    QueuePlace,
    StarvedPair,
    capacity_tree,
    queue_places,
    queue_share,
    sharing_plugin,
    starved_pairs,
    surplus_of,
    tree_is_broken,
)
from vcdebug.framework.figures import Figures
from vcdebug.grouping import group_by_key
from vcdebug.model.names import Seq
from vcdebug.model.resource import PODS, Resource
from vcdebug.plugins import OVERCOMMIT
from vcdebug.recording.recording import Recording
from vcdebug.recording.timeline import ClusterState
from vcdebug.views.cell_figures import queue_figure
from vcdebug.views.table import (
    NO,
    Column,
    Line,
    Piece,
    Row,
    Style,
    Table,
    make_line,
    muted_piece,
    plain_columns,
    value_text,
)

AMOUNT_FIGURES = ("deserved", "allocated", "request", "inqueue", "guarantee", "capability", "realCapability", "elastic")
QUEUE_COLUMNS = (
    Column("queue", name=True),
    *plain_columns("dim", "alloc#", "deserved#"),
    Column("share", right=True, flexible=True),
    *plain_columns("request#", "inqueue#", "limit#", "weight#"),
)
STATE_COLUMN = Column("state", flexible=True)
MAX_PAIRS = 6
NO_RESOURCE: Final = Resource()
NO_SHARER = "no plugin shares out: neither proportion nor capacity is configured"
BROKEN_TREE = (
    f"{NO} capacity gave up on its tree of queues: these figures are as far as it got, and everything is refused"
)


def queues_table(recording: Recording, seq: Seq, current: str = "") -> Table:
    """Every queue, one row per dimension; the dimension of its share is named, children stand below parents."""
    state, plugin = recording.timeline.state_at(seq), sharing_plugin(recording)
    rows = [
        row
        for place in queue_places(recording)
        for row in _iter_queue_rows(recording, seq, place, _queue_figures(state, plugin, place))
    ]
    rows += _iter_cluster_rows(state, dict.fromkeys(row.key.rpartition(" ")[2] for row in rows))
    columns: tuple[Column, ...] = (*QUEUE_COLUMNS, STATE_COLUMN)
    if not any(row.cells[-1].text for row in rows):
        columns, rows = QUEUE_COLUMNS, [row._replace(cells=row.cells[:-1]) for row in rows]
    foot = (*_iter_cluster_words(state), *_iter_queues_foot(recording, seq, plugin))
    figures = partial(queue_figure, recording, plugin, columns)
    return Table("Queues", columns, rows, foot=foot, current=f"{current} cpu" if current else "", figures=figures)


def _iter_queues_foot(recording: Recording, seq: Seq, plugin: str) -> Iterator[Line]:
    if not plugin:
        yield make_line(muted_piece(NO_SHARER))
        return
    if tree_is_broken(recording):
        yield make_line(Piece(BROKEN_TREE, "bad"))
        return
    lines = list(iter_pair_lines(starved_pairs(recording, seq)))
    yield from lines[:MAX_PAIRS]
    if len(lines) > MAX_PAIRS:
        yield make_line(muted_piece(f"+{len(lines) - MAX_PAIRS} more"))


def iter_pair_lines(found: Sequence[StarvedPair]) -> Iterator[Line]:
    """Who lacks what it deserves, and who holds more than that: a line for each two queues."""
    for (starved, above), entries in group_by_key(((pair.starved, pair.above), pair) for pair in found).items():
        lacks = short_amounts([(pair.dimension, pair.lacks) for pair in entries])
        start = (Piece(f"{NO} {starved}", "bad"), Piece(f" lacks {lacks} of what it deserves; "))
        if not above:
            yield make_line(*start, muted_piece("nobody holds more of it than it deserves"))
            continue
        more = short_amounts([(pair.dimension, pair.surplus) for pair in entries])
        reclaim = "" if entries[0].reclaimable else ", but is not reclaimable"
        yield make_line(*start, Piece(f"▲ {above}", "warn"), f" holds {more} more than it deserves{reclaim}")


def _queue_figures(state: ClusterState, plugin: str, place: QueuePlace) -> Figures:
    return state.books[plugin].get(place.name, {}) if plugin else {}


def _iter_queue_rows(recording: Recording, seq: Seq, place: QueuePlace, figures: Figures) -> Iterator[Row]:
    name = place.name
    amounts = amounts_of(figures)
    state = Piece(state_words(recording, name), "warn")
    for index, dim in enumerate(_shown_dimensions(amounts)):
        first = index == 0
        cells = (
            Piece("  " * place.depth + name if first else "", "strong"),
            muted_piece(short_name(dim)),
            _allocated_piece(sharing_plugin(recording), amounts, dim),
            _amount_piece(amounts, "deserved", dim),
            Piece(_share_text(recording, seq, name, figures) if first else ""),
            *(_amount_piece(amounts, key, dim) for key in ("request", "inqueue")),
            _limit_piece(amounts, dim),
            Piece(str(recording.session.queues[name].weight) if first else ""),
            state if first else Piece(""),
        )
        yield Row(f"{name} {dim}", cells, subject=("queue", name))


def amounts_of(figures: Figures) -> dict[str, Resource]:
    """The figures that are amounts."""
    return {key: figures[key] for key in AMOUNT_FIGURES if isinstance(figures.get(key), Resource)}


def _share_text(recording: Recording, seq: Seq, name: str, figures: Figures) -> str:
    """The share, and the dimension that it comes from."""
    if figures.get("share") is None:
        return "–"
    found = queue_share(recording, seq, name)
    where = f" {short_name(found.deciding)}" if found.deciding else ""
    return f"{value_text(figures['share'])}{where}"


def _iter_cluster_rows(state: ClusterState, queued: Mapping[str, None]) -> Iterator[Row]:
    """What overcommit holds against the whole cluster, in the dimensions that somebody asks for."""
    books = state.books.get(OVERCOMMIT)
    if books is None:
        return
    figures = books[""]
    asked = [*queued, *(dim for dim in _shown_dimensions({"inqueue": figures["inqueue"]}) if dim not in queued)]
    for index, dim in enumerate(asked):
        idle, held = (format_amount(dim, figures[key].get(dim)) for key in ("idle", "inqueue"))
        name = Piece("cluster" if index == 0 else "", "strong")
        nothing = muted_piece("–")
        cells = (name, muted_piece(short_name(dim)), nothing, nothing, Piece(""), nothing, Piece(held), Piece(idle))
        yield Row(f"cluster {dim}", (*cells, Piece(""), Piece("")), subject=("cluster", OVERCOMMIT))


def _iter_cluster_words(state: ClusterState) -> Iterator[Line]:
    books = state.books.get(OVERCOMMIT)
    if books is not None:
        yield make_line(
            muted_piece(f"cluster: the limit is idle at {format_number(books['']['factor'])}× (overcommit)")
        )


def _shown_dimensions(amounts: Mapping[str, Resource]) -> list[str]:
    found: dict[str, None] = dict.fromkeys(("cpu", "memory"))
    for key in ("guarantee", "deserved", "allocated", "request", "inqueue", "idle"):
        resource = amounts.get(key, NO_RESOURCE)
        found.update((n, None) for n, v in resource.items() if v and n != PODS and not n.startswith("attachable"))
    return list(found)


def state_words(recording: Recording, name: str) -> str:
    """What is unusual about a queue."""
    queue = recording.session.queues[name]
    parts = [] if queue.state in ("", "Open") else [queue.state]
    if not queue.reclaimable:
        parts.append("not reclaimable")
    if queue.parent and queue.parent != "root" and capacity_tree(recording) is None:
        parts.append(f"child of {queue.parent}")
    return ", ".join(parts)


def _amount_piece(amounts: Mapping[str, Resource], key: str, dim: str) -> Piece:
    return Piece(format_amount(dim, amounts[key].get(dim))) if key in amounts else muted_piece("–")


def _allocated_piece(plugin: str, amounts: Mapping[str, Resource], dim: str) -> Piece:
    if "allocated" not in amounts:
        return muted_piece("–")
    held = amounts["allocated"].get(dim)
    over = "deserved" in amounts and surplus_of(plugin, amounts["deserved"], amounts["allocated"], dim) > 0
    style: Style = "warn" if over else ""
    return Piece(f"{'▲ ' if over else ''}{format_amount(dim, held)}", style)


def _limit_piece(amounts: Mapping[str, Resource], dim: str) -> Piece:
    for key in ("realCapability", "capability"):
        if key in amounts and amounts[key].has_dimension(dim):
            return Piece(format_amount(dim, amounts[key].get(dim)))
    return muted_piece("–")
