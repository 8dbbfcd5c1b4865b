"""Upstream's call stack at events, with the functions of the replayed release."""

import pytest

from tests.recorded import BLOCKED, COPIES, ROOT, recorded_path
from vcdebug.framework.record import HookEvent, OpEvent
from vcdebug.recording.call_stack import event_key, frames_at, function_at
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot


def replay(release: str, name: str = BLOCKED) -> Recording:
    return replay_cycle(load_snapshot(ROOT / "fixtures" / name, release=release))


def stack(recording: Recording, key: str, plugin: str = "") -> list[str]:
    """The functions at the last event of a kind within preempt's search, innermost first, without the cycle."""
    events = enumerate(recording.events, start=1)
    seqs = [seq for seq, event in events if event_key(event) == key and plugin in ("", getattr(event, "plugin", ""))]
    return [frame.function.name for frame in reversed(frames_at(recording, seqs[-1]))][:-1]


def test_the_stack_goes_from_the_plugin_to_the_action() -> None:
    master = replay("master")
    assert ["preemptableFn", "Preemptable", "normalPreempt", "preempt", "Execute"] == stack(
        master, "Preemptable", "gang"
    )
    assert ["plugins/gang/gang.go:97"] == list(
        dict.fromkeys(
            function_at(master, seq).file_line
            for seq, event in enumerate(master.events, start=1)
            if isinstance(event, HookEvent) and event.point == "Preemptable" and event.plugin == "gang"
        )
    )


def test_a_release_has_its_own_functions() -> None:
    assert ["AllocatableFn", "Allocatable", "preemptorFitsOnNode", "normalPreempt", "preempt", "Execute"] == stack(
        replay("master", "preempt-works"), "Allocatable", "proportion"
    )
    assert ["AllocatableFn", "Allocatable", "normalPreempt", "preempt", "Execute"] == stack(
        replay("v1.13.3", "preempt-works"), "Allocatable", "proportion"
    )


@pytest.mark.parametrize("release", ["master", "v1.15.1", "v1.14.0", "v1.13.3", "v1.12.4"])
def test_each_hook_and_operation_has_a_function(release: str) -> None:
    for case in COPIES[:12]:
        recording = replay_cycle(load_snapshot(case, release=release))
        for seq, event in enumerate(recording.events, start=1):
            file = function_at(recording, seq).file
            assert not isinstance(event, HookEvent) or file.startswith("plugins/"), event
            assert not isinstance(event, OpEvent) or file.startswith("framework/"), event


def test_a_search_of_hypernodes_is_followed_from_sub_job_to_job() -> None:
    recording = replay_cycle(load_snapshot(recorded_path("random/hypernode-0008"), release="master"))
    last = next(seq for seq, event in reversed([*enumerate(recording.events, 1)]) if event_key(event) == "commit")
    found = [
        (event_key(recording.event_at(seq)), [frame.function.name for frame in frames_at(recording, seq)][3:])
        for seq in range(last - 12, last + 1)
    ]
    sub, job = ["allocateForJob", "allocateForSubJob"], ["allocateForJob"]
    assert [
        ("HyperNodeOrder", [*sub, "selectBestHyperNodeForSubJob", "HyperNodeOrderMapFn", "HyperNodeOrderFn"]),
        ("best hypernode", [*sub, "selectBestHyperNodeForSubJob", "SelectBestHyperNodeAndScore"]),
        ("recover", [*sub, "RecoverOperations"]),
        ("allocate", [*sub, "RecoverOperations", "Allocate"]),
        ("JobReady", [*job, "JobReady", "JobReadyFn"]),
        ("save", [*job, "SaveOperations"]),
        ("JobReady", [*job, "JobReady", "JobReadyFn"]),
        ("discard", [*job, "Discard"]),
        ("unallocate", [*job, "Discard", "unallocate"]),
        ("recover", [*job, "RecoverOperations"]),
        ("allocate", [*job, "RecoverOperations", "Allocate"]),
        ("JobReady", ["JobReady", "JobReadyFn"]),
        ("commit", ["Commit"]),
    ] == found
