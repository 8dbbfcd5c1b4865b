"""Marks where the replay lacks an answer that the real scheduler had.

Upstream: none.
"""

from __future__ import annotations

from vcdebug.framework.record import Note
from vcdebug.framework.session import Session

NOTES_LOOKED_BACK = 8
"""How many of the last notes may already say the same."""


def note_unknown(ssn: Session, code: str, text: str) -> None:
    """A note at the next event, said once there however often its search asks."""
    if Note(ssn.record.next_seq, code, text) not in ssn.record.notes[-NOTES_LOOKED_BACK:]:
        ssn.note_quirk(code, text)
