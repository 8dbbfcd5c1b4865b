"""What of a recording is not stored: what belongs to the running process, and what is found again at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

LEFT_OUT: Final[Mapping[str, Mapping[str, Any]]] = {  # Any: what stands there instead
    "vcdebug.trace.recording:Recording": {"memo": {}},
    "vcdebug.framework.session:Session": {"ask_extender": None, "_accounts": None},
    "vcdebug.framework.record:Record": {"bound": None},
    "vcdebug.kube.pod_shape:PodShapes": {"_shapes": {}, "_placement_of": {}},
}
"""Class → attribute → its value in a stored recording: identities are those of one process alone."""
