"""shuffle: evicts the tasks that a plugin names."""

from tests.actions.outcome import ops, ran
from tests.builders import node, pod_group, pods


def test_shuffle_without_victim_plugins_evicts_no_pod() -> None:
    recording = ran(node("n1"), pod_group("j"), pods("j", 2, on="n1"), actions="shuffle")
    assert [] == ops(recording)
