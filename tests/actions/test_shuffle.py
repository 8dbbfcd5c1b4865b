"""shuffle: evicts whom a plugin names."""

from tests.actions.outcome import ops, ran
from tests.builders import node, pod_group, pods


def test_without_a_plugin_that_names_victims_nobody_goes() -> None:
    recording = ran(node("n1"), pod_group("j"), pods("j", 2, on="n1"), actions="shuffle")
    assert [] == ops(recording)
