"""What a node's annotation says of its vGPU device plugin, such as a program outside a cluster can live with.

Schedulers that go by it write their answer through a client that they only get inside a cluster; without one they
end. So the server says what the node would say after that answer, which decides the same.

Upstream: api/devices/nvidia/vgpu.NewGPUDevices, api/devices.NewClient.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from vcdebug.model.devices.vgpu_held import (
    DELETED,
    HANDSHAKE_ANNOTATION,
    HANDSHAKE_TIME_FORMAT,
    REQUESTING,
    is_plugin_alive,
    parse_handshake_time,
)
from vcdebug.model.panics import SchedulerPanic
from vcdebug.snapshot.snapshot import Manifest


def answered_node(node: Manifest, now: datetime) -> Manifest:
    """The node after the scheduler's answer: asked just now, or given up."""
    said = _handshake_text(node)
    if said is None or (DELETED in said and REQUESTING not in said):
        return node
    try:
        word = REQUESTING if is_plugin_alive(node, now) else DELETED
    except SchedulerPanic:
        return node
    return node if word in said else _with_handshake(node, word, now)


def delayed_node(node: Manifest, by: timedelta) -> Manifest:
    """The node as if it had been asked so much later."""
    word, underscore, rest = (_handshake_text(node) or "").partition("_")
    asked = parse_handshake_time(rest) if underscore and word == REQUESTING else None
    return node if asked is None else _with_handshake(node, word, asked + by)


def _handshake_text(node: Manifest) -> str | None:
    said = (node["metadata"].get("annotations") or {}).get(HANDSHAKE_ANNOTATION)
    return said if isinstance(said, str) else None


def _with_handshake(node: Manifest, word: str, moment: datetime) -> Manifest:
    annotations = {
        **node["metadata"]["annotations"],
        HANDSHAKE_ANNOTATION: f"{word}_{moment.strftime(HANDSHAKE_TIME_FORMAT)}",
    }
    return {**node, "metadata": {**node["metadata"], "annotations": annotations}}
