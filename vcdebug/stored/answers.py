"""Answers that are stored beside a recording, because the first look at it would go over all of it for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from vcdebug.trace.action_outcomes import action_outcomes
from vcdebug.trace.effects import effects
from vcdebug.trace.input_problems import input_problems
from vcdebug.trace.marks import marks
from vcdebug.trace.odd_nodes import odd_nodes
from vcdebug.trace.offered import asked_for, offered
from vcdebug.trace.recording import Recording
from vcdebug.trace.standing import standing
from vcdebug.trace.told_of_nodes import told_of_nodes
from vcdebug.trace.waiting_first import waiting_first
from vcdebug.trace.writes import writes

Question = Callable[[Recording], Any]  # Any: each question has its own form

ANSWERED: Final[tuple[Question, ...]] = (
    effects,
    writes,
    marks,
    action_outcomes,
    input_problems,
    offered,
    asked_for,
    odd_nodes,
    told_of_nodes,
    standing,
    waiting_first,
)
"""Questions whose answers lie behind the recording, in this order."""
READ_LATER: Final = (writes, waiting_first)
"""Answers of so many parts that these are read one by one."""
