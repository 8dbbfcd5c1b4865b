"""NodeInfo, JobInfo and HyperNodes as the scheduler's cache dump has them, as far as a replay knows them.

Upstream: cache/dumper.
"""

from __future__ import annotations

from collections.abc import Mapping

from vcdebug.model import gofields
from vcdebug.model.hypernode import HyperNodes
from vcdebug.model.job import JobInfo
from vcdebug.model.node import NodeInfo
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.json_values import JsonDict

Fields = JsonDict


def node_fields(node: NodeInfo) -> Fields:
    """A NodeInfo with its tasks, and what scheduling reads of its Node."""
    manifest = {
        "metadata": {"labels": dict(node.labels)},
        "spec": {"taints": list(node.spec.get("taints") or ()), "unschedulable": node.unschedulable},
    }
    return {**gofields.node_fields(node), "Node": manifest}


def job_fields(job: JobInfo) -> Fields:
    """A JobInfo with its tasks and sub jobs; an index by status says which tasks, their fields stand in Tasks."""
    group = job.pod_group
    stated = {"spec": {"minMember": group.min_member}, "status": {"phase": group.phase}}
    return {**gofields.job_fields(job, show_indexed=_uid), "PodGroup": stated}


def _uid(task: TaskInfo) -> gofields.GoFields:
    return {"UID": task.uid}


def tier_fields(tree: HyperNodes) -> Fields:
    """HyperNodesSetByTier."""
    return {str(tier): {name: {} for name in names} for tier, names in tree.tiers.items() if names}


def real_node_fields(tree: HyperNodes) -> Fields:
    """RealNodesSet."""
    return {name: {node: {} for node in nodes} for name, nodes in tree.real_nodes.items()}


def hyper_node_fields(tree: HyperNodes) -> Mapping[str, Fields]:
    """HyperNodes: parents and children."""
    return {
        name: {"Name": info.name, "Parent": info.parent, "Children": {child: {} for child in info.children}}
        for name, info in tree.by_name.items()
    }
