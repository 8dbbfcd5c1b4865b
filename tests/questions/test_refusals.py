"""`ask refused` where evictions are searched, figures differ or no plugin was asked; `ask node` for a named node."""

from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, queue
from tests.recorded import BUNDLED, GOLDEN, bundled, golden
from vcdebug.explain.decisions.dry_runs import checks_of_node
from vcdebug.explain.questions.nodes import explain_node, explain_refusal
from vcdebug.explain.subject_names import NotFoundError
from vcdebug.framework.record import HookEvent, Level, OpEvent, PredicateEvent
from vcdebug.model.names import TaskKey
from vcdebug.model.task import TaskStatus
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle

CASES = [*BUNDLED, *GOLDEN]
BLOCKED = "preempt-blocked-by-gang"
VICTIM_HOOKS = ("Preemptable", "Reclaimable")


def recording_of(name: str) -> Recording:
    return bundled(name) if name in BUNDLED else golden(name)


def refused_data(recording: Recording, word: str) -> Any:  # Any: JSON
    return explain_refusal(recording, word).data


def asked_pods(recording: Recording) -> list[TaskKey]:
    return list(dict.fromkeys(event.task for _, event in recording.events_of_type(PredicateEvent)))


@pytest.mark.parametrize("name", CASES)
def test_each_answer_about_victims_is_the_one_of_the_trace(name: str) -> None:
    """A protected pod is missing in the plugin's recorded answer; the last question on each node is shown."""
    recording = recording_of(name)
    hooks = dict(recording.events_of_type(HookEvent))
    for task in asked_pods(recording):
        told = [
            (one["event"], one) for search in refused_data(recording, task)["victimSearches"] for one in search["nodes"]
        ]
        for event, one in told:
            for victim in one["candidates"]:
                question = hooks[event]
                assert question.task == task
                assert victim["pod"] in question.candidates
                answers = [hooks[at] for at in range(event, event + 12) if at in hooks]
                alike = [
                    one for one in answers if (one.point, one.subject[:2]) == (question.point, question.subject[:2])
                ]
                if victim["protectedBy"] is not None:
                    by = next(one for one in alike if one.plugin == victim["protectedBy"])
                    assert isinstance(by.result, tuple)
                    assert victim["pod"] not in by.result
        assert set(last_questions(recording, task)) <= {event for event, one in told if one["candidates"]}


def last_questions(recording: Recording, task: TaskKey) -> list[int]:
    """The first event of each question about victims after the pod's last search in preempt or reclaim."""
    tree, searches = recording.span_tree, {}
    for seq, event in recording.events_of_type(PredicateEvent):
        action = tree.name_around(seq, Level.ACTION)
        if event.task == task and action in ("preempt", "reclaim"):
            searches[action] = tree.span_around(seq, Level.TASK)
    found = []
    for span in searches.values():
        assert span is not None
        before = None
        for seq, call in recording.filter_events(HookEvent, span.seq_range):
            if call.point in VICTIM_HOOKS and call.candidates:
                if before is None or before[0] != seq - 1 or before[1] != call.candidates:
                    found.append(seq)
                before = (seq, call.candidates)
    return found


@pytest.mark.parametrize("name", CASES)
def test_figures_shown_for_several_nodes_are_those_of_each_of_them(name: str) -> None:
    recording = recording_of(name)
    for task in asked_pods(recording)[:6]:
        reply = explain_refusal(recording, task)
        data: Any = reply.data
        groups = {(one["nodes"][0], *one["reasons"]): one["nodes"] for one in data["nodes"]}
        assert len(groups) == len(data["nodes"])
        for one in data["nodes"]:
            title = f"{one['nodes'][0]}{' (and' if len(one['nodes']) > 1 else ':'}"
            sheet = next((sheet for sheet in reply.sheets if sheet.title.startswith(title)), None)
            for name_of_node in one["nodes"] if sheet is not None else ():
                seq = data["cacheHits"].get(name_of_node, data["event"])
                checks = [check for check in checks_of_node(recording, seq, name_of_node) if check.is_refused]
                terms = {term.name: term for check in checks for term in check.equation.terms}
                assert sheet is not None
                assert all((mark == "✓") is (terms[what].is_met is True) for mark, what, _ in sheet.rows)
                assert any(mark == "✗" for mark, _, _ in sheet.rows)


def test_nodes_with_other_figures_have_tables_of_their_own_the_closest_first() -> None:
    nodes = [node(f"n{cpu}-{at}", cpu=str(cpu)) for cpu in range(1, 7) for at in range(2)]
    snapshot = cluster(nodes, queue("default"), pod_group("j"), pods("j", 1, cpu="8"), conf=conf_of("gang predicates"))
    reply = explain_refusal(replay_cycle(snapshot), "j-0")
    heads = [sheet.title for sheet in reply.sheets]
    assert heads == [f"n{cpu}-0 (and 1 more node): Insufficient cpu" for cpu in (6, 5, 4)]
    assert "6 more nodes: Insufficient cpu." in reply.lines
    groups: Any = reply.data["nodes"]
    assert [[f"n{cpu}-0", f"n{cpu}-1"] for cpu in range(6, 0, -1)] == [one["nodes"] for one in groups]


def test_figures_of_many_nodes_are_compared_only_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vcdebug.explain.questions.nodes.MAX_JUDGED_PER_REASON", 3)
    nodes = [node(f"n{number}", cpu="4") for number in range(8)]
    snapshot = cluster(nodes, queue("default"), pod_group("j"), pods("j", 1, cpu="8"), conf=conf_of("gang predicates"))
    reply = explain_refusal(replay_cycle(snapshot), "j-0 n7")
    assert ["n7 (and 2 more nodes): Insufficient cpu"] == [sheet.title for sheet in reply.sheets]
    assert "5 more nodes: Insufficient cpu." in reply.lines
    groups: Any = reply.data["nodes"]
    assert {f"n{number}" for number in range(8)} == {name for one in groups for name in one["nodes"]}


def test_a_candidate_node_says_what_the_plugins_answered_there() -> None:
    recording = bundled(BLOCKED)
    reply = explain_refusal(recording, "research/llm-finetune-worker-1 gpu-a100-02")
    assert reply.sentence.endswith("keeps 8 as candidates; evictions make room on none of them.")
    assert "gpu-a100-02 passes the predicates of preempt." == reply.lines[0]
    assert reply.lines[1].startswith("preempt on gpu-a100-02: gang protects research/bert-pretrain-worker-1 (")
    (sheet,) = reply.sheets
    assert ("gpu-a100-02", "research/bert-pretrain-worker-1", "gang") == tuple(sheet.rows[0][at] for at in (0, 3, 4))
    assert ("cpu-02", "no pod on it") == tuple(sheet.rows[-2][at] for at in (0, 2))


def test_a_node_that_is_not_in_the_session_is_refused() -> None:
    with pytest.raises(NotFoundError, match="no such node"):
        explain_refusal(bundled(BLOCKED), "research/llm-finetune-worker-1 gpu-a10-02")


def test_a_pod_that_was_not_asked_about_gets_what_each_node_lacks() -> None:
    snapshot = cluster(
        node("small", cpu="2"),
        node("tainted", taints=[{"key": "gpu", "effect": "NoSchedule"}]),
        node("used", cpu="8"),
        node("free"),
        queue("default"),
        pod_group("k", phase="Running"),
        pod("k-0", "k", on="used", requests={"cpu": "6"}),
        pod_group("j", min_member=2),
        pods("j", 1, cpu="4"),
        conf=conf_of("gang predicates"),
    )
    reply = explain_refusal(replay_cycle(snapshot), "j-0 used")
    (sheet,) = reply.sheets
    assert "not asked in this cycle" in sheet.title
    assert [
        ("used", "1", "Insufficient cpu", "2 cpu missing"),
        ("free", "1", "fits", ""),
        ("small", "1", "too small (cpu)", "2 cpu missing"),
        ("tainted", "1", "node(s) had untolerated taint(s)", "taint gpu=:NoSchedule; the pod has no toleration"),
    ] == [*sheet.rows]


@pytest.mark.parametrize("name", CASES)
def test_a_pending_pod_that_was_not_asked_about_gets_every_node(name: str) -> None:
    recording = recording_of(name)
    asked, nodes = asked_pods(recording), list(recording.session.nodes)
    for job in recording.session.jobs.values():
        for task in job.tasks.values():
            if task.key in asked or task.status is not TaskStatus.PENDING:
                continue
            told = [one for group in refused_data(recording, task.key)["notAsked"] for one in group["nodes"]]
            assert sorted(nodes) == sorted(told)


@pytest.mark.parametrize("name", CASES)
def test_room_made_by_evictions_is_claimed_only_where_the_trace_evicts(name: str) -> None:
    recording = recording_of(name)
    evictions = [(seq, event.node) for seq, event in recording.events_of_type(OpEvent) if event.op == "evict"]
    evicted = {(recording.span_tree.name_around(seq, Level.TASK), node_name) for seq, node_name in evictions}
    for task in asked_pods(recording):
        reply = explain_refusal(recording, task)
        for row in (row for sheet in reply.sheets if "victims on each node" in sheet.title for row in sheet.rows):
            if row[2].startswith("placed"):
                assert ((task, row[0]) in evicted) != ("without evictions" in row[2]), (task, row)
                assert (task, row[0]) in evicted or f"evictions make room on {row[0]}" not in reply.sentence


@pytest.mark.parametrize(
    ("node_name", "sentence"),
    [
        ("node-b2", "(score 1464.114; next best node-b2: 1294.059)"),
        ("node-a2", "(score 1464.114; node-a2: 591.53)"),
        ("node-b1", "(score 1464.114; next best node-b2: 1294.059)"),
    ],
)
def test_the_chosen_node_is_compared_with_the_named_one(node_name: str, sentence: str) -> None:
    reply = explain_node(bundled("placed-by-score"), f"shop/web-0 {node_name}")
    assert sentence in reply.sentence
    if node_name != "node-b1":
        assert node_name == reply.data["runnerUp"]


def test_a_named_node_without_a_score_is_answered_with_what_refuses_the_pod_there() -> None:
    snapshot = cluster(
        node("a"),
        node("b", cpu="1"),
        pod_group("j"),
        pods("j", 1, cpu="4"),
        conf=conf_of("gang", "predicates nodeorder"),
    )
    reply = explain_node(replay_cycle(snapshot), "j-0 b")
    assert reply == explain_refusal(replay_cycle(snapshot), "j-0 b")
    with pytest.raises(NotFoundError, match="no such node"):
        explain_node(replay_cycle(snapshot), "j-0 c")


@pytest.mark.parametrize("missing", [True, False])
def test_what_a_missing_action_would_do_follows_the_sentence_that_names_it(missing: bool) -> None:
    full = [node("n1", cpu="4"), pod_group("low", queue="other", phase="Running"), *pods("low", 2, cpu="2", on="n1")]
    queues = [queue("other"), queue("mine", weight=9)]
    conf = conf_of("gang", "predicates proportion", actions="allocate" if missing else "allocate, reclaim")
    recording = replay_cycle(cluster(queues, full, pod_group("j", queue="mine"), pods("j", 1, cpu="2"), conf=conf))
    lines = explain_refusal(recording, "j-0").lines
    named = [at for at, line in enumerate(lines) if "and reclaim is not in actions" in line]
    shown = [at for at, line in enumerate(lines) if line.startswith("With reclaim (replayed)")]
    assert [at + 1 for at in named] == shown
    assert bool(named) is missing


@pytest.mark.parametrize(("asked", "compared"), [("n2", True), ("n1", False)])
def test_a_node_that_passes_is_compared_with_the_chosen_one_by_its_score(asked: str, compared: bool) -> None:
    conf = conf_of("gang", "predicates nodeorder", actions="allocate")
    used = [pod_group("r", phase="Running"), *pods("r", 1, cpu="5", on="n2")]
    snapshot = cluster(node("n1"), node("n2"), used, pod_group("j"), pods("j", 1), conf=conf)
    reply = explain_refusal(replay_cycle(snapshot), f"default/j-0 {asked}")
    assert f"{asked} passes the predicates of allocate." == reply.lines[0]
    assert compared is any(line.startswith("default/j-0 is placed on n1 (score ") for line in reply.lines)
