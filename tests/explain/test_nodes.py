"""The missing dimensions of a search over nodes, and the pods that a node refused."""

import pytest

from tests.recorded import GOLDEN, bundled, golden
from vcdebug.explain.decisions.victim_funnel import node_refusals, queue_refusals
from vcdebug.explain.predicate_reasons import exhausted_dimensions
from vcdebug.framework.record import PredicateEvent

FITS = "pending-no-node-fits"


def test_each_dimension_counts_the_nodes_that_lack_it() -> None:
    recording = bundled(FITS)
    found = {
        each.dimension: each
        for each in exhausted_dimensions(recording, recording.index.seqs_of_type(PredicateEvent)[0])
    }
    gpu = found["nvidia.com/gpu"]
    assert (4000.0, 8, 8000.0) == (gpu.request, len(gpu.amounts), max(gpu.amounts.values()))
    assert [("gpu-a100-04", 2000.0), ("cpu-01", 4000.0)] == [(short.node, short.shortage) for short in gpu.nodes]


@pytest.mark.parametrize("name", GOLDEN[::4])
def test_a_node_that_fails_for_a_dimension_is_among_those_that_lack_it(name: str) -> None:
    recording = golden(name)
    for seq in recording.index.seqs_of_type(PredicateEvent):
        event = recording.event_at(seq)
        assert isinstance(event, PredicateEvent)
        span = recording.span_tree.path_to(seq)[1]
        lacking = {
            each.dimension: {short.node for short in each.nodes} for each in exhausted_dimensions(recording, seq)
        }
        for row, code in zip(event.failed.tolist(), event.codes.tolist(), strict=True):
            reason = recording.reason_table.statuses_of(code)[0].reason
            dimension = reason.removeprefix("Insufficient ")
            same_role = [other for other in recording.index.seqs_of_type(PredicateEvent) if other < seq]
            if span.name == "allocate" and dimension != reason and not same_role:
                assert recording.node_names[row] in lacking[dimension]


def test_node_refusals_name_job_action_and_reason() -> None:
    found = node_refusals(bundled(), "gpu-a100-01")
    refusals = [(refusal.job.split("/")[1], refusal.action, len(refusal.tasks), refusal.reason) for refusal in found]
    assert ("feature-etl", "allocate", 2, "node(s) didn't match Pod's node affinity/selector") == refusals[0]
    assert ("llm-finetune", "preempt", 1, "gang leaves no pod") in refusals


def test_queue_refusals_name_job_action_and_reason() -> None:
    reasons = [
        (refusal.job, refusal.action, refusal.reason)
        for refusal in queue_refusals(bundled("pending-queue-quota"), "team-vision")
    ]
    assert [("vision/image-captioning", "enqueue", "proportion says no to JobEnqueueable")] == reasons
    found = queue_refusals(bundled("preempt-over-queue-quota"), "vision")
    assert {"proportion says no to Allocatable"} == {refusal.reason for refusal in found}
    assert () == queue_refusals(bundled("preempt-works"), "default")
