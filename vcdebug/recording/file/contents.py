"""Answers that are stored beside a recording, because the first look at it would go over all of it for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from vcdebug.recording.cluster_overview import (
    jobs_pending_first,
    offered_dimensions,
    optional_node_columns,
    requested_dimensions,
    waiting_summary,
)
from vcdebug.recording.effects import action_outcomes, cycle_effects, timeline_marks
from vcdebug.recording.input_problems import input_problems, noteworthy_nodes
from vcdebug.recording.recording import Recording
from vcdebug.recording.writes import api_writes

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


# What of a recording is not stored: what belongs to the running process, and what is found again at once.

STORED_INSTEAD: Final[Mapping[str, Mapping[str, Any]]] = {  # Any: what stands there instead
    "vcdebug.recording.recording:Recording": {"memo": {}},
    "vcdebug.framework.session:Session": {"ask_extender": None, "_accounts": None, "standing": None},
    "vcdebug.framework.record:Record": {"bound": None},
    "vcdebug.model.pod:Pod": {"shape": None},
    "vcdebug.model.node_table:NodeTable": {"_asked_for": {}},
    "vcdebug.plugins.predicates.prefilter_cache:PreFilterCache": {"_last": None},
    "vcdebug.kube.dynamic_resources:DynamicResources": {"_read": None},
    "vcdebug.kube.pod_shape:PodShape": {"mark": None},
    "vcdebug.kube.pod_shape:PodShapes": {
        "_mark": None,
        "_known": {},
        "_burdens": {},
        "_of_parts": {},
        "_placement_of": {},
    },
}
"""Class → attribute → its value in a stored recording: identities are those of one process alone."""
