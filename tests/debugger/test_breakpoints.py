from collections.abc import Iterator
from functools import partial

import pytest

from tests.recorded import GOLDEN, bundled, golden
from tests.rows import try_each
from vcdebug.debugger.breakpoint import Breakpoint, parse_breakpoint
from vcdebug.debugger.breakpoints import BREAKPOINT_KINDS, BreakpointError, BreakpointKind
from vcdebug.debugger.cursor import BACKWARD, FORWARD, Step
from vcdebug.debugger.expression_tokens import ExpressionError
from vcdebug.debugger.notebook import BreakpointList
from vcdebug.errors import VcdebugError
from vcdebug.framework.record import HookEvent, OpEvent, PredicateEvent, StatementEvent
from vcdebug.framework.registry import resolve_reference
from vcdebug.recording.recording import Recording

CANDIDATE = "research/bert-pretrain-worker-0"


def hits(line: str, recording: Recording | None = None) -> list[int]:
    return list(parse_breakpoint(line, 1).hit_seqs(recording or bundled()))


def hooks(point: str, plugin: str | None = None) -> list[int]:
    events = enumerate(bundled().events, start=1)
    return [s for s, e in events if isinstance(e, HookEvent) and e.point == point and plugin in (None, e.plugin)]


def walked(point: Breakpoint, recording: Recording, seq: int, step: Step) -> Iterator[int]:
    found = point.next_hit(recording, seq, step)
    while found is not None:
        yield found
        found = point.next_hit(recording, found, step)


def test_starving_stops_at_each_answer() -> None:
    assert hooks("JobStarving") == hits("break starving")
    assert hooks("JobStarving", "gang") == hits('starving if plugin == "gang"')


def test_victim_stops_once_per_question_at_the_first_answer_that_fulfils_the_condition() -> None:
    assert hooks("Preemptable", "priority") == hits("victim")
    assert hooks("Preemptable", "gang") == hits('victim if plugin == "gang"')
    assert hooks("Preemptable", "priority") == hits('victim if plugin == "gang" or plugin == "priority"')
    assert 1 == len(hits(f'victim if plugin == "gang" and "{CANDIDATE}" in candidates and "{CANDIDATE}" not in victims '
                         'and node == "gpu-a100-01" and count(candidates) == 2'))  # fmt: skip


def test_statement_stops_at_commit_and_discard_or_at_what_its_words_say() -> None:
    whole = [(s, e.what) for s, e in enumerate(bundled().events, start=1) if isinstance(e, StatementEvent)]
    assert [s for s, what in whole if what in ("commit", "discard")] == hits("statement")
    assert [s for s, what in whole if what == "discard"] == hits("statement discard")
    evictions = [s for s, e in enumerate(bundled().events, start=1) if isinstance(e, OpEvent) and e.op == "evict"]
    assert evictions == hits("statement evict")
    assert sorted(evictions + hits("statement discard")) == hits("statement evict discard")


def test_predicate_stops_where_a_node_failed() -> None:
    passes = [(s, e) for s, e in enumerate(bundled().events, start=1) if isinstance(e, PredicateEvent)]
    assert [s for s, e in passes if len(e.failed)] == hits("predicate")
    assert [s for s, e in passes if not len(e.feasible)] == hits("predicate none")
    failing = {bundled().node_names[row] for _, e in passes for row in e.failed.tolist()}
    name = sorted(failing)[0]
    row = bundled().node_names.index(name)
    assert [s for s, e in passes if row in e.failed.tolist()] == hits(f'predicate if node == "{name}"')


def test_each_further_breakpoint_kind_stops_at_its_events() -> None:
    assert hooks("JobEnqueueable") == hits("enqueue")
    assert [s for s in hooks("Overused") if bundled().event_at(s).result] == hits("overused")  # type: ignore[union-attr]
    assert hooks("Overused") == hits("overused all")
    assert hooks("JobReady") == hits("vote JobReady")
    assert 4 == len(hits("action"))
    assert hits("action preempt start end") == [hits("action preempt")[0], hits("action preempt end")[0]]


@pytest.mark.parametrize(
    "condition",
    [
        'job == "research/llm-finetune"',
        'task == "research/llm-finetune-worker-0"',
        'action == "preempt"',
        'plugin == "gang"',
        'node == "gpu-a100-01"',
        'queue == "research"',
        'job == "research/llm-finetune" and plugin == "priority"',
    ],
)
@pytest.mark.parametrize("kind", ["vote", "victim", "predicate all", "statement any", "score", "action start end"])
def test_narrowing_by_the_index_loses_no_hit(kind: str, condition: str) -> None:
    assert hits(f"{kind} if ({condition}) or false") == hits(f"{kind} if {condition}")


def test_a_count_of_hits_counts_only_where_the_condition_holds() -> None:
    gang = hits('vote if plugin == "gang"')
    assert [gang[2]] == hits('vote if plugin == "gang" hits == 3')
    assert gang[2:] == hits('vote if plugin == "gang" hits > 2')
    assert gang[4::5] == hits('vote if plugin == "gang" hits % 5 == 0')


WALKED = (
    "victim",
    "vote hits % 3 == 1",
    "statement any",
    "predicate",
    "score",
    "tie",
    "starving",
    "overused all",
    "enqueue",
    "quirk",
)


@pytest.mark.parametrize("name", GOLDEN[::4])
def test_walking_backward_meets_the_same_hits_as_walking_forward(name: str) -> None:
    try_each(partial(check_hits_both_ways, golden(name)), WALKED)


def check_hits_both_ways(recording: Recording, line: str) -> None:
    point = parse_breakpoint(line, 1)
    forward = list(walked(point, recording, 0, FORWARD))
    assert list(point.hit_seqs(recording)) == forward
    assert forward[::-1] == list(walked(point, recording, len(recording) + 1, BACKWARD))


@pytest.mark.parametrize(
    "line",
    [
        "break victim",
        'break victim Preemptable if plugin == "gang" and job == "ml/train" hits == 3 once',
        "break statement discard hits % 5 == 0 disabled",
        'break vote log "{job} \\"{result}\\""',
        "break action preempt end",
    ],
)
def test_a_breakpoint_is_saved_as_the_words_that_set_it(line: str) -> None:
    assert line == parse_breakpoint(line, 1).command_line()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("victims", "no kind of breakpoint 'victims'; did you mean victim?"),
        ("", "no kind of breakpoint ''"),
        ("statement dicard", "break statement does not know 'dicard'; did you mean discard?"),
        ("statement gang", "does not know 'gang'; it takes commit, discard, merge"),
        ("vote gang", "JobStarving and 21 more; a condition begins with if"),
        ("starving now", "does not know 'now'; a condition begins with if"),
        ("victim if", "found the end"),
        ("victim if plugin == 'gang' often", "expected one of if, hits, once, log, disabled, found 'often'"),
        ("victim hits often", "expected one of == !="),
        ("victim hits == -1", "expected a whole number"),
        ("victim hits % 0 == 0", "steps of at least 1"),
        ('victim log "{jab}"', "no field 'jab'"),
    ],
)
def test_invalid_breakpoint_is_refused_with_the_reason(line: str, message: str) -> None:
    with pytest.raises(VcdebugError) as caught:
        parse_breakpoint(line, 1)
    assert isinstance(caught.value, BreakpointError | ExpressionError)
    assert message in caught.value.format_line()


@pytest.mark.parametrize(
    ("typed", "usual"),
    [
        ("discard", "statement discard"),
        ("evict where action == preempt", 'statement evict if action == "preempt"'),
        ("node gpu-a100-01 idle gpu when new < 2", "data node gpu-a100-01 idle gpu if new < 2"),
        ("predicate hits 3", "predicate hits == 3"),
        ("vote if plugin == gang && !(node == gpu-a100-02)", 'vote if plugin == "gang" and not node == "gpu-a100-02"'),
        ("vote if plugin == drf || plugin == gang", 'vote if plugin == "drf" or plugin == "gang"'),
        ("victim if node != gpu-a100-01", 'victim if node != "gpu-a100-01"'),
    ],
)
def test_short_forms_and_signs_of_other_debuggers_set_the_same_breakpoint(typed: str, usual: str) -> None:
    assert hits(usual) == hits(typed)
    assert parse_breakpoint(usual, 1).kind.words == parse_breakpoint(typed, 1).kind.words


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("gang", 'break vote if plugin == "gang"'),
        ("llm-finetune", 'break vote if job == "research/llm-finetune"'),
        ("gpu-a100-01", 'break vote if node == "gpu-a100-01"'),
        ("120", "goto 120 goes to event 120"),
    ],
)
def test_a_name_in_place_of_a_kind_is_answered_with_the_breakpoint_about_it(word: str, hint: str) -> None:
    with pytest.raises(BreakpointError) as caught:
        parse_breakpoint(word, 1, bundled())
    assert hint == caught.value.hint


def test_a_log_text_needs_no_quotes_where_it_ends_the_line() -> None:
    assert (
        'break victim once log "{job} is asked"' == parse_breakpoint("victim once log {job} is asked", 1).command_line()
    )
    quoted = 'break vote if reason == "a log b" log "{job}"'
    assert quoted == parse_breakpoint(quoted, 1).command_line()
    with pytest.raises(VcdebugError, match="no field 'jab'"):
        parse_breakpoint("victim log {jab}", 1)


NEEDED = {"data": "queue research allocated", "function": "gang.preemptableFn"}
"""Required arguments of breakpoint kinds."""


@pytest.mark.parametrize("name", BREAKPOINT_KINDS)
def test_each_kind_has_its_name_and_a_help(name: str) -> None:
    kind: type[BreakpointKind] = resolve_reference(BREAKPOINT_KINDS[name])
    assert (name, True) == (kind.KIND, bool(kind.HELP))
    point = parse_breakpoint(f"{name} {NEEDED.get(name, '')}", 1)
    watched = [bundled().event_at(seq) for seq in point.hit_seqs(bundled())]
    assert all(isinstance(event, kind.WATCHES) for event in watched)


def test_numbers_are_never_used_twice() -> None:
    points = BreakpointList()
    points.add_breakpoint("victim")
    points.remove(1)
    with pytest.raises(VcdebugError):
        points.add_breakpoint("nonsense")
    assert 2 == points.add_breakpoint("starving").number
    with pytest.raises(BreakpointError, match="no breakpoint 1"):
        points.toggle_breakpoint(1)


def set_to(*lines: str) -> BreakpointList:
    points = BreakpointList()
    for line in lines:
        points.add_breakpoint(line)
    return points


def test_breakpoints_are_set_by_the_lines_that_they_say() -> None:
    points = set_to("break victim if plugin == 'gang'", "statement once")
    assert ["break victim if plugin == 'gang'", "break statement once"] == set_to(
        *points.command_lines()
    ).command_lines()


def test_replacing_a_breakpoint_replaces_or_removes_its_condition() -> None:
    points = set_to("victim")
    assert (
        "break victim if plugin == 'gang'"
        == points.replace_breakpoint(1, "victim if  plugin == 'gang' ").command_line()
    )
    assert "break victim" == points.replace_breakpoint(1, "victim").command_line()


def test_breakpoint_with_the_lower_number_stops_first_at_an_event() -> None:
    points = set_to("vote", "starving")
    first = hooks("JobStarving")[0]
    hit = points.next_stop(bundled(), first - 1, FORWARD)
    assert hit is not None
    assert (first, 1) == (hit.seq, hit.breakpoint.number)


def test_breakpoint_search_stops_before_the_first_victim_call() -> None:
    recording = bundled("preempt-works")
    seqs = list(parse_breakpoint("break search", 1).hit_seqs(recording))
    assert 2 == len(seqs)
    assert seqs == list(parse_breakpoint("break search between", 1).hit_seqs(recording))
    assert [] == list(parse_breakpoint("break search within", 1).hit_seqs(recording))
    victims = list(parse_breakpoint("break victim", 1).hit_seqs(recording))
    assert seqs[0] < victims[0] < seqs[1] < victims[1]


@pytest.mark.parametrize("figure", ["task(it).blah", "task(it).request.nope", "node(it).idel.cpu", "job(it).raedy"])
def test_a_figure_of_each_name_is_checked_by_its_part(figure: str) -> None:
    line = f"victim if any(candidates, {figure} == 1)"
    with pytest.raises(ExpressionError):
        parse_breakpoint(line, 1, bundled())
