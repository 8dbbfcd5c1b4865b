"""The text of each view at real events, as text files whose bytes are the contract.

For intended changes, run `VCDEBUG_WRITE_GOLDEN=1 pytest tests/views` and read the diff.
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod_group, pods, queue
from vcdebug.debugger.debugger import Debugger
from vcdebug.framework.record import PopEvent
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags
from vcdebug.snapshot.sources import find_bundled
from vcdebug.views.conf import conf_table, problems_table, quirks_table
from vcdebug.views.effects import effects_table, evictions_table
from vcdebug.views.equation import event_equation
from vcdebug.views.event_view import event_view, subject_detail
from vcdebug.views.flow import flow_table, span_key
from vcdebug.views.jobs import jobs_table
from vcdebug.views.log import log_table
from vcdebug.views.nodes import hypernodes_table, nodes_table
from vcdebug.views.order import orders_table
from vcdebug.views.queues import cluster_page, queue_page, queues_table
from vcdebug.views.statement import statement_table
from vcdebug.views.table import Table, format_table
from vcdebug.views.victim_search import funnel_table

EXPECTED = Path(__file__).parent / "expected"
BLOCKED, WORKS, FITS = "preempt-blocked-by-gang", "preempt-works", "pending-no-node-fits"
QUOTA, RECLAIM = "pending-queue-quota", "reclaim-across-queues"

View = Callable[[Recording, Seq], Table]


def everything_open(recording: Recording, seq: Seq) -> Table:
    return flow_table(recording, [span_key(span.index) for span in recording.spans], seq)


def first_job(recording: Recording, seq: Seq) -> Table:
    return page(recording, seq, "job", next(iter(recording.session.jobs)))


def first_node(recording: Recording, seq: Seq) -> Table:
    return page(recording, seq, "node", recording.node_names[0])


def page(recording: Recording, seq: Seq, kind: str, name: str) -> Table:
    found = subject_detail(recording, seq, kind, name)
    assert found is not None
    return found


def last_pop(view: View) -> View:
    """A view of the last pop at or before the stop."""

    def at_pop(recording: Recording, seq: Seq) -> Table:
        return view(recording, max(each for each in recording.index.seqs_of_type(PopEvent) if each <= seq))

    return at_pop


MISSPELT = """
actions: "allocate, shuffle"
tiers:
- plugins:
  - name: gang
    enabledPreemptable: true
    enableJobOrder: false
  - name: proportoin
  - name: predicates
    arguments:
      predicate.CacheEnable: true
configurations:
- name: allocate
  arguments:
    enablePredicateErrorCache: false
- name: preempt
"""


def misspelt(recording: Recording) -> Recording:
    flags = SchedulerFlags(
        minimum_feasible_nodes=20, scheduler_names=("volcano", "batch"), feature_gates={"CSIStorage": True}
    )
    chance = ChanceSettings(search_start=3, tie_seed=7)
    return replay_cycle(replace(recording.snapshot, scheduler_conf=MISSPELT, flags=flags, chance=chance))


def racks(recording: Recording) -> Recording:
    """The same cluster with two racks below one spine; one HyperNode member is missing, one node is in no rack."""
    racks = [
        hyper_node("rack-a", 1, "Node", "gpu-l40s-01", "gpu-l40s-02"),
        hyper_node("rack-b", 1, "Node", "gpu-l40s-03", "gone"),
    ]
    objects = {
        **recording.snapshot.objects,
        "HyperNode": [*racks, hyper_node("spine", 2, "HyperNode", "rack-a", "rack-b")],
    }
    return replay_cycle(replace(recording.snapshot, objects=objects))


@cache
def departments() -> Recording:
    """A tree of queues: two teams below a department, one of them above its deserved, and a queue beside it."""
    queues_of_tree = [
        queue("root"),
        queue("science", parent="root", capability={"cpu": "12"}, deserved={"cpu": "8"}),
        queue("vision", parent="science", guarantee={"cpu": "2"}, deserved={"cpu": "4", "memory": "10Gi"}),
        queue("speech", parent="science", deserved={"cpu": "4"}),
        queue("web", parent="root", deserved={"cpu": "4"}, reclaimable=False),
    ]
    jobs = [
        [pod_group("held", queue="vision", phase="Running", min_resources={"cpu": "3"}), *pods("held", 6, on="n1")],
        [pod_group("page", queue="web", phase="Running"), *pods("page", 5, on="n1")],
        [pod_group("asr", queue="speech", phase="Pending", min_resources={"cpu": "2"}), *pods("asr", 2)],
    ]
    arguments = {"capacity": {"enableHierarchy": "true"}}
    conf = conf_of("gang", "capacity overcommit", actions="enqueue, allocate", arguments=arguments)
    return replay_cycle(cluster(node("n1", cpu="16", memory="64Gi"), queues_of_tree, *jobs, conf=conf))


def first(point: str) -> Seq:
    """The first call of a hook in the recording of departments()."""
    return departments().index.seqs_at_point(point)[0]


def hyper_node(name: str, tier: int, kind: str, *members: str) -> Manifest:
    selectors = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
    spec = {"tier": tier, "members": selectors}
    return {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name}, "spec": spec}


CASES: list[tuple[str, str, str, View]] = [
    ("flow", BLOCKED, "victim", everything_open),
    ("flow-reclaim", RECLAIM, "victim", everything_open),
    ("victims", BLOCKED, "victim", event_view),
    ("victims-nobody", BLOCKED, 'victim if task == "research/llm-finetune-worker-1"', event_view),
    ("victims-equation", BLOCKED, 'victim if plugin == "gang"', event_equation),
    ("victims-reclaim", RECLAIM, "victim", event_view),
    ("votes-starving", BLOCKED, "starving", event_view),
    ("votes-enqueue", QUOTA, "enqueue reject", event_view),
    ("votes-enqueue-equation", QUOTA, "enqueue reject", event_equation),
    ("predicates", FITS, "predicate", event_view),
    ("predicates-equation", FITS, "predicate", event_equation),
    ("scores", BLOCKED, "score", event_view),
    ("predicates-list", FITS, "predicate", lambda recording, seq: page(recording, seq, "reason", "A")),
    ("predicates-short", FITS, "predicate", lambda recording, seq: page(recording, seq, "short of", "memory")),
    ("node-page-predicate", FITS, "predicate", lambda recording, seq: page(recording, seq, "node", "gpu-a100-05")),
    ("node-page-score", BLOCKED, "tie", lambda recording, seq: page(recording, seq, "node", "cpu-01")),
    ("scores-equation", BLOCKED, "score", event_equation),
    ("best-equation", BLOCKED, "tie", event_equation),
    ("capacity-admission-equation", QUOTA, "start", lambda *_: event_equation(departments(), first("JobEnqueueable"))),
    ("capacity-allocatable-equation", QUOTA, "start", lambda *_: event_equation(departments(), first("Allocatable"))),
    ("best", BLOCKED, "tie", event_view),
    ("evict", WORKS, "statement evict", event_view),
    ("pipeline-equation", WORKS, "statement pipeline", event_equation),
    ("statement-open", BLOCKED, "statement pipeline", statement_table),
    ("statement-discarded", BLOCKED, "statement discard if ops > 0", statement_table),
    ("statement-committed", WORKS, 'statement commit if action == "preempt"', statement_table),
    ("discard", BLOCKED, "statement discard if ops > 0", event_view),
    ("order", BLOCKED, "start", lambda recording, _: event_view(recording, recording.index.seqs_of_type(PopEvent)[0])),
    ("order-victims", WORKS, "statement evict", last_pop(event_view)),
    (
        "order-equation",
        BLOCKED,
        "start",
        lambda recording, _: event_equation(recording, recording.index.seqs_of_type(PopEvent)[0]),
    ),
    ("orders", WORKS, "statement pipeline", orders_table),
    ("orders-between-actions", BLOCKED, "start", orders_table),
    ("funnel", BLOCKED, 'victim if task == "research/llm-finetune-worker-1"', funnel_table),
    ("funnel-placed", WORKS, "victim", funnel_table),
    ("funnel-of-action", BLOCKED, 'action if action == "preempt"', funnel_table),
    ("funnel-elsewhere", BLOCKED, "start", funnel_table),
    ("evictions", WORKS, "victim", evictions_table),
    ("evictions-discarded", BLOCKED, "statement discard if ops > 0", evictions_table),
    ("action", BLOCKED, 'action if action == "preempt"', event_view),
    ("jobs", BLOCKED, "statement pipeline", jobs_table),
    ("nodes", BLOCKED, "statement pipeline", nodes_table),
    ("queues", RECLAIM, "victim", queues_table),
    ("queue-page", QUOTA, "enqueue reject", lambda recording, seq: queue_page(recording, seq, "team-vision")),
    ("queue-page-without-job", QUOTA, "start", lambda recording, seq: queue_page(recording, seq, "default")),
    ("queue-page-capacity", QUOTA, "start", lambda _, seq: queue_page(departments(), seq, "vision")),
    ("queues-tree", QUOTA, "start", lambda _, seq: queues_table(departments(), seq)),
    ("cluster-page", QUOTA, "enqueue reject", cluster_page),
    ("job-page", BLOCKED, "victim", first_job),
    ("node-page", BLOCKED, "victim", first_node),
    ("problems", BLOCKED, "victim", lambda recording, _: problems_table(recording)),
    ("quirks", BLOCKED, "quirk", quirks_table),
    ("quirks-none", WORKS, "start", quirks_table),
    ("effects", WORKS, 'statement commit if action == "preempt"', effects_table),
    ("conf", WORKS, "victim", lambda recording, _: conf_table(recording)),
    ("conf-misspelt", WORKS, "start", lambda recording, _: conf_table(misspelt(recording))),
    ("log", WORKS, "statement pipeline", log_table),
    ("log-5", WORKS, "statement pipeline", lambda recording, seq: log_table(recording, seq, 5)),
    ("hypernodes", WORKS, "start", lambda recording, _: hypernodes_table(racks(recording), "gpu-l40s-03")),
    ("hypernodes-none", WORKS, "start", lambda recording, _: hypernodes_table(recording)),
]


@cache
def recording_of(name: str) -> Recording:
    folder = find_bundled(name)
    assert folder is not None
    return replay_cycle(load_snapshot(folder))


def stop(recording: Recording, words: str) -> Seq:
    if words == "start":
        return 1
    debugger = Debugger(recording)
    debugger.breakpoints.add_breakpoint(words)
    stopped = debugger.continue_()
    assert stopped.breakpoint is not None, f"{words} never stops"
    return stopped.position.seq


@pytest.mark.parametrize(("name", "snapshot", "words", "view"), CASES, ids=[case[0] for case in CASES])
def test_view_equals_its_golden_text(name: str, snapshot: str, words: str, view: View) -> None:
    recording = recording_of(snapshot)
    path = EXPECTED / f"{name}.txt"
    text = format_table(view(recording, stop(recording, words)))
    if os.environ.get("VCDEBUG_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", [BLOCKED, WORKS, FITS, QUOTA, RECLAIM])
def test_every_event_of_a_cycle_can_be_shown(name: str) -> None:
    recording = recording_of(name)
    for seq in range(1, len(recording) + 1):
        for view in (
            event_view,
            event_equation,
            statement_table,
            jobs_table,
            nodes_table,
            queues_table,
            effects_table,
            log_table,
            orders_table,
            funnel_table,
        ):
            table = view(recording, seq)
            assert table.title
            assert all(len(table.columns) == len(row.cells) for row in table.rows)


def test_no_golden_text_is_left_over() -> None:
    assert sorted(f"{case[0]}.txt" for case in CASES) == sorted(path.name for path in EXPECTED.iterdir())
