"""Damage to the meaning of a snapshot: names, amounts, kinds, states, the configuration; and texts for a terminal."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any, Final

import yaml

from tests.fuzz.damage_structure import NUMBERS, QUANTITIES, TEXTS, damage_structure, find_spots, random_value
from tests.hostile import HOSTILE
from vcdebug.actions import ACTIONS
from vcdebug.plugins import PLUGINS
from vcdebug.snapshot.schema import SHAPES

PHASES: Final = (
    "Pending",
    "Running",
    "Succeeded",
    "Failed",
    "Unknown",
    "Inqueue",
    "Completed",
    "Open",
    "Closed",
    "Odd",
    "",
)
FIELDS: Final[tuple[tuple[str, tuple[str, ...], tuple[Any, ...]], ...]] = (
    ("Pod", ("spec", "nodeName"), ("none", "")),
    ("Pod", ("status", "phase"), PHASES),
    ("Pod", ("spec", "schedulerName"), ("default-scheduler", "")),
    ("Pod", ("spec", "priority"), (-1, 0, 2_000_001_000)),
    ("Pod", ("spec", "priorityClassName"), ("none", "system-node-critical")),
    ("Pod", ("metadata", "deletionTimestamp"), ("2026-11-01T00:00:00Z", "2030-01-01T00:00:00Z")),
    ("Pod", ("metadata", "annotations", "scheduling.k8s.io/group-name"), ("none", "")),
    ("Pod", ("status", "nominatedNodeName"), ("none", "")),
    ("PodGroup", ("status", "phase"), PHASES),
    ("PodGroup", ("spec", "minMember"), (0, -1, 1, 3, 10**6)),
    ("PodGroup", ("spec", "queue"), ("none", "root", "default", "")),
    ("PodGroup", ("spec", "minTaskMember"), ({"worker": 1}, {"none": 9}, {"": -1}, {})),
    ("PodGroup", ("spec", "networkTopology"), ({"mode": "hard", "highestTierAllowed": 1}, {"mode": "odd"})),
    ("Queue", ("status", "state"), PHASES),
    ("Queue", ("spec", "parent"), ("none", "root", "default", "")),
    ("Queue", ("spec", "weight"), (0, -1, 1, 2**31 - 1)),
    ("Queue", ("spec", "reclaimable"), (True, False)),
    ("Node", ("spec", "unschedulable"), (True,)),
    ("Node", ("spec", "taints"), ([{"key": "a", "effect": "NoSchedule"}], [{}], [{"key": "", "effect": "Odd"}])),
)
"""(kind, field path, values that fit the field's type)."""


def damage_meaning(objects: list[Any], files: dict[str, bytes], lot: Random) -> None:
    """Add one to six faults to the objects and files, in place."""
    for _ in range(lot.choice((1, 1, 2, 3, 6))):
        if objects:
            lot.choice((_set_field, _set_field, _swap_names, _rename, _other_kind, _negate, _remove_kind, _repeat))(
                objects, lot
            )
    if "scheduler.conf" in files and lot.random() < 0.5:
        files["scheduler.conf"] = damage_configuration(files["scheduler.conf"], lot)


def _set_field(objects: list[Any], lot: Random) -> None:
    kind, path, values = lot.choice(FIELDS)
    targets = [each for each in objects if each.get("kind") == kind]
    names = [each.get("metadata", {}).get("name") for each in objects]
    text = path[-1] in ("nodeName", "queue", "parent", "nominatedNodeName")
    for target in lot.sample(targets, min(len(targets), lot.choice((1, 2, 100)))):
        for part in path[:-1]:
            target = target.setdefault(part, {}) or {}
        target[path[-1]] = lot.choice(names) if text and lot.random() < 0.6 else copy.deepcopy(lot.choice(values))


def _swap_names(objects: list[Any], lot: Random) -> None:
    one, other = lot.choice(objects)["metadata"], lot.choice(objects)["metadata"]
    field = lot.choice(("name", "namespace", "uid", "labels", "annotations"))
    one[field], other[field] = other.get(field), one.get(field)


def _rename(objects: list[Any], lot: Random) -> None:
    lot.choice(objects)["metadata"][lot.choice(("name", "namespace", "uid"))] = lot.choice(TEXTS)


def _other_kind(objects: list[Any], lot: Random) -> None:
    target = lot.choice(objects)
    target["kind"] = lot.choice((*SHAPES, "Job", "Deployment", "ConfigMap", "Odd", "List", "PodList"))
    target["apiVersion"] = lot.choice(
        ("v1", "scheduling.volcano.sh/v1beta1", "batch.volcano.sh/v1alpha1", "odd/v9", "")
    )


def _negate(objects: list[Any], lot: Random) -> None:
    for parent, key in find_spots(lot.choice(objects)):
        if isinstance(parent[key], int) and not isinstance(parent[key], bool):
            parent[key] = -parent[key]
        elif isinstance(parent[key], str) and parent[key][:1].isdigit():
            parent[key] = f"-{parent[key]}"


def _remove_kind(objects: list[Any], lot: Random) -> None:
    kind = lot.choice(objects).get("kind")
    objects[:] = [each for each in objects if each.get("kind") != kind or lot.random() < 0.2]


def _repeat(objects: list[Any], lot: Random) -> None:
    again = copy.deepcopy(lot.choice(objects))
    again["metadata"]["name"] = lot.choice((again["metadata"].get("name"), "again"))
    objects.extend([again] * lot.choice((1, 1, 30)))


ARGUMENTS: Final = (
    *("predicate.GPUSharingEnable", "deviceshare.VGPUEnable", "nodeorder.leastrequested.weight", "binpack.weight"),
    *("binpack.resources", "sla-waiting-time", "tdm.revocable-zone.a", "weight", "overcommit-factor", "usage.weight"),
    *(
        "hypernode.binpack.normal-pod.enable",
        "resourceStrategyFitWeight",
        "resources",
        "extender.urlPrefix",
        "interval",
    ),
)


def damage_configuration(data: bytes, lot: Random) -> bytes:
    """A random configuration of plugins, actions and arguments, some of them meaningless."""
    conf = yaml.safe_load(data)
    if not isinstance(conf, dict):
        return data
    actions = [*ACTIONS, "odd", ""]
    if lot.random() < 0.6:
        conf["actions"] = ", ".join(lot.sample(actions, lot.randrange(1, len(actions))))
    plugins: list[dict[str, Any]] = [{"name": lot.choice([*PLUGINS, "odd", ""])} for _ in range(lot.randrange(6))]
    for plugin in plugins:
        if lot.random() < 0.4:
            values = (*TEXTS, *NUMBERS, *QUANTITIES)
            plugin["arguments"] = {lot.choice(ARGUMENTS): lot.choice(values) for _ in range(lot.randrange(1, 4))}
        plugin |= {
            f"enable{lot.choice(('d', ''))}{lot.choice(('JobOrder', 'Preemptable', 'Predicate'))}": lot.random() < 0.5
        }
    conf.setdefault("tiers", [])
    if isinstance(conf["tiers"], list):
        conf["tiers"].insert(lot.randrange(len(conf["tiers"]) + 1), {"plugins": plugins})
    if lot.random() < 0.3:
        conf["configurations"] = [
            {"name": lot.choice(actions), "arguments": {lot.choice(ARGUMENTS): random_value(lot)}}
        ]
    if lot.random() < 0.3:
        damage_structure([conf], lot)
    try:
        return yaml.safe_dump(conf, sort_keys=False).encode("utf-8", "replace")
    except RecursionError:  # PyYAML cannot write what damage_structure nests too deep; other kinds cover deep nesting
        return data


def write_to_terminal(objects: list[Any], files: dict[str, bytes], lot: Random) -> None:
    """Put terminal control sequences into many or all strings, in place."""
    share = lot.choice((0.02, 0.2, 1.0))
    for parent, key in find_spots(objects):
        if isinstance(parent[key], str) and key not in ("kind", "apiVersion") and lot.random() < share:
            parent[key] = lot.choice(
                (HOSTILE, parent[key] + HOSTILE, HOSTILE + parent[key], lot.choice(HOSTILE) + parent[key])
            )
        if isinstance(parent, dict) and isinstance(parent[key], str | int) and lot.random() < share / 4:
            parent[f"{key}{HOSTILE}"] = parent[key]
    for name in ("meta.json", "usage.json"):
        if name in files and lot.random() < 0.5:
            read = json.loads(files[name])
            files[name] = json.dumps({**read, "name": HOSTILE, "description": HOSTILE, HOSTILE: HOSTILE}).encode()
    if "scheduler.conf" in files and lot.random() < 0.5:
        text = files["scheduler.conf"].decode()
        files["scheduler.conf"] = text.replace("priority", json.dumps(HOSTILE)).encode()
