"""Virtual and shared GPUs in v1.13."""

from typing import Any

import pytest

from tests.builders import node, task
from tests.plugins.test_deviceshare import cards, gpus, limited, opened, placed, refusal, used, vgpu
from vcdebug.framework.hooks import BATCH_NODE_ORDER
from vcdebug.framework.session import Session
from vcdebug.model.devices.vgpu_annotations import ContainerRequest, requests_of
from vcdebug.model.pod import Pod
from vcdebug.snapshot.device_config import VgpuNames
from vcdebug.snapshot.snapshot import Manifest

NEW, OLD = "v1.14.0", "v1.13.3"
SMALL, LARGE = "gpu-a,10,1000,NVIDIA,true,hami-core", "gpu-b,10,3000,NVIDIA,true,hami-core"
PERCENT = VgpuNames(percentage="acme.com/percent")


def on_cards(release: str, *pods: Manifest, entries: tuple[str, ...] = (SMALL, LARGE), **more: Any) -> Session:
    one = cards(*entries)
    one["metadata"]["annotations"]["volcano.sh/node-vgpu-handshake"] = "Reported"
    return opened(one, *pods, release=release, VGPUEnable="true", **more)


@pytest.mark.parametrize(
    ("stated", "new", "old"),
    [
        ({}, [1000, 3000], [3000, 3000]),
        ({"memory": "200"}, [200, 200], [200, 200]),
        ({"percent": "50"}, [500, 1500], [0, 0]),
        ({"percent": "250"}, [2500, 7500], [6000, 6000]),
        ({"percent": "50", "memory": "200"}, [500, 1500], [200, 200]),
        ({"percent": "101", "memory": "200"}, [200, 200], [200, 200]),
        ({"percent": "101"}, [1000, 3000], [3000, 3000]),
    ],
)
def test_requested_memory_per_card_depends_on_the_release(
    stated: dict[str, str], new: list[int], old: list[int]
) -> None:
    names = {"memory": "volcano.sh/vgpu-memory", "percent": PERCENT.percentage}
    limits = {"volcano.sh/vgpu-number": "1", **{names[name]: text for name, text in stated.items()}}
    (request,) = requests_of(Pod(limited(limits)), PERCENT)
    assert new == [request.memory_on(size) for size in (1000, 3000)]
    assert old == [request.settle_memory(3000).memory_on(size) for size in (1000, 3000)]


def test_cards_without_a_user_left_do_not_settle_the_memory() -> None:
    full = limited(vgpu(memory="10"), name="r-0", on="n1", vgpu_ids_new="gpu-b,NVIDIA,10,0:")
    entries = (SMALL, LARGE.replace(",10,", ",1,"))
    ssn = on_cards(OLD, full, limited(vgpu()), entries=entries)
    placed(ssn)
    assert [("gpu-a", 1, 1000, 0), ("gpu-b", 1, 10, 0)] == used(ssn)


@pytest.mark.parametrize(("release", "known"), [(NEW, False), (OLD, True)])
def test_nodes_have_cards_in_a_first_cycle_depending_on_the_release(release: str, known: bool) -> None:
    runs = limited(vgpu(memory="10"), name="r-0", on="n1", vgpu_ids_new="gpu-a,NVIDIA,10,0:")
    ssn = on_cards(release, runs, running=False)
    assert known is bool(ssn.nodes["n1"].devices)
    assert not known or [("gpu-a", 1, 10, 0), ("gpu-b", 0, 0, 0)] == used(ssn)


def test_in_a_first_cycle_of_v1_13_shared_cards_seem_free() -> None:
    runs = limited({"volcano.sh/gpu-memory": "4"}, name="r-0", on="n1", gpu_index="0")
    sessions = [
        opened(gpus("16", "1"), runs, release=OLD, running=running, GPUSharingEnable="true")
        for running in (True, False)
    ]
    ledgers: list[Any] = [ssn.nodes["n1"].devices["GpuShare"] for ssn in sessions]
    assert [["default/r-0"], []] == [ledger.pods_on(0) for ledger in ledgers]


@pytest.mark.parametrize(
    ("switch", "limits", "device"),
    [
        ("VGPUEnable", vgpu(), "hamivgpu"),
        ("GPUSharingEnable", {"volcano.sh/gpu-memory": "4"}, "GpuShare"),
        ("GPUNumberEnable", {"volcano.sh/gpu-number": "1"}, "GpuShare"),
    ],
)
def test_a_node_without_cards_refuses(switch: str, limits: dict[str, str], device: str) -> None:
    def refusals(release: str, **asked: str) -> list[str]:
        arguments: dict[str, Any] = {switch: "true"}
        return refusal(opened(node("n1"), limited(asked), release=release, **arguments))

    assert [] == refusals(NEW, **limits)
    assert [f"node not initialized with device{device}"] == refusals(OLD, **limits)
    assert [] == refusals(OLD, cpu="1")


@pytest.mark.parametrize(("release", "users"), [("v1.13.1", 2), ("v1.13.2", 1), (NEW, 1)])
def test_pod_with_a_new_card_is_charged_depending_on_the_release(release: str, users: int) -> None:
    ssn = on_cards(release, limited(vgpu(memory="100")), entries=(SMALL,))
    placed(ssn)
    assert [("gpu-a", users, users * 100, 0)] == used(ssn)


@pytest.mark.parametrize(("release", "known"), [(NEW, True), (OLD, False)])
def test_ascend_switches_are_read_depending_on_the_release(release: str, known: bool) -> None:
    ssn = opened(node("n1"), limited({"cpu": "1"}), release=release, AscendHAMiVNPUEnable="true")
    plugin: Any = ssn.plugins["deviceshare"]
    assert known is plugin.settings.hami_ascend
    assert known is ("deviceshare" in ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows()))


def test_settled_memory_replaces_the_percentage() -> None:
    assert ContainerRequest(1, 3000, 5) == ContainerRequest(1, 0, 5, 100).settle_memory(3000)
