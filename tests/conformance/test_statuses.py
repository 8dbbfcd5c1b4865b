"""A scheduler's other writes: queue and PodGroup statuses, device cards; its memory of past cycles; fatal exits."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod, pod_group, pods
from tests.conformance.deeds import recorded, scheduler, verify_program
from vcdebug.conformance.cycle_outcome import CycleOutcome, Statuses, predicted_outcome, stated_statuses
from vcdebug.conformance.loopback_server import at_cycle, moved_to_present
from vcdebug.conformance.verdicts import Verification, find_differences
from vcdebug.errors import VcdebugError
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot

INPUTS = Path(__file__).parent / "inputs"
GROUP = ("PodGroup", "default/j")


def busy() -> Snapshot:
    """One pod of the job runs, and the cycle binds the other one."""
    conf = conf_of("priority gang", "predicates proportion", actions="enqueue allocate")
    return cluster(
        node("n1"), pod_group("j", min_member=1, phase="Running"), pods("j", 1, on="n1"), pod("j-1", "j"), conf=conf
    )


def statuses_of(outcome: CycleOutcome) -> Statuses:
    assert outcome.statuses is not None
    return outcome.statuses


def differing(found: Verification) -> list[tuple[str, str]]:
    return [(one.subject, one.part) for verdict in found.jobs for one in verdict.differences if one.is_decision]


def verified(folder: Path, snapshot: Snapshot, outcome: CycleOutcome, **more: Any) -> Verification:
    return verify_program(snapshot, scheduler(folder, snapshot, outcome, **more))


def test_statuses_of_queues_and_counts_of_pods_are_foretold() -> None:
    statuses = statuses_of(recorded(busy()))
    assert {"cpu": "1", "memory": "1G", "pods": "2"} == statuses["Queue", "default"]
    assert {"phase": "Running", "running": "1", "failed": "0", "succeeded": "0"} == statuses[GROUP]


def test_a_scheduler_that_writes_them_agrees(tmp_path: Path) -> None:
    found = verified(tmp_path, busy(), recorded(busy()))
    assert found.is_agreed
    assert found.observed.statuses == found.predicted.statuses


@pytest.mark.parametrize(
    ("subject", "numbers"),
    [
        (("Queue", "default"), {"cpu": "1"}),
        (GROUP, {"running": "7", "failed": "0", "succeeded": "0"}),
    ],
)
def test_wrong_numbers_in_a_status_are_found(subject: tuple[str, str], numbers: dict[str, str], tmp_path: Path) -> None:
    outcome = recorded(busy())
    wrong = replace(outcome, statuses={**statuses_of(outcome), subject: numbers})
    found = verified(tmp_path, busy(), wrong)
    assert not found.is_agreed
    assert [(" ".join(subject), "status")] == differing(found)
    (verdict,) = (one for one in found.jobs if one.verdict_word == "differs")
    assert verdict.decision is not None
    assert f"as the session closes, {' '.join(subject)} has " in verdict.decision.text


def test_a_status_of_a_queue_that_is_never_written_is_found(tmp_path: Path) -> None:
    outcome = recorded(busy())
    silent = replace(outcome, statuses={key: said for key, said in statuses_of(outcome).items() if key[0] != "Queue"})
    assert ("Queue default", "status") in differing(verified(tmp_path, busy(), silent))


def test_another_hypernode_on_a_podgroup_is_found_and_a_missing_one_as_well() -> None:
    said = {"phase": "", "running": "1", "failed": "0", "succeeded": "0"}
    here, there, silent = (
        CycleOutcome(statuses={GROUP: said | more}) for more in ({"hypernode": "s1"}, {"hypernode": "s2"}, {})
    )
    (found,) = find_differences(here, there, str)
    assert ("hypernode s1", "hypernode s2") == (found.predicted.split(", ")[1], found.observed.split(", ")[1])
    assert ["status"] == [one.part for one in find_differences(here, silent, str)]
    noted = {"metadata": {"name": "j", "namespace": "default", "annotations": {NOTE: "s1"}}, "status": {"running": 1}}
    assert {GROUP: said | {"hypernode": "s1"}} == stated_statuses([], [noted])


NOTE = "volcano.sh/job-allocated-hypernode"


def test_numbers_are_not_compared_where_decisions_differ_or_nothing_is_known_of_them() -> None:
    said, other = {GROUP: {"running": "1"}}, {GROUP: {"running": "2"}}
    elsewhere = CycleOutcome({"default/j-0": "n2"}, statuses=other)
    assert ["bound"] == [
        one.part for one in find_differences(CycleOutcome({"default/j-0": "n1"}, statuses=said), elsewhere, str)
    ]
    assert [] == find_differences(CycleOutcome(statuses=said), CycleOutcome(), str)


def test_the_same_amount_in_another_unit_is_no_difference() -> None:
    one, other = ({"metadata": {"name": "q"}, "status": {"allocated": {"cpu": text}}} for text in ("2", "2000m"))
    assert stated_statuses([one], []) == stated_statuses([other], [])


def second_cycle(snapshot: Snapshot) -> Snapshot:
    """The snapshot as the second cycle of a process whose first cycle had no PodGroups."""
    present = moved_to_present(snapshot, snapshot.now)
    return at_cycle(present, present.now + timedelta(seconds=2), present.now, [present.now])


def vgpus() -> Snapshot:
    """A pod asks for one virtual GPU, and the only node has one card; the scheduler has run for twelve days."""
    return load_snapshot(INPUTS / "vgpu")


def test_virtual_gpus_that_do_not_exist_are_found(tmp_path: Path) -> None:
    outcome, pod_key = predicted_outcome(replay_cycle(second_cycle(vgpus()))), "default/a-0"
    assert {pod_key: {"volcano.sh/vgpu-ids-new": "GPU-a"}} == outcome.devices
    right, wrong = ({"volcano.sh/vgpu-ids-new": f"{uuid},NVIDIA,1000,0:;"} for uuid in ("GPU-a", "GPU-none"))
    for notes, agreed in ((right, True), (wrong, False)):
        found = verified(tmp_path, vgpus(), outcome, annotations={pod_key: notes})
        assert agreed is found.is_agreed
        assert ([] if agreed else [(pod_key, "devices")]) == differing(found)


@pytest.mark.parametrize("release", ["", "v1.15.1", "v1.14.4"])
def test_cards_that_the_session_chooses_are_not_in_the_status_of_the_queue(release: str) -> None:
    """The pod gets a whole card of 16384 MiB, but requests no memory: only the next session reads its annotations."""
    snapshot = vgpus()
    requested = snapshot.objects_of("Pod")[0]["spec"]["containers"][0]["resources"]
    for amounts in requested.values():
        amounts.pop("volcano.sh/vgpu-memory", None)
    outcome = predicted_outcome(replay_cycle(second_cycle(snapshot_at_release(snapshot, release))))
    assert ["default/a-0"] == [*outcome.bound]
    numbers = statuses_of(outcome)["Queue", "default"]
    assert ("1", None) == (numbers["volcano.sh/vgpu-number"], numbers.get("volcano.sh/vgpu-memory"))


def whole_gpus() -> Snapshot:
    """Two pods request two of four whole GPUs each; upstream picks them in Go map order."""
    switch = "    arguments:\n      deviceshare.GPUNumberEnable: true\n"
    cards = {"volcano.sh/gpu-memory": "32", "volcano.sh/gpu-number": "4"}
    asking = [pod(f"j-{number}", "j", requests={"cpu": "1"}) for number in (0, 1)]
    for one in asking:
        one["spec"]["containers"][0]["resources"]["limits"] = {"volcano.sh/gpu-number": "2"}
    conf = conf_of("gang", "predicates deviceshare") + switch
    snapshot = cluster(node("n1", **cards), pod_group("j", min_member=2), asking, conf=conf)
    return replace(snapshot, process=SchedulerProcess(started=snapshot.now - timedelta(hours=1)))


@pytest.mark.parametrize(("first", "second", "agreed"), [("3,1", "2,0", True), ("3,1", "1,0", False)])
def test_whole_gpus_are_followed_in_any_order_and_none_is_given_twice(
    first: str, second: str, agreed: bool, tmp_path: Path
) -> None:
    outcome = predicted_outcome(replay_cycle(second_cycle(whole_gpus())))
    assert {"0,1", "2,3"} == {claims["volcano.sh/gpu-index"] for claims in outcome.devices.values()}
    given = {"default/j-0": {"volcano.sh/gpu-index": first}, "default/j-1": {"volcano.sh/gpu-index": second}}
    found = verified(tmp_path, whole_gpus(), outcome, annotations=given)
    assert agreed is found.is_agreed, differing(found)


def test_the_memory_of_the_first_empty_cycle_is_that_of_the_second_one(tmp_path: Path) -> None:
    """tdm looked for victims in the first cycle and pauses for its period, so the second one evicts no pod."""
    snapshot = load_snapshot(INPUTS / "tdm-memory")
    assert recorded(snapshot).evicted
    outcome = predicted_outcome(replay_cycle(second_cycle(snapshot)))
    assert (snapshot.now, {}) == (second_cycle(snapshot).process.last_eviction, outcome.evicted)
    assert verified(tmp_path, snapshot, outcome).is_agreed


def fatal() -> Snapshot:
    """Both modes of shared GPUs are on, so the real scheduler exits with klog.Fatal."""
    switches = "    arguments:\n      deviceshare.GPUSharingEnable: true\n      deviceshare.GPUNumberEnable: true\n"
    return cluster(node("n1"), pod_group("j"), pods("j", 1), conf=conf_of("gang", "predicates deviceshare") + switches)


@pytest.mark.parametrize(
    ("last_words", "stack"),
    [
        ("F1122 10:00:00.000000 1 deviceshare.go:99] can not do both", "\n\ngoroutine 1 [running]:"),
        ("level=error msg=cannot go on", ""),
    ],
    ids=["klog.Fatal", "os.Exit"],
)
def test_a_program_that_ends_by_itself_agrees_with_a_replay_that_says_so(
    last_words: str, stack: str, tmp_path: Path
) -> None:
    found = verified(tmp_path, fatal(), CycleOutcome(), ends=last_words + stack)
    assert f"exited before the first cycle: {last_words}" == found.early_end
    assert "can not define true in both" in found.predicted.panic
    assert found.is_agreed


def test_a_program_that_ends_by_itself_is_an_error_where_the_replay_goes_on(tmp_path: Path) -> None:
    with pytest.raises(VcdebugError, match="exited before the first cycle: unknown flag"):
        verified(tmp_path, busy(), CycleOutcome(), ends="unknown flag")
