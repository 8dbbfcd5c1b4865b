"""Several cycles of one program: the changes between them, and the first cycle that differs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, priority_class
from tests.cli.transcripts import call
from tests.conformance.deeds import scheduler
from vcdebug.conformance import verify_cycles
from vcdebug.conformance.cycle_outcome import CycleOutcome, predicted_outcome
from vcdebug.conformance.loopback_server import moved_to_present
from vcdebug.conformance.nearest_replay import follow_scheduler
from vcdebug.conformance.object_store import ObjectStore, pass_between_cycles
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.whatif.cycles import CycleChain
from vcdebug.whatif.next_cycle import BetweenCycles, next_snapshot

CONF = conf_of("priority gang", "predicates nodeorder", actions="enqueue, allocate, preempt")
AT = datetime(2026, 11, 1, tzinfo=UTC)


def preempting() -> Snapshot:
    """A low-priority pod is evicted in the first cycle, and the high-priority pod takes its node in the second."""
    low = pods("low", 2, on="n1", terminationGracePeriodSeconds=1)
    high = pod("high-0", "high", requests={"cpu": "1"}, priority=9)
    groups = (pod_group("low", phase="Running"), pod_group("high", priority_class="high"))
    return cluster(node("n1", "2"), node("n2", "0"), priority_class("high", 9), *groups, low, high, conf=CONF)


def cycles_of(snapshot: Snapshot, count: int) -> list[CycleOutcome]:
    between = BetweenCycles(interval=timedelta(seconds=2))
    chain = CycleChain(replay_cycle(moved_to_present(snapshot, snapshot.now)), between)
    chain.run_cycles(count)
    return [predicted_outcome(one) for one in chain.recordings]


def test_each_cycle_starts_from_what_the_one_before_left(tmp_path: Path) -> None:
    snapshot = preempting()
    first, second = cycles_of(snapshot, 2)
    assert (1, {"default/high-0": "n1"}) == (len(first.evicted), second.bound)
    found = list(verify_cycles(snapshot, scheduler(tmp_path, snapshot, first, second)))
    assert [(1, True), (2, True)] == [(one.number, one.is_agreed) for one in found]
    assert second.bound == found[1].predicted.bound == found[1].observed.bound


def test_the_first_cycle_that_differs_is_the_last_that_is_judged_and_is_named(tmp_path: Path) -> None:
    snapshot = preempting()
    first, second = cycles_of(snapshot, 2)
    elsewhere = replace(second, bound={"default/high-0": "n2"})
    program = scheduler(tmp_path, snapshot, first, elsewhere, CycleOutcome())
    save_snapshot(snapshot, tmp_path / "s.tar.gz")
    words = ["verify", str(tmp_path / "s.tar.gz"), "--scheduler", program.path, f"--argument={program.arguments[0]}"]
    code, out, err = call([*words, "--cycles", "3", "--json"])
    decoder, rest, answers = json.JSONDecoder(), out.lstrip(), []
    while rest:
        answer, end = decoder.raw_decode(rest)
        answers.append(answer)
        rest = rest[end:].lstrip()
    assert [(1, True), (2, False)] == [(one["cycle"], one["agrees"]) for one in answers]
    assert ["default/high-0"] == [each["about"] for job in answers[1]["jobs"] for each in job["differences"]][:1]
    assert 2 == code
    assert "2 cycles: 1 agreed, 1 differed" in err


def test_no_cycle_is_replayed_that_cannot_be_nearer(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = preempting()
    first, second = cycles_of(snapshot, 2)
    replayed, run_next_cycle = list[int](), CycleChain.run_next

    def run_next(chain: CycleChain) -> Recording:
        replayed.append(1)
        return run_next_cycle(chain)

    monkeypatch.setattr(CycleChain, "run_next", run_next)
    assert (1, 0) == (follow_scheduler(snapshot, first, cycles=3).cycles, len(replayed))
    assert (2, 1) == (follow_scheduler(snapshot, first.followed_by(second), cycles=3).cycles, len(replayed))


@pytest.mark.parametrize(
    "words", [["--cycles", "2"], ["preempt-works", "--scheduler", "x", "--keep", "k", "--cycles", "2"]]
)
def test_several_cycles_need_a_program_and_no_case(words: list[str]) -> None:
    code, _, err = call(["verify", *words])
    assert 1 == code
    assert "--cycles" in err


def put(store: ObjectStore, *manifests: Manifest) -> None:
    for manifest in manifests:
        store.put_object(KIND_BY_NAME[manifest["kind"]].api_path, manifest)


def test_between_cycles_bound_pods_run_and_deleted_ones_leave_with_their_claims() -> None:
    store = ObjectStore()
    bound, later = pod("a", on="n1", phase="Pending"), pod("b", on="n1", phase="Running")
    gone, stays = pod("c", on="n1", phase="Running"), pod("d", on="n1", phase="Running")
    gone["metadata"]["deletionTimestamp"], stays["metadata"]["deletionTimestamp"] = (
        f"2026-11-01T00:00:0{s}Z" for s in "23"
    )
    claims = []
    for holder in (gone, stays):
        user = {"resource": "pods", "name": holder["metadata"]["name"], "uid": holder["metadata"]["uid"]}
        status = {"allocation": {}, "reservedFor": [user]}
        claims.append(
            {
                "kind": "ResourceClaim",
                "metadata": {"name": f"of-{user['name']}", "namespace": "default"},
                "status": status,
            }
        )
    put(store, bound, later, gone, stays, *claims)
    pass_between_cycles(store, {"default/a": "n1"}, AT, BetweenCycles(timedelta(seconds=2)))
    left, freed = (store.objects_of(KIND_BY_NAME[kind].api_path) for kind in ("Pod", "ResourceClaim"))
    assert ["a", "b", "d"] == [one["metadata"]["name"] for one in left]
    assert ("Running", "True") == (left[0]["status"]["phase"], left[0]["status"]["conditions"][-1]["status"])
    assert [{}, claims[1]["status"]] == [one["status"] for one in freed]


def test_between_cycles_pods_finish_are_recreated_and_arrive_as_in_the_replay() -> None:
    low = pods("low", 4, on="n1", terminationGracePeriodSeconds=1)
    snapshot = cluster(node("n1", "4"), pod_group("low", phase="Running"), low, conf=CONF)
    going = {**low[3], "metadata": {**low[3]["metadata"], "deletionTimestamp": "2026-11-01T00:00:01Z"}}
    snapshot = replace(snapshot, objects={**snapshot.objects, "Pod": [*low[:3], going]})
    late = {"Pod": pods("late", 1), "PodGroup": [pod_group("late")]}
    between = BetweenCycles(timedelta(seconds=2), recreate=True, finish_rule="thirds", arrivals={2: late})
    store = ObjectStore()
    put(store, *snapshot.objects["Pod"])
    pass_between_cycles(store, {}, snapshot.now, between, 2)
    expected = next_snapshot(replay_cycle(snapshot), between, 2).objects["Pod"]
    assert state_of(expected) == state_of(store.objects_of(KIND_BY_NAME["Pod"].api_path))
    assert {"Running", "Succeeded", "Pending"} == {phase for _, phase in state_of(expected).values()}
    assert ["late"] == [one["metadata"]["name"] for one in store.objects_of(KIND_BY_NAME["PodGroup"].api_path)]


def state_of(pods: list[Manifest]) -> dict[str, tuple[str, str]]:
    """Name -> UID and phase."""
    return {one["metadata"]["name"]: (one["metadata"]["uid"], one["status"]["phase"]) for one in pods}


@pytest.mark.parametrize("words", [["--recreate"], ["--finish", "thirds"], ["--arrivals", "a.json"], ["--every", "5"]])
def test_what_happens_between_cycles_needs_several(words: list[str], tmp_path: Path) -> None:
    code, _, err = call(["verify", "preempt-works", "--scheduler", str(tmp_path), *words])
    assert (1, True) == (code, f"{words[0]} needs several cycles" in err)
