"""Lines about events: actions, statements and their operations, with the books that plugins keep of them.

Upstream: framework/statement, framework/session; event handlers of drf, proportion, capacity and predicates.
"""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.comparison.logs.message import UNKNOWN_TEXT, LogCall, LogContext
from vcdebug.framework.quirks import VIEW_LOST_POD
from vcdebug.framework.record import (
    ALLOCATE_OP,
    CHARGING_OPS,
    PIPELINE_OP,
    UNPIPELINE_OP,
    ActionEvent,
    OpEvent,
    StatementEvent,
)
from vcdebug.plugins import CAPACITY, DRF, PREDICATES, PROPORTION, USAGE
from vcdebug.releases.nodes import USAGE_SHADOW_LOAD

AMOUNT_OPS = {ALLOCATE_OP: "allocated", PIPELINE_OP: "pipelined", UNPIPELINE_OP: "unpipelined"}
SHADOW_LOAD = USAGE_SHADOW_LOAD.id
BOOK_PLUGINS = (DRF, PROPORTION, CAPACITY)
"""Plugins that print each change of what a job or queue holds."""


def lines_of_action(at: LogContext, event: ActionEvent) -> Iterator[LogCall]:
    """`Enter` and `Leaving`."""
    starts = event.what == "start"
    at.action = event.action
    yield (f"{event.action}.enter" if starts else f"{event.action}.leave",)


def lines_of_statement(at: LogContext, event: StatementEvent) -> Iterator[LogCall]:
    """A statement before its operations; commit hands allocations to the cache."""
    if event.what == "save":
        steps = (f"task {at.task_of(task).name} {kind} from node {node}" for kind, task, node in event.ops)
        yield "statement.save", " ".join(steps)
        return
    yield (f"statement.{event.what}",)
    if event.what == "commit":
        yield from (("cache.bind", task) for kind, task, _ in event.ops if kind == ALLOCATE_OP)


def lines_of_operation(at: LogContext, event: OpEvent) -> Iterator[LogCall]:
    """The node's amounts, and each plugin's handler in the order in which they were opened."""
    if event.op == "bind":
        yield "cache.bind", event.task
        return
    if event.op == "unallocate":
        yield "statement.remove", at.task_of(event.task).name, event.node
    elif event.op in AMOUNT_OPS and event.after is not None:
        yield f"statement.{AMOUNT_OPS[event.op]}", event.task, event.node, *event.after[:3]
    books = dict(event.books)
    for plugin in at.recording.session.plugins:
        if plugin == PREDICATES:
            yield from _view_lines(at, event)
        elif plugin in books and plugin in BOOK_PLUGINS:
            share = books[plugin].get("share", UNKNOWN_TEXT)
            what = "allocate" if event.op in CHARGING_OPS else "deallocate"
            yield f"{plugin}.{what}", event.task, at.task_of(event.task).resreq, share
        elif (
            plugin == USAGE and event.op not in CHARGING_OPS and SHADOW_LOAD not in at.recording.snapshot.release.older
        ):
            yield "load.deallocate", event.task
    if event.op == ALLOCATE_OP and event.via is None:
        yield ("statement.allocating",)


def _view_lines(at: LogContext, event: OpEvent) -> Iterator[LogCall]:
    """The Kubernetes view of nodes that predicates keeps: a pod whose return was refused stays lost."""
    if event.op not in CHARGING_OPS:
        yield "view.deallocate", event.node
        missing = event.task in at.lost
        yield "view.missing" if missing else "view.removed", event.task, event.node, at.task_of(event.task).name
        return
    yield "view.allocate", event.node
    if any(note.code == VIEW_LOST_POD for note in at.recording.notes_at(at.seq)):
        at.lost[event.task] = None
        yield "view.refused", event.task
        return
    at.lost.pop(event.task, None)
    yield "view.added", event.task, event.node
