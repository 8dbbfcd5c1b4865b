"""Upstream's metrics after an event, against figures read from the manifests by hand."""

import re

from tests.recorded import ROOT, bundled
from vcdebug.debugger.metrics import list_metrics
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot

GIB = 2**30
FLAT, TREE, SHARED = "reclaim-in-one-dimension", "persist-deep-queues", "reclaim-across-queues"


def series(recording: Recording, seq: int, subject: str) -> dict[str, float]:
    """Name, with its resource, → value of the metrics about one queue or job."""
    found = [metric for metric in list_metrics(recording, seq) if subject in dict(metric.labels).values()]
    return {" ".join((each.name, *dict(each.labels).get("resource", "").split())): each.value for each in found}


def amounts(part: str, cpu: int, memory: int, gpus: int, pods: int) -> dict[str, float]:
    name = f"volcano_queue_{part}"
    return {
        f"{name}_milli_cpu": cpu * 1000.0,
        f"{name}_memory_bytes": float(memory * GIB),
        f"{name}_scalar_resources nvidia.com/gpu": gpus * 1000.0,
        f"{name}_scalar_resources pods": float(pods),
    }


def test_proportions_metrics_are_those_of_the_manifests() -> None:
    # team-nlp runs ten pods of 12 CPUs, 80Gi and 2 GPUs; team-ads asks for two, and weights are equal.
    recording = bundled(SHARED)
    numbers = {"volcano_queue_share": 1.25, "volcano_queue_weight": 1.0}
    held = {part: amounts(part, 120, 800, 20, 10) for part in ("allocated", "request")}
    expected = held["allocated"] | held["request"] | amounts("deserved", 120, 800, 16, 10) | numbers
    assert expected == series(recording, 0, "team-nlp")


def test_an_eviction_lowers_what_is_allocated_and_the_share() -> None:
    recording = bundled(SHARED)
    before, after = (series(recording, seq, "team-nlp") for seq in (58, 59))
    changed = {name: after[name] for name in before if before[name] != after[name]}
    assert {**amounts("allocated", 108, 720, 18, 9), "volcano_queue_share": 1.125} == changed
    assert (0.6, 0.5) == tuple(series(recording, seq, "tokenizer-study")["volcano_job_share"] for seq in (58, 59))


def test_overused_is_set_when_the_queue_is_first_asked() -> None:
    recording = bundled(SHARED)
    assert "volcano_queue_overused" not in series(recording, 22, "team-ads")
    assert 0.0 == series(recording, 23, "team-ads")["volcano_queue_overused"]


def test_capacitys_metrics_are_those_of_the_manifests() -> None:
    # film runs two pods of 8 CPUs, 64Gi and 2 GPUs; capacity sets no weight, and nothing of an idle queue's share.
    recording = bundled(FLAT)
    spec = amounts("deserved", 32, 128, 2, 0)
    del spec["volcano_queue_deserved_scalar_resources pods"]
    expected = amounts("allocated", 16, 128, 4, 2) | amounts("request", 16, 128, 4, 2) | spec
    assert expected | {"volcano_queue_share": 2.0} == series(recording, 0, "film")
    assert {0.0} == set(series(recording, 0, "default").values())
    assert "volcano_queue_share" not in series(recording, 0, "default")


def test_an_eviction_below_leaves_the_metrics_of_the_queues_above() -> None:
    recording, name = bundled(TREE), "volcano_queue_allocated_milli_cpu"
    assert (0.0, 9000.0) == tuple(series(recording, seq, "lone")[name] for seq in (0, len(recording)))
    counted = {
        recording.timeline.state_at(seq).books["capacity"]["root"]["allocated"].get("cpu")
        for seq in range(len(recording) + 1)
    }
    assert {0.0, 9000.0} == counted
    assert {9000.0} == {series(recording, seq, "root")[name] for seq in range(len(recording) + 1)}


def test_gang_counts_what_lacks_when_the_session_closes() -> None:
    recording = bundled(FLAT)
    last, name = len(recording), "volcano_unschedule_task_count"
    assert name not in series(recording, last - 1, "embed")
    stated = {
        job.name: float(found[1])
        for job in recording.session.jobs.values()
        for condition in job.pod_group.conditions
        if (found := re.match(r"(\d+)/\d+ tasks in gang unschedulable", condition.message))
    }
    assert {"embed": 1.0} == stated
    assert stated == {job: series(recording, last, job)[name] for job in stated}
    assert 0.0 == series(recording, last, "render")[name]
    assert [1.0] == [each.value for each in list_metrics(recording, last) if each.name.endswith("unschedule_job_count")]


def test_old_releases_have_no_metrics_of_scalars() -> None:
    names = {
        release: {each.name for each in metrics if each.name.endswith("scalar_resources")}
        for release in ("v1.11.2", "v1.12.0")
        for metrics in (list_metrics(replay_cycle(load_snapshot(ROOT / "fixtures" / SHARED, release=release)), 0),)
    }
    assert not names["v1.11.2"]
    assert 3 == len(names["v1.12.0"])


def test_values_are_written_as_prometheus_answers_them() -> None:
    texts = {each.name: each.value_text for each in list_metrics(bundled(SHARED), 0) if "team-nlp" in each.label_text}
    assert "858993459200" == texts["volcano_queue_allocated_memory_bytes"]
    assert "1.25" == texts["volcano_queue_share"]
