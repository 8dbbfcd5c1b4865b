"""The outcome of a span in a few words."""

from tests.scenarios.questions import asked
from vcdebug.framework.record import Level
from vcdebug.views.span_outcomes import span_outcome


def test_a_task_whose_pipeline_was_undone_shows_the_undo() -> None:
    recording = asked(5884).recording()
    came = [
        span_outcome(recording, index).text
        for index, span in enumerate(recording.span_tree.spans)
        if span.level is Level.TASK and span.first <= 48 <= span.last
    ]
    assert ["✗ undone on n1"] == came
