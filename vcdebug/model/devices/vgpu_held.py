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

ASSIGNED = "volcano.sh/vgpu-ids-new"
HANDSHAKE = "volcano.sh/node-vgpu-handshake"
OUT_OF_RANGE = "runtime error: index out of range [{0}] with length {0}"
LONGEST_SILENCE = timedelta(seconds=60)
HELD_FIELDS = 4
_UINT32 = re.compile(r"[0-9]{1,10}", re.ASCII)
_INT = re.compile(r"[+-]?[0-9]+", re.ASCII)
REQUESTING, DELETED = "Requesting", "Deleted"
ASKED_AT = "%Y.%m.%d %H:%M:%S"


class Held(NamedTuple):
    """One card of a pod's annotation."""

    uuid: str
    memory: int
    core: int


def held_cards(annotations: Mapping[str, str], *, validated: bool = True) -> list[Held]:
    """What the annotation says its pod holds; entries that cannot be read are passed over."""
    if not validated:
        return list(_as_they_are(annotations))
    return [
        Held(fields[0], int(fields[2]), int(fields[3]))
        for fields in _entries(annotations)
        if len(fields) >= HELD_FIELDS and _is_uint32(fields[2]) and _is_uint32(fields[3])
    ]


def _as_they_are(annotations: Mapping[str, str]) -> Iterator[Held]:
    """Without a look at them: a short entry panics, and what is no number counts as 0."""
    for fields in _entries(annotations):
        if len(fields) == 1:
            continue
        if len(fields) < HELD_FIELDS:
            raise SchedulerPanic(OUT_OF_RANGE.format(len(fields)))
        yield Held(fields[0], parsed_int32(fields[2]), parsed_int32(fields[3]))


def _entries(annotations: Mapping[str, str]) -> Iterator[list[str]]:
    for container in annotations.get(ASSIGNED, "").split(";"):
        for entry in container.split(":"):
            yield entry.split(",")


def _is_uint32(text: str) -> bool:
    return _UINT32.fullmatch(text) is not None and int(text) < 1 << 32


def parsed_int32(text: str) -> int:
    """Go's ParseInt for 32 bits, its error dropped: the nearest number in range, or 0."""
    if _INT.fullmatch(text) is None:
        return 0
    return max(min(int(text[:20]), (1 << 31) - 1), -(1 << 31))


def plugin_answers(manifest: JsonObject, now: datetime) -> bool:
    """Whether the node's device plugin has shaken hands, or was asked to not long ago."""
    said = ((manifest.get("metadata") or {}).get("annotations") or {}).get(HANDSHAKE)
    if said is None:
        return False
    if REQUESTING not in said:
        return DELETED not in said
    _, underscore, rest = said.partition("_")
    if not underscore:
        raise SchedulerPanic(OUT_OF_RANGE.format(1))
    moment = asked_at(rest.partition("_")[0])
    return moment is not None and now <= moment + LONGEST_SILENCE


def asked_at(text: str) -> datetime | None:
    """When the device plugin was asked; None where it is no time, which upstream takes for long ago."""
    try:
        return datetime.strptime(text, ASKED_AT).replace(tzinfo=UTC)
    except ValueError:
        return None
