"""The parts of a pod's request, and how the scheduler combines them."""

from typing import Any

from tests.builders import cluster, conf_of, node, pod, pod_group
from vcdebug.framework.record import Level
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.state_before import RequestLine, request_lines
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.views.jobs import event_request_table


def container(name: str, cpu: str, **more: Any) -> Manifest:
    return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}


def replayed(**spec: Any) -> Recording:
    task = pod("j-0", "j", requests={"cpu": "1"}, **spec)
    return replay_cycle(cluster(node("n1"), pod_group("j"), task, conf=conf_of("gang")))


def lines(**spec: Any) -> list[RequestLine]:
    return list(request_lines(replayed(**spec), "default/j-0"))


def cpu(found: list[RequestLine]) -> dict[str, float]:
    return {f"{each.part} {each.name}".strip(): each.amount.milli_cpu for each in found}


def test_every_part_of_a_pod_is_a_line_and_the_total_is_the_tasks_own() -> None:
    started = [container("proxy", "500m", restartPolicy="Always"), container("setup", "2")]
    assert {
        "container main": 1000.0,
        "sidecar proxy": 500.0,
        "initialisation": 2500.0,
        "overhead": 250.0,
        "Resreq": 2750.0,
        "InitResreq": 2750.0,
    } == cpu(lines(initContainers=started, overhead={"cpu": "250m"}))


def test_the_total_is_what_the_scheduler_works_with() -> None:
    started = [container("proxy", "500m", restartPolicy="Always"), container("setup", "2")]
    recording = replayed(initContainers=started)
    found = {each.part: each.amount for each in request_lines(recording, "default/j-0")}
    task = recording.timeline.tasks["default/j-0"]
    assert (task.resreq, task.init_resreq) == (found["Resreq"], found["InitResreq"])
    assert 2500.0 == task.resreq.milli_cpu


def test_pod_level_request_replaces_the_sum() -> None:
    found = cpu(lines(resources={"requests": {"cpu": "3"}}))
    assert (3000.0, 3000.0) == (found["pod level"], found["Resreq"])


def test_the_view_shows_the_task_of_the_event() -> None:
    recording = replayed()
    seq = next(
        seq for seq in range(1, len(recording) + 1) if recording.span_tree.span_around(seq, Level.TASK) is not None
    )
    table = event_request_table(recording, seq)
    assert "Request of j-0" == table.title
    assert ["container", "= Resreq", "= InitResreq"] == [row.cells[0].text for row in table.rows]
