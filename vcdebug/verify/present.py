"""A snapshot moved to the present, since a scheduler's program goes by the clock of the machine."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from vcdebug.snapshot.chance import ChanceSettings
from vcdebug.snapshot.json_values import Json
from vcdebug.snapshot.manifest import name_of
from vcdebug.snapshot.process import SchedulerProcess
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.verify.handshake import delayed_node

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
