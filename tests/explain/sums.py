"""Checks that the explained parts of every score add up to the recorded parts."""

from collections import Counter

from vcdebug.explain.decisions.equations import score_parts_in
from vcdebug.explain.plugins import asked_node_in
from vcdebug.framework.record import Event, ScoreEvent
from vcdebug.framework.session import Session
from vcdebug.model.names import Seq


class Sums:
    """Checks every score during a rerun."""

    def __init__(self) -> None:
        self.derived: Counter[str] = Counter()
        self.wrong: list[object] = []

    def look(self, session: Session, seq: Seq, event: Event) -> None:
        if not isinstance(event, ScoreEvent):
            return
        for place, row in enumerate(event.rows.tolist()):
            asked = asked_node_in(session, event, row)
            assert asked is not None
            for part in score_parts_in(asked, event, place):
                if part.equation is None:
                    continue
                self.derived[part.name] += 1
                if part.equation.verdict != part.recorded:
                    self.wrong.append((seq, session.node_table.names[row], part.name, part.recorded, part.equation))
