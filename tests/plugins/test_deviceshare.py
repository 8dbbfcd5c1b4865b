"""deviceshare places pods on cards that several pods share."""

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, open_session, pod, pod_group, task
from vcdebug.errors import SchedulerPanic
from vcdebug.framework.hooks import BATCH_NODE_ORDER, NODE_ORDER, PRE_PREDICATE, PREDICATE
from vcdebug.framework.quirks import DEVICE_STAYS_CHARGED
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.devices.gpushare import GpuShareLedger
from vcdebug.model.devices.vgpu import VgpuLedger
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.device_config import read_vgpu_names
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.whatif.cycles import CycleChain
from vcdebug.whatif.next_cycle import BetweenCycles

VGPU_NODE = {"volcano.sh/vgpu-number": "20", "volcano.sh/vgpu-cores": "200", "volcano.sh/vgpu-memory": "2000"}
SHORT = "hami-vgpuDeviceSharing error"
ONCE = "v1.13.3,-vgpu-handshake,+vgpu-second-container-free"


def cards(*entries: str, name: str = "n1", **more: Any) -> Manifest:
    """A node that registers two cards of 1000 MiB, or the entries given."""
    manifest = node(name, **VGPU_NODE, **more)
    register = entries or ("gpu-a,10,1000,NVIDIA-A100,true,hami-core", "gpu-b,10,1000,NVIDIA-A100,true,hami-core")
    manifest["metadata"]["annotations"] = {"volcano.sh/node-vgpu-register": ":".join(register) + ":"}
    return manifest


def limited(*limits: dict[str, str], name: str = "j-0", on: str = "", labels: Any = None, **notes: str) -> Manifest:
    """A pod with one container per mapping of limits; notes are annotations, `_` for `-`."""
    containers = [{"name": f"c{i}", "resources": {"limits": dict(limit)}} for i, limit in enumerate(limits)]
    annotations = {f"volcano.sh/{key.replace('_', '-')}": text for key, text in notes.items()}
    manifest = pod(name, "j", on=on, containers=containers, annotations=annotations)
    manifest["metadata"]["labels"] = labels or {}
    return manifest


def vgpu(number: str | None = "1", memory: str | None = None, cores: str | None = None) -> dict[str, str]:
    stated = {"number": number, "memory": memory, "cores": cores}
    return {f"volcano.sh/vgpu-{name}": text for name, text in stated.items() if text is not None}


def opened(*objects: Manifest, running: bool = True, release: str = "", **arguments: Any) -> Session:
    """A session of a scheduler that has run for an hour by default."""
    lines = "".join(f"      deviceshare.{key}: {value}\n" for key, value in arguments.items())
    snapshot = cluster(pod_group("j"), *objects, conf=conf_of("predicates deviceshare") + "    arguments:\n" + lines)
    if running:
        snapshot.process = SchedulerProcess(started=snapshot.now - timedelta(hours=1))
    return open_session(snapshot_at_release(snapshot, release) if release else snapshot)


def refusal(ssn: Session, name: str = "j-0") -> list[str]:
    """The reason of the first node, in a list; empty when it accepts."""
    codes = ssn.ask_plugins(PREDICATE, task(ssn, name), ssn.all_rows())["deviceshare"]
    return [status.reason for status in ssn.reasons.statuses_of(int(codes[0]))]


def placed(ssn: Session, name: str = "j-0") -> Statement:
    statement = Statement(ssn)
    assert None is ssn.ask_plugins(PRE_PREDICATE, task(ssn, name))
    assert None is statement.allocate(task(ssn, name), "n1")
    return statement


def used(ssn: Session) -> list[tuple[str, int, int, int]]:
    """(uuid, users, memory, cores) of the first node's cards."""
    ledger: Any = ssn.nodes["n1"].devices["hamivgpu"]
    return [(c.uuid, c.used_number, c.used_memory, c.used_core) for c in ledger.cards.values()]


def test_in_a_first_cycle_no_node_has_a_ledger() -> None:
    ssn = opened(cards(), limited(vgpu("9")), running=False, VGPUEnable="true")
    assert [] == refusal(ssn)
    assert {} == ssn.nodes["n1"].devices
    assert any(problem.field == "scheduler.started" for problem in ssn.plugins["deviceshare"].problems)


@pytest.mark.parametrize(
    ("hours", "said"),
    [(None, ["is missing and deviceshare needs it"]), (1, []), (0, []), (-1, ["is later than the snapshot itself"])],
)
def test_a_problem_says_that_a_first_cycle_is_assumed(hours: int | None, said: list[str]) -> None:
    conf = conf_of("predicates deviceshare") + "    arguments:\n      deviceshare.VGPUEnable: true\n"
    snapshot = cluster(cards(), conf=conf)
    if hours is not None:
        snapshot.process = SchedulerProcess(started=snapshot.now - timedelta(hours=hours))
    problems = open_session(snapshot).plugins["deviceshare"].problems
    assert said == [problem.what for problem in problems if problem.field == "scheduler.started"]


def test_without_a_policy_the_highest_index_is_taken_and_the_whole_card() -> None:
    ssn = opened(cards(), limited(vgpu()), VGPUEnable="true")
    assert [] == refusal(ssn)
    placed(ssn)
    assert [("gpu-a", 0, 0, 0), ("gpu-b", 1, 1000, 0)] == used(ssn)


def test_two_containers_may_land_on_one_card() -> None:
    ssn = opened(cards(), limited(vgpu(memory="400"), vgpu(memory="500", cores="30")), VGPUEnable="true")
    placed(ssn)
    assert [("gpu-a", 0, 0, 0), ("gpu-b", 2, 900, 30)] == used(ssn)


@pytest.mark.parametrize(
    ("limits", "notes"),
    [
        (vgpu("3"), {}),
        (vgpu(memory="1001"), {}),
        (vgpu(), {"vgpu_mode": "mig"}),
        (vgpu(), {"vgpu_use_gpuuuid": "gpu-x"}),
        (vgpu("2"), {"vgpu_nouse_gpuuuid": "gpu-a, gpu-z"}),
    ],
)
def test_a_pod_that_no_choice_of_cards_serves_is_refused(limits: dict[str, str], notes: dict[str, str]) -> None:
    assert [SHORT] == refusal(opened(cards(), limited(limits, **notes), VGPUEnable="true"))


def test_request_of_all_cores_needs_an_unused_card_and_a_full_card_accepts_no_pod() -> None:
    held = limited(vgpu(memory="10"), name="r-0", on="n1", vgpu_ids_new="gpu-a,NVIDIA,10,1:;gpu-b,NVIDIA,10,100:")
    exclusive = opened(cards(), held, limited(vgpu(memory="10", cores="100")), VGPUEnable="true")
    assert [("gpu-a", 1, 10, 1), ("gpu-b", 1, 10, 100)] == used(exclusive)
    assert [SHORT] == refusal(exclusive)
    modest = opened(cards(), held, limited(vgpu(memory="10")), VGPUEnable="true")
    placed(modest)
    assert [("gpu-a", 2, 20, 1), ("gpu-b", 1, 10, 100)] == used(modest)


def test_per_card_only_the_first_entry_of_a_placed_pod_counts() -> None:
    held = limited(vgpu(), name="r-0", on="n1", vgpu_ids_new="gpu-a,NVIDIA,100,5:gpu-a,NVIDIA,200,5:;gpu-a,N,x,1:")
    assert [("gpu-a", 1, 100, 5), ("gpu-b", 0, 0, 0)] == used(opened(cards(), held, VGPUEnable="true"))


def test_a_node_that_registers_nothing_is_left_to_the_resource_test() -> None:
    assert [] == refusal(opened(node("n1"), limited(vgpu("9")), VGPUEnable="true"))


def test_a_short_entry_voids_the_register() -> None:
    assert None is VgpuLedger.of_node(cards("gpu-a,10,1000,NVIDIA,true,hami-core", "gpu-b,1,1"), "")


def test_a_discarded_gang_leaves_cards_charged() -> None:
    ssn = opened(
        cards("gpu-a,1,1000,NVIDIA,true,hami-core"), limited(vgpu()), limited(vgpu(), name="j-1"), VGPUEnable="true"
    )
    placed(ssn).discard()
    assert [("gpu-a", 1, 1000, 0)] == used(ssn)
    assert [SHORT] == refusal(ssn, "j-1")
    assert DEVICE_STAYS_CHARGED in [note.code for note in ssn.record.notes]


def test_an_allocation_without_room_is_taken_back() -> None:
    ssn = opened(
        cards("gpu-a,1,1000,NVIDIA,true,hami-core"), limited(vgpu()), limited(vgpu(), name="j-1"), VGPUEnable="true"
    )
    placed(ssn)
    assert None is ssn.ask_plugins(PRE_PREDICATE, task(ssn, "j-1"))
    error = Statement(ssn).allocate(task(ssn, "j-1"), "n1")
    assert error is not None
    assert error.endswith("errInfos num is 1, allocation has been rolled back")


def test_a_bound_pod_that_is_evicted_frees_its_card() -> None:
    held = limited(vgpu(), name="r-0", on="n1", vgpu_ids_new="gpu-a,NVIDIA,1000,0:")
    ssn = opened(cards("gpu-a,1,1000,NVIDIA,true,hami-core"), held, limited(vgpu()), VGPUEnable="true")
    assert [SHORT] == refusal(ssn)
    Statement(ssn).evict(task(ssn, "r-0").clone(), "test")
    assert [] == refusal(ssn)


@pytest.mark.parametrize(("policy", "expected"), [("binpack", 120.0), ("spread", 0.0), ('""', 0.0)])
def test_binpack_scores_what_is_used_after_charging_and_spread_never_scores(policy: str, expected: float) -> None:
    held = limited(vgpu(), name="r-0", on="n1", vgpu_ids_new="gpu-a,NVIDIA,100,0:")
    ssn = opened(cards(), held, limited(vgpu(memory="500")), VGPUEnable="true", SchedulePolicy=policy, ScheduleWeight=2)
    assert [] == refusal(ssn)
    assert [expected] == ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["deviceshare"].total.tolist()


def test_without_a_weight_the_scores_are_zero_but_there() -> None:
    ssn = opened(cards(), limited(vgpu()), VGPUEnable="true")
    assert None is ssn.ask_plugins(PRE_PREDICATE, task(ssn, "j-0"))
    batch = ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["deviceshare"]
    assert batch is not None
    assert [0.0] == batch.total.tolist()
    assert [0.0] == ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["deviceshare"].total.tolist()


def test_a_node_without_cards_is_scored_and_taken_like_any_other() -> None:
    ssn = opened(node("n1"), limited(vgpu("0")), VGPUEnable="true", ScheduleWeight=1)
    assert [0.0] == ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["deviceshare"].total.tolist()
    placed(ssn)


def test_pods_of_one_exclusive_rule_do_not_share_a_card() -> None:
    rules = "[{app: train}]"
    held = limited(vgpu(), name="r-0", on="n1", labels={"app": "train"}, vgpu_ids_new="gpu-b,NVIDIA,10,0:")
    same = limited(vgpu("2", "10"), labels={"app": "train"})
    other = limited(vgpu("2", "10"), name="j-1", labels={"app": "serve"})
    ssn = opened(cards(), held, same, other, VGPUEnable="true", GPUExclusiveRules=rules)
    assert [[SHORT], []] == [refusal(ssn), refusal(ssn, "j-1")]


def test_the_real_scheduler_exits_on_contradicting_switches() -> None:
    with pytest.raises(SchedulerPanic, match="can not define true in both gpu sharing and gpu number"):
        opened(node("n1"), GPUSharingEnable="true", GPUNumberEnable="true")
    with pytest.raises(SchedulerPanic, match="gpu-share and vgpu can't be used together"):
        opened(node("n1"), GPUSharingEnable="true", VGPUEnable="true")


def gpus(memory: str = "16", number: str = "2") -> Manifest:
    return node("n1", **{"volcano.sh/gpu-memory": memory, "volcano.sh/gpu-number": number})


def test_memory_must_fit_on_one_card() -> None:
    ssn = opened(gpus(), limited({"volcano.sh/gpu-memory": "9"}), GPUSharingEnable="true")
    assert ["GpuShare no enough gpu memory on node n1"] == refusal(ssn)


def test_memory_is_taken_from_the_lowest_card_and_given_back() -> None:
    first, second = limited({"volcano.sh/gpu-memory": "8"}), limited({"volcano.sh/gpu-memory": "5"}, name="j-1")
    ssn = opened(gpus(), first, second, GPUSharingEnable="true")
    ledger: Any = ssn.nodes["n1"].devices["GpuShare"]
    statement = placed(ssn)
    placed(ssn, "j-1")
    assert [0, 3] == [ledger.free_memory(index) for index in (0, 1)]
    statement.discard()
    assert [8, 3] == [ledger.free_memory(index) for index in (0, 1)]


def test_whole_cards_must_be_without_any_pod() -> None:
    held = limited({"volcano.sh/gpu-number": "1"}, name="r-0", on="n1", gpu_index="1")
    ssn = opened(gpus(), held, limited({"volcano.sh/gpu-number": "2"}), GPUNumberEnable="true")
    assert ["GpuNumber no enough gpu number on node n1"] == refusal(ssn)
    ssn = opened(gpus(), held, limited({"volcano.sh/gpu-number": "1"}), GPUNumberEnable="true")
    assert [] == refusal(ssn)


def test_unhealthy_cards_do_not_count() -> None:
    manifest = gpus()
    manifest["metadata"]["annotations"] = {"volcano.sh/gpu-unhealthy-ids": "0,x"}
    ledger = GpuShareLedger.of_node(manifest, sharing_on=True, number_on=False)
    assert ledger is not None
    assert [] == ledger.pods_on(1)
    with pytest.raises(KeyError):
        ledger.pods_on(0)


# From cycle to cycle


def bound_with(settings: dict[str, Any], cluster_node: Manifest, first: Manifest, second: Manifest) -> list[Recording]:
    """Two cycles of a process that has run for an hour; the second pod arrives before the second cycle."""
    lines = "".join(f"      deviceshare.{key}: {value}\n" for key, value in settings.items())
    tiers = conf_of("gang predicates deviceshare", actions="allocate, backfill") + "    arguments:\n" + lines
    group = pod_group("j", min_member=1, phase="Running")
    snapshot = cluster(group, cluster_node, first, conf=tiers)
    snapshot.process = SchedulerProcess(started=snapshot.now - timedelta(hours=1))
    cycles = CycleChain(replay_cycle(snapshot), BetweenCycles(arrivals={2: {"Pod": [second]}}))
    cycles.run_cycles(2)
    return list(cycles.recordings)


@pytest.mark.parametrize(
    ("settings", "cluster_node", "limit", "says"),
    [
        ({"VGPUEnable": "true"}, cards("gpu-a,1,1000,NVIDIA-A100,true,hami-core"), vgpu(), "vgpu-ids-new"),
        (
            {"GPUNumberEnable": "true"},
            node("n1", **{"volcano.sh/gpu-number": "2", "volcano.sh/gpu-memory": "20"}),
            {"volcano.sh/gpu-number": "2"},
            "gpu-index",
        ),
    ],
)
def test_cards_of_an_earlier_cycle_are_charged(
    settings: dict[str, Any], cluster_node: Manifest, limit: dict[str, str], says: str
) -> None:
    """The bind writes the annotation, and the next cycle's ledger reads it."""
    first, second = bound_with(settings, cluster_node, limited(limit), limited(limit, name="j-1"))
    assert ["default/j-0"] == [one.task for one in cycle_effects(first).bound]
    assert [] == [one.task for one in cycle_effects(second).bound]
    notes = second.snapshot.objects_of("Pod")[0]["metadata"]["annotations"]
    assert {"vgpu-ids-new": "gpu-a,NVIDIA,1000,0", "gpu-index": "0,1"}[says] == notes[f"volcano.sh/{says}"]


@pytest.mark.parametrize(
    ("change", "notes", "settings", "expected"),
    [
        ("vgpu-uuid-lists", {"vgpu_use_gpuuuid": "gpu-x"}, {}, [("gpu-a", 0, 0, 0), ("gpu-b", 1, 100, 0)]),
        ("vgpu-device-order", {}, {"SchedulePolicy": "binpack"}, [("gpu-a", 1, 10, 0), ("gpu-b", 1, 100, 0)]),
    ],
)
def test_cards_are_chosen_as_older_releases_choose(
    change: str, notes: dict[str, str], settings: dict[str, Any], expected: list[tuple[str, int, int, int]]
) -> None:
    held = [limited(vgpu(), name="r-0", on="n1", vgpu_ids_new="gpu-a,NVIDIA,10,0:")] if settings else []
    snapshot = [cards(), *held, limited(vgpu(memory="100"), **notes)]
    ssn = opened(*snapshot, VGPUEnable="true", release=f"master,+{change}", **settings)
    placed(ssn)
    assert expected == used(ssn)


def test_older_spread_policy_scores_unused_cards() -> None:
    ssn = opened(
        cards(),
        limited(vgpu(memory="500")),
        VGPUEnable="true",
        SchedulePolicy="spread",
        ScheduleWeight=2,
        release="master,+vgpu-spread-score",
    )
    assert [] == refusal(ssn)
    assert [200.0] == ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["deviceshare"].total.tolist()


NAMES = """nvidia:
  resourceCountName: acme.com/gpus
  resourceMemoryName: acme.com/memory
  resourceMemoryPercentageName: acme.com/percent
"""


def pod_with_custom_names(text: str | None, **limits: str) -> Session:
    """A session with a pod that requests custom resource names, under a device configuration."""
    conf = conf_of("predicates deviceshare") + "    arguments:\n      deviceshare.VGPUEnable: true\n"
    asked = limited({f"acme.com/{name}": amount for name, amount in limits.items()})
    snapshot = cluster(pod_group("j"), cards(), asked, conf=conf)
    snapshot.process = SchedulerProcess(started=snapshot.now - timedelta(hours=1))
    snapshot.device_config = text
    return open_session(snapshot)


def test_the_device_configuration_says_by_which_names_pods_ask() -> None:
    assert [SHORT] == refusal(pod_with_custom_names(NAMES, gpus="3"))
    assert [] == refusal(pod_with_custom_names(NAMES, gpus="2"))
    assert [] == refusal(pod_with_custom_names(None, gpus="3"))


def test_memory_may_be_asked_for_in_percent_of_a_card() -> None:
    ssn = pod_with_custom_names(NAMES, gpus="1", percent="25")
    placed(ssn)
    assert [250, 0] == sorted((memory for _, _, memory, _ in used(ssn)), reverse=True)


@pytest.mark.parametrize(("text", "number"), [("nvidia: {}", ""), ("", ""), ("{", "volcano.sh/vgpu-number")])
def test_a_resource_name_left_out_of_the_configuration_is_empty(text: str, number: str) -> None:
    assert number == read_vgpu_names(text).number


def test_without_a_device_configuration_a_problem_says_so() -> None:
    said = [one.what for one in pod_with_custom_names(None).plugins["deviceshare"].problems]
    assert ["the device configuration (device-config.yaml) is not in the snapshot"] == said
    assert () == pod_with_custom_names(NAMES).plugins["deviceshare"].problems


def test_up_to_v1_12_a_second_container_on_a_card_is_free_and_ends_the_process_as_it_leaves() -> None:
    """Removing the first container deletes the pod's entry on the card; the second one then reads nil."""
    cut = limited(vgpu(memory="300"), vgpu(memory="300"), on="n1", vgpu_ids_new=2 * "gpu-a,NVIDIA,300,0:;")
    fits, late = limited(vgpu(memory="700"), name="j-1"), limited(vgpu(memory="800"), name="j-2")
    ssn = opened(cards("gpu-a,10,1000,NVIDIA-A100,true,hami-core"), cut, fits, late, release=ONCE, VGPUEnable="true")
    assert ([], [SHORT]) == (refusal(ssn, "j-1"), refusal(ssn, "j-2"))
    with pytest.raises(SchedulerPanic, match="nil pointer"):
        ssn.nodes["n1"].update_task(task(ssn, "j-0"))


@pytest.mark.parametrize("release", ["v1.14.4", "v1.13.3,-vgpu-handshake", ONCE])
def test_a_pod_that_comes_back_is_charged_again(release: str) -> None:
    """A card drops pods that use none of its memory any more."""
    runs = limited(vgpu(memory="300"), on="n1", vgpu_ids_new="gpu-a,NVIDIA,300,0:")
    ssn = opened(cards("gpu-a,10,1000,NVIDIA-A100,true,hami-core"), runs, release=release, VGPUEnable="true")
    ssn.nodes["n1"].update_task(task(ssn, "j-0"))
    assert [("gpu-a", 1, 300, 0)] == used(ssn)


def test_a_charge_that_is_taken_back_takes_no_more_than_there_is() -> None:
    """A negative count of used cores is reset to 0 by a failed attempt on the card."""
    wants_two = limited(vgpu(memory="5", cores="50"), vgpu("2"))
    ssn = opened(cards("gpu-a,10,1000,NVIDIA,true,hami-core"), wants_two, VGPUEnable="true")
    ledger = ssn.nodes["n1"].devices["hamivgpu"]
    assert isinstance(ledger, VgpuLedger)
    ledger.cards[0].change_usage(0, -10)
    assert "no enough gpu cards on node n1" == ledger.allocate(task(ssn, "j-0").pod)
    assert [("gpu-a", 1, 0, 0)] == used(ssn)
