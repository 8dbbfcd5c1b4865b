import random
from collections.abc import Callable

import pytest

from tests.recorded import GOLDEN, bundled, golden
from vcdebug.debugger.debugger import Debugger, MoveResult
from vcdebug.debugger.figures import parse_figure_line
from vcdebug.framework.record import Level, OpEvent, StatementEvent
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording

Move = Callable[..., MoveResult]


def debugger(*breakpoints: str, recording: Recording | None = None) -> Debugger:
    result = Debugger(recording or bundled())
    for line in breakpoints:
        result.breakpoints.add_breakpoint(line)
    return result


def at(result: Debugger, level: Level, name: str) -> Debugger:
    """Move the debugger to the first span with this level and name."""
    result.goto_event(result.recording.index.spans_of(level, name)[0].first)
    return result


def names(result: Debugger) -> list[str]:
    return [span.name for span in result.span_path()][1:]


def moved(result: Debugger, move: Move, times: int, *, back: bool) -> int:
    """Repeat a movement; returns how many moves changed the position."""
    count = 0
    for _ in range(times):
        origin = result.seq
        count += move(back=back).position.seq != origin
    return count


def digest(recording: Recording, seq: int) -> str:
    """A text of every figure of the state after an event."""
    state = recording.timeline.state_at(seq)
    books = {plugin: {name: dict(entry) for name, entry in figures.items()} for plugin, figures in state.books.items()}
    return repr((dict(state.tasks), dict(state.nodes), dict(state.phases), books))


def test_debugger_starts_at_the_first_event() -> None:
    assert (1, ["cycle"]) == (debugger().seq, [span.name for span in debugger().span_path()])


def test_into_visits_every_event() -> None:
    result = debugger()
    visited = [1]
    while result.step_into().reason == "step":
        visited.append(result.seq)
    assert list(range(1, len(bundled()) + 1)) == visited


def test_over_at_the_head_of_a_span_passes_the_whole_span() -> None:
    result = at(debugger(), Level.ACTION, "preempt")
    last = result.span_path()[-1].last
    assert last + 1 == result.step_over().position.seq


def test_over_inside_a_span_stays_on_its_level() -> None:
    result = at(debugger(), Level.TASK, "research/llm-finetune-worker-1")
    span = result.span_path()[-1]
    result.step_into()
    stops = []
    while result.seq <= span.last:
        stops.append(result.seq)
        result.step_over()
    nodes = [child.first for child in bundled().span_tree.children_of(span)]
    assert [seq for seq in stops if bundled().span_tree.span_starting_at(seq) is not None] == nodes
    assert all(bundled().span_tree.enclosing_span(seq) is span for seq in stops)


def test_out_follows_the_enclosing_span_and_backward_goes_to_its_head() -> None:
    result = at(debugger(), Level.NODE, "gpu-a100-02")
    result.step_into()
    node, task = result.span_path()[-1], result.span_path()[-2]
    inside = result.seq
    assert node.last + 1 == result.step_out().position.seq
    result.goto_event(inside)
    assert node.first == result.step_out(back=True).position.seq
    assert task.first == result.step_out(back=True).position.seq


def test_over_backward_passes_a_whole_span_too() -> None:
    result = at(debugger(), Level.ACTION, "preempt")
    first, last = result.span_path()[-1].first, result.span_path()[-1].last
    result.goto_event(last + 1)
    assert first == result.step_over(back=True).position.seq


def test_step_beyond_an_end_stays_with_the_reason() -> None:
    result = debugger()
    assert ("start", 1) == (result.step_over(back=True).reason, result.seq)
    result.goto_event(10**9)
    assert ("end", len(bundled())) == (result.step_into().reason, result.seq)


@pytest.mark.parametrize("name", GOLDEN)
def test_k_steps_forward_and_k_steps_back_lead_to_the_same_position_and_state(name: str) -> None:
    recording = golden(name)
    chance = random.Random(name)
    for verb in ("step_into", "step_over", "step_out"):
        result = Debugger(recording)
        for _ in range(5):
            start = result.goto_event(chance.randint(1, len(recording))).position
            before = digest(recording, start.seq)
            move: Move = getattr(result, verb)
            taken = moved(result, move, chance.randint(1, 40), back=False)
            assert taken == moved(result, move, taken, back=True)
            assert start == result.position
            assert before == digest(recording, result.seq)


@pytest.mark.parametrize("name", GOLDEN)
def test_k_steps_back_and_k_steps_forward_lead_to_the_same_position(name: str) -> None:
    recording = golden(name)
    chance = random.Random(name)
    result = Debugger(recording)
    for verb in ("step_into", "step_over", "step_out"):
        start = result.goto_event(chance.randint(1, len(recording))).position
        move: Move = getattr(result, verb)
        moved(result, move, moved(result, move, 20, back=True), back=False)
        assert start == result.position


@pytest.mark.parametrize("name", GOLDEN)
def test_step_over_never_goes_deeper_and_reaches_the_end(name: str) -> None:
    recording = golden(name)
    result = Debugger(recording)
    depths = []
    result.goto_event(len(recording) // 2)
    while result.step_over().reason == "step":
        depths.append(
            len(recording.span_tree.path_to(result.seq))
            - (recording.span_tree.span_starting_at(result.seq) is not None)
        )
    owners = [len(recording.span_tree.path_to(seq)) for seq in (result.seq,)]
    assert len(recording) == result.seq
    assert owners == [1]


def test_breakpoints_and_steps_follow_a_preemption_that_gang_blocks() -> None:
    """Break on victim selection, continue, read the votes, step back, and follow the statement to its discard."""
    result = debugger("break victim if plugin == 'gang'", "break statement discard if action == 'preempt'")
    stop = result.continue_()
    assert "breakpoint 1 (victim)" == stop.reason
    assert ["preempt", "gang", "gpu-a100-01"] == [
        result.enclosing_name(field) for field in ("action", "plugin", "node")
    ]
    assert "research/llm-finetune-worker-0" == result.enclosing_name("task")
    assert stop.position.seq - 1 == result.step_into(back=True).position.seq
    while result.continue_().breakpoint != 2:
        pass
    event = result.current_event()
    assert isinstance(event, StatementEvent)
    assert ("discard", 2) == (event.what, len(event.ops))
    undone = [result.step_into().position.seq for _ in range(2)]
    assert ["unpipeline", "unevict"] == [e.op for e in map(bundled().event_at, undone) if isinstance(e, OpEvent)]


def test_continue_without_a_hit_stays_and_names_the_side_with_hits() -> None:
    result = debugger()
    result.goto_event(60)
    assert ("no breakpoint after event 60", 60) == (result.continue_().reason, result.seq)
    result.breakpoints.add_breakpoint("break action enqueue")
    assert ("no breakpoint after event 60; C: one before it", 60) == (result.continue_().reason, result.seq)
    assert 1 == result.continue_(back=True).breakpoint
    said = result.continue_(back=True).reason
    assert "no breakpoint before event 8" == said


def test_reverse_continue_stops_at_the_hits_in_reverse() -> None:
    result = debugger("break statement")
    forward = []
    while (stop := result.continue_()).breakpoint is not None:
        forward.append(stop.position.seq)
    backward = []
    result.goto_event(len(bundled()))
    while (stop := result.continue_(back=True)).breakpoint is not None:
        backward.append(stop.position.seq)
    assert forward == backward[::-1]
    assert list(result.hit_seqs(1)) == forward


def test_a_breakpoint_for_once_switches_itself_off() -> None:
    result = debugger("break action once")
    assert 1 == result.continue_().breakpoint
    assert "no breakpoint after event 8" == result.continue_().reason
    assert not result.breakpoints[1].enabled


def test_a_breakpoint_that_is_off_does_not_stop() -> None:
    result = debugger("break action disabled")
    assert "no breakpoint after event 1" == result.continue_().reason
    result.goto_event(len(bundled()))
    result.breakpoints.toggle_breakpoint(1)
    assert 1 == result.continue_(back=True).breakpoint


def test_a_log_text_is_said_on_the_way_without_a_stop() -> None:
    result = debugger("break statement discard", 'break action log "{action} begins"')
    result.continue_()
    assert ["enqueue begins", "allocate begins"] == [line.text for line in result.log][:2]
    assert all(line.seq <= result.seq for line in result.log)


def test_next_about_visits_the_events_that_concern_an_object() -> None:
    result = debugger()
    task = ("task", "research/resnet-sweep-worker-0")
    visited = []
    while result.next_about(*task).reason == "about task research/resnet-sweep-worker-0":
        visited.append(result.seq)
    assert list(bundled().index.seqs_about(*task)) == visited
    assert "no later event about task research/resnet-sweep-worker-0" == result.next_about(*task).reason
    assert visited[-2] == result.next_about(*task, back=True).position.seq


def test_next_about_without_a_name_stays() -> None:
    assert "nothing is selected" == debugger().next_about("job", "").reason


def test_an_event_beyond_the_ends_is_the_first_or_the_last_one() -> None:
    result = debugger()
    ends = (1, len(bundled()))
    assert ends == tuple(result.goto_event(seq).position.seq for seq in (0, 10**9))


def test_last_position_goes_to_where_the_last_jump_began_and_back_again() -> None:
    result = debugger()
    result.goto_event(20)
    result.step_into()
    result.goto_event(100)
    result.step_into()
    assert 21 == result.last_position().position.seq
    assert 101 == result.last_position().position.seq


def test_the_last_change_of_a_figure_is_the_event_that_wrote_it() -> None:
    result = debugger()
    result.goto_event(len(bundled()))
    figure = parse_figure_line(bundled(), "task research/resnet-sweep-worker-0 status")
    assert f"{figure} Releasing → Running" == result.last_change(figure).reason
    assert "unevict" == getattr(result.current_event(), "op", "")
    assert f"{figure} Running → Releasing" == result.last_change(figure).reason
    assert "evict" == getattr(result.current_event(), "op", "")
    assert f"{figure} is as it was when the session opened" == result.last_change(figure).reason
    assert "evict" == getattr(result.current_event(), "op", "")


def test_the_last_change_that_a_commit_wrote_names_the_commit() -> None:
    recording = golden("basic-0000")
    commits = {seq for seq, event in recording.events_of_type(StatementEvent) if event.what == "commit"}
    bound = cycle_effects(recording).bound[0].task
    result = debugger(recording=recording)
    result.goto_event(len(recording))
    told = result.last_change(parse_figure_line(recording, f"task {bound} status")).reason
    assert int(told.rpartition(", written at event ")[2]) in commits


def test_enclosing_spans_of_an_event_are_named() -> None:
    result = at(debugger(), Level.NODE, "gpu-a100-01")
    around = ["preempt", "research", "research/llm-finetune", "research/llm-finetune-worker-0", "gpu-a100-01"]
    assert around == [result.enclosing_name(field) for field in ("action", "queue", "job", "task", "node")]
    assert around == names(result)


def test_went_up_is_true_only_right_after_a_step_out_backward() -> None:
    result = debugger(recording=golden("preempt-0009"))
    result.goto_event(result.last_seq // 2)
    said = [result.went_up]
    moves: list[tuple[Move, bool]] = [
        (result.step_out, True),
        (result.step_into, True),
        (result.step_into, False),
        (result.step_out, False),
        (result.step_over, True),
    ]
    for move, back in moves:
        move(back=back)
        said.append(result.went_up)
    assert [False, True, False, True, False, False] == said
