from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.recorded import GOLDEN, bundled, cases, golden, recorded
from tests.rows import try_rules
from vcdebug.framework.columns import StateChange
from vcdebug.framework.hooks import JOB_ENQUEUEABLE, JOB_ENQUEUED
from vcdebug.framework.record import CloseEvent, HookEvent, OpEvent, PopEvent, StateEvent, StatementEvent
from vcdebug.model.pod import Pod, PodIdentity
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus
from vcdebug.recording.recording import Recording

WORKER = "research/llm-finetune-worker-0"
VICTIM = "research/resnet-sweep-worker-0"


def plain(value: Any) -> Any:
    """The value with amounts as dictionaries, which can be compared."""
    if isinstance(value, Resource):
        return dict(value.items())
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def states(recording: Recording) -> list[tuple[int, StateEvent]]:
    return [(seq, e) for seq, e in enumerate(recording.events, start=1) if isinstance(e, StateEvent)]


def the_nodes_are_rebuilt_as_the_engine_wrote_them(recording: Recording) -> None:
    for seq, event in states(recording):
        state = recording.timeline.state_at(seq)
        assert plain(event.nodes) == [plain(state.nodes[node]) for node in recording.node_names]


def jobs_and_phases_are_rebuilt_as_the_engine_wrote_them(recording: Recording) -> None:
    for seq, event in states(recording):
        state = recording.timeline.state_at(seq)
        rebuilt = {
            uid: (
                {status.upstream_name: count for status, count in state.job_counts(uid).status.items()},
                state.phases[uid],
            )
            for uid in event.jobs
        }
        assert {uid: (dict(job.status), job.phase) for uid, job in event.jobs.items()} == rebuilt


def the_plugins_books_are_rebuilt_as_the_engine_wrote_them(recording: Recording) -> None:
    for seq, event in states(recording):
        state = recording.timeline.state_at(seq)
        for plugin, books in event.books:
            whole = {figure: value for figure, value in books.items() if figure not in ("jobs", "queues")}
            grouped = {**books.get("jobs", {}), **books.get("queues", {}), "": whole}
            rebuilt = {key: dict(entry) for key, entry in state.books[plugin].items()}
            assert plain({key: entry for key, entry in grouped.items() if entry}) == plain(rebuilt)


def what_has_changed_by_then_is_what_was_looked_up_one_by_one(recording: Recording) -> None:
    timeline = recording.timeline
    for seq in range(0, len(recording) + 1, max(len(recording) // 9, 1)):
        for kind, every in (("node", timeline.opening_nodes), ("task", timeline.tasks)):
            last = {name: timeline.last_change(kind, name, seq) for name in every}
            changed = {
                name: recording.record.changes.seqs[at] for name, at in timeline.changed_up_to(kind, seq).items()
            }
            assert {name: at for name, at in last.items() if at is not None} == changed


def a_pods_names_are_those_of_the_pod(recording: Recording) -> None:
    pods = [Pod(manifest) for manifest in recording.snapshot.objects_of("Pod")]
    read = [(pod.key, pod.job_id, pod.node_name, pod.scheduler_name) for pod in pods]
    assert read == [tuple(PodIdentity.of_manifest(pod.manifest)) for pod in pods]


def the_end_is_the_state_in_which_the_session_was_closed(recording: Recording) -> None:
    close = recording.event_at(len(recording))
    assert isinstance(close, CloseEvent)
    state = recording.timeline.state_at(len(recording))
    for uid, job in close.jobs.items():
        assert job.phase == state.phases[uid]
        assert {key: (task.status, task.node) for key, task in job.tasks.items()} == {
            key: tuple(state.tasks[key]) for key in job.tasks
        }


def test_an_operation_holds_from_its_own_event_on() -> None:
    recording = bundled()
    operations = [
        (seq, e.op) for seq, e in enumerate(recording.events, start=1) if isinstance(e, OpEvent) and e.task == VICTIM
    ]
    assert ["evict", "unevict"] == [op for _, op in operations]
    evicted, restored = operations[0][0], operations[1][0]
    shown = [recording.timeline.state_at(seq).tasks[VICTIM].status for seq in (evicted - 1, evicted, restored)]
    assert [TaskStatus.RUNNING, TaskStatus.RELEASING, TaskStatus.RUNNING] == shown


def test_a_commit_holds_from_the_event_after_it() -> None:
    recording = golden("basic-0000")
    commit = next(
        (seq, e)
        for seq, e in enumerate(recording.events, start=1)
        if isinstance(e, StatementEvent) and e.what == "commit" and e.ops
    )
    seq, event = commit
    task = event.ops[0][1]
    timeline = recording.timeline
    assert TaskStatus.ALLOCATED is timeline.state_at(seq).tasks[task].status
    assert TaskStatus.BINDING is timeline.state_at(seq + 1).tasks[task].status


def test_counts_of_a_job_follow_its_tasks() -> None:
    recording = bundled()
    pipelined = next(
        seq
        for seq, e in enumerate(recording.events, start=1)
        if isinstance(e, OpEvent) and e.op == "pipeline" and e.task == WORKER
    )
    before, after = (
        recording.timeline.state_at(seq).job_counts("research/llm-finetune") for seq in (pipelined - 1, pipelined)
    )
    assert (before.waiting_count + 1, before.pending_count - 1) == (after.waiting_count, after.pending_count)
    assert (before.total_count, before.min_available) == (after.total_count, after.min_available)


def test_tasks_on_a_node_are_those_that_name_it() -> None:
    recording = bundled()
    pipelined = next(
        seq for seq, e in enumerate(recording.events, start=1) if isinstance(e, OpEvent) and e.task == WORKER
    )
    node = getattr(recording.event_at(pipelined), "node", "")
    state = recording.timeline.state_at(pipelined)
    assert WORKER in state.tasks_on(node)
    assert WORKER not in recording.timeline.state_at(pipelined - 1).tasks_on(node)
    assert state.tasks_on(node) == sorted(key for key, task in state.tasks.items() if task.node == node)


def test_the_last_change_of_a_figure_is_found_without_a_scan() -> None:
    recording = bundled()
    written = [
        seq for seq, e in enumerate(recording.events, start=1) if isinstance(e, OpEvent) and e.node == "gpu-a100-01"
    ]
    last = recording.timeline.last_change
    assert written[-1] == last("node", "gpu-a100-01", len(recording))
    assert written[0] == last("node", "gpu-a100-01", written[1] - 1)
    assert last("node", "gpu-a100-01", written[0] - 1) is None


def test_unknown_name_in_a_state_is_a_key_error() -> None:
    state = bundled().timeline.state_at(1)
    assert "no/such" not in state.tasks
    with pytest.raises(KeyError):
        state.nodes["nowhere"]
    assert state.plugin_figure("drf", "no/such", "share") is None
    assert {"cpu": 0.0, "memory": 0.0} == plain(state.plugin_amount("drf", "no/such", "allocated"))


def a_figure_is_written_where_a_scan_of_the_changes_says(recording: Recording) -> None:
    scanned: dict[tuple[str, Any], list[int]] = {}
    for change in recording.record.changes:
        for key in dict.fromkeys(written_by(recording, change)):
            scanned.setdefault(key, []).append(change.seq)
    timeline = recording.timeline
    assert scanned == {(kind, key): list(timeline.seqs_written(kind, key)) for kind, key in scanned}


def written_by(recording: Recording, change: StateChange) -> Iterator[tuple[str, Any]]:
    """Yield (kind, key) of each figure that one change wrote."""
    if change.kind == "op":
        event = recording.event_at(change.seq)
        assert isinstance(event, OpEvent)
        yield "task", event.task
        if event.node in recording.session.nodes:
            yield "node", event.node
        for entry, _, owners in event.figures.rows_by_entry(np.array([event.place])):
            yield from (("book", (entry.plugin, owner, name)) for owner in owners for name in entry.names)
    elif change.kind == "book":
        plugin, name = change.key
        yield from (("book", (plugin, name or "", figure)) for figure in change.value)
    else:
        yield change.kind, change.key


RULES = (
    the_nodes_are_rebuilt_as_the_engine_wrote_them,
    jobs_and_phases_are_rebuilt_as_the_engine_wrote_them,
    the_plugins_books_are_rebuilt_as_the_engine_wrote_them,
    what_has_changed_by_then_is_what_was_looked_up_one_by_one,
    a_pods_names_are_those_of_the_pod,
    the_end_is_the_state_in_which_the_session_was_closed,
    a_figure_is_written_where_a_scan_of_the_changes_says,
)


@pytest.mark.parametrize("name", GOLDEN)
def test_each_rule_holds_in_a_recorded_case(name: str) -> None:
    recording = golden(name)
    try_rules(RULES, recording)


@pytest.mark.parametrize("case", cases("random"), ids=lambda case: case.name)
def test_changes_by_an_admission_are_at_the_plugins_answer(case: Path) -> None:
    """Reservations change at JobEnqueued or, in older releases, at the vote; phases at the admission."""
    recording = recorded(case)
    admitting = (JOB_ENQUEUED.upstream, JOB_ENQUEUEABLE.upstream)
    for change in recording.record.changes:
        event = recording.event_at(change.seq) if change.seq <= len(recording) else None
        if change.kind == "book":
            assert isinstance(event, HookEvent), event
            assert event.point in admitting
            assert event.plugin == change.key[0]
        elif change.kind == "phase" and change.value == "Inqueue" and not isinstance(event, CloseEvent):
            assert isinstance(event, HookEvent | PopEvent), event
            assert change.key == (event.name if isinstance(event, PopEvent) else event.job)
