"""Changes of plugin state by calls, and permitted HyperNodes: each line compared with the trace."""

from collections.abc import Iterator, Mapping

import pytest

from tests.recorded import cases, one_of_each_family, recorded
from tests.stepped_reruns import stepped_reruns
from vcdebug.debugger.facts import EventFact
from vcdebug.debugger.origins import origin_of
from vcdebug.explain.decisions.equations import equation_at
from vcdebug.explain.equation import Equation
from vcdebug.framework import hooks
from vcdebug.framework.record import BestEvent, HookEvent
from vcdebug.recording.recording import Recording
from vcdebug.views.equation import event_equation

FAMILIES = one_of_each_family([case.name for case in cases("random")])
DOMAINS = [case.name for case in cases("random") if case.name.split("-")[0] in ("hypernode", "subgroup", "gang")]
FOLDERS = {case.name: case for case in cases("random")}
GRADIENTS = (hooks.HYPER_NODE_GRADIENT_FOR_JOB.upstream, hooks.HYPER_NODE_GRADIENT_FOR_SUB_JOB.upstream)
ALLOCATE_PURPOSE = "0"
FULLEST = "weighted mean"


def hook_equations(recording: Recording, *points: str) -> Iterator[tuple[HookEvent, Equation]]:
    with stepped_reruns(recording):
        for seq, event in recording.events_of_type(HookEvent):
            if event.point in points:
                found = equation_at(recording, seq)
                assert found is not None, (seq, event)
                yield event, found


@pytest.mark.parametrize("name", FAMILIES)
def test_every_event_has_a_rule(name: str) -> None:
    recording = recorded(FOLDERS[name])
    for seq in range(1, len(recording) + 1):
        origin = origin_of(recording, EventFact(seq))
        assert origin.rule or origin.sources, (seq, recording.event_at(seq))
        assert str(event_equation(recording, seq).footer).find("nothing is compared") < 0, seq


@pytest.mark.parametrize("name", [*FAMILIES, "wild-0024"])
def test_reservations_add_up(name: str) -> None:
    for event, found in hook_equations(recorded(FOLDERS[name]), hooks.JOB_ENQUEUED.upstream):
        for before, change, after in (term.figures for term in found.terms):
            assert isinstance(before, float)
            assert isinstance(change, float)
            assert before + change == after, (event, found)


@pytest.mark.parametrize("name", DOMAINS)
def test_eligible_hyper_nodes_are_those_of_the_trace(name: str) -> None:
    for event, found in hook_equations(recorded(FOLDERS[name]), *GRADIENTS):
        stated = sorted(each for row in event.result for each in row) if isinstance(event.result, list | tuple) else []
        if ("purpose", ALLOCATE_PURPOSE) in event.subject:
            assert sorted(term.name for term in found.terms if term.is_met) == stated, (event, found)


@pytest.mark.parametrize("name", DOMAINS)
def test_hyper_node_fills_come_to_the_score(name: str) -> None:
    for event, found in hook_equations(recorded(FOLDERS[name]), hooks.HYPER_NODE_ORDER.upstream):
        assert isinstance(event.result, Mapping)
        if not found.formula.startswith(FULLEST):
            continue
        for hyper_node, score in event.result.items():
            terms = [term.figures for term in found.terms if term.name.startswith(f"{hyper_node} ")]
            weights = sum(float(str(figures[2])) for figures in terms)
            parts = [float(str(figures[2])) * float(str(figures[3] or 0.0)) for figures in terms]
            fits = all(float(str(figures[0])) <= float(str(figures[1])) for figures in terms)
            mean = 100 * sum(parts) / weights if fits and weights else 0.0
            # Among equally full HyperNodes, the fraction of tasks placed there (at most 1) is added.
            assert mean - 1e-9 <= score <= mean + 100 + 1e-9, (event, found)
            best = list(event.result.values()).count(score) == 1 and score != max(event.result.values())
            assert not best or score == pytest.approx(mean), (event, found)


@pytest.mark.parametrize("name", DOMAINS)
def test_the_best_hyper_node_has_the_highest_sum(name: str) -> None:
    recording = recorded(FOLDERS[name])
    for seq, event in recording.events_of_type(BestEvent):
        found = equation_at(recording, seq)
        if event.kind == "hypernode" and found is not None and found.columns:
            sums = {term.name: sum(float(str(each or 0.0)) for each in term.figures) for term in found.terms}
            assert sums[event.name] == pytest.approx(event.score)
            assert max(sums.values()) == pytest.approx(event.score)
