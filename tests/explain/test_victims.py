import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class
from tests.recorded import GOLDEN, bundled, golden
from vcdebug.explain.decisions.votes import VictimDecision, remaining_victims, victim_choice, victim_choice_before
from vcdebug.framework.record import HookEvent, OpEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.visits import VICTIM_POINTS


def choice(recording: Recording, number: int = 0) -> VictimDecision:
    """The n-th vote on victims."""
    firsts = dict.fromkeys(
        found.question.first_seq
        for point in VICTIM_POINTS
        for seq in recording.index.seqs_at_point(point)
        if (found := victim_choice(recording, seq)) is not None
    )
    found = victim_choice(recording, list(firsts)[number])
    assert found is not None
    return found


def after_each_plugin(found: VictimDecision) -> list[tuple[str, ...]]:
    """What the first tier still allows after each of its plugins."""
    votes = found.question.tier(1)
    return [remaining_victims(votes[:number]) for number in range(1, len(votes) + 1)]


@pytest.mark.parametrize("name", GOLDEN)
def test_the_deciding_tier_holds_the_victims(name: str) -> None:
    recording = golden(name)
    for point in VICTIM_POINTS:
        for seq in recording.index.seqs_at_point(point):
            found = victim_choice(recording, seq)
            assert found is not None
            tier = found.question.deciding_tier
            assert (found.question.tier_victims(tier) if tier is not None else ()) == found.victims
            assert [fate.task for fate in found.outcomes if fate.is_victim] == [
                task for task in found.question.candidates if task in found.victims
            ]
            assert all(fate.objections for fate in found.outcomes if not fate.is_victim)


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith(("preempt-0", "reclaim", "mixed"))])
def test_only_victims_of_the_last_choice_are_evicted(name: str) -> None:
    recording = golden(name)
    for seq in recording.index.seqs_of_type(OpEvent):
        event = recording.event_at(seq)
        if isinstance(event, OpEvent) and event.op == "evict":
            found = victim_choice_before(recording, seq)
            assert found is not None
            assert event.task in found.victims
            assert event.node == found.node


def test_each_objection_names_plugin_tier_and_reason() -> None:
    found = choice(bundled())
    saved, victim = found.outcomes
    assert ("research/bert-pretrain-worker-0", False) == (saved.task, saved.is_victim)
    objection = saved.saved_by
    assert objection is not None
    assert (1, "gang") == (objection.vote.tier, objection.vote.plugin)
    assert "bert-pretrain has 4 ready and needs 4: it would break the gang" == objection.reason
    event = bundled().event_at(objection.vote.seq or 0)
    assert isinstance(event, HookEvent)
    assert "gang" == event.plugin
    assert (True, None) == (victim.is_victim, victim.saved_by)


def test_the_running_intersection_is_shown_after_each_plugin() -> None:
    found = choice(bundled())
    both = ("research/bert-pretrain-worker-0", "research/resnet-sweep-worker-0")
    assert [both, both[1:], both[1:]] == after_each_plugin(found)
    assert (1, (1, 2)) == (found.question.deciding_tier, found.question.tiers)


def test_room_tells_whether_the_victims_are_enough() -> None:
    found = choice(bundled())
    assert found.room_equation is not None
    assert ("gpu-a100-01", True) == (found.node, found.room_equation.verdict)
    none = choice(bundled(), 1)
    assert none.room_equation is not None
    assert ((), False) == (none.victims, none.room_equation.verdict)


def critical(*tiers: str) -> VictimDecision:
    """Two lower-priority tasks on a node: one is critical, the other belongs to a gang at its minimum."""
    snapshot = cluster(
        node("n1", cpu="2"),
        [priority_class("high", 100), priority_class("low", 1), priority_class("system-node-critical", 2_000_000_000)],
        pod_group("low", priority_class="low", min_member=0, phase="Running"),
        pods("low", 1, cpu="1", on="n1", priorityClassName="system-node-critical"),
        pod_group("other", priority_class="low", min_member=1, phase="Running"),
        pods("other", 1, cpu="1", on="n1"),
        pod_group("high", priority_class="high"),
        pods("high", 1, cpu="1"),
        conf=conf_of(*tiers, actions="preempt"),
    )
    return choice(replay_cycle(snapshot))


def test_plugin_after_disjoint_answers_starts_a_new_intersection() -> None:
    found = critical("gang conformance priority")
    both = ("default/low-0", "default/other-0")
    assert [both[:1], (), both] == after_each_plugin(found)
    assert (both, 1) == (found.victims, found.question.deciding_tier)


def test_a_critical_pod_is_protected_by_conformance() -> None:
    found = critical("conformance priority")
    protected = next(fate for fate in found.outcomes if fate.task == "default/low-0").saved_by
    assert protected is not None
    assert ("conformance", "critical pods are protected") == (protected.vote.plugin, protected.reason)


def test_an_event_after_the_choice_leads_back_to_it() -> None:
    recording = bundled()
    evicted = next(s for s, e in enumerate(recording.events, start=1) if isinstance(e, OpEvent) and e.op == "evict")
    found = victim_choice_before(recording, evicted)
    assert found is not None
    assert choice(recording) == found


def test_events_without_a_victim_question_have_no_victim_choice() -> None:
    assert victim_choice(bundled(), 1) is None
    assert victim_choice_before(bundled(), 1) is None
