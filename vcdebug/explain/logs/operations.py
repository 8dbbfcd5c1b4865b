"""Lines about statements and their operations, with those of the plugins that keep books.

Upstream: framework/statement, framework/session; event handlers of drf, proportion, capacity and predicates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vcdebug.explain.logs.message import UNKNOWN
from vcdebug.explain.logs.story import Story, Teller, number
from vcdebug.framework.quirks import VIEW_LOST_POD
from vcdebug.framework.record import Event, OpEvent, StatementEvent

PLACING = ("allocate", "pipeline", "unevict")
_STATEMENT_LINES = {"commit": "commit", "discard": "discard", "recover": "recover"}
_AMOUNT_LINES = {"allocate": "allocated", "pipeline": "pipelined", "unpipeline": "unpipelined"}


class Operations(Teller):
    """Every operation of every action."""

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self._lost: dict[str, None] = {}
        self._plugins = list(story.recording.session.plugins)

    def behind(self, event: Event) -> None:
        if isinstance(event, StatementEvent):
            self._statement(event)
        elif isinstance(event, OpEvent):
            self._operation(event)

    def _statement(self, event: StatementEvent) -> None:
        if event.what == "save":
            names = [f"task {self.story.task(task).name} {kind} from node {node}" for kind, task, node in event.ops]
            self.story.say("save", operations=" ".join(names))
        elif event.what in _STATEMENT_LINES:
            self.story.say(_STATEMENT_LINES[event.what])
        if event.what == "commit":
            for kind, task, _ in event.ops:
                if kind == "allocate":
                    self.story.say("bind", task=task)

    def _operation(self, event: OpEvent) -> None:
        if event.op == "bind":
            self.story.say("bind", task=event.task)
            return
        if event.op == "unallocate":
            self.story.say("remove", name=self.story.task(event.task).name, node=event.node)
        elif event.op in _AMOUNT_LINES and event.after is not None:
            idle, used, releasing, _ = event.after
            amounts: Mapping[str, object] = {"idle": idle, "used": used, "releasing": releasing}
            self.story.say(_AMOUNT_LINES[event.op], task=event.task, node=event.node, **amounts)
        self._handlers(event)
        if event.op == "allocate" and event.via is None:
            self.story.say("allocating")

    def _handlers(self, event: OpEvent) -> None:
        """AllocateFunc or DeallocateFunc of every plugin, in the order in which they were opened."""
        books = dict(event.books)
        for plugin in self._plugins:
            if plugin == "predicates":
                self._view(event)
            elif plugin in books and plugin in ("drf", "proportion", "capacity"):
                self._book(event, plugin, books[plugin])

    def _book(self, event: OpEvent, plugin: str, figures: Mapping[str, Any]) -> None:
        what = "allocate" if event.op in PLACING else "deallocate"
        share = figures.get("share")
        self.story.say(
            f"{plugin}.{what}",
            task=event.task,
            request=self.story.task(event.task).resreq,
            share=UNKNOWN if share is None else number(share),
            namespace=-1,
        )

    def _view(self, event: OpEvent) -> None:
        """The Kubernetes view of nodes that predicates keeps: a pod whose return was refused stays lost."""
        story, place = self.story, {"task": event.task, "node": event.node}
        if event.op in PLACING:
            story.say("view.allocate", node=event.node)
            if any(note.code == VIEW_LOST_POD for note in story.recording.notes_at(story.seq)):
                self._lost[event.task] = None
                story.say("view.refused", task=event.task, error=UNKNOWN)
            else:
                self._lost.pop(event.task, None)
                story.say("view.added", **place)
            return
        story.say("view.deallocate", node=event.node)
        if event.task in self._lost:
            story.say("view.missing", name=story.task(event.task).name, **place)
        else:
            story.say("view.removed", **place)
