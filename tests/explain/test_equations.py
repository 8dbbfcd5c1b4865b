from collections.abc import Iterator

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from tests.recorded import GOLDEN, bundled, golden
from vcdebug.explain.decisions.equations import equation_at, room_equation
from vcdebug.explain.equation import Equation
from vcdebug.explain.plugins import explainer_for
from vcdebug.explain.plugins.extender import QUESTIONS
from vcdebug.framework.record import ActionEvent, HookEvent, Level, OpEvent, PredicateEvent, StatementEvent
from vcdebug.model.names import NodeName
from vcdebug.model.resource import at_most
from vcdebug.plugins import PLUGINS
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.state_before import state_before, task_of

WITHOUT_VERDICT = ("PrePredicate", "HyperNodeGradientForJob", "HyperNodeGradientForSubJob", "HyperNodeOrder")
"""Hooks whose equations have no verdict; test_told_plugins compares their lines with the trace."""


def due(event: HookEvent | OpEvent) -> object:
    """The expected verdict of an equation: the recorded result; for JobValid "passes", for an operation True."""
    if isinstance(event, OpEvent):
        return True
    if event.point in WITHOUT_VERDICT:
        return None
    return event.result is None if event.point == "JobValid" else event.result


def wrong(recording: Recording) -> Iterator[str]:
    """Yield events whose equation has another verdict than the recorded one."""
    for seq, event in enumerate(recording.events, start=1):
        if not isinstance(event, HookEvent | OpEvent):
            continue
        found = equation_at(recording, seq)
        if found is not None and (type(found.verdict), found.verdict) != (type(due(event)), due(event)):
            yield f"{seq}: {event} is not {found}"


def test_the_copied_cases_ask_for_nearly_every_equation() -> None:
    events = (event for name in GOLDEN for event in golden(name).events)
    asked = dict.fromkeys((event.plugin, event.point) for event in events if isinstance(event, HookEvent))
    elsewhere = {
        ("capacity", "UnifiedEvictable"),
        ("cdp", "Preemptable"),
        ("cdp", "Reclaimable"),
        ("gang", "SubJobReady"),
        ("gang", "SubJobPipelined"),
        ("gang", "UnifiedEvictable"),
        ("priority", "UnifiedEvictable"),
        ("conformance", "UnifiedEvictable"),
        ("drf", "Reclaimable"),
        ("pdb", "Preemptable"),
        ("pdb", "Reclaimable"),
        ("rescheduling", "VictimTasks"),
        ("resourcequota", "JobEnqueueable"),
        ("capacity", "SimulateAllocatable"),
        ("tdm", "JobPipelined"),
        ("tdm", "JobStarving"),
        ("tdm", "Preemptable"),
        ("tdm", "VictimTasks"),
        *(("extender", point) for point in QUESTIONS),
    }
    explained = {(plugin, point) for plugin in PLUGINS for point in explainer_for(plugin).equations}
    assert elsewhere >= explained - {*asked}


def visited(recording: Recording) -> Iterator[tuple[int, PredicateEvent, NodeName, str | None, bool]]:
    """(seq, event, node, missing dimension or None, whether an earlier task's answer was reused), in allocate."""
    known: dict[tuple[str, str, int], int] = {}
    for seq, event in enumerate(recording.events, start=1):
        if isinstance(event, ActionEvent):
            known.clear()
        span = recording.span_tree.span_around(seq, Level.ACTION)
        if not isinstance(event, PredicateEvent) or span is None or span.name != "allocate":
            continue
        task = task_of(recording, event.task)
        for row, code in zip(event.failed.tolist(), event.codes.tolist(), strict=True):
            reason = recording.reason_table.statuses_of(code)[0].reason
            key = (task.job, task.task_role, row)
            short = reason.removeprefix("Insufficient ") if reason.startswith("Insufficient ") else None
            yield seq, event, recording.node_names[row], short, known.get(key) == code and bool(task.task_role)
            known[key] = code
        for row in event.feasible.tolist():
            yield seq, event, recording.node_names[row], None, False


def short_of(recording: Recording, seq: int, task: str, node: NodeName) -> str | None:
    """The first dimension in which the node's future idle is below the task's request before an event."""
    future, request = state_before(recording, seq).nodes[node].future_idle(), task_of(recording, task).init_resreq
    return next((name for name, amount in request.items() if not at_most(amount, future.get(name))), None)


@pytest.mark.parametrize("name", [name for name in GOLDEN if not name.startswith("wildcore")])
def test_the_dimension_that_a_node_lacks_is_the_one_recorded(name: str) -> None:
    """Skips nodes for which the answer of an earlier task of the same role was reused."""
    recording = golden(name)
    for seq, event, where, short, cached in visited(recording):
        assert cached or short == short_of(recording, seq, event.task, where), f"{seq} {where}"


@pytest.mark.parametrize("name", GOLDEN[::3])
def test_every_operation_commit_discard_and_pass_has_its_equation(name: str) -> None:
    recording = golden(name)
    for seq, event in enumerate(recording.events, start=1):
        if isinstance(event, PredicateEvent) or (isinstance(event, OpEvent) and event.after is not None):
            assert equation_at(recording, seq) is not None
        if isinstance(event, StatementEvent) and event.what not in ("commit", "discard"):
            assert equation_at(recording, seq) is None


def the(recording: Recording, point: str, plugin: str, number: int = 0) -> Equation:
    """The equation of the n-th answer of a plugin at a hook."""
    seqs = [
        seq
        for seq, e in enumerate(recording.events, start=1)
        if isinstance(e, HookEvent) and (e.point, e.plugin) == (point, plugin)
    ]
    found = equation_at(recording, seqs[number])
    assert found is not None
    return found


def test_a_discard_shows_the_gang_that_is_not_complete() -> None:
    recording = bundled()
    seq = next(
        seq
        for seq, e in enumerate(recording.events, start=1)
        if isinstance(e, StatementEvent) and e.what == "discard" and len(e.ops) == 2
    )
    found = equation_at(recording, seq)
    assert found is not None
    assert "discard: gang: would research/llm-finetune be complete?" == found.title
    term = found.deciding_term
    assert term is not None
    assert (-1, (1, 2), False) == (found.verdict, term.figures, term.is_met)
    assert "0 ready, 1 waiting, 0 best-effort pending" == term.note


def test_equation_of_gang_names_the_job_that_would_break() -> None:
    found = the(bundled(), "Preemptable", "gang")
    assert [False, True] == [term.is_met for term in found.terms]
    assert "bert-pretrain has 4 ready and needs 4: it would break the gang" == found.terms[0].note


def small(*tiers: str, actions: str = "enqueue, allocate", **arguments: dict[str, object]) -> str:
    return conf_of(*tiers, actions=actions, arguments=arguments)


def test_proportion_shows_the_dimension_in_which_the_queue_is_full() -> None:
    snapshot = cluster(
        node("n1", cpu="4", memory="100G"),
        queue("a", weight=1),
        queue("b", weight=1),
        pod_group("one", queue="a"),
        pods("one", 4, cpu="1", memory="1G"),
        pod_group("two", queue="b"),
        pods("two", 4, cpu="1", memory="1G"),
        conf=small("gang proportion predicates"),
    )
    recording = replay_cycle(snapshot)
    refused = [
        seq
        for seq in recording.index.seqs_at_point("Allocatable")
        if isinstance(e := recording.event_at(seq), HookEvent) and e.result is False
    ]
    found = equation_at(recording, refused[0])
    assert found is not None
    term = found.deciding_term
    assert term is not None
    assert ("cpu", (2000.0, 1000.0, 3000.0, 2000.0), False) == (term.name, term.figures, term.is_met)
    assert ("allocated", "request", "sum", "deserved") == found.columns
    assert [None] == [t.is_met for t in found.terms if t.name == "pods"]


def test_equation_of_a_closed_queue_states_it_before_amounts() -> None:
    snapshot = cluster(
        node("n1"),
        queue("shut", state="Closed"),
        pod_group("one", queue="shut", phase="Pending", min_resources={"cpu": "1"}),
        pods("one", 1),
        conf=small("gang proportion"),
    )
    found = the(replay_cycle(snapshot), "JobEnqueueable", "proportion")
    assert (-1, "the queue's state is Closed, not Open") == (found.verdict, found.note)


def test_admission_counts_what_earlier_jobs_of_the_cycle_reserved() -> None:
    groups = [pod_group(name, phase="Pending", min_resources={"cpu": "3"}) for name in ("a", "b", "c")]
    snapshot = cluster(
        node("n1", cpu="5"),
        groups,
        *(pods(name, 1, cpu="3") for name in ("a", "b", "c")),
        conf=small("gang overcommit"),
    )
    recording = replay_cycle(snapshot)
    found = [the(recording, "JobEnqueueable", "overcommit", number) for number in range(3)]
    assert [1, 1, -1] == [one.verdict for one in found]
    assert [0.0, 3000.0, 6000.0] == [one.terms[0].figures[1] for one in found]
    assert ("cpu", 6000.0) == (found[2].deciding_name, found[2].terms[0].figures[3])


def preemption(**gang: object) -> Recording:
    """A node full of tasks of a low-priority job, and a high-priority job with one pod."""
    return replay_cycle(
        cluster(
            node("n1", cpu="3"),
            [priority_class("high", 100), priority_class("low", 1)],
            pod_group("low", priority_class="low", min_member=1, phase="Running"),
            pods("low", 3, cpu="1", on="n1"),
            pod_group("high", priority_class="high", min_member=1),
            pods("high", 1, cpu="2"),
            conf=small("priority gang conformance", "drf predicates proportion nodeorder", actions="preempt"),
        )
    )


def test_room_on_a_node_counts_the_victims() -> None:
    recording = preemption()
    seq = recording.index.seqs_at_point("Preemptable")[0]
    alone = room_equation(recording, seq, "default/high-0", "n1")
    freed = room_equation(recording, seq, "default/high-0", "n1", ["default/low-0", "default/low-1"])
    assert (False, "cpu", True) == (alone.verdict, alone.deciding_name, freed.verdict)
    assert (0.0, 0.0, 0.0, 0.0, 2000.0, 2000.0) == alone.terms[0].figures
    assert (0.0, 0.0, 0.0, 2000.0, 2000.0, 2000.0, 0.0) == freed.terms[0].figures


def test_an_operation_shows_what_it_changes_on_its_node() -> None:
    recording = preemption()
    shown = {}
    for seq in recording.index.seqs_of_type(OpEvent):
        found = equation_at(recording, seq)
        assert found is not None
        shown[found.title] = [(t.name, *t.figures) for t in found.terms if t.name.endswith("cpu")]
    assert [("releasing cpu", 0.0, 1000.0, 1000.0)] == shown["evict default/low-1 on n1"]
    assert [("releasing cpu", 1000.0, 1000.0, 2000.0)] == shown["evict default/low-0 on n1"]
    assert [("pipelined cpu", 0.0, 2000.0, 2000.0)] == shown["pipeline default/high-0 on n1"]


def test_no_dimension_decides_where_each_has_room_on_some_node() -> None:
    """Each dimension has room on some node, but no node has room in all of them and passes the filters."""
    recording = bundled("pending-no-node-fits")
    found = equation_at(recording, 30)
    assert found is not None
    assert found.deciding_name is None
    assert [True] * 4 == [term.is_met for term in found.terms]
    assert "4 of 8 nodes have room in every dimension, 0 are feasible" in found.note


def test_a_search_of_one_node_has_a_note_in_the_singular() -> None:
    recording = replay_cycle(cluster(node("n1", cpu="2"), queue("default"), pod_group("j"), *pods("j", 1, cpu="1")))
    found = equation_at(recording, recording.index.seqs_of_type(PredicateEvent)[0])
    assert found is not None
    assert found.note == "1 of 1 node has room in every dimension, 1 is feasible"


def test_a_pass_over_nodes_says_where_the_most_room_is() -> None:
    snapshot = cluster(
        node("n1", cpu="1"),
        node("n2", cpu="3"),
        pod_group("one"),
        pods("one", 1, cpu="4"),
        conf=small("gang predicates"),
    )
    recording = replay_cycle(snapshot)
    seq = recording.index.seqs_of_type(PredicateEvent)[0]
    found, there = equation_at(recording, seq), equation_at(recording, seq, "n2")
    assert found is not None
    assert there is not None
    assert ("cpu", ()) == (found.deciding_name, found.verdict)
    assert (4000.0, 3000.0, "n2", 0) == found.terms[0].figures
    assert ("cpu", False, 1000.0) == (there.deciding_name, there.verdict, there.terms[0].figures[-1])


def hierarchy() -> Recording:
    """Two queues in drf's hierarchy; one of them holds everything."""
    paths = {
        name: {"volcano.sh/hierarchy": f"root/{name}", "volcano.sh/hierarchy-weights": "1/1"} for name in ("a", "b")
    }
    conf = conf_of(
        "gang conformance", "drf predicates", actions="reclaim", arguments={"drf": {"enableHierarchy": "true"}}
    )
    return replay_cycle(
        cluster(
            node("n1", cpu="4"),
            [queue(name, annotations=paths[name]) for name in ("a", "b")],
            pod_group("holder", queue="a", phase="Running"),
            pods("holder", 4, cpu="1", on="n1"),
            pod_group("waiter", queue="b"),
            pods("waiter", 2, cpu="1"),
            conf=conf.replace("gang\n", "gang\n    enableReclaimable: false\n").replace(
                "conformance\n", "conformance\n    enableReclaimable: false\n"
            ),
        )
    )


def test_hierarchical_shares_are_compared_after_the_exchange() -> None:
    recording = hierarchy()
    assert [] == list(wrong(recording))
    found = the(recording, "Reclaimable", "drf")
    assert found.terms
    assert all(isinstance(term.figures[1], float) for term in found.terms)
