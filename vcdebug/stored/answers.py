"""Answers that are stored beside a recording, because the first look at it would go over all of it for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from vcdebug.trace.action_outcomes import action_outcomes
from vcdebug.trace.effects import cycle_effects
from vcdebug.trace.input_problems import input_problems
from vcdebug.trace.marks import timeline_marks
from vcdebug.trace.odd_nodes import noteworthy_nodes
from vcdebug.trace.offered import offered_dimensions, requested_dimensions
from vcdebug.trace.recording import Recording
from vcdebug.trace.standing import waiting_summary
from vcdebug.trace.told_of_nodes import optional_node_columns
from vcdebug.trace.waiting_first import jobs_pending_first
from vcdebug.trace.writes import api_writes

StoredQuestion = Callable[[Recording], Any]  # Any: each question has its own form

STORED_ANSWERS: Final[tuple[StoredQuestion, ...]] = (
    cycle_effects,
    api_writes,
    timeline_marks,
    action_outcomes,
    input_problems,
    offered_dimensions,
    requested_dimensions,
    noteworthy_nodes,
    optional_node_columns,
    waiting_summary,
    jobs_pending_first,
)
"""Questions whose answers lie behind the recording, in this order."""
LAZY_ANSWERS: Final = (api_writes, jobs_pending_first)
"""Answers of so many parts that these are read one by one."""
