"""Requests to the extender's webhook, and the response behind each vote."""

from functools import cache
from typing import Any

from tests.builders import cluster, conf_of, node, pod_group, pods
from vcdebug.explain.decisions.dry_runs import checks_of_node
from vcdebug.explain.decisions.equations import equation_at, score_parts
from vcdebug.explain.plugins.extender import ANSWER, NOT_ASKED, NOT_REPLAYED
from vcdebug.framework.record import HookEvent, PredicateEvent, ScoreEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle

ANSWERS: dict[str, Any] = {
    "enqueueable": {"default/j": [{"status": 1}, {"status": -1}]},
    "predicate": {"default/j-0 n1": {"status": "no licence left", "code": 2}, "*": {}},
    "prioritize": {"default/j-0": {"nodeScore": {"n2": 7}}},
}


@cache
def recording(*, managed: str = "", answered: bool = True) -> Recording:
    """A cycle of three nodes; if `answered`, the webhook refuses n1."""
    verbs = {"jobEnqueueableVerb": "enqueueable", "predicateVerb": "predicate", "prioritizeVerb": "prioritize"}
    lines = [f"extender.{key}: {verb}" for key, verb in verbs.items()]
    lines += [f"extender.managedResources: [{managed}]"] if managed else []
    arguments = {"extender": {"arguments": f"{{extender.urlPrefix: 'http://hook/', {', '.join(lines)}}}"}}
    conf = conf_of("gang", "predicates extender", actions="enqueue, allocate", arguments=arguments)
    group = pod_group("j", phase="Pending", min_resources={"cpu": "1"})
    nodes = [node("n1"), node("n2"), node("n3")]
    snapshot = cluster(nodes, group, pods("j", 1), conf=conf)
    snapshot.extender = ANSWERS if answered else {}
    return replay_cycle(snapshot)


def first(kind: type, found: Recording) -> int:
    return found.index.seqs_of_type(kind)[0]


def test_a_vote_stands_beside_the_call_and_the_answer_it_comes_from() -> None:
    found = recording()
    events = ((seq, found.event_at(seq)) for seq in found.index.seqs_at_point("JobEnqueueable"))
    (vote,) = [seq for seq, event in events if isinstance(event, HookEvent) and event.plugin == "extender"]
    equation = equation_at(found, vote)
    assert equation is not None
    call, about, answer = equation.terms
    assert ("POST http://hook/enqueueable",) == call.figures
    assert ("default/j",) == about.figures
    assert ('{"status": 1} (the first of 2)',) == answer.figures


def test_a_refused_node_shows_its_own_answer_and_another_that_of_all() -> None:
    found = recording()
    seq = first(PredicateEvent, found)
    asked = {name: checks_of_node(found, seq, name)[-1].equation for name in ("n1", "n2")}
    assert [False, True] == [one.verdict for one in asked.values()]
    assert "no licence left" == asked["n1"].note
    assert ['{"status": "no licence left", "code": 2}', "{}"] == [one.terms[2].figures[0] for one in asked.values()]
    assert ["", "the answer to every question (`*`)"] == [one.terms[2].note for one in asked.values()]


def test_a_score_is_the_node_of_the_answer() -> None:
    found = recording()
    seq = first(ScoreEvent, found)
    (part,) = [one for one in score_parts(found, seq, "n2") if one.name == "extender/batch"]
    assert part.equation is not None
    assert (7.0, 7.0) == (part.equation.verdict, part.recorded)


def test_without_an_answer_the_call_is_named_as_not_replayed() -> None:
    found = recording(answered=False)
    terms = checks_of_node(found, first(PredicateEvent, found), "n1")[-1].equation.terms
    assert [NOT_REPLAYED] == [term.figures[0] for term in terms if term.name == ANSWER]


def test_a_pod_that_no_managed_resource_concerns_is_not_asked_about() -> None:
    found = recording(managed="nvidia.com/gpu")
    inside = checks_of_node(found, first(PredicateEvent, found), "n1")[-1].equation
    assert (NOT_ASKED, True) == (inside.note, inside.verdict)
