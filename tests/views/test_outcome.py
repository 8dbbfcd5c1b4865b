"""The outcome of a span in a few words, and the overview of what came of all jobs."""

import pytest

from tests.builders import cluster, node, pod_group, pods
from tests.scenarios.questions import asked
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.framework.record import Level
from vcdebug.recording import replay
from vcdebug.recording.replay import RerunCancelledError, refuse_long_runs, replay_cycle
from vcdebug.views import overview
from vcdebug.views.flow import session_table
from vcdebug.views.headline import span_outcome
from vcdebug.views.table import format_table


def test_a_task_whose_pipeline_was_undone_shows_the_undo() -> None:
    recording = asked(5884).recording()
    came = [
        span_outcome(recording, index).text
        for index, span in enumerate(recording.span_tree.spans)
        if span.level is Level.TASK and span.first <= 48 <= span.last
    ]
    assert ["✗ undone on n1"] == came


def test_a_cluster_of_many_pods_is_drawn_before_its_jobs_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = replay_cycle(cluster(node("n1"), pod_group("j"), pods("j", 3, cpu="99")))
    monkeypatch.setattr(replay, "LONG_WORK_SIZE", len(recording) + 2)
    with refuse_long_runs(), pytest.raises(RerunCancelledError):
        overview.moment_table(recording, 0, at_overview=True, inside=0)
    survey_jobs(recording)
    with refuse_long_runs():
        assert "default/j" in format_table(overview.moment_table(recording, 0, at_overview=True, inside=0))


def test_steps_of_a_large_session_are_listed_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = replay_cycle(cluster(node("n1"), pod_group("j"), pods("j", 3, cpu="1")))
    monkeypatch.setattr(replay, "LONG_WORK_SIZE", len(recording) + 2)
    with refuse_long_runs(), pytest.raises(RerunCancelledError, match="listing every step of the session"):
        session_table(recording, 1)
    session_table(recording, 1)
    with refuse_long_runs():
        assert session_table(recording, 2).rows
