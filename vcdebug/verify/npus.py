"""The Ascend NPUs that pods are given, as their annotations say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vcdebug.model.devices.hami_ascend import HamiAscendLedger
from vcdebug.model.devices.hami_ascend_card import ALLOCATED_SUFFIX, decode_container_devices
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import metadata_of
from vcdebug.trace.recording import Recording
from vcdebug.verify.claims import PodDevices

RUNTIME_PREFIX = "huawei.com/Ascend"
"""How annotations begin that tell a container runtime of its parts of cards."""


def given_npus(recording: Recording, bound: Mapping[TaskKey, NodeName]) -> PodDevices:
    """Pod → annotation → its text, of pods that the replay binds."""
    nodes, found = recording.session.nodes, PodDevices()
    for pod in map(Pod, recording.snapshot.objects_of("Pod")):
        if pod.key in bound:
            for ledger in nodes[bound[pod.key]].devices.values():
                if isinstance(ledger, HamiAscendLedger):
                    note_npus(found, pod.key, {"metadata": {"annotations": ledger.bind_annotations(pod)}})
    return found


def note_npus(found: PodDevices, pod: TaskKey, body: JsonObject) -> None:
    """What a pod says of its NPUs."""
    for key, text in (metadata_of(body).get("annotations") or {}).items():
        if key.endswith(ALLOCATED_SUFFIX) or key.startswith(RUNTIME_PREFIX):
            found.setdefault(pod, {})[key] = text


def chosen_npus(devices: PodDevices) -> dict[TaskKey, str]:
    """Pod → its NPUs, as the replay takes it."""
    drawn = {pod: ";".join(_iter_card_ids(annotations)) for pod, annotations in devices.items()}
    return {pod: cards for pod, cards in drawn.items() if cards}


def _iter_card_ids(annotations: Mapping[str, str]) -> Iterator[str]:
    for key, text in annotations.items():
        if key.endswith(ALLOCATED_SUFFIX):
            yield from (held.uuid for container in text.split(";") for held in decode_container_devices(container))
