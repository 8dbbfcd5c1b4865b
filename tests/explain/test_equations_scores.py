"""The displayed parts of a node's score add up to its total."""

from collections.abc import Iterator

import pytest

from tests.recorded import GOLDEN, bundled, golden
from vcdebug.explain.decisions.equations import equation_at, node_score
from vcdebug.explain.equation import Equation
from vcdebug.framework.record import BestEvent, ScoreEvent
from vcdebug.recording.recording import Recording

SUM = "sum of those below"


def scored(recording: Recording) -> Iterator[tuple[int, ScoreEvent, int, str]]:
    """Yield (event number, event, index, node) of every scored node."""
    for seq in recording.index.seqs_of_type(ScoreEvent):
        event = recording.event_at(seq)
        assert isinstance(event, ScoreEvent)
        for index, row in enumerate(event.rows.tolist()):
            yield seq, event, index, recording.node_names[row]


def weighted(found: Equation) -> float:
    """The sum of the displayed lines."""
    total = 0.0
    for term in found.terms:
        value = term.figures[-1]
        total += value if isinstance(value, float) and term.note != SUM else 0.0
    return total


@pytest.mark.parametrize("name", GOLDEN)
def test_the_lines_add_up_to_the_recorded_total(name: str) -> None:
    for seq, event, index, node in scored(golden(name)):
        found = node_score(golden(name), seq, event, node)
        assert found is not None
        assert float(event.total[index]) == found.verdict
        assert weighted(found) == pytest.approx(found.verdict)


def best(recording: Recording) -> tuple[int, BestEvent]:
    seq = recording.index.seqs_of_type(BestEvent)[0]
    event = recording.event_at(seq)
    assert isinstance(event, BestEvent)
    return seq, event


def test_a_scorer_shows_raw_normalised_and_weighted() -> None:
    recording = bundled()
    seq, event, _, node = next(scored(recording))
    found = node_score(recording, seq, event, node)
    assert found is not None
    lines = {term.name.rsplit("/", 1)[-1]: term.figures for term in found.terms}
    assert (0.0, 100.0, 3, 300.0) == lines["TaintToleration"]
    raw, normalised, weight, value = lines["NodeResourcesFit_LeastAllocated"]
    assert (normalised, 1) == (raw, weight)
    assert normalised == value


def test_the_best_node_stands_beside_the_best_of_the_others() -> None:
    recording = bundled()
    seq, event = best(recording)
    found = equation_at(recording, seq)
    assert found is not None
    assert event.score == found.verdict
    assert event.name == found.columns[0]
    assert "the totals are equal" == found.note
    assert all(term.figures[2] == 0 for term in found.terms)


def test_part_that_separates_two_nodes_is_marked() -> None:
    recordings = (golden(name) for name in GOLDEN)
    found = next(
        equation
        for recording in recordings
        for seq in recording.index.seqs_of_type(BestEvent)
        if (equation := equation_at(recording, seq)) is not None and equation.deciding_name is not None
    )
    differences = [abs(float(str(term.figures[2]))) for term in found.terms]
    telling = found.deciding_term
    assert telling is not None
    assert max(differences) == abs(float(str(telling.figures[2])))
