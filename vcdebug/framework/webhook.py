"""The port through which a plugin may ask a service outside, where whoever starts the replay provides one.

Upstream: plugins/extender (send).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple


class WebhookResponse(NamedTuple):
    """What the service answered."""

    status: int
    body: bytes


AskExtender = Callable[[str, Mapping[str, object], float | None], WebhookResponse | str]
"""(verb, request's body, seconds until the call has failed, None without a limit) → the response or an error's text."""
