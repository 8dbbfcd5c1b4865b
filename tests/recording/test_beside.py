"""A replay that reuses an earlier recording gives the same recording as one without reuse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from tests.recorded import BLOCKED, bundled, each_case, recorded, written
from vcdebug.framework.placement import PredicateHelper
from vcdebug.framework.record import OpEvent, PredicateEvent, StateEvent
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edit_path import EditError
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.branch import edited_snapshot

EDITS = (
    ("Queue", "spec.weight=7"),
    ("Queue", "spec.capability={cpu: 3, memory: 9Gi}"),
    ("Queue", "spec.reclaimable=false"),
    ("PodGroup", "spec.minMember=1"),
    ("PodGroup", "spec.priorityClassName=none"),
    ("PodGroup", "-"),
    ("Pod", "spec.containers[0].resources.requests.cpu=100m"),
    ("Pod", 'spec.nodeSelector={"nowhere": "1"}'),
    ("Pod", "metadata.labels={app: other}"),
    ("Pod", "-"),
    ("Pod", "+="),
    ("Node", "spec.unschedulable=true"),
    ("Node", "-"),
    ("Node", "+="),
)
SETTINGS = ('conf:actions="enqueue, allocate, backfill"', "flag:percentage_nodes_to_find=50", "chance:tie_seed=3")


MOST = 1
"""Edits per case; over the 200 cases with edits each kind of edit occurs many times."""


def texts(snapshot: Snapshot, random: Random) -> Iterator[str]:
    """Random edits of random objects; Pending pods are more likely."""
    for kind, change in random.sample(EDITS, MOST):
        names = [Pod(one).key for one in snapshot.objects_of(kind)]
        waiting = [Pod(one).key for one in snapshot.objects_of(kind) if kind == "Pod" and not Pod(one).node_name]
        if names:
            name = random.choice(waiting or names if random.random() < 0.8 else names)
            yield f"{kind}/{name}-added:+={name}" if change == "+=" else f"{kind}/{name}:{change}"


def edits_of(snapshot: Snapshot, seed: int) -> Iterator[Snapshot]:
    """Yield the snapshot with another seed or setting for odd seeds, with valid random edits for even ones."""
    random = Random(seed)
    setting = random.choice(["", *SETTINGS])
    if seed % 2:
        yield (
            edited_snapshot(snapshot, [parse_edit(setting)])
            if setting
            else replace(snapshot, chance=ChanceSettings.from_seed(seed))
        )
        return
    for text in texts(snapshot, random):
        try:
            yield edited_snapshot(snapshot, [parse_edit(text)])
        except EditError:
            continue


@each_case
def test_recording_is_the_same_with_and_without_reuse(case: Path) -> None:
    base = recorded(case)
    before = written(base)
    with ExitStack() as runs:
        for snapshot in edits_of(base.snapshot, sum(map(ord, case.name))):
            reusing = runs.enter_context(disposing(replay_cycle(snapshot, reuse_from=base)))
            alone = runs.enter_context(disposing(replay_cycle(snapshot)))
            assert written(reusing) == written(alone)
            again = runs.enter_context(disposing(replay_cycle(base.snapshot, reuse_from=reusing)))
            assert written(again) == before
    assert written(base) == before


def searches(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot, base: Recording) -> tuple[Recording, int]:
    """The recording that reuses `base`, and the number of node searches that ran."""
    made: list[object] = []
    found = PredicateHelper._search_from

    def counting(self: PredicateHelper, *args: object) -> PredicateEvent:
        made.append(args[0])
        return found(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(PredicateHelper, "_search_from", counting)
    return replay_cycle(snapshot, reuse_from=base), len(made)


def searched(recording: Recording) -> list[str]:
    return [event.task for event in recording.record.events if isinstance(event, PredicateEvent)]


def test_reuse_without_edits_repeats_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    base = placing()
    again, made = searches(monkeypatch, replace(base.snapshot), base)
    assert (written(base), 0) == (written(again), made)


def test_reuse_repeats_no_search_before_the_edited_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    base = placing()
    tasks = searched(base)
    last = edited_snapshot(base.snapshot, [parse_edit(f'Pod/{tasks[-1]}:spec.nodeSelector={{"nowhere": "1"}}')])
    _, made = searches(monkeypatch, last, base)
    assert (1, True) == (made, len(tasks) > 2)


def test_edited_node_repeats_every_search(monkeypatch: pytest.MonkeyPatch) -> None:
    base = placing()
    name = base.record.node_names[-1]
    changed = edited_snapshot(base.snapshot, [parse_edit(f"Node/{name}:spec.unschedulable=true")])
    branch, made = searches(monkeypatch, changed, base)
    assert len(searched(branch)) == made


def placing() -> Recording:
    """A bundled cycle in which allocate runs the first searches."""
    return replay_cycle(edited_snapshot(bundled().snapshot, [parse_edit('conf:actions="enqueue, allocate, backfill"')]))


EVICTING = (BLOCKED, "preempt-works", "reclaim-across-queues", "shuffle-clears-nodes")


def tasks_of(recording: Recording) -> list[TaskInfo]:
    """All tasks: of jobs, on nodes, and of neither."""
    session = recording.session
    held = [job.tasks.values() for job in session.jobs.values()] + [
        one.tasks.values() for one in session.nodes.values()
    ]
    return [*chain.from_iterable(held), *session.cluster.orphans]


def state_of(recording: Recording) -> list[object]:
    """The complete state of a session's tasks, nodes and jobs."""
    session = recording.session
    tasks = [
        (task.key, *task.transaction_context(), task.last_transaction, task.pod.node_name, task.pod.nominated_node_name)
        for task in tasks_of(recording)
    ]
    nodes = [
        (str(node.idle), str(node.used), str(node.releasing), str(node.pipelined)) for node in session.nodes.values()
    ]
    jobs = [
        (
            str(job.allocated),
            str(job.total_request),
            {status: [*held] for status, held in job.task_status_index.items()},
        )
        for job in session.jobs.values()
    ]
    return [tasks, nodes, jobs, [str(one) for state in states(recording) for one in state.nodes]]


def states(recording: Recording) -> list[StateEvent]:
    return [event for event in recording.events if isinstance(event, StateEvent)]


@pytest.mark.parametrize("name", EVICTING)
def test_evicting_replay_leaves_the_reused_recording_unchanged(name: str) -> None:
    whole = bundled(name)
    quiet = replay_cycle(edited_snapshot(whole.snapshot, [parse_edit('conf:actions="enqueue"')]))
    before = written(quiet), state_of(quiet)
    reusing = replay_cycle(whole.snapshot, reuse_from=quiet)
    assert written(reusing) == written(whole)
    assert any(isinstance(event, OpEvent) and event.op == "evict" for event in reusing.events)
    assert before == (written(quiet), state_of(quiet))


@pytest.mark.parametrize("name", EVICTING)
def test_evicted_task_runs_again_in_a_replay_that_reuses_the_recording(name: str) -> None:
    whole = bundled(name)
    quiet = edited_snapshot(whole.snapshot, [parse_edit('conf:actions="enqueue"')])
    assert state_of(replay_cycle(quiet, reuse_from=whole)) == state_of(replay_cycle(quiet))


@pytest.mark.parametrize(("name", "shared"), [(name, name != EVICTING[-1]) for name in EVICTING])
def test_tasks_that_run_are_shared_unless_an_action_evicts_them_themselves(name: str, shared: bool) -> None:
    base = bundled(name)
    known = dict.fromkeys(map(id, tasks_of(base)))
    reusing = tasks_of(replay_cycle(replace(base.snapshot), reuse_from=base))
    assert any(id(task) in known for task in reusing) == shared
    assert not [task for task in reusing if id(task) in known and task.status is TaskStatus.PENDING]


def test_a_job_of_which_tasks_wait_has_them_to_itself() -> None:
    base = bundled("pending-queue-quota")
    known = dict.fromkeys(map(id, tasks_of(base)))
    reusing = tasks_of(replay_cycle(replace(base.snapshot), reuse_from=base))
    assert [task for task in reusing if not task.pod.spec.get("nodeName")]
    assert not [task for task in reusing if id(task) in known and not task.pod.spec.get("nodeName")]
