"""Devices that real schedulers gave to claims of random clusters: `seen` names the program that wrote them.

Each row of seen_devices.jsonl is one pod on its node: the slices and classes, the pod's claims, what was taken before
(devices, and parts of devices in 10^-9 units), and the devices and node selectors that the program wrote into the
claims' status at PreBind.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import cluster
from vcdebug.kube.devices.allocations import HeldDevice
from vcdebug.kube.devices.allocator import DeviceAllocators
from vcdebug.kube.devices.device import DeviceId
from vcdebug.kube.listers import Listers
from vcdebug.releases.change import Tag
from vcdebug.releases.release import NEWEST, release_at_tag
from vcdebug.snapshot.cycle_inputs import ASCENDING
from vcdebug.snapshot.snapshot import SchedulerFlags

ROWS = [json.loads(row) for row in Path(__file__).with_name("seen_devices.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['seen']} {row['claims'][0]['metadata']['name']}")
def test_claims_get_what_the_program_gave_them(row: dict[str, Any]) -> None:
    slices = [{"kind": "ResourceSlice", **one} for one in row["slices"]]
    classes = [
        {"kind": "DeviceClass", "metadata": {"name": name}, "spec": spec} for name, spec in row["classes"].items()
    ]
    snapshot = cluster(slices, classes)
    snapshot.flags = SchedulerFlags(
        release=NEWEST if row["seen"] == "master" else release_at_tag(Tag.from_text(row["seen"]))
    )
    allocators = DeviceAllocators(Listers(snapshot), ASCENDING)
    held = [HeldDevice(DeviceId(*name.split("/"))) for name in row["in_use"]]
    held += [HeldDevice(DeviceId(*name.split("/")), shared=True, capacity=part) for name, part in row["parts"].items()]
    found = allocators.allocate(allocators.allocation_request(row["claims"], held), row["node"], row["labels"])
    taken = [[f"{one['request']}: {one['pool']}/{one['device']}" for one in each.results] for each in found]
    assert row["takes"] == taken
    assert row["selectors"] == [each.selector for each in found]
    assert len(ROWS) > 10
