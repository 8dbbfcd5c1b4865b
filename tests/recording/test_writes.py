"""The API writes of a cycle: only changes, and the writes at close even after a panic."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.actions.outcome import ran
from tests.builders import cluster, conf_of, node, pod, pod_group, pods, priority_class
from tests.recorded import golden
from vcdebug.errors import NIL_POINTER_TEXT, ProcessExit, SchedulerPanic, VcdebugError
from vcdebug.explain.questions.nodes import explain_node
from vcdebug.framework.record import OpEvent, PanicEvent
from vcdebug.plugins.gang import Gang
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.writes import ClusterWrite, api_writes
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.views.nodes import node_page
from vcdebug.views.statement import operation_table

TIERS = ("priority gang", "predicates nodeorder")


def of_kind(found: Sequence[ClusterWrite], verb: str, kind: str = "Pod") -> dict[str, str]:
    return {write.object: write.text for write in found if (write.verb, write.kind) == (verb, kind)}


def test_a_bind_and_the_status_of_its_group_and_queue() -> None:
    recording = ran(node("n1"), pod_group("j"), pods("j", 1), actions="allocate", tiers=TIERS)
    found = api_writes(recording)
    assert {"default/j-0": "to n1"} == of_kind(found, "bind")
    assert {"default/j": "condition Scheduled tasks in gang are ready to be scheduled"} == of_kind(
        found, "status", "PodGroup"
    )
    assert "allocated: cpu 1, memory 1000000000, pods 1" == of_kind(found, "status", "Queue")["default"]


def with_cards(count: int, **pod_parts: Any) -> Recording:
    """The cycle of a pod that asks for cards of a node with two."""
    limits = {"volcano.sh/gpu-number": str(count)}
    containers = [{"name": "main", "resources": {"limits": limits, "requests": {"cpu": "1", **limits}}}]
    gpus = node("n1", **{"volcano.sh/gpu-memory": "16", "volcano.sh/gpu-number": "2"})
    conf = f"{conf_of('predicates deviceshare')}    arguments: {{deviceshare.GPUNumberEnable: true}}\n"
    snapshot = cluster(gpus, pod_group("j"), pod("j-0", "j", containers=containers, **pod_parts), conf=conf)
    snapshot.process = SchedulerProcess(started=snapshot.now - timedelta(hours=1))
    return replay_cycle(snapshot)


def test_a_bind_names_the_cards_and_the_cpus_of_the_pod() -> None:
    cards = api_writes(with_cards(2))
    assert {"default/j-0": "to n1, volcano.sh/gpu-index=0,1"} == of_kind(cards, "bind")
    recording = golden("numa-0000")
    assert "to node-000, CPUs 0-3" == of_kind(api_writes(recording), "bind")["default/job-02-worker-0"]
    seq, event = next(each for each in recording.events_of_type(OpEvent) if each[1].op == "allocate")
    assert "job-02-worker-0 gets CPUs 0-3" in str(operation_table(recording, seq, event).footer)
    rows = node_page(recording, len(recording), "node-000").rows
    assert "cpu 4, mem 2Gi; CPUs 0-3" in [str(row.cells[-1].text) for row in rows if row.key == event.task]
    reply = explain_node(recording, event.task)
    assert (("It gets CPUs 0-3.",), ["CPUs 0-3"]) == (reply.lines, reply.data["devices"])


def test_a_pod_that_ran_before_the_cycle_keeps_its_card_on_the_page_of_its_node() -> None:
    notes = {"volcano.sh/gpu-index": "1", "volcano.sh/predicate-time": "1"}
    recording = with_cards(1, on="n1", annotations=notes)
    (row,) = node_page(recording, len(recording), "n1").rows
    assert str(row.cells[-1].text).endswith("; volcano.sh/gpu-index=1")


def test_an_eviction_and_the_nomination_that_follows() -> None:
    recording = ran(
        priority_class("high", 9),
        node("n1", cpu="1"),
        pod_group("l", min_member=0),
        pods("l", 1, on="n1"),
        pod_group("h", priority_class="high"),
        pods("h", 1),
        actions="preempt",
        tiers=TIERS,
    )
    found = api_writes(recording)
    assert {"default/l-0": "deleted, because of preempt; DisruptionTarget, Ready=False"} == of_kind(found, "evict")
    assert of_kind(found, "condition")["default/h-0"].endswith("satisfied; nominatedNodeName n1")


def test_a_condition_that_a_pod_already_has_is_not_written_again() -> None:
    said = "0/1 nodes are unavailable: 1 Insufficient cpu."

    def waiting(**condition: str) -> dict[str, Any]:
        manifest = pod("j-0", "j", requests={"cpu": "99"})
        manifest["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", **condition}]
        return manifest

    for condition, expected in (
        ({"reason": "Unschedulable", "message": said}, {}),
        ({"reason": "Unschedulable", "message": "old"}, {"default/j-0": f"PodScheduled=False Unschedulable: {said}"}),
    ):
        recording = ran(node("n1"), pod_group("j"), waiting(**condition), actions="allocate", tiers=TIERS)
        assert expected == of_kind(api_writes(recording), "condition")


def panicked() -> Recording:
    """A cycle in which backfill panics at an invalid selector operator."""
    bad = {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Nonsense"}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [bad]}}
    return ran(
        node("n1"), node("n2"), pod_group("j"), pod("j-0", "j", affinity=affinity), actions="backfill", tiers=TIERS
    )


def test_after_a_panic_of_an_action_the_close_writes_all_the_same() -> None:
    recording = panicked()
    assert isinstance(recording.events[-1], PanicEvent)
    found = api_writes(recording)
    assert ["default/j"] == list(of_kind(found, "status", "PodGroup"))
    assert ["default/j-0"] == list(of_kind(found, "condition"))
    assert {len(recording)} == {write.seq for write in found}


def test_a_panic_before_the_session_is_open_leaves_nothing_to_write() -> None:
    wrong = 'actions: "backfill"\ntiers:\n- plugins:\n  - name: tdm\n    arguments:\n      tdm.evict.period: 5\n'
    recording = replay_cycle(cluster(node("n1"), pod_group("j"), pod("j-0", "j"), conf=wrong))
    assert isinstance(recording.events[-1], PanicEvent)
    assert () == api_writes(recording)


@pytest.mark.parametrize("panic", [SchedulerPanic, ProcessExit])
def test_a_close_that_panics_too_writes_nothing(panic: type[VcdebugError], monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object) -> None:
        raise panic("again")

    monkeypatch.setattr(Gang, "on_session_close", dies)
    recording = panicked()
    event = recording.events[-1]
    assert isinstance(event, PanicEvent)
    assert (NIL_POINTER_TEXT, ()) == (event.message, api_writes(recording))
