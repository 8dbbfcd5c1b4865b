"""Checks the figures behind every refusal of a node against the recorded reasons."""

from collections import Counter

from vcdebug.explain.decisions.dry_runs import CACHED_STATUS, NodeCheck, cache_hits, node_checks_in, statuses_of
from vcdebug.explain.equation import all_hold
from vcdebug.explain.plugins import asked_node_in
from vcdebug.framework.record import Event, Level, PredicateEvent
from vcdebug.framework.session import Session
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.names import NodeName, Seq
from vcdebug.recording.recording import Recording

EVICTING = ("preempt", "reclaim", "gangpreempt", "gangreclaim")
"""Actions that keep a node as candidate if its status is only Unschedulable."""


class Refusals:
    """Checks every refused and accepted node of each search during a rerun."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.seen: Counter[str] = Counter()
        self.wrong: list[object] = []

    def look(self, session: Session, seq: Seq, event: Event) -> None:
        if not isinstance(event, PredicateEvent):
            return
        hits = cache_hits(self.recording, seq)
        for row in [*event.failed.tolist(), *event.feasible.tolist()]:
            node = session.node_table.names[row]
            if node in hits:
                self._check_hit(hits[node].seq, seq, node)
                continue
            asked = asked_node_in(session, event, row)
            assert asked is not None
            statuses = statuses_of(self.recording, self._own(seq), node)
            self._compare(seq, node, statuses, list(node_checks_in(asked, statuses)))

    def _own(self, seq: Seq) -> PredicateEvent:
        event = self.recording.event_at(seq)
        assert isinstance(event, PredicateEvent)
        return event

    def _check_hit(self, earlier: Seq, seq: Seq, node: NodeName) -> None:
        """Check that the cached status equals that of the earlier search."""
        self.seen["error cache"] += 1
        now, then = (statuses_of(self.recording, self._own(at), node) for at in (seq, earlier))
        if now != then:
            self.wrong.append((seq, node, now, then))

    def _compare(self, seq: Seq, node: NodeName, statuses: tuple[FitStatus, ...], found: list[NodeCheck]) -> None:
        self.seen.update(status.reason.split(" ")[-1] for status in statuses)
        refusing = [check for check in found if check.is_refused]
        expected = [status.reason for status in statuses if status != CACHED_STATUS]
        notes = [check.equation.note for check in refusing if check.plugin in ("", "predicates")]
        own = [check.plugin for check in refusing if check.plugin not in ("", "predicates")]
        if CACHED_STATUS in statuses:
            notes = notes[:-1]
        if not statuses and self._action(seq) in EVICTING:
            expected, own = notes, []
        if own and len(notes) + 1 == len(expected):
            notes = [*notes, expected[-1]]
        if notes != expected and "extender" not in self.recording.session.plugins:
            self.wrong.append((seq, node, expected, notes, own))
        for check in found:
            verdict = check.equation.verdict
            if isinstance(verdict, bool) and check.equation.terms and verdict is not all_hold(check.equation.terms):
                self.wrong.append((seq, node, check))

    def _action(self, seq: Seq) -> str:
        span = self.recording.span_tree.span_around(seq, Level.ACTION)
        return span.name if span is not None else ""
