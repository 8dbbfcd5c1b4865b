"""What a node's annotation says of its vGPU device plugin, such as a program outside a cluster can live with.

Schedulers that go by it write their answer through a client that they only get inside a cluster; without one they
end. So the server says what the node would say after that answer, which decides the same.

Upstream: api/devices/nvidia/vgpu.NewGPUDevices, api/devices.NewClient.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from vcdebug.model.devices.vgpu_held import ASKED_AT, DELETED, HANDSHAKE, REQUESTING, asked_at, plugin_answers
from vcdebug.model.panics import SchedulerPanic
from vcdebug.snapshot.snapshot import Manifest


def shaken(node: Manifest, now: datetime) -> Manifest:
    """The node after the scheduler's answer: asked just now, or given up."""
    said = _said(node)
    if said is None or (DELETED in said and REQUESTING not in said):
        return node
    try:
        word = REQUESTING if plugin_answers(node, now) else DELETED
    except SchedulerPanic:
        return node
    return node if word in said else _saying(node, word, now)


def later(node: Manifest, by: timedelta) -> Manifest:
    """The node as if it had been asked so much later."""
    word, underscore, rest = (_said(node) or "").partition("_")
    asked = asked_at(rest) if underscore and word == REQUESTING else None
    return node if asked is None else _saying(node, word, asked + by)


def _said(node: Manifest) -> str | None:
    said = (node["metadata"].get("annotations") or {}).get(HANDSHAKE)
    return said if isinstance(said, str) else None


def _saying(node: Manifest, word: str, moment: datetime) -> Manifest:
    annotations = {**node["metadata"]["annotations"], HANDSHAKE: f"{word}_{moment.strftime(ASKED_AT)}"}
    return {**node, "metadata": {**node["metadata"], "annotations": annotations}}
