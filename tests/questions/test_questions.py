"""The questions of `ask` other than "why is it Pending": the answers agree with the recording."""

import re
from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, priority_class, queue
from tests.recorded import GOLDEN, bundled, golden
from vcdebug.explain.decisions.evictions import planned_evictions
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.questions import QUESTIONS
from vcdebug.explain.questions.holders import find_holders, find_next_job
from vcdebug.explain.questions.nodes import explain_node, explain_refusal
from vcdebug.explain.questions.victims import explain_eviction, explain_victim_choice
from vcdebug.explain.subject_names import NotFoundError
from vcdebug.framework.record import OpEvent, StateEvent
from vcdebug.recording.replay import replay_cycle

WORKS, BLOCKED, RECLAIMED = "preempt-works", "preempt-blocked-by-gang", "reclaim-across-queues"
PREEMPT = """
actions: "allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: conformance}]
- plugins: [{name: gang}, {name: predicates}, {name: nodeorder}]
"""


def victims(name: str) -> list[str]:
    return [one.victim for one in planned_evictions(bundled(name)) if one.statement_end == "commit"]


def test_eviction_reply_names_preemptor_action_and_result() -> None:
    recording = bundled(WORKS)
    one = next(each for each in planned_evictions(recording) if each.statement_end == "commit")
    reply = explain_eviction(recording, one.victim)
    assert (True, one.action, one.preemptor) == tuple(reply.data[key] for key in ("evicted", "action", "for"))
    assert f"{one.action} evicts {one.victim} on {one.node} to make room for {one.preemptor}." == reply.sentence
    allowed = f"priority (tier 1) allows {one.victim.partition('/')[2]}: candidate 1000, preemptor 100000."
    assert allowed == reply.lines[0]
    assert f"assistants/chat-api benefited: {one.preemptor} is reserved on {one.node}." in reply.lines
    assert all(isinstance(recording.event_at(one.seq), object) for one in reply.evidence)


def test_an_eviction_that_was_taken_back_is_no_eviction() -> None:
    recording = bundled(BLOCKED)
    planned = planned_evictions(recording)[0]
    reply = explain_eviction(recording, planned.victim)
    assert not reply.data["evicted"]
    where = f"preempt planned to evict it on {planned.node} for {planned.preemptor}"
    assert (
        f"{planned.victim} is not evicted: {where}, then rolled the plan back (event {planned.end})." == reply.sentence
    )
    assert "research/llm-finetune did not benefit: none of its pods has a node after this cycle." in reply.lines


def test_reply_names_the_plugins_that_were_not_asked() -> None:
    snapshot = cluster(
        node("n1", cpu="2"),
        queue("default"),
        priority_class("high", 10),
        pod_group("low"),
        pod("low-0", "low", on="n1", requests={"cpu": "2"}),
        pod_group("high", priority_class="high"),
        pod("high-0", "high", requests={"cpu": "2"}, priority=10),
        conf=PREEMPT,
    )
    reply = explain_eviction(replay_cycle(snapshot), "low-0")
    assert ["gang"] == reply.data["notAsked"]
    would = "would protect it (low has 1 ready and needs 1: it would break the gang)"
    assert f"gang (tier 2) {would}, but was not consulted: tier 1 decided." in reply.lines
    assert {"priority", "conformance"} == set(reply.data["offeredBy"])  # type: ignore[call-overload]


def test_a_pod_without_planned_eviction_is_said_not_to_be_evicted() -> None:
    reply = explain_eviction(bundled(BLOCKED), "platform/feature-etl-mapper-0")
    none = "is not evicted in this cycle, and no action planned to evict it."
    assert f"platform/feature-etl-mapper-0 {none}" == reply.sentence


def test_reply_compares_a_victim_with_the_other_victims() -> None:
    for name in (WORKS, RECLAIMED):
        recording = bundled(name)
        for victim in victims(name):
            reply = explain_victim_choice(recording, victim)
            assert (victim, True) == (reply.data["pod"], reply.data["victim"])
            others = reply.data["others"]
            assert isinstance(others, list)
            assert victim not in others


def test_reply_names_another_node_with_a_victim_of_lower_priority() -> None:
    snapshot = cluster(
        node("n1", cpu="2"),
        node("n2", cpu="2"),
        queue("default"),
        priority_class("high", 10),
        priority_class("mid", 5),
        pod_group("mid", priority_class="mid"),
        pod("mid-0", "mid", on="n1", requests={"cpu": "2"}, priority=5),
        pod_group("low"),
        pod("low-0", "low", on="n2", requests={"cpu": "2"}),
        pod_group("high", priority_class="high"),
        pod("high-0", "high", requests={"cpu": "2"}, priority=10),
        conf=PREEMPT,
    )
    recording = replay_cycle(snapshot)
    victim = next(one.victim for one in planned_evictions(recording) if one.statement_end == "commit")
    other, at = {
        "default/mid-0": ("n2", "low-0 of priority 1"),
        "default/low-0": ("n1", "mid-0 of priority 5"),
    }[victim]
    assert any(
        line.startswith(f"{other} would have done as well ({at})")
        for line in explain_victim_choice(recording, victim).lines
    )


def placed(recording_name: str) -> list[tuple[str, str]]:
    recording = golden(recording_name)
    found: dict[str, str] = {}
    for seq in recording.index.seqs_of_type(OpEvent):
        event = recording.event_at(seq)
        if isinstance(event, OpEvent) and event.op in ("allocate", "pipeline"):
            found[event.task] = event.node
    return list(found.items())[:3]


@pytest.mark.parametrize("name", GOLDEN[::4])
def test_the_node_of_a_placed_pod_is_the_one_that_it_was_given(name: str) -> None:
    for task, where in placed(name):
        reply = explain_node(golden(name), task)
        assert where == reply.data["node"]
        difference = reply.data.get("difference")
        assert difference is None or isinstance(difference, float)


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith("subgroup")])
def test_a_plan_that_is_carried_out_later_is_told_by_the_scores_of_its_own_trial(name: str) -> None:
    answers = [explain_node(golden(name), task) for task, _ in placed(name)]
    chosen = [one.data["node"] for one in answers if one.data.get("runnerUp")]
    assert chosen
    assert chosen == [
        evidence.text.removeprefix("best is ")
        for one in answers
        for evidence in one.evidence
        if "best is" in evidence.text
    ]


def test_equal_scores_are_said_to_be_chance() -> None:
    snapshot = cluster(
        node("n1"),
        node("n2"),
        queue("default"),
        pod_group("j"),
        pod("j-0", "j", requests={"cpu": "1"}),
        conf="actions: allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: nodeorder}]\n",
    )
    reply = explain_node(replay_cycle(snapshot), "j-0")
    assert ["n1", "n2"] == reply.data["tied"]
    tie = "2 nodes tie at the top score 466 (n1, n2). The real scheduler picks one of them at random."
    assert f"default/j-0 is placed on n1; {tie}" == reply.sentence


def test_holders_of_a_port_a_node_and_a_queue() -> None:
    port = [{"name": "main", "ports": [{"hostPort": 4040, "containerPort": 4040}]}]
    snapshot = cluster(
        node("n1"),
        queue("default"),
        pod_group("a"),
        pod("a-0", "a", on="n1", containers=port),
        pod_group("b"),
        pod("b-0", "b", containers=port),
        conf="actions: allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}]\n",
    )
    recording = replay_cycle(snapshot)
    for subject in ("port/4040", "node/n1", "queue/default", "b"):
        holders = find_holders(recording, subject).data["holders"]
        assert isinstance(holders, list)
        assert ["default/a-0"] == [one["pod"] for one in holders]
    sheet = find_holders(recording, "b").sheets[0]
    assert "port 4040" in sheet.rows[0][sheet.titles.index("holds")]
    assert "No pod uses host port 9." == find_holders(recording, "port/9").sentence


def test_the_next_job_is_named_with_what_puts_it_first() -> None:
    waiting = [
        part
        for name, value in (("a", 10), ("b", 100))
        for part in (
            priority_class(f"p{value}", value),
            pod_group(name, priority_class=f"p{value}"),
            pod(f"{name}-0", name, requests={"cpu": "99"}, priority=value),
        )
    ]
    conf = "actions: allocate\ntiers:\n- plugins: [{name: priority}, {name: predicates}]\n"
    reply = find_next_job(replay_cycle(cluster(node("n1"), queue("default"), *waiting, conf=conf)), "")
    assert [{"queue": "default", "jobs": ["default/b", "default/a"]}] == reply.data["jobs"]
    why = "default/b is before default/a by priority (priority), 100 to 10"
    assert f"default/b (queue default) is next: {why}." == reply.sentence


def test_the_order_at_an_event_goes_by_the_shares_before_that_event() -> None:
    """A placement changes the share of a job, so that another one is next after the cycle."""
    recording = replay_cycle(
        cluster(
            node("n1", cpu="7"),
            [pod_group("a"), pod("a-r", "a", on="n1", requests={"cpu": "1"}), *pods("a", 2, cpu="3")],
            [pod_group("b"), pod("b-r", "b", on="n1", requests={"cpu": "2"}), *pods("b", 1, cpu="4")],
            conf=conf_of("drf", "predicates"),
        )
    )
    opened = next(seq for seq, _ in recording.events_of_type(StateEvent))
    assert find_next_job(recording, "", opened).sentence.startswith("default/a (queue default) is next")
    assert find_next_job(recording).sentence.startswith("default/b (queue default) is next")


def test_the_order_is_the_one_in_which_allocate_popped_them() -> None:
    """Before the first pop, the predicted next job is the one that is popped first."""
    from vcdebug.explain.questions.holders import find_next_job
    from vcdebug.framework.record import PopEvent

    for name in ("preempt-0003", "basic-0005", "reclaim-0004"):
        recording = golden(name)
        pops = list(recording.index.seqs_of_type(PopEvent))
        first = next((seq for seq in pops if getattr(recording.event_at(seq), "kind", "") == "job"), None)
        if first is None:
            continue
        popped = recording.event_at(first)
        queue_name = recording.owners.queues[popped.name]  # type: ignore[union-attr]
        jobs = find_next_job(recording, queue_name, first - 1).data["jobs"]
        still = [one for entry in jobs for one in entry["jobs"]]  # type: ignore[attr-defined]
        assert popped.name not in still or still.index(popped.name) == 0  # type: ignore[union-attr]


def test_every_question_refuses_an_unknown_name() -> None:
    for question in QUESTIONS:
        with pytest.raises(NotFoundError):
            question.answer(bundled(WORKS), "nobody")


def test_pods_on_a_node_outside_the_session_are_named() -> None:
    recording = replay_cycle(cluster(node("n1"), queue("default"), pod_group("old"), pods("old", 1, on="gone")))
    reply = find_holders(recording, "node/gone")
    assert "1 pod of 1 job (1 queue) uses node gone (outside the session)." == reply.sentence


def test_each_node_says_why_it_refuses_a_pod() -> None:
    reply = explain_refusal(bundled("pending-refused-by-filters"), "ml/serve-1")
    assert "ml/serve-1 fits none of 12 nodes checked; 12 reject it." == reply.sentence
    shown = {sheet.title.partition(":")[0]: [row[2] for row in sheet.rows] for sheet in reply.sheets}
    assert ["held by ml/proxy"] == shown["node-port-taken"]
    assert "measured % 91.5, threshold % 80" in shown["node-too-busy"]
    assert 12 == len(shown)


def test_the_reasons_of_a_named_node_come_first() -> None:
    recording = bundled("preempt-blocked-by-gang")
    reply = explain_refusal(recording, "research/llm-finetune-worker-0 gpu-a100-03")
    assert "gpu-a100-03 (and 5 more nodes): Insufficient nvidia.com/gpu" == reply.sheets[0].title
    reply = explain_refusal(recording, "platform/feature-etl-mapper-0 cpu-01")
    assert "cpu-01 passes the predicates of allocate." == reply.lines[0]


def test_answer_of_the_error_cache_is_explained_by_its_first_search() -> None:
    data: Any = explain_refusal(bundled("preempt-blocked-by-gang"), "platform/feature-etl-mapper-1").data
    assert ("platform/feature-etl/mapper", [45]) == (data["cacheKey"], [*dict.fromkeys(data["cacheHits"].values())])


def test_best_node_is_explained_part_by_part() -> None:
    reply = explain_node(bundled("placed-by-score"), "shop/web-0")
    shown_parts: Any = reply.data["parts"]
    parts = {part["name"]: part for part in shown_parts}
    inside = parts["nodeorder/batch/NodeAffinity"]["inside"]
    assert (200.0, 200.0) == (parts["nodeorder/batch/NodeAffinity"]["score"], inside["verdict"])
    assert ["disk=ssd", "topology.kubernetes.io/zone=eu-west-1b"] == [term["name"] for term in inside["terms"]]


def test_holders_are_listed_by_queue_then_by_priority_from_above_then_by_name() -> None:
    snapshot = cluster(
        node("n1", cpu="10"),
        queue("a"),
        queue("b"),
        priority_class("high", 10),
        pod_group("b1", queue="b", phase="Running"),
        pod("b1-0", "b1", on="n1", requests={"cpu": "1"}),
        pod_group("low", queue="a", phase="Running"),
        [pod(f"low-{i}", "low", on="n1", requests={"cpu": "1"}) for i in (1, 0)],
        pod_group("z", queue="a", phase="Running", priority_class="high"),
        pod("z-0", "z", on="n1", requests={"cpu": "1"}, priority=10, priorityClassName="high"),
        pod_group("early", queue="a", phase="Running"),
        pod("y-0", "early", on="n1", requests={"cpu": "1"}),
        pod_group("waits", queue="a"),
        pod("waits-0", "waits", requests={"cpu": "9"}),
        conf=PREEMPT,
    )
    reply = find_holders(replay_cycle(snapshot), "waits")
    expected = ["default/z-0", "default/low-0", "default/low-1", "default/y-0", "default/b1-0"]
    assert expected == [row[0] for row in reply.sheets[0].rows]
    assert isinstance(holders := reply.data["holders"], list)
    assert expected == [one["pod"] for one in holders]
    assert reply.sentence.startswith("5 pods of 4 jobs (2 queues) use resources that waits-0 needs (")


LIMITED = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: proportion}]
"""


def holders_of_limit(group: str) -> tuple[str, tuple[str, ...]]:
    """The answer about default/j, of which the queue's limit is used by a pod of the group."""
    jobs = [pod_group("j", queue="q"), pod_group("old", queue="q", phase="Running")]
    held = pod("held", group, on="n1", requests={"cpu": "4"})
    limit = queue("q", capability={"cpu": "4"})
    snapshot = cluster(node("n1", cpu="10"), limit, jobs, held, pods("j", 1, cpu="2"), conf=LIMITED)
    reply = find_holders(replay_cycle(snapshot), "default/j")
    return reply.sentence, reply.lines


def test_holders_of_a_limit_are_the_pods_of_the_queue() -> None:
    sentence, lines = holders_of_limit("old")
    assert sentence == "1 pod of 1 job (1 queue) uses resources that j-0 needs (2 cpu, 954Mi memory)."
    assert [line.partition(":")[0] for line in lines] == ["A limit of queue q rejected it in this cycle"]


@pytest.mark.parametrize(("cpu", "held"), [(None, []), ("0", []), ("1", ["default/other-0"])])
def test_holders_of_a_limit_hold_what_a_job_without_pods_asks_for(cpu: str | None, held: list[str]) -> None:
    full = [
        pod_group("old", queue="q", phase="Running", min_resources={"cpu": "4"}),
        *pods("old", 1, on="n1", requests={"cpu": "4"}),
    ]
    amounts = {"memory": "1Gi"} | ({"cpu": cpu} if cpu else {})
    other = [pod_group("other", queue="q", phase="Running"), *pods("other", 1, on="n1", requests=amounts)]
    asking = pod_group("j", queue="q", phase="Pending", min_resources={"cpu": "1"})
    conf = conf_of("gang", "capacity predicates", actions="enqueue, allocate")
    snapshot = cluster(node("n1", cpu="10"), queue("q", capability={"cpu": "4"}), full, other, asking, conf=conf)
    reply = find_holders(replay_cycle(snapshot), "default/j")
    assert isinstance(holders := reply.data["holders"], list)
    assert sorted(one["pod"] for one in holders) == ["default/old-0", *held]
    assert all("memory" not in one["holds"] for one in holders)


def test_a_jobs_own_pods_are_said_to_use_what_it_needs() -> None:
    sentence, (own, reason) = holders_of_limit("j")
    assert sentence == "No pod of another job uses resources that j-0 needs (2 cpu, 954Mi memory)."
    assert own == "1 pod of the job itself uses some."
    assert reason.startswith("default/j is Pending: j-0 asks 2 cpu; its queue q uses 4 of its ")


def test_holders_of_a_reserved_place_are_the_pods_that_terminate_there() -> None:
    old = [pod_group("old", phase="Running"), pod("held", "old", on="n1", requests={"cpu": "10"}, deleting=True)]
    snapshot = cluster(node("n1", cpu="10"), old, pod_group("j"), pods("j", 1, cpu="4"), conf=LIMITED)
    reply = find_holders(replay_cycle(snapshot), "default/j-0")
    assert [holder["pod"] for holder in reply.data["holders"]] == ["default/held"]  # type: ignore[attr-defined]


def test_questions_about_a_pod_that_was_not_tried_say_why() -> None:
    snapshot = cluster(
        node("n1", cpu="1"), pod_group("j"), pods("j", 1, cpu="4"), pod_group("k"), pods("k", 1, on="n1"), conf=LIMITED
    )
    recording = replay_cycle(snapshot)
    reason = "default/j is Pending: j-0 asks 4 cpu, more than any node has (largest: n1, 1)."
    for ask in (explain_node, explain_refusal, find_holders):
        assert reason in ask(recording, "default/j-0").lines
    running = "default/k-0 is not Pending: it was already Running when the cycle began."
    assert running in explain_node(recording, "default/k-0").lines
    assert find_holders(recording, "default/k-0").sentence == running


def test_the_next_job_is_the_one_after_the_cycle_and_not_the_one_before_it() -> None:
    jobs = [part for name in ("a", "b") for part in (pod_group(name), *pods(name, 2, cpu="6"))]
    conf = "actions: allocate\ntiers:\n- plugins: [{name: drf}, {name: predicates}]\n"
    reply = find_next_job(replay_cycle(cluster(node("n1"), queue("default"), *jobs, conf=conf)), "")
    assert reply.sentence.startswith(
        "default/b (queue default) is next: default/b is before default/a by drf share (drf), 0"
    )


def test_a_node_whose_victims_have_the_same_priority_is_not_named_as_milder() -> None:
    low = [
        part
        for name in ("a", "b", "shut")
        for part in (pod_group(name, priority_class="low"), *pods(name, 1, cpu="6", on=f"n-{name}", priority=1))
    ]
    classes = [priority_class("low", 1), priority_class("high", 10)]
    waiting = [pod_group("high", priority_class="high"), *pods("high", 1, cpu="6", priority=10)]
    recording = replay_cycle(
        cluster(node("n-a"), node("n-b"), queue("default"), *classes, *low, *waiting, conf=PREEMPT)
    )
    (victim,) = {one.victim for one in planned_evictions(recording)}
    assert not any("would have done as well" in line for line in explain_victim_choice(recording, victim).lines)


def test_a_pod_that_waits_for_a_terminating_one_is_said_to_wait() -> None:
    """`node` says that the place is only reserved, and `holders` of the job lists what terminates."""
    waiting = (pod_group("w"), *pods("w", 1, cpu="6"))
    conf = conf_of("gang predicates", actions="allocate")
    ending = (pod_group("old"), *pods("old", 1, cpu="6", on="n1", deleting=True))
    reserved = replay_cycle(cluster(node("n1"), *ending, *waiting, conf=conf))
    assert any("is waiting for pods to terminate" in line for line in explain_node(reserved, "w-0").lines)
    assert "1 pod of 1 job (1 queue) uses resources that w-0 needs (6 cpu, 954Mi memory)." == (
        find_holders(reserved, "default/w").sentence
    )
    bound = replay_cycle(cluster(node("n1"), *waiting, conf=conf))
    assert not explain_node(bound, "w-0").lines
    assert "default/w has no Pending pods." == find_holders(bound, "default/w").sentence


def test_no_gang_with_too_few_pods_is_next() -> None:
    half = [part for name in ("a", "b") for part in (pod_group(name, min_member=2), *pods(name, 1, cpu="1"))]
    conf = conf_of("gang predicates", actions="allocate")
    none = find_next_job(replay_cycle(cluster(node("n1"), *half, conf=conf)))
    skipped = "2 jobs with too few pods for the gang (default/a, default/b)"
    assert f"No job is next: no action tries {skipped}." == none.sentence
    assert "default/a is Pending: it has 1 of the 2 pods that minMember requires." == none.lines[0]
    whole = (pod_group("c", min_member=2), *pods("c", 2, cpu="20"))
    reply = find_next_job(replay_cycle(cluster(node("n1"), *half, *whole, conf=conf)))
    assert "default/c (queue default) is next." == reply.sentence
    assert f"No action tries {skipped}." == reply.lines[0]
    # Why it was not placed in this cycle, although it is first.
    assert reply.lines[1].startswith("default/c is Pending: ")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({}, None),
        (
            {"preemptable": "false"},
            'preempt looked for victims for default/high-0, but takes no pods with volcano.sh/preemptable: "false".',
        ),
        (
            {"priority": 10},
            r"preempt considered it for default/high-0 .*: priority .* protects it \(job priority 10 .*\)\.",
        ),
        ({"actions": "allocate"}, r"None of the actions \(allocate\) evicts pods\."),
        ({"cpu": "12"}, "No action looked for victims."),
    ],
    ids=str,
)
def test_a_pod_that_is_no_victim_says_why(changed: dict[str, Any], why: str | None) -> None:
    value = changed.get("priority", 1)
    flags = {"volcano.sh/preemptable": changed["preemptable"]} if "preemptable" in changed else None
    snapshot = cluster(
        node("n1", cpu=changed.get("cpu", "6")),
        [priority_class("low", value), priority_class("high", 10)],
        [pod_group("low", priority_class="low"), *pods("low", 1, cpu="6", on="n1", priority=value, annotations=flags)],
        [pod_group("high", priority_class="high"), *pods("high", 1, cpu="6", priority=10)],
        conf=conf_of("priority", "predicates", actions=changed.get("actions", "allocate, preempt")),
    )
    recording = replay_cycle(snapshot)
    choice, eviction = explain_victim_choice(recording, "low-0"), explain_eviction(recording, "low-0")
    assert (why is None, why is None) == (choice.data["victim"], eviction.data["evicted"])
    if why is not None:
        (line,), (same,) = choice.lines, eviction.lines
        assert line == same
        assert re.fullmatch(why, line)


def test_a_pod_on_a_node_that_was_not_searched_is_said_to_be_so() -> None:
    running = [
        part
        for name in ("a", "b", "shut")
        for part in (pod_group(name, priority_class="low"), *pods(name, 1, cpu="6", on=f"n-{name}", priority=1))
    ]
    waiting = [pod_group("high", priority_class="high"), *pods("high", 1, cpu="6", priority=10)]
    classes = [priority_class("low", 1), priority_class("high", 10)]
    machines = [node("n-a"), node("n-b"), node("n-shut", unschedulable=True)]
    recording = replay_cycle(cluster(*machines, *classes, *running, *waiting, conf=PREEMPT))
    (victim,) = {one.victim for one in planned_evictions(recording)}
    chosen, spared = ("a", "b") if victim == "default/a-0" else ("b", "a")
    line = "preempt looked for victims for default/high-0, but not on n-{}: {}."
    for name, why in ((spared, f"n-{chosen} was enough"), ("shut", "node(s) were unschedulable")):
        assert (line.format(name, why),) == explain_victim_choice(recording, f"{name}-0").lines


def test_an_eviction_in_vain_says_how_many_pods_found_room() -> None:
    reply = explain_eviction(bundled(BLOCKED), planned_evictions(bundled(BLOCKED))[0].victim)
    assert any("at once" in line and "research/llm-finetune" in line for line in reply.lines)
    carried_out = explain_eviction(bundled(WORKS), victims(WORKS)[0])
    assert not any("is Pending" in line for line in carried_out.lines)


@pytest.mark.parametrize("fits", [True, False])
def test_a_refusal_by_every_node_is_traced_as_explain_traces_it(fits: bool) -> None:
    snapshot = cluster(
        node("n1", taints=[{"key": "gpu", "effect": "NoSchedule"}]),
        node("n2") if fits else [],
        pod_group("j"),
        pods("j", 1, cpu="1"),
        conf=conf_of("gang predicates"),
    )
    recording = replay_cycle(snapshot)
    facts = explain_by_name(recording, "default/j-0").dominant.facts[:1]
    lines = explain_refusal(recording, "j-0").lines
    assert fits or facts
    assert lines == (() if fits else facts)
