"""Cards in MIG mode: pods get instances that the device configuration defines."""

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import cluster, conf_of, open_session, pod_group
from tests.plugins.test_deviceshare import SHORT, cards, limited, placed, refusal, used, vgpu
from vcdebug.errors import SchedulerPanic
from vcdebug.explain.plugins.deviceshare import card_overview
from vcdebug.framework.session import Session
from vcdebug.model.devices.vgpu import VgpuLedger
from vcdebug.model.devices.vgpu_annotations import CardRules
from vcdebug.model.pod import Pod
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.device_config import MigSettings, dump_vgpu_config, read_mig_settings, read_vgpu_names
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest

CONFIG = """nvidia:
  resourceCountName: volcano.sh/vgpu-number
  resourceMemoryName: volcano.sh/vgpu-memory
  resourceCoreName: volcano.sh/vgpu-cores
  gpuMemoryFactor: {factor}
  knownMigGeometries:
  - models: [A100-40GB]
    allowedGeometries:
    - group: small
      geometries: [{{name: 1g.5gb, memory: 5120, count: 7}}]
    - group: mixed
      geometries: [{{name: 2g.10gb, memory: 10240, count: 3}}, {{name: 1g.5gb, memory: 5120, count: 1}}]
    - group: whole
      geometries: [{{name: 7g.40gb, memory: 40960, count: 1}}]
"""
A100 = "gpu-a,7,40960,NVIDIA-A100-40GB,true,mig"


def settings(factor: int = 0) -> MigSettings:
    return read_mig_settings(CONFIG.format(factor=factor))


def ledger(*entries: str, release: str = "master", factor: int = 0) -> VgpuLedger:
    rules = CardRules.for_release(resolve_release(release).release, mig=settings(factor))
    found = VgpuLedger.of_node(cards(*entries or (A100,)), "", rules)
    assert found is not None
    return found


def held(*names: str, uid: str = "r", memory: int = 4000) -> Pod:
    """A running pod whose annotation names these instances."""
    ids = ";".join(f"{name},NVIDIA,{memory},10:" for name in names)
    manifest = limited(vgpu(), name=uid, on="n1", vgpu_ids_new=ids)
    manifest["metadata"]["uid"] = uid
    return Pod(manifest)


def asking(memory: str, uid: str = "j", **notes: str) -> Pod:
    manifest = limited(vgpu(memory=memory), name=uid, **notes)
    manifest["metadata"]["uid"] = uid
    return Pod(manifest)


def given(of: VgpuLedger, pod: Pod) -> str | None:
    """The pod's annotation after its allocation, or the error message."""
    return of.allocate(pod) or of.bind_annotations(pod)["volcano.sh/vgpu-ids-new"]


@pytest.mark.parametrize(
    ("running", "memory", "gets"),
    [
        ((), "5000", "gpu-a[small-0],NVIDIA,5000,0"),
        ((), "6000", "gpu-a[mixed-0],NVIDIA,6000,0"),
        ((), "12000", "gpu-a[whole-0],NVIDIA,12000,0"),
        (("gpu-a[small-0]", "gpu-a[small-2]"), "100", "gpu-a[small-1],NVIDIA,100,0"),
        (("gpu-a[mixed-0]",), "100", "gpu-a[mixed-1],NVIDIA,100,0"),
        (("gpu-a[mixed-3]", "gpu-a[mixed-1]"), "100", "gpu-a[mixed-0],NVIDIA,100,0"),
        (("gpu-a[mixed-3]",), "100", "not enough gpu fitted on this node"),
        (("gpu-a[small-0]",), "6000", "not enough gpu fitted on this node"),
        (("gpu-a[whole-0]",), "1", "not enough gpu fitted on this node"),
        (("gpu-a[unknown-9]", "gpu-a", "gpu-a[a-b-1]"), "5000", "gpu-a[small-0],NVIDIA,5000,0"),
    ],
    ids=str,
)
def test_a_pod_gets_the_smallest_instance_of_the_geometry_in_use(
    running: tuple[str, ...], memory: str, gets: str
) -> None:
    """Once a geometry is in use, only its instance sizes are considered."""
    of = ledger()
    for number, name in enumerate(running):
        of.add_resource(held(name, uid=f"r-{number}"))
    assert gets == given(of, asking(memory))


def test_mig_instance_given_in_a_session_can_be_given_again_in_it() -> None:
    of = ledger()
    assert "gpu-a[small-0],NVIDIA,5000,0" == given(of, asking("5000", uid="one"))
    assert "gpu-a[small-0],NVIDIA,4000,0" == given(of, asking("4000", uid="other"))
    assert (2, 10240) == (of.cards[0].used_number, of.cards[0].used_memory)


def test_the_geometry_stays_when_its_last_pod_leaves() -> None:
    of = ledger()
    leaving = held("gpu-a[whole-0]")
    of.add_resource(leaving)
    of.sub_resource(leaving)
    assert (0, 0, {}) == (of.cards[0].used_number, of.cards[0].used_memory, of.cards[0].pods)
    assert "gpu-a[whole-0],NVIDIA,100,0" == given(of, asking("100"))


@pytest.mark.parametrize(
    ("release", "factor", "charged", "left"),
    [("master", 0, 5120, 0), ("master", 1024, 5, 0), ("v1.14.4", 0, 5120, 1120), ("v1.14.4", 1024, 5120, 5116)],
)
def test_a_card_is_charged_by_instances_and_given_back_what_the_release_says(
    release: str, factor: int, charged: int, left: int
) -> None:
    of = ledger(release=release, factor=factor)
    pod = held("gpu-a[small-3]", memory=4 if factor else 4000)
    of.add_resource(pod)
    assert charged == of.cards[0].used_memory
    of.sub_resource(pod)
    assert left == of.cards[0].used_memory


def test_an_instance_beyond_its_group_ends_the_process() -> None:
    with pytest.raises(SchedulerPanic, match="index out of range"):
        ledger().add_resource(held("gpu-a[whole-1]"))


@pytest.mark.parametrize(
    ("entries", "mode"),
    [
        ((A100,), "mig"),
        ((A100, "gpu-b,1,1,NVIDIA-H20,true,mig"), "hami-core"),
        (("gpu-b,1,1,NVIDIA-H20,true,mig", A100), "mig"),
        (("gpu-b,1,1,NVIDIA-A100-40GB,true,hami-core", A100), "mig"),
    ],
)
def test_the_last_card_says_how_a_node_is_cut(entries: tuple[str, ...], mode: str) -> None:
    of = ledger(*entries)
    assert mode == of.sharing.mode
    other = {"mig": "hami-core", "hami-core": "mig"}[mode]
    assert f"pod required sharing mode {other} is not the same as the node mode {mode}" == of.allocate(
        asking("1", vgpu_mode=other)
    )


def test_a_card_of_unknown_kind_is_unusable_in_mig_mode() -> None:
    of = ledger("gpu-b,7,40960,NVIDIA-H20,true,mig", A100)
    of.add_resource(held("gpu-a[whole-0]"))
    assert "not enough gpu fitted on this node" == of.allocate(asking("10"))
    whys = [card.refusal for card in card_overview(of, asking("10")).cards]
    assert ["no instance of that size is left", "its memory is short"] == whys


def test_redacted_mig_configuration_gives_the_same_decisions() -> None:
    text = CONFIG.format(factor=4)
    again = dump_vgpu_config(read_vgpu_names(text), settings(4))
    assert (read_vgpu_names(text), settings(4)) == (read_vgpu_names(again), read_mig_settings(again))


@pytest.mark.parametrize("text", [None, "{", "nvidia: 3", "nvidia: {knownMigGeometries: 3}"])
def test_without_a_configuration_no_kind_of_card_is_known(text: str | None) -> None:
    assert MigSettings() == read_mig_settings(text)


def session(*pods: Manifest, running: bool = True, release: str = "") -> Session:
    conf = conf_of("predicates deviceshare") + "    arguments:\n      deviceshare.VGPUEnable: true\n"
    snapshot = cluster(pod_group("j"), cards(A100), *pods, conf=conf)
    if running:
        snapshot.process = SchedulerProcess(started=snapshot.now - timedelta(hours=1))
    snapshot.device_config = CONFIG.format(factor=0)
    return open_session(snapshot_at_release(snapshot, release) if release else snapshot)


def test_a_session_charges_running_pods_and_places_others() -> None:
    runs = limited(vgpu(), name="r-0", on="n1", vgpu_ids_new="gpu-a[small-0],NVIDIA,4000,0:")
    ssn = session(runs, limited(vgpu(memory="5000")), limited(vgpu(memory="6000"), name="j-1"))
    assert [("gpu-a", 1, 5120, 0)] == used(ssn)
    assert [] == refusal(ssn)
    assert [SHORT] == refusal(ssn, "j-1")
    placed(ssn)
    assert [("gpu-a", 2, 10240, 0)] == used(ssn)


def test_cards_that_are_registered_before_the_configuration_is_read_are_cut_by_hami_core() -> None:
    """Before v1.14, nodes already have their cards in the first cycle."""
    early: Any = session(running=False, release="v1.13.3,-vgpu-handshake").nodes["n1"].devices["hamivgpu"]
    assert "hami-core" == early.sharing.mode
