"""The table of upstream's functions per release, and its hooks."""

from pathlib import Path

import pytest

from tests.recorded import BLOCKED, ROOT, bundled, cases, recorded
from vcdebug.actions import ACTIONS
from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.debugger.breakpoints import BreakpointError
from vcdebug.debugger.notebook import BreakpointList
from vcdebug.framework.hooks import HOOKS
from vcdebug.plugins import PLUGINS
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release import release_names
from vcdebug.releases.upstream_source import replayed_sources, upstream_source
from vcdebug.snapshot.loader import load_snapshot

NEVER_CALLED = {"TargetJob", "ReservedNodes", "ClusterOrder"}
WITHOUT_PLUGIN = {"BestNode"}
BEFORE_1_12 = {
    *("SubJobOrder", "SubJobReady", "SubJobPipelined", "UnifiedEvictable"),
    *("HyperNodeGradientForJob", "HyperNodeGradientForSubJob", "HyperNodeOrder"),
    *("SimulateAllocatable", "SimulatePredicate", "SimulateAddTask", "SimulateRemoveTask"),
}
LATER = {
    "v1.10": {*BEFORE_1_12, "VictimQueueOrder"},
    "v1.11": BEFORE_1_12,
    "v1.12": {
        *("SubJobOrder", "SubJobReady", "SubJobPipelined", "UnifiedEvictable"),
        *("HyperNodeGradientForJob", "HyperNodeGradientForSubJob"),
        *("SimulateAllocatable", "SimulatePredicate", "SimulateAddTask", "SimulateRemoveTask"),
    },
    "v1.13": {
        *("SubJobOrder", "SubJobReady", "SubJobPipelined", "UnifiedEvictable"),
        *("HyperNodeGradientForJob", "HyperNodeGradientForSubJob"),
    },
    "v1.14": {"UnifiedEvictable"},
}
"""Hooks that a release line lacks, and thus never calls."""
NTA_WITHOUT_ORDER = "v1.13"
"""A release line in which no plugin registers HyperNodeOrder."""


def test_each_replayed_release_is_in_the_table() -> None:
    assert set(release_names()) == set(replayed_sources())


@pytest.mark.parametrize("name", release_names())
def test_hooks_that_a_release_never_calls_or_no_plugin_implements(name: str) -> None:
    line = name.rpartition(".")[0]
    source = upstream_source(name)
    reasons = {hook.upstream: source.never_asked_reason(hook.upstream, name) for hook in HOOKS}
    never = NEVER_CALLED | LATER.get(line, set())
    without = WITHOUT_PLUGIN | ({"HyperNodeOrder"} if line == NTA_WITHOUT_ORDER else set())
    assert {hook: f"{name} never calls {hook}" for hook in never} | {
        hook: f"no plugin of {name} implements {hook}" for hook in without
    } == {hook: reason for hook, reason in reasons.items() if reason}


def test_a_breakpoint_stops_at_every_hook_that_is_asked() -> None:
    recordings = [bundled("shuffle-clears-nodes"), *map(recorded, [*one_case_of_each_family(), *cases("random")[2::4]])]
    asked = {hook.upstream for hook in HOOKS if not upstream_source("master").never_asked_reason(hook.upstream, "")}
    silent = {hook for hook in asked if not any(stops(hook, recording) for recording in recordings)}
    assert set() == silent


def stops(hook: str, recording: Recording) -> bool:
    return bool(parse_breakpoint(f"vote {hook}", 1).hit_seqs(recording))


def one_case_of_each_family() -> list[Path]:
    return list({path.name.rpartition("-")[0]: path for path in reversed(cases("random"))}.values())


@pytest.mark.parametrize("name", release_names())
def test_each_registered_function_is_in_the_table(name: str) -> None:
    source = upstream_source(name)
    assert [] == [key for key in source.registered if source.find_plugin_function(*key) is None]


def test_each_plugin_and_action_that_is_replayed_has_functions() -> None:
    source = upstream_source("master")
    assert [] == [
        name for name in PLUGINS if not any(folder == name.replace("numa-", "numa") for _, folder in source.registered)
    ]
    assert [] == [name for name in ACTIONS if source.find_function(f"actions/{name}", "Execute") is None]


def test_functions_are_where_the_tags_have_them() -> None:
    older, master = upstream_source("v1.13.3"), upstream_source("master")
    assert ["actions/preempt/preempt.go:102-279"] == [
        f"{one.file}:{one.first_line}-{one.last_line}" for one in older.functions_at("preempt.go", 103)
    ]
    assert ["plugins/gang/gang.go:97"] == [one.file_line for one in master.functions_named("gang.preemptableFn")]
    assert ["framework/statement.go:402"] == [
        one.file_line for one in master.functions_named("framework.(*Statement).Commit")
    ]


def set_vote(hook: str, recording: Recording) -> None:
    BreakpointList().add_breakpoint(f"vote {hook}", recording)


def test_a_breakpoint_on_a_hook_that_cannot_be_asked_says_so_at_once() -> None:
    with pytest.raises(BreakpointError, match="never calls TargetJob"):
        set_vote("TargetJob", bundled())
    with pytest.raises(BreakpointError, match=r"no plugin of .* implements BestNode"):
        set_vote("BestNode", bundled())
    old = replay_cycle(load_snapshot(str(ROOT / "fixtures" / BLOCKED), release="v1.12.4"))
    with pytest.raises(BreakpointError, match=r"^v1\.12\.4 never calls SimulateAddTask$"):
        set_vote("SimulateAddTask", old)
    set_vote("Preemptable", old)
    assert parse_breakpoint("vote Preemptable", 1).hit_seqs(old)
