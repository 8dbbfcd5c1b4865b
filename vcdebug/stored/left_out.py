"""What of a recording is not stored: what belongs to the running process, and what is found again at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

STORED_INSTEAD: Final[Mapping[str, Mapping[str, Any]]] = {  # Any: what stands there instead
    "vcdebug.trace.recording:Recording": {"memo": {}},
    "vcdebug.framework.session:Session": {"ask_extender": None, "_accounts": None, "standing": None},
    "vcdebug.framework.record:Record": {"bound": None},
    "vcdebug.model.pod:Pod": {"shape": None},
    "vcdebug.model.nodetable:NodeTable": {"_asked_for": {}},
    "vcdebug.plugins.predicates.foretelling:PreFilterCache": {"_last": None},
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
