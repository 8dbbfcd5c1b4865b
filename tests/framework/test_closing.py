"""What the close of a session adds up and writes."""

import pytest

from tests.builders import cluster, node, pod, pod_group, queue
from vcdebug.framework.record import CloseEvent, PanicEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle


def closed(*, parent: str, root: bool, runs: bool) -> Recording:
    """A job in a queue below another one, which need not exist; what does not run finds no node."""
    queues = [queue("c", parent=parent), *([queue("root")] if root else [])]
    group = pod_group("j", queue="c", phase="Running")
    nodes = [node("n1")] if runs else []
    return replay_cycle(cluster(*queues, *nodes, group, pod("j-0", "j", on="n1" if runs else "")))


@pytest.mark.parametrize(
    ("parent", "root", "runs", "ends"),
    [
        ("nowhere", True, True, PanicEvent),
        ("nowhere", False, True, CloseEvent),
        ("nowhere", True, False, CloseEvent),
        ("root", True, True, CloseEvent),
    ],
)
def test_what_runs_below_a_parent_that_does_not_exist_ends_the_process_as_queues_are_added_up(
    parent: str, root: bool, runs: bool, ends: type
) -> None:
    """Only tasks that hold something are followed upward, and only where there is a queue `root`."""
    recording = closed(parent=parent, root=root, runs=runs)
    assert ends is type(recording.events[-1])


def test_what_jobs_became_is_written_before_queues_are_added_up() -> None:
    recording = closed(parent="nowhere", root=True, runs=True)
    assert recording.session.close is not None
    assert ["default/j"] == list(recording.session.close.jobs)
    assert {} == recording.session.close.queues
