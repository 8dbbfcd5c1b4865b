"""Charging and releasing cards in older releases."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import node, pod, task
from tests.plugins.test_deviceshare import SHORT, cards, gpus, limited, opened, placed, refusal, used, vgpu
from tests.releases.shown import SHOWN
from vcdebug.errors import ProcessExit, SchedulerPanic
from vcdebug.framework.hooks import NODE_ORDER, PRE_PREDICATE
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.devices.vgpu import VgpuLedger
from vcdebug.model.devices.vgpu_annotations import CardRules
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import EARLY_NEWS, ChanceSettings
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest

ONE = "gpu-a,10,1000,NVIDIA,true,hami-core"
FREE, TAKEN = [("gpu-a", 0, 0, 0)], [("gpu-a", 1, 1000, 0)]
V1_15, V1_14 = "v1.15.1", "v1.14.4"
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def on_one_card(release: str, *pods: Manifest) -> Session:
    node = cards(ONE)
    node["metadata"]["annotations"]["volcano.sh/node-vgpu-handshake"] = "Reported"
    return opened(node, *pods, VGPUEnable="true", release=release)


@pytest.mark.parametrize(("release", "after"), [("", TAKEN), (V1_15, FREE), (V1_14, TAKEN), ("v1.15.0", FREE)])
def test_discarded_placement_keeps_its_card_charged_depending_on_the_release(release: str, after: list[Any]) -> None:
    ssn = on_one_card(release, limited(vgpu()))
    placed(ssn).discard()
    assert after == used(ssn)


def test_a_pod_object_that_names_the_cards_is_charged_once_however_often_it_is_placed() -> None:
    ssn = on_one_card(V1_15, limited(vgpu()))
    for _ in range(2):
        placed(ssn).discard()
    placed(ssn)
    assert TAKEN == used(ssn)


@pytest.mark.parametrize(("release", "users"), [("", 2), (V1_15, 1), (V1_14, 2)])
def test_pod_annotated_with_a_card_is_charged_depending_on_the_release(release: str, users: int) -> None:
    left_over = limited(vgpu(memory="100"), vgpu_node="n1", vgpu_ids_new="gpu-a,NVIDIA,100,0:")
    ssn = on_one_card(release, left_over)
    placed(ssn)
    assert [("gpu-a", users, users * 100, 0)] == used(ssn)


@pytest.mark.parametrize(("release", "after"), [("", FREE), (V1_15, FREE), (V1_14, [("gpu-a", 1, 600, 0)])])
def test_failed_second_container_keeps_the_first_charge_depending_on_the_release(
    release: str, after: list[Any]
) -> None:
    ssn = on_one_card(release, limited(vgpu(memory="600"), vgpu(memory="600")))
    Statement(ssn).allocate(task(ssn, "j-0"), "n1")
    assert after == used(ssn)


@pytest.mark.parametrize(("release", "refused"), [("", []), (V1_15, []), (V1_14, [SHORT])])
def test_eviction_frees_the_card_at_once_depending_on_the_release(release: str, refused: list[str]) -> None:
    runs = limited(vgpu(), name="r-0", on="n1", vgpu_ids_new="gpu-a,NVIDIA,1000,0:")
    ssn = on_one_card(release, runs, limited(vgpu()))
    Statement(ssn).evict(task(ssn, "r-0").clone(), "preempt")
    assert refused == refusal(ssn)


@pytest.mark.parametrize(("release", "users"), [("", 1), (V1_15, 1), (V1_14, 2)])
def test_repeated_card_entries_are_charged_depending_on_the_release(release: str, users: int) -> None:
    runs = limited(vgpu(), name="r-0", on="n1", vgpu_ids_new="gpu-a,NVIDIA,100,0:;gpu-a,NVIDIA,100,0:")
    assert [("gpu-a", users, users * 100, 0)] == used(on_one_card(release, runs))


@pytest.mark.parametrize(("release", "copies"), [("", False), (V1_15, False), (V1_14, True)])
def test_node_clone_shares_its_cards_depending_on_the_release(release: str, copies: bool) -> None:
    node = on_one_card(release).nodes["n1"]
    assert copies is (node.devices["hamivgpu"] is node.clone().devices["hamivgpu"])


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        (None, False),
        ("Deleted_2026.10.31 23:00:00", False),
        ("Reported 2026-10-31", True),
        (f"Requesting_{NOW - timedelta(seconds=60):%Y.%m.%d %H:%M:%S}", True),
        (f"Requesting_{NOW - timedelta(seconds=61):%Y.%m.%d %H:%M:%S}", False),
        ("Requesting_soon", False),
    ],
)
def test_cards_count_while_the_device_plugin_shakes_hands(said: str | None, counts: bool) -> None:
    manifest = cards(ONE)
    manifest["status"]["allocatable"] = {}
    if said is not None:
        manifest["metadata"]["annotations"]["volcano.sh/node-vgpu-handshake"] = said
    ledger = VgpuLedger.of_node(manifest, "", CardRules(shakes_hands=True), now=NOW)
    assert counts is (ledger is not None)


def test_damaged_entries_count_as_0_or_panic() -> None:
    damaged = limited(vgpu(), name="r-0", on="n1", vgpu_ids_new="gpu-a,NVIDIA,x,5:")
    assert [[("gpu-a", 0, 0, 0)], [("gpu-a", 1, 0, 5)]] == [used(on_one_card(one, damaged)) for one in ("", V1_15)]
    short = limited(vgpu(), name="r-0", on="n1", vgpu_ids_new="gpu-a,NVIDIA:")
    with pytest.raises(SchedulerPanic, match="index out of range \\[2\\] with length 2"):
        on_one_card(V1_15, short)


def sharing(release: str, *pods: Manifest) -> Session:
    return opened(gpus("16", "1"), *pods, GPUSharingEnable="true", release=release)


def of_memory(name: str, memory: str, on: str = "", **notes: str) -> Manifest:
    return limited({"volcano.sh/gpu-memory": memory}, name=name, on=on, **notes)


@pytest.mark.parametrize(("release", "held"), [("", []), (V1_15, ["default/j-0"])])
def test_discarded_placement_keeps_its_shared_card_depending_on_the_release(release: str, held: list[str]) -> None:
    ssn = sharing(release, of_memory("j-0", "4"))
    placed(ssn).discard()
    ledger: Any = ssn.nodes["n1"].devices["GpuShare"]
    assert held == ledger.pods_on(0)


@pytest.mark.parametrize(("release", "seen"), [("", 0), (V1_15, 1)])
def test_a_victim_that_names_no_card_stays_in_view_where_the_server_refuses(release: str, seen: int) -> None:
    ssn = sharing(release, of_memory("r-0", "4", on="n1"))
    Statement(ssn).evict(task(ssn, "r-0").clone(), "preempt")
    assert seen == int(ssn.view.pod_count[0])


@pytest.mark.parametrize(("release", "refused"), [("", True), (V1_15, False)])
def test_a_shared_card_that_holds_more_than_it_has(release: str, refused: bool) -> None:
    ssn = sharing(release, of_memory("r-0", "20", on="n1", gpu_index="0"), of_memory("j-0", "1"))
    assert refused is bool(refusal(ssn))


@pytest.mark.parametrize("release", [V1_15, V1_14])
@pytest.mark.parametrize("cut", [True, False])
def test_a_score_of_a_node_without_cards_ends_the_process(cut: bool, release: str) -> None:
    objects = [*([cards()] if cut else []), node("n2"), limited(vgpu("0")), pod("j-1", "j")]
    ssn = opened(*objects, VGPUEnable="true", ScheduleWeight=1, release=release)
    scores = ssn.ask_plugins(NODE_ORDER, task(ssn, "j-1"), ssn.all_rows())["deviceshare"].total.tolist()
    assert [0.0] * (1 + cut) == scores
    with pytest.raises(ProcessExit, match="nil pointer dereference"):
        ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())


def test_a_node_without_cards_is_scored_without_a_weight_and_in_a_first_cycle() -> None:
    for weight, running in ((0, True), (1, False)):
        arguments = {"VGPUEnable": "true", "ScheduleWeight": weight}
        ssn = opened(node("n1"), limited(vgpu("0")), running=running, release=V1_15, **arguments)
        assert [0.0] == ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["deviceshare"].total.tolist()


@pytest.mark.parametrize("limits", [vgpu("0"), {"volcano.sh/gpu-memory": "1"}])
@pytest.mark.parametrize(("release", "ends"), [("", False), (V1_15, False), (V1_14, True)])
def test_placing_a_card_request_on_a_node_without_cards_panics_depending_on_the_release(
    limits: dict[str, str], release: str, ends: bool
) -> None:
    switch: dict[str, Any] = {"VGPUEnable" if "volcano.sh/vgpu-number" in limits else "GPUSharingEnable": "true"}
    ssn = opened(node("n1"), limited(limits), release=release, **switch)
    if not ends:
        placed(ssn).discard()
        return
    assert None is ssn.ask_plugins(PRE_PREDICATE, task(ssn, "j-0"))
    with pytest.raises(SchedulerPanic, match="nil pointer dereference"):
        Statement(ssn).allocate(task(ssn, "j-0"), "n1")


@pytest.mark.parametrize(("release", "ends"), [("", False), (V1_15, True), (V1_14, True)])
@pytest.mark.parametrize(("notes", "counts"), [({"gpu_index": "0"}, True), ({"gpu_index": "x"}, False), ({}, False)])
def test_pod_annotated_with_a_shared_card_on_a_node_without_cards_panics_depending_on_the_release(
    notes: dict[str, str], counts: bool, release: str, ends: bool
) -> None:
    runs = limited({"volcano.sh/gpu-number": "1"}, name="r-0", on="n1", **notes)
    if not (counts and ends):
        opened(node("n1"), runs, GPUSharingEnable="true", release=release)
        return
    with pytest.raises(SchedulerPanic, match="nil pointer dereference"):
        opened(node("n1"), runs, GPUSharingEnable="true", release=release)


@pytest.mark.parametrize(("release", "seen"), [("", 0), (V1_15, 0), (V1_14, 1)])
def test_evicted_pod_leaves_a_node_without_shared_cards_depending_on_the_release(release: str, seen: int) -> None:
    runs = limited({"volcano.sh/gpu-memory": "1"}, name="r-0", on="n1")
    ssn = opened(node("n1"), runs, GPUSharingEnable="true", release=release)
    Statement(ssn).evict(task(ssn, "r-0").clone(), "preempt")
    predicates: Any = ssn.plugins["predicates"]
    assert [seen] == predicates.view.pod_count.tolist()


@pytest.mark.parametrize(("release", "taken"), [("", 1), (V1_15, 2), (V1_14, 2)])
def test_request_for_card_memory_and_whole_cards_depends_on_the_release(release: str, taken: int) -> None:
    both = {"volcano.sh/gpu-memory": "1", "volcano.sh/gpu-number": "1"}
    ssn = opened(gpus(), limited(both), GPUSharingEnable="true", release=release)
    placed(ssn)
    ledger: Any = ssn.nodes["n1"].devices["GpuShare"]
    assert taken == len([index for index in ledger.card_indexes if ledger.pods_on(index)])
    assert {"volcano.sh/gpu-index": str(taken - 1)} == ledger.bind_annotations(task(ssn, "j-0").pod)
    ssn = opened(gpus(memory="8", number="1"), limited(both), GPUSharingEnable="true", release=release)
    refused = ssn.nodes["n1"].devices["GpuShare"].allocate(task(ssn, "j-0").pod)
    assert (taken == 1) is (refused is None)


@pytest.mark.parametrize(("release", "named"), [("", ""), (V1_15, ""), (V1_14, "gpu-b")])
def test_pod_names_the_cards_of_its_last_successful_allocation_depending_on_the_release(
    release: str, named: str
) -> None:
    """v1.14 writes the annotation with each allocation: one that fails afterwards leaves that of another node."""
    nodes = [cards("gpu-a,10,1000,NVIDIA,true,hami-core"), cards("gpu-b,10,1000,NVIDIA,true,hami-core", name="n2")]
    for manifest in nodes:
        manifest["metadata"]["annotations"]["volcano.sh/node-vgpu-handshake"] = "Reported"
    ssn = opened(*nodes, limited(vgpu()), VGPUEnable="true", release=release)
    for name in ("n1", "n2"):
        tried = Statement(ssn)
        tried.allocate(task(ssn, "j-0"), name)
        tried.discard()
    ledger = ssn.nodes["n1"].devices["hamivgpu"]
    assert named == ledger.bind_annotations(task(ssn, "j-0").pod).get("volcano.sh/vgpu-ids-new", "").partition(",")[0]


@pytest.mark.parametrize(
    ("release", "early", "bound"),
    [("v1.14.4", True, 1), ("v1.14.4", False, 2), ("v1.15.2", True, 2)],
)
def test_early_news_of_cards_is_charged_again_where_the_cache_shares_the_ledger(
    release: str, early: bool, bound: int
) -> None:
    snapshot = snapshot_at_release(SHOWN["vgpu-charged-by-news"](), release)
    news = {"default/j-0": EARLY_NEWS} if early else {}
    recording = replay_cycle(replace(snapshot, chance=ChanceSettings(card_news=news)))
    assert bound == len(cycle_effects(recording).bound)
