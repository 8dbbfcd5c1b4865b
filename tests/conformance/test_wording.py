"""Messages that differ only by a random choice."""

import json

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod_group, pods
from tests.conformance.deeds import after, recorded
from tests.conformance.recorded_program import judged
from vcdebug.conformance import nearest_replay
from vcdebug.conformance.cycle_outcome import CycleOutcome, certain_part, is_alike, predicted_outcome
from vcdebug.conformance.verdicts import judge_jobs
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Snapshot

CONF = conf_of("priority gang", "predicates nodeorder")
HEAD = "Unschedulable: 0/3 nodes are unavailable: "


def test_which_of_several_lacking_resources_a_node_names_is_no_difference() -> None:
    gpus, pods = (
        f"{HEAD}2 Insufficient cpu, 3 Insufficient nvidia.com/gpu.",
        f"{HEAD}2 Insufficient cpu, 3 Insufficient pods.",
    )
    mixed = f"{HEAD}1 Insufficient pods, 2 Insufficient cpu, 2 Insufficient nvidia.com/gpu."
    assert is_alike(gpus, pods)
    assert is_alike(gpus, mixed)


def test_messages_that_differ_in_cpu_memory_or_numbers_are_not_alike() -> None:
    cpu = f"{HEAD}1 Insufficient cpu, 2 Insufficient pods."
    assert not is_alike(cpu, f"{HEAD}1 Insufficient memory, 2 Insufficient pods.")
    assert not is_alike(cpu, f"{HEAD}1 Insufficient cpu, 1 Insufficient pods.")
    assert not is_alike(cpu, f"{HEAD}1 Insufficient cpu, 2 node(s) had untolerated taints.")
    assert not is_alike("node-1", "node-2")


def test_origin_reason_of_a_gang_message_is_not_compared() -> None:
    assert "pod group is not ready" == certain_part("pod group is not ready Origin reason is j-0: pod is not ready")


def waiting_again(*changed: tuple[str, str]) -> Snapshot:
    """A gang that did not fit, as the cycle leaves it, with these replacements in its messages."""
    requests = {"cpu": "1", "a/b": "1", "c/d": "1"}
    first = cluster(node("n1"), pod_group("j", min_member=3), pods("j", 3, requests=requests), conf=CONF)
    left = after(first, recorded(first))
    text = json.dumps(left.objects)
    for old, new in changed:
        assert old in text
        text = text.replace(old, new)
    return replace(left, objects=json.loads(text))


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        (("reason is j-0", "reason is j-1"), "agreed"),
        (("Insufficient a/b", "Insufficient c/d"), "agreed"),
        (("3 Pending, 3 min", "2 Pending, 3 min"), "different text"),
        (("1 Insufficient a/b", "1 Insufficient cpu"), "different text"),
    ],
)
def test_repeated_message_counts_only_if_it_differs_beyond_chance(changed: tuple[str, str], word: str) -> None:
    assert [word] == [one.verdict_word for one in judged(waiting_again(changed), [])]


@pytest.mark.parametrize(
    ("first", "word"), [("0 of 5", "random choice"), ("5 of 5", "different text"), ("0 of 9", "different text")]
)
def test_texts_that_no_seed_gives_together_are_chance_if_some_seed_gives_each(
    first: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn_outcome(recording: Recording) -> CycleOutcome:
        outcome, seed = predicted_outcome(recording), recording.snapshot.chance.order_seed or 1
        outcome.waiting |= {"default/j-0": ("", f"{seed % 5} of 5"), "default/j-1": ("", f"{seed % 7} of 7")}
        return outcome

    assert nearest_replay.MAX_SEEDS < 5 * 7
    monkeypatch.setattr(nearest_replay, "predicted_outcome", drawn_outcome)
    snapshot = cluster(node("n1"), pod_group("j", min_member=3), pods("j", 3, requests={"cpu": "99"}), conf=CONF)
    seen = predicted_outcome(replay_cycle(snapshot))
    seen.waiting |= {"default/j-0": ("", first), "default/j-1": ("", "0 of 7")}
    found = nearest_replay.follow_scheduler(snapshot, seen)
    assert [word] == [one.verdict_word for one in judge_jobs(found.recording, found.differences, found.said_elsewhere)]


def test_a_panic_that_few_orders_reach_is_looked_for_to_the_last_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def panics_in_one_order(recording: Recording) -> CycleOutcome:
        outcome = predicted_outcome(recording)
        last = recording.snapshot.chance.order_seed == nearest_replay.MAX_SEEDS
        outcome.panic = "books do not balance" if last else ""
        return outcome

    monkeypatch.setattr(nearest_replay, "predicted_outcome", panics_in_one_order)
    snapshot = cluster(node("n1"), pod_group("j"), pods("j", 1))
    seen = predicted_outcome(replay_cycle(snapshot))
    seen.panic = "books do not balance"
    found = nearest_replay.follow_scheduler(snapshot, seen)
    assert (seen.panic, 0) == (found.outcome.panic, found.difference_rank[0])
