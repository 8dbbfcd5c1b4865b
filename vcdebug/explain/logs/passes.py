"""Lines about searches for nodes: every node considered, every failure, and the scores.

Upstream: util/predicate_helper, util/scheduler_helper; scores of nodeorder, binpack and predicates.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vcdebug.explain.logs.story import Story, Teller, mapping, number
from vcdebug.framework.action import ERROR_CACHE
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import BATCH_NODE_ORDER, NODE_ORDER
from vcdebug.framework.record import Event, Level, PopEvent, PredicateEvent, ScoreEvent, Span
from vcdebug.gomath import FloatArray, mod
from vcdebug.model.fiterror import fit_error_text
from vcdebug.model.names import Row

_CACHING = {"allocate": "allocate", "preempt": "preempt", "gangpreempt": "allocate", "gangreclaim": "allocate"}
"""Actions whose search helper lives longer than one task, and whose argument switches its cache."""


IMAGES, IMAGES_WEIGHT = "nodeorder/ImageLocality", "imagelocality.weight"


class Passes(Teller):
    """Predicate and scoring passes, whoever runs them."""

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self._failed: dict[str, dict[Row, None]] = {}
        self._action = ""
        self._caching = False
        self._start = 0

    def enter(self, span: Span) -> None:
        if span.level is Level.ACTION:
            self._action, self._failed = span.name, {}
            arguments: Arguments = self.story.recording.conf.arguments_of(_CACHING.get(span.name, ""))
            self._caching = span.name in _CACHING and arguments.get_bool(ERROR_CACHE, default=True)

    def leave(self, span: Span) -> None:
        """Outside preempt, a helper serves one loop over tasks at most."""
        if span.level is Level.TASK and self._action != "preempt" and not self._goes_on():
            self._failed = {}

    def _goes_on(self) -> bool:
        event = self.story.next_event()
        return isinstance(event, PopEvent) and event.kind == "task"

    def behind(self, event: Event) -> None:
        if isinstance(event, PredicateEvent):
            self._search(event)
        elif isinstance(event, ScoreEvent):
            self._scores(event)

    def _search(self, event: PredicateEvent) -> None:
        story, state = self.story, self.story.before
        task, names = story.task(event.task), story.recording.node_names
        group = f"{task.job}/{task.task_role}"
        known = self._failed.get(group, {}) if self._caching and task.task_role else {}
        codes = dict(zip(event.failed.tolist(), event.codes.tolist(), strict=True))
        for row in self._visited(event):
            node = names[row]
            story.say("pass.node", task=event.task, node=node, request=task.resreq, idle=state.nodes[node].idle)
            if row in codes and row not in known:
                statuses = story.recording.reasons.statuses(codes[row])
                story.say("pass.failed", error=fit_error_text(event.task, node, statuses))
        if codes:
            self._failed.setdefault(group, {}).update(dict.fromkeys(codes))

    def _visited(self, event: PredicateEvent) -> list[Row]:
        """Rows in visiting order: the list's rotation, with the feasible node that ended an early stop."""
        rows = sorted([*event.feasible.tolist(), *event.failed.tolist()])
        everything = len(self.story.recording.node_names)
        start, self._start = self._start, mod(self._start + event.processed, event.considered)
        if event.considered == everything:
            first = mod(start, everything)
            return [mod(first + step, everything) for step in range(event.processed)]
        return rows[start:] + rows[:start] if event.processed == event.considered else rows

    def _scores(self, event: ScoreEvent) -> None:
        story, names = self.story, self.story.recording.node_names
        parts, nodes = dict(event.parts), [names[row] for row in event.rows.tolist()]
        for index, node in enumerate(nodes):
            for plugin in self._answering(NODE_ORDER.method):
                if plugin in parts and not np.isnan(parts[plugin][index]):
                    self._node_score(event, plugin, node, index)
        for plugin in self._answering(BATCH_NODE_ORDER.method):
            self._batch(event, plugin, nodes, parts)
        story.say("score.total", task=event.task, scores=mapping(_entries(nodes, event.total)))

    def _answering(self, method: str) -> list[str]:
        ballots = self.story.recording.session.ballots[method]
        return [ballot.plugin for tier in ballots for ballot in tier]

    def _node_score(self, event: ScoreEvent, plugin: str, node: str, index: int) -> None:
        story, parts = self.story, dict(event.parts)
        names, score = {"task": event.task, "node": node}, float(parts[plugin][index])
        if plugin == "nodeorder":
            if IMAGES in parts:
                self._images(names, float(parts[IMAGES][index]))
            story.say("score.nodeorder", score=f"{score:.6f}", **names)
        elif plugin == "binpack":
            story.say("score.binpack", score=number(score), **names)

    def _images(self, names: Mapping[str, str], score: float) -> None:
        """The one part of nodeorder that is asked node by node; its raw score is a whole number."""
        option = next(o for tier in self.story.recording.conf.tiers for o in tier if o.name == "nodeorder")
        weight = Arguments(option.arguments).get_int(IMAGES_WEIGHT, 1)
        raw = round(score / weight)
        self.story.say("score.scoring", part="ImageLocality")
        self.story.say("score.part", part="ImageLocality", weight=weight, raw=raw, score=f"{score:.6f}", **names)

    def _batch(self, event: ScoreEvent, plugin: str, nodes: list[str], parts: dict[str, FloatArray]) -> None:
        if plugin not in ("nodeorder", "predicates"):
            return
        scores = parts.get(f"{plugin}/batch")
        entries = {} if scores is None else _entries(nodes, scores)
        self.story.say(f"score.{plugin}-batch", task=event.task, scores=mapping(entries))


def _entries(nodes: list[str], scores: FloatArray) -> dict[str, float]:
    return {node: float(score) for node, score in zip(nodes, scores, strict=True) if not np.isnan(score)}
