"""Each cause of a failed preemption is one line of the funnel."""

import pytest

from tests.recorded import bundled
from vcdebug.framework.record import ActionEvent
from vcdebug.views.table import format_table
from vcdebug.views.victim_search import funnel_table

CAUSES = {
    "pending-nothing-starves": "no starving job has a task to place",
    "preempt-never": "✗ its preemptionPolicy is Never",
    "preempt-no-candidates": "✗ no candidate victim on 4 of 5 nodes",
    "preempt-no-node-fits": "✗ no node passes the predicates",
    "preempt-over-queue-quota": "✗ proportion: above the limit of the queue on 4 of 5 nodes",
    "preempt-vetoed-by-conformance": "✗ conformance leaves no pod on 5 of 5 nodes",
    "preempt-vetoed-by-drf": "✗ drf leaves no pod on 3 of 5 nodes",
    "preempt-vetoed-by-gang": "✗ gang leaves no pod on 5 of 5 nodes",
    "preempt-blocked-by-gang": "✗ placed on gpu-a100-01, then discarded at 137",
    "preempt-works": "✓ placed on gpu-l40s-01",
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_funnel_of_preempt_names_the_cause(name: str) -> None:
    recording = bundled(name)
    start = next(
        seq
        for seq in recording.index.seqs_of_type(ActionEvent)
        if isinstance(event := recording.event_at(seq), ActionEvent) and event.action == "preempt"
    )
    assert CAUSES[name] in format_table(funnel_table(recording, start))
