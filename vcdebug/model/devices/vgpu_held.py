"""What a pod's annotation says it holds of virtual GPUs, and what a node's says of its device plugin.

Upstream: api/devices/nvidia/vgpu (decodeContainerDevices, NewGPUDevices).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from vcdebug.model.panics import SchedulerPanic
from vcdebug.snapshot.json_values import JsonObject

ASSIGNED_ANNOTATION = "volcano.sh/vgpu-ids-new"
HANDSHAKE_ANNOTATION = "volcano.sh/node-vgpu-handshake"
OUT_OF_RANGE = "runtime error: index out of range [{0}] with length {0}"
HANDSHAKE_TIMEOUT = timedelta(seconds=60)
HELD_FIELDS = 4
_UINT32 = re.compile(r"[0-9]{1,10}", re.ASCII)
_INT = re.compile(r"[+-]?[0-9]+", re.ASCII)
REQUESTING, DELETED = "Requesting", "Deleted"
HANDSHAKE_TIME_FORMAT = "%Y.%m.%d %H:%M:%S"


class HeldCard(NamedTuple):
    """One card of a pod's annotation."""

    uuid: str
    memory: int
    core: int


def held_cards(annotations: Mapping[str, str], *, validated: bool = True) -> list[HeldCard]:
    """What the annotation says its pod holds; entries that cannot be read are passed over."""
    if not validated:
        return list(_unvalidated_cards(annotations))
    return [
        HeldCard(fields[0], int(fields[2]), int(fields[3]))
        for fields in _split_entries(annotations)
        if len(fields) >= HELD_FIELDS and _is_uint32(fields[2]) and _is_uint32(fields[3])
    ]


def _unvalidated_cards(annotations: Mapping[str, str]) -> Iterator[HeldCard]:
    """Without a look at them: a short entry panics, and what is no number counts as 0."""
    for fields in _split_entries(annotations):
        if len(fields) == 1:
            continue
        if len(fields) < HELD_FIELDS:
            raise SchedulerPanic(OUT_OF_RANGE.format(len(fields)))
        yield HeldCard(fields[0], parse_int32(fields[2]), parse_int32(fields[3]))


def _split_entries(annotations: Mapping[str, str]) -> Iterator[list[str]]:
    for container in annotations.get(ASSIGNED_ANNOTATION, "").split(";"):
        for entry in container.split(":"):
            yield entry.split(",")


def _is_uint32(text: str) -> bool:
    return _UINT32.fullmatch(text) is not None and int(text) < 1 << 32


def parse_int32(text: str) -> int:
    """Go's ParseInt for 32 bits, its error dropped: the nearest number in range, or 0."""
    if _INT.fullmatch(text) is None:
        return 0
    return max(min(int(text[:20]), (1 << 31) - 1), -(1 << 31))


def is_plugin_alive(manifest: JsonObject, now: datetime) -> bool:
    """Whether the node's device plugin has shaken hands, or was asked to not long ago."""
    said = ((manifest.get("metadata") or {}).get("annotations") or {}).get(HANDSHAKE_ANNOTATION)
    if said is None:
        return False
    if REQUESTING not in said:
        return DELETED not in said
    _, underscore, rest = said.partition("_")
    if not underscore:
        raise SchedulerPanic(OUT_OF_RANGE.format(1))
    moment = parse_handshake_time(rest.partition("_")[0])
    return moment is not None and now <= moment + HANDSHAKE_TIMEOUT


def parse_handshake_time(text: str) -> datetime | None:
    """When the device plugin was asked; None where it is no time, which upstream takes for long ago."""
    try:
        return datetime.strptime(text, HANDSHAKE_TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None
