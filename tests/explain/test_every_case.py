"""Every explanation of every recorded case agrees with the recording."""

from pathlib import Path

from tests.explain import test_equations, test_queues
from tests.explain.gang_bundles import check_bundles
from tests.explain.test_agreement import disagreements, refusals_unlike_equation
from tests.pending.contradictions import missing_in_survey
from tests.pending.test_contradictions import contradictions_in
from tests.recorded import each_case, recorded
from tests.stepped_reruns import stepped_reruns

WRONG = {
    "equations that come to something else": test_equations.wrong,
    "queues' figures whose derivation comes to something else": test_queues.wrong,
    "amounts that gate, equation and scheduler name differently": disagreements,
    "refused tasks of which gate and equation say different things": refusals_unlike_equation,
    "contradictions in the answers about every job": contradictions_in,
    "jobs of which the survey says nothing": missing_in_survey,
}


@each_case
def test_explanations_agree_with_the_recording(case: Path) -> None:
    recording = recorded(case)
    with stepped_reruns(recording):
        said = {name: [*wrong(recording)] for name, wrong in WRONG.items()}
        assert {name: [] for name in WRONG} == said
        check_bundles(recording)
