"""A scheduler program on a snapshot; the scripted scheduler stands in for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, priority_class
from tests.cli.transcripts import call
from tests.conformance.deeds import recorded, scheduler, verify_program
from vcdebug.conformance import SchedulerProgram
from vcdebug.conformance.api_objects import ApiAddress
from vcdebug.conformance.api_server import ApiWrite
from vcdebug.conformance.cycle_outcome import CycleOutcome
from vcdebug.conformance.scheduler_program import quiet_after
from vcdebug.errors import VcdebugError
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.snapshot import Snapshot

PREEMPT = Path("tests/golden/random/preempt-0007")


def ties() -> Snapshot:
    conf = conf_of("priority gang", "predicates nodeorder", actions="enqueue allocate")
    return cluster([node(f"n{i}") for i in range(5)], pod_group("j"), pods("j", 1), conf=conf)


def test_a_scheduler_that_does_what_was_recorded_agrees(tmp_path: Path) -> None:
    snapshot = load_snapshot(PREEMPT)
    outcome = recorded(snapshot)
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, outcome))
    assert (outcome.bound, outcome.evicted) == (found.observed.bound, found.observed.evicted)
    assert outcome.evicted
    assert {"agreed"} == {one.verdict_word for one in found.jobs}
    assert found.is_agreed
    assert () == found.chance_edits


def test_verify_finds_a_single_differing_bind(tmp_path: Path) -> None:
    snapshot = load_snapshot(Path("tests/golden/random/basic-0000"))
    outcome = recorded(snapshot)
    pod = min(outcome.bound)
    altered = replace(outcome, bound={**outcome.bound, pod: "node-that-is-not-there"})
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, altered))
    differing = [one for one in found.jobs if one.verdict_word == "differs"]
    assert not found.is_agreed
    assert [pod] == [difference.subject for one in differing for difference in one.differences]
    assert differing[0].decision is not None
    assert outcome.bound[pod] in differing[0].decision.text


def test_a_node_drawn_among_equals_is_followed_not_called_a_difference(tmp_path: Path) -> None:
    snapshot = ties()
    outcome = recorded(snapshot)
    assert {"default/j-0": "n0"} == outcome.bound
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, replace(outcome, bound={"default/j-0": "n3"})))
    assert found.is_agreed
    assert ("chance:choices[default/j-0]=n3",) == found.chance_edits


def test_a_program_that_ends_is_said_to_have_ended(tmp_path: Path) -> None:
    found = verify_program(ties(), scheduler(tmp_path, ties(), CycleOutcome(), panics="books do not balance"))
    assert "the scheduler exited: panic: books do not balance" == found.early_end
    assert not found.is_agreed


def test_a_program_whose_action_panics_still_closes_and_agrees_with_a_replay_that_says_so(tmp_path: Path) -> None:
    bad = {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Nonsense"}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [bad]}}
    conf = conf_of("priority gang", "predicates nodeorder", actions="backfill")
    snapshot = cluster(node("n1"), node("n2"), pod_group("j"), pod("j-0", "j", affinity=affinity), conf=conf)
    outcome = recorded(snapshot)
    assert outcome.panic
    assert outcome.waiting
    program = scheduler(tmp_path, snapshot, outcome, panics_at_last=outcome.panic)
    found = verify_program(snapshot, program)
    assert f"the scheduler exited: panic: {outcome.panic}" == found.early_end
    assert found.is_agreed
    assert 1 == found.count_verdicts("agreed")


def test_a_program_that_dies_before_its_cycle_is_an_error_and_no_difference(tmp_path: Path) -> None:
    with pytest.raises(VcdebugError, match="exited before the compared cycle: panic: no ledger"):
        verify_program(ties(), scheduler(tmp_path, ties(), CycleOutcome(), dies="no ledger"))


def test_a_program_that_dies_before_its_cycle_agrees_with_a_replay_that_panics(tmp_path: Path) -> None:
    arguments = "    arguments:\n      deviceshare.GPUSharingEnable: true\n"
    runs = pod("r-0", "r", on="n1", annotations={"volcano.sh/gpu-index": "0"})
    runs["spec"]["containers"] = [{"name": "c", "resources": {"limits": {"volcano.sh/gpu-memory": "1"}}}]
    snapshot = cluster(node("n1"), pod_group("r"), runs, conf=conf_of("gang", "predicates deviceshare") + arguments)
    snapshot = snapshot_at_release(snapshot, "v1.15.1")
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, CycleOutcome(), dies="no ledger"))
    assert "exited before the compared cycle: panic: no ledger" == found.early_end
    assert "nil pointer" in found.predicted.panic
    assert found.is_agreed


@pytest.mark.parametrize(("amounts", "word"), [("<cpu 9.00>", "agreed"), ("", "differs")])
def test_statuses_are_not_compared_if_both_panic_at_different_points(tmp_path: Path, amounts: str, word: str) -> None:
    snapshot = load_snapshot(Path("tests/golden/crash/wild-30103"))
    outcome = recorded(snapshot)
    head, _, same = outcome.panic.partition(": <")
    queue = next(name for kind, name in outcome.statuses or {} if kind == "Queue")
    altered = replace(outcome, statuses={**(outcome.statuses or {}), ("Queue", queue): {"cpu": "99"}})
    said = f"{head}: {amounts or '<' + same}"
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, altered, panics_at_last=said))
    assert ("resource is not sufficient to do operation", "differs" == word) == (head, not found.is_agreed)
    assert (word == "agreed") == any("different steps" in note for note in found.notes)


def test_events_on_their_way_when_the_process_ends_are_no_difference(tmp_path: Path) -> None:
    snapshot = load_snapshot(Path("tests/golden/crash/wild-30103"))
    outcome = recorded(snapshot)
    (subject, texts), *unsent = outcome.events.items()
    assert any(other[2] != subject[2] for other, _ in unsent)
    reports = [[*subject, texts[-1]]]
    program = scheduler(tmp_path, snapshot, outcome, panics_at_last=outcome.panic, reports=reports)
    found = verify_program(snapshot, program)
    assert {"agreed"} == {verdict.verdict_word for verdict in found.jobs}
    assert any("in flight" in note for note in found.notes)


def test_writes_on_their_way_when_the_process_ends_at_once_are_no_difference(tmp_path: Path) -> None:
    arguments = "    arguments:\n      deviceshare.VGPUEnable: true\n      deviceshare.ScheduleWeight: 1\n"
    asks = pod("b-0", "b")
    stated = {"cpu": "1", "volcano.sh/vgpu-number": "0"}
    asks["spec"]["containers"] = [{"name": "c", "resources": {"limits": stated, "requests": stated}}]
    groups = [pod_group("a", priority_class="high"), pod_group("b")]
    conf = conf_of("priority gang", "predicates deviceshare", actions="allocate") + arguments
    objects = [node("n1"), node("n2"), priority_class("high", 9), *groups, pod("a-0", "a", requests={"cpu": "1"}), asks]
    snapshot = snapshot_at_release(cluster(*objects, conf=conf), "v1.15.1")
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, CycleOutcome(), panics="nil pointer"))
    assert ["default/a-0"] == list(found.predicted.bound)
    assert found.is_agreed
    assert "1 predicted write may have been in flight when the process exited" in found.notes


def test_pods_whose_volumes_are_being_bound_are_waited_for_longer() -> None:
    plain, claim = (
        ApiWrite("patch", ApiAddress("", "v1", plural, "default", "j-0", ""), {})
        for plural in ("pods", "persistentvolumeclaims")
    )
    assert quiet_after([plain]) < 1.0 < quiet_after([plain, claim])


def test_a_program_that_never_schedules_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    said = "unknown flag: --new\nUsage of scheduler:\n  -v, --v Level  number for the log level"
    with pytest.raises(VcdebugError, match="unknown flag: --new;"):
        verify_program(ties(), scheduler(tmp_path, ties(), CycleOutcome(), ends=said))


def test_a_program_that_cannot_be_run_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "scheduler"
    file.write_text("no program", encoding="utf-8")
    with pytest.raises(VcdebugError, match="cannot run"):
        verify_program(ties(), SchedulerProgram(str(file)))


@pytest.mark.parametrize("arguments", [("-v=3",), ("--v=1",), ("-v", "2"), ("-v5", "-v=0")])
def test_program_with_too_low_a_log_level_is_not_run(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    program = replace(scheduler(tmp_path, ties(), recorded(ties())), arguments=arguments)
    with pytest.raises(VcdebugError, match=r"shows no cycle boundaries; use at least -v=4"):
        verify_program(ties(), program)


def test_the_command_prints_verdicts_and_exits_by_them(tmp_path: Path) -> None:
    snapshot = ties()
    save_snapshot(snapshot, tmp_path / "s.tar.gz")
    outcome = recorded(snapshot)
    program = scheduler(tmp_path, snapshot, replace(outcome, bound={}))
    words = ["verify", str(tmp_path / "s.tar.gz"), "--scheduler", program.path, f"--argument={program.arguments[0]}"]
    code, out, _ = call([*words, "--json", "--log", str(tmp_path / "log")])
    answer = json.loads(out)
    assert 2 == code
    assert not answer["agrees"]
    assert {"bound": 1, "evicted": 0} == {name: answer["predicted"][name] for name in ("bound", "evicted")}
    assert ["differs"] == [one["verdict"] for one in answer["jobs"]]
    assert 4 == (tmp_path / "log").read_text(encoding="utf-8").count("scheduling ...")


def test_a_snapshot_without_a_program_is_an_error() -> None:
    code, _, err = call(["verify", "preempt-quota-gang"])
    assert 1 == code
    assert "--scheduler is missing" in err


def test_verification_notes_claims_that_the_replay_does_not_allocate(tmp_path: Path) -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    claim = {
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"devices": {"requests": [request]}},
    }
    selectors = [{"cel": {"expression": "device.driver.reverse() == 'x'"}}]
    classes = {"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": selectors}}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    devices = {"driver": "gpu", "nodeName": "n1", "pool": pool, "devices": [{"name": "a"}]}
    slices = {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": devices}
    waits = pod("j-0", "j", resourceClaims=[{"name": "g", "resourceClaimName": "c"}])
    snapshot = cluster(node("n1"), classes, slices, claim, pod_group("j"), waits)
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, CycleOutcome()))
    assert any(
        "claims-undecided: the replay cannot allocate the resource claims of 1 pod" in note for note in found.notes
    )
