"""The effects of a cycle, from its events and its final state."""

from tests.actions.outcome import ran, tasks
from tests.builders import hyper_node, node, pod_group, pods
from vcdebug.recording.effects import cycle_effects


def test_bound_task_stays_bound_if_a_later_action_tries_it() -> None:
    recording = ran(
        node("n1"),
        hyper_node("h", 1, nodes=["n1"]),
        pod_group("j", min_member=1, networkTopology={"mode": "hard", "highestTierAllowed": 1}),
        pods("j", 1),
        actions="allocate, allocate",
        tiers=("gang", "predicates network-topology-aware"),
    )
    assert {"j-0": "Pending@"} == tasks(recording)
    assert [("default/j-0", "n1", "allocate")] == [
        (one.task, one.node, one.action) for one in cycle_effects(recording).bound
    ]
