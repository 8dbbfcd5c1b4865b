"""Forced answers: returned at their event, named there, without effect on the unforced run."""

from __future__ import annotations

import io
from functools import cache

import pytest

from tests.actions.outcome import ran
from tests.builders import node, pod_group, pods
from tests.recorded import GOLDEN, bundled, golden
from vcdebug.explain.decisions.votes import HOOK_AT
from vcdebug.framework.combine import Tiers
from vcdebug.framework.forced_answers import FORCED_CODE, READABLE_ANSWERS, ForcedCall, choice_text
from vcdebug.framework.hooks import HOOKS
from vcdebug.framework.record import HookEvent
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edit_path import EditError
from vcdebug.whatif.branch import edited_snapshot

VICTIMS = 103
"""The event in which gang is asked for victims for worker-0, in the bundled snapshot."""
A, B = "research/bert-pretrain-worker-0", "research/resnet-sweep-worker-0"


@cache
def forced(edit: str, name: str = "preempt-blocked-by-gang") -> Recording:
    return replay_cycle(edited_snapshot(bundled(name).snapshot, [parse_edit(edit)]))


def hook(recording: Recording, seq: int) -> HookEvent:
    event = recording.event_at(seq)
    assert isinstance(event, HookEvent)
    return event


def find(recording: Recording, point: str, result: object) -> int:
    """The first call of a hook with this answer."""
    return next(
        seq
        for seq, event in enumerate(recording.events, start=1)
        if isinstance(event, HookEvent) and (event.point, event.result) == (point, result)
    )


def lines(recording: Recording) -> list[str]:
    file = io.StringIO()
    write_jsonl(recording, file)
    return file.getvalue().splitlines()


@pytest.mark.parametrize(
    ("value", "result", "vote"),
    [
        (f"allow {A} {B}", (A, B), 1),
        ("bert-pretrain-worker-0", (A,), 1),
        (f"{B}, {A}", (B, A), 1),
        ("none", (), 1),
        ("no", (), 1),
        ("yes", (A, B), 1),
        ("abstain", (), 0),
    ],
)
def test_forced_victims_are_the_recorded_result(value: str, result: tuple[str, ...], vote: int) -> None:
    event = hook(forced(f"answer:{VICTIMS}.Preemptable.gang={value}"), VICTIMS)
    assert (result, vote) == (event.result, dict(event.subject)["vote"])


def test_forced_answer_leaves_earlier_events_unchanged() -> None:
    branch = forced(f"answer:{VICTIMS}=none")
    assert lines(bundled())[: VICTIMS - 1] == lines(branch)[: VICTIMS - 1]
    assert lines(bundled())[VICTIMS - 1] != lines(branch)[VICTIMS - 1]


def test_a_forced_answer_is_named_at_its_event_with_the_plugins_own() -> None:
    (note,) = forced(f"answer:{VICTIMS}=none").notes_at(VICTIMS)
    assert (FORCED_CODE, f"gang answers none (its own answer: {B})") == (note.code, note.text)


def test_forced_answer_changes_the_decisions() -> None:
    base = bundled("preempt-works")
    seq = find(base, "JobPipelined", 1)
    branch = forced(f"answer:{seq}=reject", "preempt-works")
    assert cycle_effects(base).evicted
    assert not cycle_effects(branch).evicted


@pytest.mark.parametrize("word", ["yes", "no"])
def test_a_forced_boolean_is_the_recorded_result(word: str) -> None:
    base = bundled()
    seq = find(base, "JobStarving", word == "no")
    assert (word == "yes") is hook(forced(f"answer:{seq}={word}"), seq).result


def test_a_job_can_be_made_invalid() -> None:
    seq = find(bundled(), "JobValid", None)
    event = hook(forced(f"answer:{seq}=no I say so"), seq)
    assert {"pass": False, "reason": "I say so", "message": "I say so"} == event.result


def test_a_check_before_predicates_can_fail() -> None:
    seq = find(bundled(), "PrePredicate", None)
    assert {"error": "full"} == hook(forced(f"answer:{seq}=no full"), seq).result


def test_a_single_nodes_predicate_can_fail() -> None:
    seq = find(bundled(), "Predicate", None)
    event = hook(forced(f"answer:{seq}.Predicate.predicates=no"), seq)
    assert [{"code": 2, "reason": "forced", "plugin": "predicates"}] == event.result


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ("answer:103.Preemptable.drf=none", "event 103 is Preemptable of gang, not Preemptable of drf"),
        ("answer:103.JobReady=yes", "event 103 is Preemptable of gang, not JobReady"),
        ("answer:100=yes", "event 100 is not a plugin call"),
        ("answer:9999=yes", "event 9999 does not exist in the edited run (166 events)"),
        ("answer:103=allow nobody-i-know", "nobody-i-know is not a candidate at this event"),
        ("answer:95=perhaps", "invalid answer 'perhaps'; yes or no"),
        ("answer:136=perhaps", "invalid vote 'perhaps'; permit, reject or abstain"),
        ("answer:here=yes", "'here' is not an event number"),
        ("answer:103.a.b.c=yes", "an answer has no parts"),
        ("answer:103=", "the answer is missing"),
        ("answer:103-", "no forced answer at event 103"),
    ],
)
def test_an_answer_that_cannot_be_given_is_one_clear_error(edit: str, says: str) -> None:
    with pytest.raises(EditError) as caught:
        replay_cycle(edited_snapshot(bundled().snapshot, [parse_edit(edit)]))
    assert says in caught.value.format_line()
    assert edit in caught.value.format_line()


def test_an_answer_is_taken_back_by_its_event() -> None:
    edits = [parse_edit("answer:103=none"), parse_edit("answer:103-")]
    assert () == edited_snapshot(bundled().snapshot, edits).answers


def test_the_later_of_two_answers_at_one_event_counts() -> None:
    edits = [parse_edit("answer:103=none"), parse_edit("answer:103=abstain")]
    assert ["abstain"] == [answer.value for answer in edited_snapshot(bundled().snapshot, edits).answers]


def test_two_answers_count_events_of_the_run_with_those_before_them() -> None:
    first = forced("answer:103.Preemptable.gang=none")
    seq = next(
        seq
        for seq in range(104, len(first))
        if isinstance(event := first.event_at(seq), HookEvent) and event.point == "JobStarving"
    )
    word = "no" if hook(first, seq).result else "yes"
    edits = [parse_edit("answer:103.Preemptable.gang=none"), parse_edit(f"answer:{seq}={word}")]
    both = replay_cycle(edited_snapshot(bundled().snapshot, edits))
    assert lines(first)[: seq - 1] == lines(both)[: seq - 1]
    assert [103, seq] == [note.seq for note in both.notes if note.code == FORCED_CODE]


@pytest.mark.parametrize("name", GOLDEN[::6])
def test_an_answer_that_is_the_plugins_own_changes_nothing(name: str) -> None:
    recording = golden(name)
    seqs = [
        seq
        for seq, event in enumerate(recording.events, start=1)
        if isinstance(event, HookEvent) and isinstance(event.result, bool)
    ]
    seq = seqs[len(seqs) // 2]
    word = "yes" if hook(recording, seq).result else "no"
    again = replay_cycle(edited_snapshot(recording.snapshot, [parse_edit(f"answer:{seq}={word}")]))
    assert lines(recording) == lines(again)


def test_answer_of_a_notification_hook_cannot_be_forced() -> None:
    base = ran(node("n1"), pod_group("j", phase="Pending"), pods("j", 1), actions="enqueue", tiers=("overcommit",))
    seq = find(base, "JobEnqueued", None)
    with pytest.raises(EditError, match="only notified"):
        replay_cycle(edited_snapshot(base.snapshot, [parse_edit(f"answer:{seq}=yes")]))


def test_every_answer_that_is_recorded_has_a_reader_and_words() -> None:
    recorded = {hook.answer_form for hook in HOOKS if hook.show is not None or hook.method == "predicate"}
    assert {"nothing"} == recorded - {*READABLE_ANSWERS}


def test_without_forced_answers_the_calls_are_the_usual_ones() -> None:
    tiers = bundled().session.plugin_calls["preemptable"]
    assert isinstance(tiers, Tiers)
    assert not [plugin_call for tier in tiers for plugin_call in tier if isinstance(plugin_call.call, ForcedCall)]


ANSWERS = {
    "yes or no": ("yes", "no"),
    "permit, reject or abstain": ("permit", "reject", "abstain"),
    "allow and candidates, yes for all, no for none, or abstain": ("none", "yes", "abstain"),
    "allow and tasks, yes for all, or no for none": ("none", "yes"),
    "yes, or no and a reason": ("yes", "no made up"),
}
"""Answers that can be forced at any call, by what the hook allows."""


@pytest.mark.parametrize("name", GOLDEN[::4])
def test_any_answer_at_any_hook_makes_a_whole_recording(name: str) -> None:
    base = golden(name)
    before = lines(base)
    first: dict[str, int] = {}
    for seq, event in enumerate(base.events, start=1):
        if isinstance(event, HookEvent):
            first.setdefault(event.point, seq)
    for point, seq in first.items():
        for value in ANSWERS.get(choice_text(HOOK_AT[point].answer_form), ("none",)):
            if choice_text(HOOK_AT[point].answer_form):
                with disposing(
                    replay_cycle(edited_snapshot(base.snapshot, [parse_edit(f"answer:{seq}.{point}={value}")]))
                ) as branch:
                    assert [seq] == [note.seq for note in branch.notes if note.code == FORCED_CODE]
                    assert before[: seq - 1] == lines(branch)[: seq - 1]
