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
    as_user: str = ""
    """Whom to impersonate; empty means whom the kubeconfig says, usually nobody."""
    as_groups: tuple[str, ...] = ()
    """The groups of the one who is impersonated."""
    scheduler: str = ""
    """`namespace/name` of the scheduler to replay, where there are several; empty means: choose."""
    scheduler_configmap: str = ""
    """`namespace/name` of the scheduler's ConfigMap; empty means: look for it."""
    release: str = ""
    """Which release the scheduler is; empty means: its image tells."""
    usage_url: str = ""
    """Where node usage is measured; empty means where the scheduler's configuration says."""
    redact: bool = False
    """Keep only what decides, under other names."""
    page_size: int = 500
    """Objects per request."""
    timeout: float = 60.0
    """Seconds without a word from the server after which one request has failed."""
    deadline: float = 600.0
    """Seconds that the whole capture may take."""
    attempts: int = 5
    """How often a request is sent when the server is busy or failing."""
    first_wait: float = 0.5
    """Seconds before the second attempt; doubled each time, unless the server names its own."""
