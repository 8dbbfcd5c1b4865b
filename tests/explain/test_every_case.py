"""All that is said of every recorded case: nothing of it is other than what was recorded."""

from pathlib import Path

from tests.explain import test_equations, test_queues
from tests.explain.gang_bundles import check_bundles
from tests.explain.test_agreement import disagreements, unlike_the_equation
from tests.pending.contradictions import not_in_the_survey
from tests.pending.test_contradictions import contradictions_in
from tests.recorded import each_case, recorded

WRONG = {
    "equations that come to something else": test_equations.wrong,
    "queues' figures whose derivation comes to something else": test_queues.wrong,
    "amounts that gate, equation and scheduler name differently": disagreements,
    "refused tasks of which gate and equation say different things": unlike_the_equation,
    "contradictions in the answers about every job": contradictions_in,
    "jobs of which the survey says nothing": not_in_the_survey,
}


@each_case
def test_what_is_said_is_what_was_recorded(case: Path) -> None:
    recording = recorded(case)
    said = {name: [*wrong(recording)] for name, wrong in WRONG.items()}
    assert {name: [] for name in WRONG} == said
    check_bundles(recording)
