"""What a capture is asked to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[str, int, int], None]
"""Called after each page: kind, objects read so far, objects expected in all."""


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """Which cluster to read, as whom, and how patiently."""

    context: str = ""
    """The kubeconfig context; empty means the current one."""
    kubeconfig: str = ""
    """The kubeconfig file; empty means $KUBECONFIG, ~/.kube/config, or the pod's service account."""
    scheduler_configmap: str = ""
    """`namespace/name` of the scheduler's ConfigMap; empty means: look for it."""
    redact: bool = False
    """Remove what a replay does not need and what a company would not hand out."""
    page_size: int = 500
    """Objects per request."""
    timeout: float = 60.0
    """Seconds that one request may take."""
    attempts: int = 5
    """How often a request is sent when the server is busy or failing."""
    first_wait: float = 0.5
    """Seconds before the second attempt; doubled each time, unless the server names its own."""
