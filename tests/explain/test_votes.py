import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods
from tests.recorded import GOLDEN, bundled, golden
from vcdebug.explain.decisions.votes import HookCallGroup, hook_calls_at
from vcdebug.framework.record import HookEvent, StatementEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle


def ask(recording: Recording, point: str, number: int = 0) -> HookCallGroup:
    """The call group of the n-th answer at a hook."""
    found = hook_calls_at(recording, recording.index.seqs_at_point(point)[number])
    assert found is not None
    return found


def shown(asked: HookCallGroup) -> list[tuple[int, str, str]]:
    return [(vote.tier, vote.plugin, vote.silence_reason or vote.state) for vote in asked.votes]


@pytest.mark.parametrize("name", GOLDEN)
def test_questions_cover_every_answer_once_and_in_order(name: str) -> None:
    recording = golden(name)
    seq = 1
    while seq <= len(recording):
        asked = hook_calls_at(recording, seq)
        if asked is None:
            assert not isinstance(recording.event_at(seq), HookEvent)
            seq += 1
            continue
        assert seq == asked.first_seq
        answers = [vote.seq for vote in asked.votes if vote.seq is not None]
        assert list(range(asked.first_seq, asked.last_seq + 1)) == answers
        assert all(asked == hook_calls_at(recording, inner) for inner in range(asked.first_seq, asked.last_seq + 1))
        seq = asked.last_seq + 1


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith(("preempt", "reclaim", "mixed"))])
def test_a_statement_commits_exactly_where_the_job_may_be_pipelined(name: str) -> None:
    recording = golden(name)
    for seq in recording.index.seqs_of_type(StatementEvent):
        event, before = recording.event_at(seq), hook_calls_at(recording, seq - 1)
        assert isinstance(event, StatementEvent)
        if before is not None and before.point == "JobPipelined":
            assert (event.what == "commit") is before.outcome


def test_plugin_that_allows_no_candidate_ends_its_tier() -> None:
    asked = ask(bundled(), "Preemptable", 3)
    assert [
        (1, "priority", "answered"),
        (1, "gang", "answered"),
        (1, "conformance", "gang allowed no candidate, which ends the tier"),
        (2, "drf", "enablePreemptable is false"),
    ] == shown(asked)
    assert (None, None, None) == (asked.outcome, asked.deciding_tier, asked.deciding_plugin)


def test_a_tier_with_victims_decides() -> None:
    asked = ask(bundled(), "Preemptable")
    assert 1 == asked.deciding_tier
    assert ("research/resnet-sweep-worker-0",) == asked.outcome
    assert ["answered"] * 3 == [vote.state for vote in asked.tier(1)]


def starving(*tiers: str) -> HookCallGroup:
    """The JobStarving vote on a job of 2 tasks, one of them running, with minMember 1."""
    snapshot = cluster(
        node("n1", cpu="1"),
        pod_group("j", min_member=1, phase="Running"),
        pods("j", 1, prefix="up", on="n1"),
        pods("j", 1, prefix="down"),
        conf=conf_of(*tiers, actions="preempt"),
    )
    return ask(replay_cycle(snapshot), "JobStarving")


def test_first_tier_alone_decides_about_starving() -> None:
    together = starving("priority gang")
    assert (False, 1, "gang") == (together.outcome, together.deciding_tier, together.deciding_plugin)
    apart = starving("priority", "gang")
    assert (True, 1, None) == (apart.outcome, apart.deciding_tier, apart.deciding_plugin)
    assert [(1, "priority", "answered"), (2, "gang", "tier 1 decides alone")] == shown(apart)
    refused = starving("gang priority")
    assert [(1, "gang", "answered"), (1, "priority", "gang said no")] == shown(refused)


def admission(*tiers: str, cpu: str) -> HookCallGroup:
    snapshot = cluster(
        node("n1", cpu="4"),
        pod_group("j", phase="Pending", min_resources={"cpu": cpu}),
        pods("j", 1, cpu="1"),
        conf=conf_of(*tiers, actions="enqueue"),
    )
    return ask(replay_cycle(snapshot), "JobEnqueueable")


def test_a_permit_ends_its_tier_only_and_later_tiers_are_not_heard() -> None:
    asked = admission("overcommit", "proportion", cpu="4.5")
    assert (True, 1) == (asked.outcome, asked.deciding_tier)
    assert [(1, "overcommit", "answered"), (2, "proportion", "tier 1 permitted")] == shown(asked)


def test_a_rejection_ends_the_question() -> None:
    same_tier = admission("overcommit proportion", cpu="4.5")
    assert (False, "proportion") == (same_tier.outcome, same_tier.deciding_plugin)
    asked = admission("overcommit proportion", cpu="9")
    assert (False, 1, "overcommit") == (asked.outcome, asked.deciding_tier, asked.deciding_plugin)
    assert [(1, "overcommit", "answered"), (1, "proportion", "overcommit rejected")] == shown(asked)


def test_a_question_asked_again_at_once_is_another_question() -> None:
    recording = golden("preempt-topology-0003")
    spans = [
        (asked.first_seq, asked.last_seq)
        for seq in recording.index.seqs_at_point("SimulatePredicate")
        if (asked := hook_calls_at(recording, seq)) is not None
    ]
    assert len(spans) == len({*spans})


def test_other_events_belong_to_no_question() -> None:
    assert hook_calls_at(bundled(), len(bundled())) is None
