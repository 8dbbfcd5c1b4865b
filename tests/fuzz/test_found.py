"""Small inputs of faults that the bench found; each stands for a kind."""

from pathlib import Path

import pytest

from tests.cli.transcripts import call

IMMENSE_REQUEST = """
kind: PodGroup
metadata: {name: batch, namespace: team}
spec: {minMember: 1}
---
kind: Pod
metadata: {name: batch-0, namespace: team, annotations: {scheduling.k8s.io/group-name: batch}}
spec:
  schedulerName: volcano
  containers: [{image: a, resources: {requests: {nvidia.com/gpu: 10000000000000000000}}}]
---
kind: Node
metadata: {name: n1}
status: {allocatable: {memory: 256Gi, nvidia.com/gpu: '4'}}
---
kind: Queue
metadata: {name: default}
"""
PARENT_OF_ITSELF = """
kind: PodGroup
metadata: {name: chat, namespace: default}
spec: {minResources: {nvidia.com/gpu: '4'}, queue: serving}
---
kind: Queue
metadata: {name: default}
spec: {parent: team}
---
kind: Queue
metadata: {name: serving}
spec: {parent: serving}
"""


def conf(plugins: str) -> str:
    return f'actions: "enqueue, allocate, preempt, reclaim, backfill"\ntiers:\n- plugins: [{plugins}]\n'


@pytest.mark.parametrize(
    ("cluster", "plugins", "words", "says"),
    [
        (IMMENSE_REQUEST, "{name: gang}, {name: nodeorder}", ["run"], "team/batch"),
        (IMMENSE_REQUEST, "{name: gang}, {name: nodeorder}", ["run", "--cycles", "2"], "team/batch"),
        (PARENT_OF_ITSELF, "{name: capacity, enableHierarchy: true}", ["explain", "-v"], "default/chat"),
        (
            PARENT_OF_ITSELF,
            "{name: capacity, enableHierarchy: true}",
            ["explain", "default/chat"],
            "cannot be explained: the snapshot has no Node",
        ),
        (IMMENSE_REQUEST, "{name: usage, arguments: {usage.weight: .inf}}", ["inspect", "--json"], '"inf"'),
    ],
    ids=lambda value: value.split()[2] if isinstance(value, str) and "\n" in value else None,
)
def test_the_input_is_answered(cluster: str, plugins: str, words: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(cluster)
    (tmp_path / "scheduler.conf").write_text(conf(plugins))
    command, *options = words
    code, out, err = call([command, str(tmp_path), *options])
    assert code in (0, 2), err
    assert says in out
    assert [] == [words for words in ("fault of vcdebug", "bug in vcdebug") if words in out + err]
