"""Plants numbers and secrets wherever a tenant can write text: names, labels, images, UIDs, dates."""

from __future__ import annotations

import re
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from msgspec.structs import replace

from vcdebug.snapshot.manifest import GROUP_ANNOTATION
from vcdebug.snapshot.snapshot import Manifest, Snapshot

RENAMED = ("Node", "Pod", "PodGroup", "Namespace", "PriorityClass", "HyperNode", "PersistentVolumeClaim")
"""Kinds whose names get a number; queue names occur in too many forms for a textual renaming."""
COMPARED_DIGITS = 12
"""Limit of digits of compared numbers: larger ones could exceed 64 bits among thousands of others."""
IMAGE_SIZE = 5 << 20
EPOCH = datetime(2021, 1, 1, tzinfo=UTC)


class NumberPlanter:
    """Plants distinct numbers of 4 to 16 digits that are not in the snapshot."""

    def __init__(self, snapshot: Snapshot, seed: int) -> None:
        self._random = Random(seed)
        self._holds = f"{snapshot!r} {IMAGE_SIZE}"
        self.planted: dict[str, None] = {}
        """Every planted text."""

    def number(self, most: int = 16) -> str:
        while True:
            size = self._random.randint(4, most)
            digits = str(self._random.randrange(10 ** (size - 1), 10**size))
            # Skip years, digits in the snapshot's own amounts, and digits without a zero (new indexes have none): they
            # might occur in the redacted snapshot although the number is gone.
            taken = digits[:2] in ("19", "20") or "0" not in digits or digits in self._holds
            if not taken and digits not in self.planted:
                self.planted[digits] = None
                return digits

    def date(self) -> str:
        moment = EPOCH + timedelta(seconds=self._random.randrange(5 * 365 * 86400))
        self.planted[text := moment.isoformat().replace("+00:00", "Z")] = None
        return text

    def uid(self) -> str:
        return f"{self.number()}-a{self.number()}-{self.number()}"

    def plant(self, snapshot: Snapshot) -> Snapshot:
        """A copy with planted numbers; some affect decisions: two node labels are compared and selected by."""
        names = {name: self._new_name(name, snapshot) for name in self._names(snapshot)}
        objects = {kind: [renamed(one, names) for one in found] for kind, found in snapshot.objects.items()}
        for kind, found in objects.items():
            for manifest in found:
                self._plant_metadata(manifest.setdefault("metadata", {}), kind)
        account, limit = self.number(), self.number(COMPARED_DIGITS)
        for place, node in enumerate(objects.get("Node", [])):
            labels = node["metadata"]["labels"]
            labels["customer"] = account if place % 3 else self.number()
            labels[f"zone-{account}/quota"] = self.number(COMPARED_DIGITS)
            node.setdefault("status", {})["images"] = [{"names": [self._image()], "sizeBytes": IMAGE_SIZE}]
        for place, pod in enumerate(objects.get("Pod", [])):
            self._plant_pod(pod, place, (account, limit))
        # The recorded cases share one clock, which a redacted snapshot also gets.
        clock = datetime.fromisoformat(self.date())
        bound = {names.get(pod, pod): names.get(node, node) for pod, node in snapshot.bound.items()}
        return replace(snapshot, objects=objects, bound=bound, now=clock)

    def survivors(self, text: str) -> list[str]:
        """The planted texts that occur in `text`; short ones must match a whole number to exclude coincidences."""
        numbers = dict.fromkeys(re.findall("[0-9]+", text))
        return [one for one in self.planted if (one in numbers if len(one) < 6 else one in text)]

    def _names(self, snapshot: Snapshot) -> list[str]:
        found = [str(one["metadata"]["name"]) for kind in RENAMED for one in snapshot.objects_of(kind)]
        taken = dict.fromkeys(str(one["metadata"]["name"]) for one in snapshot.objects_of("Queue"))
        return [name for name in dict.fromkeys(found) if name not in taken and not name.startswith("system-")]

    def _new_name(self, name: str, snapshot: Snapshot) -> str:
        """Put a number before, inside or after the name; a pod's new index keeps the order of its job."""
        stem, dash, index = name.rpartition("-")
        if dash and index.isdecimal():
            return self._random.choice([f"{stem}-{self.number()}-{index}", f"{stem}-{self.number()}"])
        return self._random.choice([f"{name}-{self.number()}", f"{self.number()}-{name}", f"{name}{self.number()}"])

    def _plant_metadata(self, metadata: Manifest, kind: str) -> None:
        metadata["uid"] = self.uid() if self._random.random() < 0.5 else metadata.get("uid", "")
        metadata["resourceVersion"] = self.number()
        metadata["labels"] = {**(metadata.get("labels") or {}), "account": self.number(), f"x{self.number()}": "y"}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), "team.example/phone": self.number()}
        if kind == "Pod":
            metadata["creationTimestamp"] = self.date()

    def _plant_pod(self, pod: Manifest, place: int, chosen: tuple[str, str]) -> None:
        account, limit = chosen
        spec, annotations = pod.setdefault("spec", {}), pod["metadata"]["annotations"]
        for container in spec.get("containers") or ():
            container["image"] = self._image()
            container["env"] = [{"name": "DB_PASSWORD", "value": self.number()}]
            container["args"] = [f"--token={self.number()}"]
        if GROUP_ANNOTATION in annotations and place % 2:
            annotations["volcano.sh/task-spec"] = f"role-{self.number()}"
        pod.setdefault("status", {}).setdefault("conditions", []).append(
            {"type": "Custom", "status": "True", "message": f"call {self.number()} for customer-{self.number()}"}
        )
        if place % 5 == 1:
            spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), "customer": account}
        if place % 5 == 2 and "affinity" not in spec:
            compared = {"key": f"zone-{account}/quota", "operator": "Gt", "values": [limit]}
            needed = {"nodeSelectorTerms": [{"matchExpressions": [compared]}]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": needed}}

    def _image(self) -> str:
        return f"{self.number()}.dkr.ecr.example.com/app-{self.number()}:1.{self.number()}"


def renamed(value: Any, names: dict[str, str]) -> Any:
    """A copy in which each text that is a key of `names` is replaced."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    return [renamed(item, names) for item in value] if isinstance(value, list) else deepcopy(value)
