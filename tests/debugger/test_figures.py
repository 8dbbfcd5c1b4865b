"""Figures by name: parsed from words, looked up at an event, followed through the events that changed them."""

import pytest

from tests.recorded import BLOCKED, GOLDEN, bundled, golden
from vcdebug.debugger import figures
from vcdebug.debugger.figures import (
    FIGURE_KINDS,
    Figure,
    FigureError,
    figure_history,
    iter_figure_completions,
    parse_figure_line,
)
from vcdebug.recording.recording import Recording

JOB, TASK = "research/llm-finetune", "research/llm-finetune-worker-0"


def changes_of(line: str) -> list[tuple[int, str, str]]:
    """(event, old value, new value) of each change of a figure, with values as text."""
    figure = parse_figure_line(bundled(), line)
    return [
        (c.seq, figures.format_figure(figure, c.old), figures.format_figure(figure, c.new))
        for c in figure_history(bundled(), figure)[1]
    ]


@pytest.mark.parametrize(
    ("line", "canonical"),
    [
        ("node gpu-a100-01 idle gpu", "node gpu-a100-01 idle nvidia.com/gpu"),
        ("node gpu-a100-01.idle.nvidia.com/gpu", "node gpu-a100-01 idle nvidia.com/gpu"),
        ("node gpu-a100-01.idle", "node gpu-a100-01 idle"),
        ("queue research allocated mem", "queue research proportion/allocated memory"),
        ("queue research.proportion/allocated", "queue research proportion/allocated"),
        ("queue research weight", "queue research weight"),
        ("job llm-finetune ready", f"job {JOB} ready"),
        (f"job {JOB}.phase", f"job {JOB} phase"),
        (f"job {JOB} allocated gpu", f"job {JOB} drf/allocated nvidia.com/gpu"),
        ("task llm-finetune-worker-0 status", f"task {TASK} status"),
        ("plugin overcommit idle cpu", "plugin overcommit idle cpu"),
    ],
)
def test_parsed_figure_has_its_canonical_text(line: str, canonical: str) -> None:
    assert canonical == str(parse_figure_line(bundled(), line))
    assert parse_figure_line(bundled(), line) == parse_figure_line(bundled(), canonical)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "say which figure"),
        ("pot a idle", "no kind of figure 'pot'"),
        ("pod a status", "no pod 'a'; available: "),
        ("node", "say which node"),
        ("node gpu-a100-91", "no node 'gpu-a100-91'; available: gpu-a100-0"),
        ("node gpu-a100-01", "it has idle, used, releasing, pipelined, future-idle, allocatable"),
        ("node gpu-a100-01 free", "has no figure 'free'"),
        ("node gpu-a100-01 idle fpga", "has no dimension 'fpga'; it has cpu, memory, nvidia.com/gpu, pods"),
        ("node gpu-a100-01 idle cpu cpu", "unexpected 'cpu' after"),
        ("job llm-finetune ready cpu", "one value, without dimensions"),
        ("queue research drf/share", "no figure 'drf/share'"),
    ],
)
def test_error_about_an_unknown_figure_lists_the_valid_ones(line: str, words: str) -> None:
    with pytest.raises(FigureError) as error:
        parse_figure_line(bundled(), line)
    assert words in error.value.format_line()


def test_a_history_has_every_change_with_old_and_new() -> None:
    assert [(107, "144", "136"), (110, "136", "152"), (138, "152", "136"), (139, "136", "144")] == changes_of(
        "queue research allocated cpu"
    )
    assert [(110, "Pending", "Pipelined"), (138, "Pipelined", "Pending")] == changes_of(f"task {TASK} status")
    assert [(110, "0", "1"), (138, "1", "0")] == changes_of(f"job {JOB} waiting")
    assert [(21, "Pending", "Inqueue")] == changes_of(f"job {JOB} phase")
    room = "8 cpu, 60Gi memory, 2 nvidia.com/gpu"
    assert [(107, "nothing", room), (139, room, "nothing")] == changes_of("node gpu-a100-01 releasing")


def test_constant_figure_has_no_history() -> None:
    for line in ("node cpu-01 allocatable", "queue research weight", f"job {JOB} minimum", f"task {TASK} request"):
        assert [] == changes_of(line)


def every(recording: Recording) -> list[Figure]:
    return [
        parse_figure_line(recording, words)
        for kind in FIGURE_KINDS
        for name in figures.object_names(recording, kind)
        for words in iter_figure_completions(recording, kind, name)
    ]


@pytest.mark.parametrize("case", [BLOCKED, GOLDEN[0], GOLDEN[len(GOLDEN) // 2], GOLDEN[-1]])
def test_a_history_agrees_with_the_state_at_every_event(case: str) -> None:
    recording = bundled(case) if case == BLOCKED else golden(case)
    stops = range(0, len(recording) + 1, max(1, len(recording) // 60))
    for figure in every(recording)[:: 1 if case == BLOCKED else 7]:
        followed = figure_history(recording, figure)
        opening = figures.figure_value(recording, figure, 0)
        for seq in stops:
            last = followed.last_change(seq)
            expected = figures.figure_value(recording, figure, seq)
            assert str(expected) == str(opening if last is None else last.new), (figure, seq)


def test_a_change_is_found_at_its_event_only() -> None:
    followed = figure_history(bundled(), parse_figure_line(bundled(), f"job {JOB} waiting"))
    change = followed.change_at(110)
    assert change is not None
    assert (110, 0, 1) == change
    assert None is followed.change_at(111)
    assert None is followed.last_change(109)
    assert [110, 138] == list(followed.change_seqs)


def test_future_idle_follows_what_its_parts_do() -> None:
    future = figure_history(bundled(), parse_figure_line(bundled(), "node gpu-a100-01 future-idle gpu"))
    assert future.change_seqs
    for change in future.changes:
        amounts = bundled().timeline.state_at(change.seq).nodes["gpu-a100-01"]
        gpu = [each.get("nvidia.com/gpu") for each in (amounts.idle, amounts.releasing, amounts.pipelined)]
        assert gpu[0] + gpu[1] - gpu[2] == change.new


def test_constant_figure_has_a_value_and_no_change() -> None:
    capacity = parse_figure_line(bundled(), "node gpu-a100-01 capacity gpu")
    assert () == figure_history(bundled(), capacity).changes
    total = parse_figure_line(bundled(), f"job {JOB} total-request gpu")
    job = bundled().session.jobs[JOB]
    assert job.total_request.get("nvidia.com/gpu") == figures.figure_value(bundled(), total, 1)
    assert 0 < figures.figure_value(bundled(), total, 1)
