"""The queues as they stand at an event, with the figures of the plugin that shares out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vcdebug.model.names import QueueName, Seq
from vcdebug.model.resource import PODS, Resource
from vcdebug.trace.recording import Recording
from vcdebug.trace.timeline import ClusterState
from vcdebug.views.amounts import amount, figure, short_name
from vcdebug.views.base import Column, Piece, Row, Style, Table, line, muted

SHARERS = ("proportion", "capacity")
FIGURES = ("deserved", "allocated", "request", "inqueue", "guarantee", "capability", "realCapability", "elastic")
COLUMNS = (
    Column("queue", flexible=True),
    Column("dim"),
    Column("alloc", right=True),
    Column("deserved", right=True),
    Column("request", right=True),
    Column("inqueue", right=True),
    Column("capability", right=True),
    Column("share", right=True),
    Column("weight", right=True),
)
STATE = Column("state", flexible=True)


def queues(recording: Recording, seq: Seq, current: str = "") -> Table:
    """Every queue, one row per dimension, with the dimension that holds most of its deserved marked."""
    state = recording.timeline.state_at(seq)
    plugin = next((name for name in SHARERS if name in state.books), "")
    rows: list[Row] = []
    for name in recording.session.queues:
        rows += _rows(recording, name, _figures(state, plugin, name))
    columns: tuple[Column, ...] = (*COLUMNS, STATE)
    if not any(row.cells[-1].text for row in rows):
        columns, rows = COLUMNS, [row._replace(cells=row.cells[:-1]) for row in rows]
    foot = () if plugin else (line(muted("no plugin shares out: neither proportion nor capacity is configured")),)
    return Table("Queues", columns, rows, foot=foot, current=f"{current} cpu" if current else "")


def _figures(state: ClusterState, plugin: str, name: QueueName) -> Mapping[str, Any]:
    if not plugin:
        return {}
    books = state.books[plugin]
    return books.get(name, {})


def _rows(recording: Recording, name: QueueName, figures: Mapping[str, Any]) -> list[Row]:
    queue = recording.session.queues[name]
    amounts = {key: figures[key] for key in FIGURES if isinstance(figures.get(key), Resource)}
    share = figures.get("share")
    state = Piece(_state(recording, name), "warn")
    rows: list[Row] = []
    for index, dim in enumerate(_dimensions(amounts)):
        first = index == 0
        cells = (
            Piece(name if first else "", "strong"),
            muted(short_name(dim)),
            _allocated(amounts, dim),
            *(_amount(amounts, key, dim) for key in ("deserved", "request", "inqueue")),
            _limit(amounts, dim),
            Piece(("–" if share is None else figure(share)) if first else ""),
            Piece(str(queue.weight) if first else ""),
            state if first else Piece(""),
        )
        rows.append(Row(f"{name} {dim}", cells, subject=("queue", name)))
    return rows


def _dimensions(amounts: Mapping[str, Resource]) -> list[str]:
    found: dict[str, None] = dict.fromkeys(("cpu", "memory"))
    for resource in amounts.values():
        found.update((n, None) for n, v in resource.items() if v and n != PODS and not n.startswith("attachable"))
    return list(found)


def _state(recording: Recording, name: QueueName) -> str:
    queue = recording.session.queues[name]
    parts = [] if queue.state in ("", "Open") else [queue.state]
    if not queue.reclaimable:
        parts.append("not reclaimable")
    if queue.parent and queue.parent != "root":
        parts.append(f"child of {queue.parent}")
    return ", ".join(parts)


def _amount(amounts: Mapping[str, Resource], key: str, dim: str) -> Piece:
    return Piece(amount(dim, amounts[key].get(dim))) if key in amounts else muted("–")


def _allocated(amounts: Mapping[str, Resource], dim: str) -> Piece:
    if "allocated" not in amounts:
        return muted("–")
    held = amounts["allocated"].get(dim)
    over = "deserved" in amounts and held > amounts["deserved"].get(dim)
    style: Style = "warn" if over else ""
    return Piece(f"{'▲ ' if over else ''}{amount(dim, held)}", style)


def _limit(amounts: Mapping[str, Resource], dim: str) -> Piece:
    for key in ("realCapability", "capability"):
        if key in amounts and amounts[key].has(dim):
            return Piece(amount(dim, amounts[key].get(dim)))
    return muted("–")
