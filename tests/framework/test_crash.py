"""A recording that ends with a panic names the function, the objects, and the change that avoids the panic."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, queue
from vcdebug.cli.reports.contents import inspect_snapshot
from vcdebug.explain.answer import Cause
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.framework.record import PanicEvent
from vcdebug.recording.input_problems import input_problems
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.session_closing import crash_change, crash_lines, crash_report, find_crash
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot

RECORDED = Path(__file__).resolve().parents[1] / "golden" / "crash"
HIERARCHY = """actions: "{actions}"
tiers:
- plugins:
  - name: gang
  - name: {plugin}
    enableHierarchy: true
"""
WEIGHTS = {"volcano.sh/hierarchy": "root/sci/dev", "volcano.sh/hierarchy-weights": "1/2"}
LOST_SCORES = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Nonsense"}]}}
        ]
    }
}


def in_circle(*names: str, job: str = "apart") -> Snapshot:
    """Queues whose parents form a cycle, and a job in a queue outside the cycle by default."""
    ring = [queue(name, parent=parent) for name, parent in zip(names, (*names[1:], names[0]), strict=True)]
    conf = HIERARCHY.format(actions="enqueue, allocate", plugin="capacity")
    others = [queue("root"), queue("apart")]
    return cluster(node("n1"), *ring, *others, pod_group("j", queue=job), pods("j", 1), conf=conf)


def queue_below_missing_parent() -> Snapshot:
    group = pod_group("j", queue="c", phase="Running")
    return cluster(queue("c", parent="nowhere"), queue("root"), node("n1"), group, pod("j-0", "j", on="n1"))


def with_weights_missing() -> Snapshot:
    conf = HIERARCHY.format(actions="allocate", plugin="drf")
    return cluster(node("n1"), queue("q", annotations=WEIGHTS), pod_group("j", queue="q"), pods("j", 1), conf=conf)


def with_argument(plugin: str, **arguments: object) -> Snapshot:
    conf = conf_of(plugin, actions="backfill", arguments={plugin: {"arguments": json.dumps(arguments)}})
    return cluster(node("n1"), pod_group("j"), pods("j", 1), conf=conf)


def without_scores() -> Snapshot:
    conf = conf_of("gang", "predicates nodeorder", actions="backfill")
    asking = pod("j-0", "j", affinity=LOST_SCORES, cpu=None, memory=None)
    return cluster(node("n1"), node("n2"), pod_group("j"), asking, conf=conf)


class Crash(NamedTuple):
    """A snapshot that makes the scheduler panic, and the expected report."""

    snapshot: Snapshot
    function: str
    objects: tuple[str, ...]
    change: str


CRASHES = {
    "two queues in a circle": Crash(
        in_circle("a", "b"), "plugins/capacity.PrePredicate", ("Queue a", "Queue b"), "give queue a another spec.parent"
    ),
    "a queue that is its own parent": Crash(
        in_circle("a"), "plugins/capacity.PrePredicate", ("Queue a",), "give queue a another spec.parent"
    ),
    "a parent that is missing": Crash(
        queue_below_missing_parent(),
        "framework/session.updateQueueStatus",
        ("Queue c", "Queue nowhere"),
        "create queue nowhere, or name another spec.parent in the queue that has it as its parent",
    ),
    "an argument that is no text": Crash(
        with_argument("tdm", **{"tdm.evict.period": 5}),
        "plugins/tdm.New",
        (),
        "write argument tdm.evict.period as text, in quotes",
    ),
    "an interval that is no text": Crash(
        with_argument("rescheduling", interval=5),
        "plugins/rescheduling.parseArguments",
        (),
        "write argument interval as text, in quotes",
    ),
    "a text for a list": Crash(
        with_argument("extender", **{"extender.managedResources": "gpu"}),
        "plugins/extender.OnSessionOpen",
        (),
        "write argument extender.managedResources as a list of texts",
    ),
    "a list for a map": Crash(
        with_argument("resource-strategy-fit", sra=[]),
        "plugins/resource-strategy-fit.New",
        (),
        "write argument sra as the message asks",
    ),
    "switches that exclude each other": Crash(
        with_argument("deviceshare", **{f"deviceshare.GPU{one}Enable": "true" for one in ("Sharing", "Number")}),
        "plugins/deviceshare.OnSessionOpen",
        (),
        "switch on only one of these",
    ),
    "weights missing": Crash(
        with_weights_missing(),
        "plugins/drf.buildHierarchy",
        ("PodGroup default/j", "Queue q"),
        "take plugin drf out of the configuration",
    ),
    "scores that are lost": Crash(
        without_scores(),
        "actions/backfill.Execute",
        ("Pod default/j-0", "PodGroup default/j"),
        "repair what makes all scores of the pod fail, or request cpu in it: allocate then leaves it Pending",
    ),
    "more taken back than given, of a bucket": Crash(
        load_snapshot(RECORDED / "misc-30009"),
        "api/resource_info.Sub",
        ("Pod default/job-01-master-1", "PodGroup default/job-04", "Queue default"),
        "take plugin task-topology out of the configuration",
    ),
    "more taken back than given, of another bucket": Crash(
        load_snapshot(RECORDED / "misc-40060"),
        "api/resource_info.Sub",
        ("Pod default/job-02-master-0", "PodGroup default/job-05", "Queue default"),
        "take plugin task-topology out of the configuration",
    ),
    "more taken back than given, of a share": Crash(
        load_snapshot(RECORDED / "wild-30103"),
        "api/resource_info.Sub",
        ("Pod default/job-11-worker-0", "Node node-007", "PodGroup default/job-11", "Queue default"),
        "take plugin drf out of the configuration",
    ),
}


@pytest.mark.parametrize("name", CRASHES)
def test_the_last_event_names_the_function_the_objects_and_what_to_change(name: str) -> None:
    expected = CRASHES[name]
    event = find_crash(replay_cycle(expected.snapshot))
    assert event is not None
    objects = tuple(f"{kind} {name}" for kind, name in event.objects)
    assert expected[1:] == (event.calls[0], objects, crash_change(event))


@pytest.mark.parametrize("name", CRASHES)
def test_explain_says_of_the_jobs_that_wait_what_is_known_of_the_panic(name: str) -> None:
    recording = replay_cycle(CRASHES[name].snapshot)
    event = find_crash(recording)
    assert event is not None
    ended = [one.explanation for one in survey_jobs(recording).explained if one.explanation.cause_code == Cause.PANIC]
    lines = crash_lines(recording, event)
    assert [lines] * len(ended) == [one.dominant.lines[: len(lines)] for one in ended]


@pytest.mark.parametrize("name", CRASHES)
def test_the_list_of_jobs_and_the_inspection_say_the_panic_first(name: str) -> None:
    recording = replay_cycle(CRASHES[name].snapshot)
    lines = crash_report(recording)
    assert f"change: {CRASHES[name].change}" == lines[-1]
    assert lines == survey_jobs(recording).panic
    assert "; ".join(lines) == inspect_snapshot(CRASHES[name].snapshot).problems[0].what


def test_a_recording_that_closes_has_no_crash() -> None:
    assert find_crash(replay_cycle(cluster(node("n1"), pod_group("j"), pods("j", 1)))) is None


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("a",), "queue a is its own parent"),
        (("a", "b"), "queues a and b are each other's parents"),
        (("a", "c", "b"), "queues a, c and b are each other's parents"),
    ],
)
def test_queues_in_a_circle_are_a_problem_and_named_to_their_jobs(names: tuple[str, ...], said: str) -> None:
    recording = replay_cycle(in_circle(*names, job="a"))
    assert [said] == [one.what for one in input_problems(recording) if one.field == "spec.parent"]
    assert said.removeprefix("queue") in explain_by_name(recording, "default/j").full_text


@pytest.mark.parametrize(("plugin", "removed"), [("drf", True), ("predicates", False)])
def test_no_panic_is_avoided_by_a_scheduler_without_predicates(plugin: str, removed: bool) -> None:
    event = PanicEvent("nil", (f"plugins/{plugin}.OnSessionOpen", "actions/allocate.Execute"), (("Pod", "a"),), "")
    assert removed is crash_change(event).startswith("take plugin")
