"""Candidate victims on a node that are shared among similar pods equal the ones computed per pod."""

import pytest

from tests.recorded import GOLDEN, golden, one_of_each_family
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.victim_candidates import skipped_victim, victim_filter_of
from vcdebug.model.task import TaskStatus


@pytest.mark.parametrize("case", one_of_each_family(GOLDEN))
def test_candidates_that_are_shared_are_those_of_each_asker(case: str) -> None:
    recording = golden(case)
    for job in recording.session.jobs.values():
        waiting = [task for task in job.tasks.values() if task.status is TaskStatus.PENDING]
        for task in waiting[:2]:
            room = NodeFits(JobView(recording, job.uid, task.key), task, len(recording))
            for action in ("preempt", "reclaim"):
                spares = victim_filter_of(recording, action, task)
                for node in recording.session.nodes:
                    alone = [one for one in room.tasks_on(node) if not skipped_victim(recording, spares, one)]
                    assert alone == list(room.judge_node(action, node).candidates)
                freeable = [
                    one.name
                    for one in room.waiting_nodes
                    if (found := room.judge_node(action, one.name).candidates)
                    and task.init_resreq.less_equal(room.state.nodes[one.name].future_without(found))
                ]
                assert freeable == [one.name for one in room.freeable_nodes(action)]
