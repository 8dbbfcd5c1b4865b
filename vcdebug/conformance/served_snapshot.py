"""A snapshot moved to the present, since a scheduler's program goes by the clock of the machine.

Upstream: k8s apimachinery resource (ParseQuantity, CanonicalizeBytes).
Upstream: api/devices/nvidia/vgpu.NewGPUDevices, api/devices.NewClient.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from vcdebug.errors import SchedulerPanic
from vcdebug.model.devices.vgpu_annotations import (
    DELETED,
    HANDSHAKE_ANNOTATION,
    HANDSHAKE_TIME_FORMAT,
    REQUESTING,
    is_plugin_alive,
    parse_handshake_time,
)
from vcdebug.snapshot.cycle_inputs import ChanceSettings, SchedulerProcess
from vcdebug.snapshot.manifest import Json, JsonObject, name_of
from vcdebug.snapshot.quantity import BINARY_SUFFIXES, QuantityError, binary_text, nano_text, nano_value
from vcdebug.snapshot.snapshot import Manifest, Snapshot

TIME_TEXT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
ROOT_QUEUE = "root"
QUEUE, NODE = "Queue", "Node"


def moved_to_present(snapshot: Snapshot, now: datetime) -> Snapshot:
    """The snapshot as it would look now: every age stays as it is, in whole seconds."""
    ago = timedelta(seconds=round((now - snapshot.now).total_seconds()))
    objects = {kind: [_moved_times(one, ago) for one in manifests] for kind, manifests in snapshot.objects.items()}
    if NODE in objects:
        objects[NODE] = [delayed_node(node, ago) for node in objects[NODE]]
    queues = objects.get(QUEUE, [])
    names = [name_of(queue) for queue in queues]
    made = [_built_in_queue(name, now) for name in (ROOT_QUEUE, snapshot.flags.default_queue) if name not in names]
    objects[QUEUE] = [*queues, *made]
    return replace(snapshot, objects=objects, now=snapshot.now + ago, process=SchedulerProcess())


def at_cycle(snapshot: Snapshot, began: datetime, started: datetime, sessions: int = 1) -> Snapshot:
    """The snapshot as a later cycle of a process met it: those before saw no PodGroup."""
    return replace(
        snapshot, now=began, process=SchedulerProcess(started=started, sessions=sessions), chance=ChanceSettings()
    )


def text_of(moment: datetime) -> str:
    """As objects say a time."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _built_in_queue(name: str, now: datetime) -> Manifest:
    """A queue that every scheduler makes when it starts."""
    metadata = {"name": name, "uid": f"made-{name}", "creationTimestamp": text_of(now)}
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": QUEUE}
    return {**kind, "metadata": metadata, "spec": {"weight": 1, "reclaimable": name != ROOT_QUEUE}, "status": {}}


def _moved_times(value: Json, ago: timedelta, key: str = "") -> Json:
    if isinstance(value, dict):
        return {name: one if name == "annotations" else _moved_times(one, ago, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_moved_times(one, ago) for one in value]
    if isinstance(value, str) and key.lower().endswith(("time", "timestamp", "at")) and TIME_TEXT.fullmatch(value):
        return text_of(datetime.fromisoformat(value) + ago)
    return value


# Amounts of pods as a real API server serves them, whatever the manifest says.

AMOUNT_FIELDS: Final = ("requests", "limits", "overhead")
NANO: Final = 1_000_000_000
KIBI: Final = 1024


def canonical_pod(pod: JsonObject) -> JsonObject:
    """The pod with each binary fraction written as a whole number.

    The scheduler keeps a fraction by reference: each time that it sums such a request of a pod as a whole, the pod's
    overhead is added to the pod's own request. No server serves one, so that this is never seen in a cluster.
    """
    found = _canonical_part(pod)
    assert isinstance(found, dict)
    return found


def _canonical_part(part: Json, *, amounts: bool = False) -> Json:
    if isinstance(part, dict):
        return {name: _canonical_part(one, amounts=amounts or name in AMOUNT_FIELDS) for name, one in part.items()}
    if isinstance(part, list):
        return [_canonical_part(one) for one in part]
    if amounts and isinstance(part, str) and "." in part and part.endswith(BINARY_SUFFIXES[1:]):
        return canonical_amount(part)
    return part


def canonical_amount(text: str) -> str:
    """An amount with a binary suffix in whole units of the largest binary suffix, else of the largest decimal one."""
    try:
        nano = nano_value(text)
    except QuantityError:
        return text
    whole, rest = divmod(nano, NANO)  # exact: ints
    return nano_text(nano) if rest or whole < KIBI else binary_text(whole)


# What a node's annotation says of its vGPU device plugin, such as a program outside a cluster can live with.


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
