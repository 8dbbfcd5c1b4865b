"""Breakpoints on upstream's functions, by name or file and line, in the replayed release."""

import pytest

from tests.recorded import BLOCKED, ROOT, bundled, find_recorded
from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.debugger.breakpoints import BreakpointError
from vcdebug.debugger.breakpoints.function_kind import recorded_functions
from vcdebug.debugger.commands import execute_line
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.notebook import BreakpointList
from vcdebug.framework.record import ActionEvent, HookEvent, Level, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.recording.call_stack import frames_at
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot

ARTICLE = {
    "actions/preempt/preempt.go:103": "preempt.Execute",
    "actions/preempt/preempt.go:284": "preempt.preempt",
    "actions/preempt/preempt.go:352": "preempt.normalPreempt",
    "actions/preempt/preempt.go:375": "preempt.normalPreempt",
    "actions/reclaim/reclaim.go:56": "reclaim.Execute",
    "actions/reclaim/reclaim.go:209": "reclaim.Execute",
    "framework/statement.go:418": "statement.Commit",
    "framework/statement.go:392": "statement.Discard",
}
"""Eight breakpoints from an article on preemption, and the v1.13.3 function at each line."""


def hits(line: str, recording: Recording | None = None) -> list[Seq]:
    return list(parse_breakpoint(line, 1).hit_seqs(recording or bundled()))


def set_breakpoint(line: str, recording: Recording | None = None) -> str:
    return Driver(recording or bundled()).add_breakpoint(line)


def replay(name: str, release: str) -> Recording:
    return replay_cycle(load_snapshot(ROOT / "fixtures" / name, release=release))


def test_a_plugins_function_stops_at_each_of_its_answers() -> None:
    asked = enumerate(bundled().events, start=1)
    wanted = [s for s, e in asked if isinstance(e, HookEvent) and (e.point, e.plugin) == ("Preemptable", "gang")]
    assert wanted == hits("break gang.preemptableFn")
    assert wanted == hits("break function gang.preemptableFn")
    assert hits("break victim") == hits("break session_plugins.Preemptable")


def test_an_actions_function_stops_once_per_call() -> None:
    starts = [s for s, e in enumerate(bundled().events, start=1) if isinstance(e, ActionEvent) and e.what == "start"]
    assert starts == sorted(seq for name in bundled().conf.actions for seq in hits(f"break {name}.Execute"))
    tasks = [span for span in bundled().spans if span.level is Level.TASK]
    searched = [span.first for span in tasks if bundled().span_tree.name_around(span.first, Level.ACTION) == "preempt"]
    assert searched == hits("break preempt.preempt") == hits("break preempt")


def test_a_dry_run_stops_at_each_node() -> None:
    recording = replay_cycle(load_snapshot(find_recorded("random/preempt-topology-*")[0]))
    stops = hits("break SelectVictimsOnNode", recording)
    assert stops
    assert all(recording.spans[recording.span_tree.path_to(seq)[-1].index].level is Level.NODE for seq in stops)


def test_a_condition_is_looked_for_in_the_whole_call() -> None:
    (stop,) = hits('break preempt.go:134 if job.Name == "llm-finetune"')
    assert "research/llm-finetune" == getattr(bundled().event_at(stop), "job", "")
    assert [] == hits('break preempt.go:134 if job.Name == "target-job"')


def test_the_breakpoints_of_the_article_stop_where_they_say() -> None:
    for name in (BLOCKED, "preempt-works", "reclaim-across-queues"):
        recording = replay(name, "v1.13.3")
        for line, function in ARTICLE.items():
            answer = set_breakpoint(f"break pkg/scheduler/{line}     # as it says", recording)
            assert f"({function} (" in answer
            for seq in hits(f"break {line}", recording):
                assert function in [frame.function.short_name for frame in frames_at(recording, seq)]
    reclaimed = replay("reclaim-across-queues", "v1.13.3")
    assert all(hits(f"break {line}", reclaimed) for line in ARTICLE if "reclaim" in line)
    preempted = replay(BLOCKED, "v1.13.3")
    assert all(hits(f"break {line}", preempted) for line in ARTICLE if "reclaim" not in line)


def test_another_release_names_both_functions() -> None:
    answer = set_breakpoint("break preempt.go:284")
    assert "preempt.Execute (actions/preempt/preempt.go:101-291) in master" in answer
    assert "line 284 is in preempt.preempt in v1.13.4, v1.14.1, v1.14.0" in answer


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("break nodeorder.nodeOrderFn", "master of 2026-08-20 has no function 'nodeorder.nodeOrderFn'"),
        ("break binpack.nodeOrderFn", r"no recorded event belongs to binpack\.nodeOrderFn .* of master of 2026-08-20"),
        ("break job_info.IsStarving", r"no recorded event belongs to job_info\.IsStarving"),
        ("break preempt.go:9999", "master of 2026-08-20 has no function that holds line 9999 of preempt.go"),
        ("break preemptableFn", "has 4 functions preemptableFn"),
        ("break nosuchFunction", "no kind of breakpoint 'nosuchFunction'"),
        ("break function", "break function needs one function"),
    ],
)
def test_function_breakpoint_that_can_never_stop_is_refused(line: str, message: str) -> None:
    with pytest.raises(BreakpointError, match=message):
        BreakpointList().add_breakpoint(line, bundled())


@pytest.mark.parametrize("line", ["break framework.(*Statement).Commit", "break preempt.go:134  // a comment"])
def test_function_breakpoint_is_parsed_from_its_own_command(line: str) -> None:
    words = parse_breakpoint(line, 1).command_line()
    assert words == parse_breakpoint(words, 1).command_line()
    assert hits(line) == hits(words)


def test_commit_stops_at_each_commit() -> None:
    commits = [
        s for s, e in enumerate(bundled().events, start=1) if isinstance(e, StatementEvent) and e.what == "commit"
    ]
    assert commits == hits("break statement.Commit")


def test_each_offered_name_can_be_set() -> None:
    names = recorded_functions(bundled())
    assert {"gang.preemptableFn", "allocate.Execute", "preempt.SelectVictimsOnNode"} <= set(names)
    for name in names:
        BreakpointList().add_breakpoint(f"break function {name}", bundled())


def test_condition_changes_a_breakpoint() -> None:
    driver = Driver(bundled())
    driver.add_breakpoint("break gang.preemptableFn log seen")
    reply = execute_line(driver, 'condition 1 job.Name == "llm-finetune"')
    assert 'break function "gang.preemptableFn" if job.Name == "llm-finetune" log "seen"' in reply.text
    assert " if " not in execute_line(driver, "condition 1").text
