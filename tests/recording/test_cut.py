import pytest

from tests.recorded import bundled
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.framework.record import CutEvent, ScoreEvent
from vcdebug.framework.replay_options import BYTES_PER_EVENT, RecordFullError, SizeBound
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import CutOffError, Recording, cut_off_error, require_complete
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import event_json
from vcdebug.recording.writes import api_writes
from vcdebug.views.event_view import event_view
from vcdebug.views.flow import flow_table
from vcdebug.views.table import format_table

BOUNDS = (1, 20, 60, 110)


def cut_at(events: int) -> Recording:
    return replay_cycle(bundled().snapshot, bound=SizeBound(events=events))


@pytest.mark.parametrize("events", BOUNDS)
def test_a_full_record_ends_with_the_bound_that_it_reached(events: int) -> None:
    recording = cut_at(events)
    assert CutEvent(f"{events} events") == recording.event_at(len(recording)) == recording.cut_event


@pytest.mark.parametrize("events", BOUNDS)
def test_events_before_the_cut_equal_those_of_a_complete_replay(events: int) -> None:
    recording = cut_at(events)
    before = len(recording) - 1
    shared = [event_json(one, seq) for one in (bundled(), recording) for seq in range(1, before + 1)]
    assert shared[:before] == shared[before:]
    assert before >= events


@pytest.mark.parametrize("events", BOUNDS)
def test_a_cut_recording_can_be_looked_at(events: int) -> None:
    recording = cut_at(events)
    last = len(recording)
    assert "✗ the recording ends here, the cycle does not" in format_table(event_view(recording, last))
    assert "✗ stopped at the limit" in format_table(flow_table(recording, (), last))
    assert [span.last >= span.first - 1 for span in recording.spans] == [True] * len(recording.spans)
    assert cycle_effects(recording).panic is None
    assert all(write.seq < last for write in api_writes(recording))
    assert dict(recording.timeline.state_at(last).tasks)


def test_the_error_says_how_many_events_where_and_what_to_do() -> None:
    error = cut_off_error(cut_at(60))
    assert error is not None
    assert error.message.startswith("the replay stopped at its bound of 60 events: after event 6")
    assert "in action " in error.message
    assert "--max-events" in error.hint


def test_a_whole_recording_is_not_cut_off() -> None:
    recording = bundled()
    assert (None, None) == (recording.cut_event, cut_off_error(recording))
    assert recording is require_complete(recording)
    with pytest.raises(CutOffError):
        require_complete(cut_at(20))


def test_a_job_behind_the_cut_is_explained_by_the_cut() -> None:
    recording = cut_at(20)
    found = explain_by_name(recording, "research/llm-finetune").dominant
    assert "cut-off" == found.cause
    assert (
        "research/llm-finetune is not explained: the replay stopped at its limit of 20 events before placing it."
        == found.sentence
    )


def test_arrays_count_once_however_many_events_share_them() -> None:
    score = next(event for event in bundled().events if isinstance(event, ScoreEvent))
    once, thrice = SizeBound(), SizeBound()
    once.check_size([score])
    thrice.check_size([score] * 3)
    assert 0 < score.rows.nbytes <= once.array_bytes == thrice.array_bytes


def test_a_bound_on_the_size_is_reached_by_many_small_events_too() -> None:
    bound = SizeBound(megabytes=1)
    bound.check_size(bundled().events[:1])
    with pytest.raises(RecordFullError, match="1 MB"):
        bound.check_size([None] * ((1 << 20) // BYTES_PER_EVENT + 1))


def test_the_next_look_is_never_beyond_the_bound() -> None:
    bound = SizeBound(events=15_000)
    bound.check_size([None] * 10_000)
    assert 15_000 == bound.next_look
