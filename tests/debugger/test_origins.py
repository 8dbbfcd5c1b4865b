"""Origins of values: every fact of a recording is traced back, and its sources add up to its value."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, priority_class, queue
from tests.recorded import (
    BUNDLED,
    GOLDEN,
    ROOT,
    bundled,
    cases,
    golden,
    one_of_each_family,
    recorded,
    recorded_path,
    user_questions,
)
from vcdebug.debugger import figures
from vcdebug.debugger.facts import MAX_SOURCES, EventFact, Fact, FieldFact, FigureFact, Origin
from vcdebug.debugger.figures import (
    Figure,
    FigureError,
    figure_dimensions,
    figure_history,
    figure_value,
    parse_figure_line,
)
from vcdebug.debugger.opening_figures import opening_origin
from vcdebug.debugger.origins import find_fact, origin_of
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.framework.record import CloseEvent, OpEvent, PredicateEvent, RandomEvent, StatementEvent
from vcdebug.model.resource import Resource
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import FieldLines

RANDOM = one_of_each_family([case.name for case in cases("random")])
FOLDERS = {case.name: case for case in cases("random")}
SIGNS = {
    ("allocate", "idle"): -1,
    ("allocate", "used"): 1,
    ("unallocate", "idle"): 1,
    ("unallocate", "used"): -1,
    ("pipeline", "pipelined"): 1,
    ("unpipeline", "pipelined"): -1,
    ("evict", "releasing"): 1,
    ("unevict", "releasing"): -1,
}


def random_case(name: str) -> Recording:
    return recorded(FOLDERS[name])


def walk(recording: Recording, start: Fact, most: int = 400) -> Iterator[tuple[Fact, Origin]]:
    """Yield each fact that is reachable from one fact, with its origin, once."""
    known, waiting = {start: None}, [start]
    while waiting and len(known) < most:
        fact = waiting.pop()
        origin = origin_of(recording, fact)
        yield fact, origin
        new = [source.fact for source in origin.sources if source.fact not in known]
        known |= dict.fromkeys(new)
        waiting += new


def time_of(fact: Fact) -> int:
    return 0 if isinstance(fact, FieldFact) else fact.seq


def amount(recording: Recording, fact: FigureFact) -> float:
    found = figure_value(recording, *fact)
    assert isinstance(found, int | float)
    return float(found)


@pytest.mark.parametrize("name", RANDOM)
def test_every_event_follows_from_what_was_before_it(name: str) -> None:
    recording = random_case(name)
    for seq in range(1, len(recording) + 1):
        for source in origin_of(recording, EventFact(seq)).sources:
            at = time_of(source.fact)
            assert at < seq or (at == seq and isinstance(source.fact, FigureFact)), (seq, source)


@pytest.mark.parametrize("name", RANDOM)
def test_following_sources_goes_back_in_time_and_ends(name: str) -> None:
    recording = random_case(name)
    for job in recording.session.jobs.values():
        for task in list(job.tasks)[:1]:
            start = find_fact(recording, len(recording), f"task {job.tasks[task].key} status")
            for fact, origin in walk(recording, start):
                assert all(time_of(source.fact) <= time_of(fact) for source in origin.sources), fact
                if isinstance(fact, FieldFact):
                    assert not origin.sources


@pytest.mark.parametrize("name", RANDOM)
def test_a_nodes_amount_is_the_one_before_with_the_request_added_or_taken(name: str) -> None:
    """The request is read from the events' books, so the sources are checked against the engine."""
    recording = random_case(name)
    for seq, event in recording.events_of_type(OpEvent):
        for (op, part), sign in SIGNS.items():
            if op != event.op or event.after is None or event.node not in recording.session.nodes:
                continue
            figure = parse_figure_line(recording, f"node {event.node} {part} cpu")
            change = figure_history(recording, figure).change_at(seq)
            if change is None:
                continue
            found = {source.role: source.fact for source in origin_of(recording, FigureFact(figure, seq)).sources}
            before, request = found["before"], found["request"]
            assert isinstance(before, FigureFact)
            assert isinstance(request, FigureFact)
            assert found["written by"] == EventFact(seq)
            expected = getattr(event.after, part).get("cpu")
            assert amount(recording, before) + sign * amount(recording, request) == pytest.approx(expected)


@pytest.mark.parametrize("name", RANDOM)
def test_opening_amount_is_the_sum_of_its_sources(name: str) -> None:
    recording = random_case(name)
    checked = 0
    for name_of_node in recording.session.nodes:
        idle = FigureFact(parse_figure_line(recording, f"node {name_of_node} idle cpu"), 0)
        sources = origin_of(recording, idle).sources
        if len(sources) == MAX_SOURCES:
            continue
        total = sum(
            amount(recording, source.fact) * (1 if source.role == "allocatable" else -1)
            for source in sources
            if isinstance(source.fact, FigureFact)
        )
        assert total == pytest.approx(amount(recording, idle)), node
        checked += 1
    assert checked or len(recording.session.nodes) < 2


def test_a_field_is_found_with_its_line() -> None:
    recording = bundled("preempt-works")
    lines, folder = FieldLines(recording.snapshot.origin), Path(recording.snapshot.origin)
    start = find_fact(recording, len(recording), "node gpu-l40s-01 idle gpu at 0")
    fields = [fact for fact, _ in walk(recording, start) if isinstance(fact, FieldFact)]
    assert len(fields) == 4
    for field in fields:
        file, _, number = lines.find_line(field.kind, field.name, field.steps).partition(":")
        line = (folder / file).read_text().splitlines()[int(number) - 1]
        assert str(field.steps[-1]) in line
        assert str(field.value) in line


def test_unknown_figure_is_refused_with_the_valid_ones() -> None:
    recording = bundled("preempt-works")
    for words, said in [
        ("event 0", "event 0"),
        ("9999", "event 9999"),
        ("no-such-job", "no job or pod 'no-such-job'"),
        ("node n9 idle cpu", "no node 'n9'"),
    ]:
        with pytest.raises(FigureError, match=said):
            find_fact(recording, len(recording), words)


def test_a_pending_pod_leads_to_the_events_that_prove_the_answer() -> None:
    recording = bundled()
    pod = "research/llm-finetune-worker-1"
    origin = origin_of(recording, find_fact(recording, len(recording), pod))
    assert origin.rule.startswith("research/llm-finetune is Pending: preempt found room for 1 of the 2 pods")
    asked = [recording.event_at(source.fact.seq) for source in origin.sources if isinstance(source.fact, EventFact)]
    assert any(getattr(event, "plugin", "") == "gang" for event in asked)


def test_a_plugin_reads_its_own_figure_where_two_keep_one_of_that_name() -> None:
    recording = bundled("preempt-works")
    votes = origin_of(recording, EventFact(9)).sources
    assert ["plugin overcommit inqueue cpu", "plugin overcommit idle cpu"] == [
        str(source.fact.figure) for source in votes if isinstance(source.fact, FigureFact)
    ]
    assert all(
        isinstance(figure_value(recording, *s.fact), Resource | float) for s in votes if isinstance(s.fact, FigureFact)
    )
    assert figure_dimensions(recording, votes[1].fact.figure) if isinstance(votes[1].fact, FigureFact) else False


def test_a_share_is_the_quotient_of_its_sources() -> None:
    recording = bundled("pending-queue-quota")
    share = find_fact(recording, len(recording), "queue team-vision share")
    assert isinstance(share, FigureFact)
    allocated, deserved = (s.fact for s in origin_of(recording, share).sources if isinstance(s.fact, FigureFact))
    assert (allocated.figure.dim, deserved.figure.dim) == ("nvidia.com/gpu", "nvidia.com/gpu")
    assert amount(recording, share) == amount(recording, allocated) / amount(recording, deserved)


def test_a_job_means_the_pod_that_blocks_it_or_that_the_cycle_moved() -> None:
    blocked = find_fact(bundled(), len(bundled()), "research/llm-finetune")
    assert isinstance(blocked, FigureFact)
    assert str(blocked.figure) == "task research/llm-finetune-worker-0 status"
    works = bundled("preempt-works")
    whole = find_fact(works, len(works), "assistants/chat-api")
    assert isinstance(whole, FigureFact)
    assert str(whole.figure) == "task assistants/chat-api-server-0 status"


@pytest.mark.parametrize("thread", ["4995-guarantee-does-not-work", "2462-unknown-phase-8-of-20"])
def test_a_job_without_pods_to_place_leads_to_the_event_that_its_explanation_proves(thread: str) -> None:
    recording = recorded(recorded_path(f"threads/{thread}"))
    (job,) = (job for job in recording.session.jobs if job in ("team/job-3", "team/trainning"))
    fact = find_fact(recording, len(recording), job)
    assert isinstance(fact, FigureFact)
    assert str(fact.figure) == f"job {job} phase"
    answer, origin = explain_by_name(recording, job), origin_of(recording, fact)
    assert answer.sentence == origin.rule
    assert [EventFact(proof.seq) for proof in answer.dominant.evidence] == [source.fact for source in origin.sources]


@pytest.mark.parametrize("name", RANDOM)
def test_a_phase_that_the_close_writes_follows_from_the_pods_and_the_minimum(name: str) -> None:
    recording = random_case(name)
    for job in recording.session.jobs:
        phase = parse_figure_line(recording, f"job {job} phase")
        change = figure_history(recording, phase).change_at(len(recording))
        if change is not None and isinstance(recording.event_at(len(recording)), CloseEvent):
            origin = origin_of(recording, FigureFact(phase, len(recording)))
            assert {"before", "ready", "minimum"} == {source.role for source in origin.sources}
            assert f"minMember is {recording.session.jobs[job].pod_group.min_member}" in origin.rule


def test_a_pod_that_the_scheduler_leaves_to_another_one_has_no_status_to_explain() -> None:
    alien = pod("alien-0", "j", schedulerName="default-scheduler")
    recording = replay_cycle(cluster(node("n1"), pod_group("j"), pods("j", 1), alien))
    with pytest.raises(FigureError) as refused:
        find_fact(recording, len(recording), "default/alien-0")
    assert str(refused.value).startswith("default/alien-0 is not in the session")


@pytest.mark.parametrize("case", [*cases("causes"), *map(FOLDERS.get, RANDOM)], ids=lambda case: case.name)
def test_the_evidence_of_each_answer_leads_to_a_field_of_the_snapshot(case: Path) -> None:
    recording = recorded(case)
    for one in survey_jobs(recording).explained:
        for each in one.explanation.dominant.evidence:
            facts = (fact for fact, _ in walk(recording, EventFact(each.seq))) if each.seq else ()
            assert not each.seq or any(isinstance(fact, FieldFact) for fact in facts), (one.explanation.job, each)


@pytest.mark.parametrize("name", RANDOM)
def test_a_binding_is_written_by_the_commit_and_not_by_the_pop_after_it(name: str) -> None:
    recording = random_case(name)
    for effect in cycle_effects(recording).bound:
        origin = origin_of(recording, find_fact(recording, len(recording), effect.task))
        writers = [source.fact.seq for source in origin.sources if isinstance(source.fact, EventFact)]
        events = [recording.event_at(seq) for seq in writers]
        assert all(isinstance(event, StatementEvent | OpEvent) for event in events), effect.task


def leaves(recording: Recording, fact: Fact) -> list[Fact]:
    """The facts at the end of every way back from a fact."""
    found: list[Fact] = []
    todo, seen = [fact], {fact}
    while todo:
        sources = origin_of(recording, todo[-1]).sources
        now = todo.pop()
        found += [] if sources else [now]
        more = [source.fact for source in sources if source.fact not in seen]
        seen |= {*more}
        todo += more
    return found


@pytest.mark.parametrize("case", user_questions()[::6], ids=lambda path: path.name)
def test_every_opening_figure_that_is_not_zero_leads_to_fields_of_the_snapshot(case: Path) -> None:
    """The exceptions are amounts without an end, and pods, each of which counts as one without a field."""
    recording = recorded(case)
    for kind in ("queue", "plugin", "node"):
        for name in figures.object_names(recording, kind):
            for words in figures.iter_figure_completions(recording, kind, name):
                figure = figures.parse_figure(recording, tuple(words.split()))
                value = figures.figure_value(recording, figure, 0)
                if isinstance(value, float) and 0 < value < 1e18 and figure.dim != "pods":
                    ends = leaves(recording, FigureFact(figure, 0))
                    assert any(isinstance(end, FieldFact) for end in ends), figure


@pytest.mark.parametrize(
    ("thread", "event", "fields"),
    [
        (
            "3684-guarantee-of-another-queue",
            9,
            ["Queue/low-priority-queue spec.guarantee.resource.cpu", "PodGroup/team/pg-3 spec.minResources.cpu"],
        ),
        ("1755-role-minimum-not-reached", 71, ["PodGroup/team/test-job spec.minTaskMember.ps"]),
        (
            "4220-resourcequota-counts-twice",
            9,
            ["ResourceQuota/team/cpu-test status.used.limits.cpu", "PodGroup/team/pod-2 spec.minResources.limits.cpu"],
        ),
        ("1901-sla-in-the-same-tier", 16, ["scheduler.conf overcommit.overcommit-factor"]),
        ("4995-guarantee-does-not-work", 9, ["Queue/faked-root spec.capability.cpu"]),
    ],
)
def test_a_rejection_leads_to_what_the_maintainer_would_change(thread: str, event: int, fields: list[str]) -> None:
    recording = recorded(recorded_path(f"threads/{thread}"))
    ends = [end for end in leaves(recording, EventFact(event)) if isinstance(end, FieldFact)]
    named = [" ".join((f"{end.kind}/{end.name}".rstrip("/"), ".".join(map(str, end.steps)))) for end in ends]
    assert [] == [field for field in fields if field not in named]


@pytest.mark.parametrize("name", [GOLDEN[0], GOLDEN[len(GOLDEN) // 2]])
def test_a_phase_is_written_by_enqueue_after_the_votes_and_never_by_a_hook_that_is_notified(name: str) -> None:
    recording = golden(name)
    for job in recording.session.jobs:
        figure = Figure("job", job, "phase")
        for change in figures.figure_history(recording, figure).changes:
            sources = origin_of(recording, FigureFact(figure, change.seq)).sources
            events = [recording.event_at(s.fact.seq) for s in sources if isinstance(s.fact, EventFact)]
            assert [] == [event for event in events if getattr(event, "point", "") == "JobEnqueued"]


@pytest.mark.parametrize(
    ("tree", "name", "guarantees", "whole"),
    [
        ("true", "a", ["a", "b"], "n1"),
        ("true", "b", ["a", "b"], "n1"),
        ("true", "c", ["c"], "a"),
        ("true", "root", [], "n1"),
        ("false", "c", ["a", "b", "c"], "n1"),
    ],
)
def test_a_limit_leads_to_the_guarantees_of_the_queues_that_share_the_same_amount(
    tree: str, name: str, guarantees: list[str], whole: str
) -> None:
    """A queue without a parent is a child of the root; without a tree parents mean nothing."""
    queues = [queue("root"), queue("default", parent="root"), queue("b")]
    queues += [queue("a", parent="root"), queue("c", parent="a")]
    for each in queues[2:]:
        each["spec"]["guarantee"] = {"resource": {"cpu": "1"}}
    conf = conf_of("gang", "predicates capacity", arguments={"capacity": {"enableHierarchy": tree}})
    recording = replay_cycle(cluster(node("n1"), queues, pod_group("j", queue="c"), pods("j", 1), conf=conf))
    found = [one.fact for one in opening_origin(recording, Figure("queue", name, "realCapability", "cpu")).sources]
    assert guarantees == sorted(fact.name for fact in found if isinstance(fact, FieldFact))
    assert [whole] == [fact.figure.name for fact in found if isinstance(fact, FigureFact)]


DEFAULTS = ("is not stated", "each pod counts as one", "no container requests it", "it has no pods")


@pytest.mark.parametrize(
    "case", [*user_questions(), *(ROOT / "fixtures" / name for name in BUNDLED)], ids=lambda one: one.name
)
def test_every_walk_ends_at_a_field_a_setting_or_a_stated_default(case: Path) -> None:
    """A figure without sources is zero, or its rule says what holds where a field is missing."""
    recording = recorded(case)
    for kind in figures.FIGURE_KINDS:
        for name in figures.object_names(recording, kind):
            for part in figures.figure_parts(recording, kind, name):
                whole = figures.parse_figure(recording, (kind, name, part))
                for dim in ("", *figure_dimensions(recording, whole)):
                    check_end(recording, whole._replace(dim=dim))
    for seq, event in enumerate(recording.events, start=1):
        origin = origin_of(recording, EventFact(seq))
        assert origin.sources or isinstance(event, RandomEvent) or origin.rule == "no operation was made", event


def check_end(recording: Recording, figure: Figure) -> None:
    origin = origin_of(recording, FigureFact(figure, 0))
    value = figure_value(recording, figure, 0)
    is_zero = value in (0, None, "") or (isinstance(value, Resource) and value.is_empty())
    assert origin.rule or origin.sources, figure
    assert origin.sources or is_zero or any(words in origin.rule for words in DEFAULTS), (figure, value, origin)


def fields_behind(recording: Recording, words: str) -> set[tuple[str, str, str]]:
    facts = [fact for fact, _ in walk(recording, find_fact(recording, 0, words)) if isinstance(fact, FieldFact)]
    return {(fact.kind, fact.name, ".".join(map(str, fact.steps))) for fact in facts}


def test_a_priority_leads_to_its_class_or_to_the_default_one() -> None:
    recording = replay_cycle(
        cluster(
            node("n1"),
            priority_class("high", 100),
            priority_class("usual", 7, default=True),
            pod_group("named", priority_class="high"),
            pods("named", 1, priority=100, priorityClassName="high"),
            pod_group("other"),
            pods("other", 1, annotations={"volcano.sh/task-priority": "3"}),
        )
    )
    assert ("PriorityClass", "high", "value") in fields_behind(recording, "job default/named priority")
    assert ("PriorityClass", "high", "value") in fields_behind(recording, "task default/named-0 priority")
    default = fields_behind(recording, "job default/other priority")
    assert default >= {("PriorityClass", "usual", "value"), ("PriorityClass", "usual", "globalDefault")}
    annotated = ("Pod", "default/other-0", "metadata.annotations.volcano.sh/task-priority")
    assert annotated in fields_behind(recording, "task default/other-0 priority")


def test_what_the_root_queue_deserves_leads_to_the_queues_below_it() -> None:
    conf = conf_of("gang", "capacity predicates", arguments={"capacity": {"enableHierarchy": "true"}})
    queues = [
        queue("root"),
        queue("a", parent="root", deserved={"cpu": "3"}),
        queue("b", parent="a", deserved={"cpu": "2"}),
    ]
    recording = replay_cycle(cluster(node("n1"), queues, pod_group("j", queue="b"), pods("j", 1), conf=conf))
    assert ("Queue", "a", "spec.deserved.cpu") in fields_behind(recording, "queue root deserved cpu")
    rules = [
        opening_origin(recording, parse_figure_line(recording, f"queue {name} ancestors")).rule
        for name in ("root", "a")
    ]
    assert not any("below" in rule for rule in rules)


def test_a_search_of_the_nominated_node_alone_leads_to_the_field_that_names_it() -> None:
    waiting = pod("j-0", "j", requests={"cpu": "1"})
    waiting["status"]["nominatedNodeName"] = "n2"
    recording = replay_cycle(
        cluster([node("n1"), node("n2")], pod_group("j"), waiting, conf=conf_of("gang predicates"))
    )
    (seq,) = recording.index.seqs_of_type(PredicateEvent)
    assert ("Pod", "default/j-0", "status.nominatedNodeName") in fields_behind(recording, f"event {seq}")


def test_a_request_leads_to_the_overhead_and_to_the_claims_behind_it() -> None:
    waiting = pod("j-0", "j", requests={"cpu": "1"}, overhead={"cpu": "1"})
    recording = replay_cycle(cluster(node("n1"), pod_group("j"), waiting))
    expected = {
        ("Pod", "default/j-0", "spec.overhead.cpu"),
        ("Pod", "default/j-0", "spec.containers.0.resources.requests.cpu"),
    }
    assert expected == fields_behind(recording, "task default/j-0 request cpu")
