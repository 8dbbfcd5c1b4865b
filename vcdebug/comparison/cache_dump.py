"""Compares the real scheduler's cache dump with the cluster with which a replay starts. Upstream: cache/dumper."""

import json
from collections.abc import Iterator, Mapping

from msgspec import Struct

from vcdebug.errors import VcdebugError
from vcdebug.framework.cycle import read_cluster
from vcdebug.model import go_fields
from vcdebug.model.cluster import ClusterInfo
from vcdebug.model.hyper_nodes import HyperNodes
from vcdebug.model.job import JobInfo
from vcdebug.model.node import NodeInfo
from vcdebug.recording.replay import parse_conf, plugins_of_release
from vcdebug.snapshot.manifest import JsonDict, JsonObject
from vcdebug.snapshot.snapshot import Snapshot

DumpFields = JsonDict
DOCUMENT_NAMES = ("Nodes", "HyperNodesSetByTier", "HyperNodeTierNameMap", "RealNodesSet", "HyperNodes", "Jobs")
"""The documents of a dump, in order."""
OBJECT_KINDS = {"Nodes": "node", "HyperNodes": "hypernode", "Jobs": "job"}
ABSENT, PRESENT = "absent", "present"
_NAMED_TASKS = ("Tasks", "SubJobs", "TaskToSubJob", "TaskStatusIndex", "MinSubJobs", "TaskMinAvailable")
_OPEN_MAPS = (*_NAMED_TASKS, "ScalarResources", "labels", "Children")
"""Fields whose keys are names: a key that only the dump has is a difference too."""


class FieldDifference(Struct, frozen=True):
    """One field whose two values differ."""

    object: str
    """The object, such as `node n1` or `job default/a`."""
    field: str
    """Path of the field in upstream's names; empty if one side lacks the whole object."""
    dumped: str
    replayed: str


class DumpComparison(Struct, frozen=True):
    """The result of comparing a dump with the replay."""

    nodes: int
    """Number of nodes that both sides have."""
    jobs: int
    """Number of jobs that both sides have."""
    fields: int
    """Number of compared values."""
    differences: tuple[FieldDifference, ...]
    unread: tuple[str, ...]
    """Names of documents that are incomplete in the dump; they are not compared."""
    broken_at: int | None
    """Line at which a truncated or damaged dump becomes unreadable; None for a complete dump."""

    @property
    def has_no_difference(self) -> bool:
        """Whether nothing differs and everything could be compared."""
        return not self.differences and not self.unread


def compare_dump(text: str, snapshot: Snapshot) -> DumpComparison:
    """Compare the text of a dump with the snapshot; raises VcdebugError when the first document cannot be read."""
    documents, broken_at = read_documents(text)
    if not documents:
        raise VcdebugError("not a dump of the scheduler's cache", "expected six JSON documents, as written on SIGUSR1")
    conf = parse_conf(snapshot.scheduler_conf, snapshot.release)
    ours = _replayed_documents(read_cluster(snapshot, conf, plugins_of_release(snapshot.release)))
    walk = _DumpWalk()
    for name, document in documents.items():
        walk.compare_document(name, document, ours[name])
    nodes, jobs = (len([key for key in documents.get(name, {}) if key in ours[name]]) for name in ("Nodes", "Jobs"))
    unread = tuple(name for name in DOCUMENT_NAMES if name not in documents)
    return DumpComparison(nodes, jobs, walk.fields, tuple(walk.differences), unread, broken_at)


def read_documents(text: str) -> tuple[dict[str, JsonObject], int | None]:
    """(complete documents by name, line at which reading stopped, or None if all were read)."""
    decoder, documents, position = json.JSONDecoder(), dict[str, JsonObject](), 0
    for name in DOCUMENT_NAMES:
        # The documents lie one behind the other, which json.loads refuses; raw_decode does not skip blanks itself.
        while position < len(text) and text[position].isspace():
            position += 1
        try:
            document, position = decoder.raw_decode(text, position)
        except ValueError:
            return documents, text.count("\n", 0, position) + 1
        if not isinstance(document, Mapping):
            return documents, text.count("\n", 0, position) + 1
        documents[name] = document
    return documents, None


def _replayed_documents(cluster: ClusterInfo) -> dict[str, JsonObject]:
    tree = cluster.hyper_nodes
    return {
        "Nodes": {name: node_fields(node) for name, node in cluster.nodes.items()},
        "HyperNodesSetByTier": tier_fields(tree),
        "HyperNodeTierNameMap": dict(tree.tier_names),
        "RealNodesSet": real_node_fields(tree),
        "HyperNodes": hyper_node_fields(tree),
        "Jobs": {uid: job_fields(job) for uid, job in cluster.jobs.items()},
    }


class _DumpWalk:
    """Collects differences in the fields that the replay has."""

    def __init__(self) -> None:
        self.differences: list[FieldDifference] = []
        self.fields = 0

    def compare_document(self, name: str, dumped: JsonObject, ours: JsonObject) -> None:
        """Compare one document: an object per key, or a set of names."""
        kind = OBJECT_KINDS.get(name)
        if kind is None:
            # Keys are names here, so one that only the dump has is a difference; objects are compared by known fields.
            self._compare_mapping(name, "", dumped, ours, is_open=True)
            return
        for key in sorted({**dumped, **ours}):
            if key not in dumped or key not in ours:
                sides = (ABSENT if key not in side else PRESENT for side in (dumped, ours))
                self.differences.append(FieldDifference(f"{kind} {key}", "", *sides))
                continue
            fields = dumped[key] if isinstance(dumped[key], Mapping) else {}
            self._compare_mapping(f"{kind} {key}", "", dict(fields), ours[key], is_open=False)

    def _compare_mapping(self, name: str, path: str, dumped: JsonObject, ours: JsonObject, *, is_open: bool) -> None:
        for key in _compared_keys(dumped, ours, is_open=is_open):
            field = f"{path}.{key}" if path else key
            dumped_value, value = dumped.get(key), ours.get(key)
            one_sided = is_open and (key not in dumped or key not in ours)
            if (
                isinstance(value, Mapping)
                and not one_sided
                and (dumped_value is None or isinstance(dumped_value, Mapping))
            ):
                # A Go set: of tasks in an index by status, of names in a document about tiers.
                is_set = path.endswith("TaskStatusIndex") or name in DOCUMENT_NAMES
                self._compare_mapping(name, field, dumped_value or {}, value, is_open=key in _OPEN_MAPS or is_set)
                continue
            self.fields += 1
            if one_sided or not _are_equal(dumped_value, value):
                self.differences.append(FieldDifference(name, field, _value_text(dumped_value), _value_text(value)))


def _compared_keys(dumped: JsonObject, ours: JsonObject, *, is_open: bool) -> Iterator[str]:
    yield from ours
    if is_open:
        yield from (key for key in dumped if key not in ours)


def _are_equal(dumped: object, ours: object) -> bool:
    """Whether two values are equal; Go leaves empty values out or writes null."""
    if dumped is None or ours is None or dumped == "":
        return not dumped and not ours
    return dumped == ours


def _value_text(value: object) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, Mapping):
        return PRESENT
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False, sort_keys=True)


# The replay's cluster in the form of upstream's dump.


def node_fields(node: NodeInfo) -> DumpFields:
    """The fields of a NodeInfo with its tasks, and the fields of its Node that scheduling reads."""
    manifest = {
        "metadata": {"labels": dict(node.labels)},
        "spec": {"taints": list(node.spec.get("taints") or ()), "unschedulable": node.is_unschedulable},
    }
    return {**go_fields.node_fields(node), "Node": manifest}


def job_fields(job: JobInfo) -> DumpFields:
    """The fields of a JobInfo with its tasks and sub jobs; the status index only names the tasks."""
    group = job.pod_group
    pod_group = {"spec": {"minMember": group.min_member}, "status": {"phase": group.phase}}
    return {**go_fields.job_fields(job, show_indexed=lambda task: {"UID": task.uid}), "PodGroup": pod_group}


def tier_fields(tree: HyperNodes) -> DumpFields:
    """HyperNodesSetByTier."""
    return {str(tier): {name: {} for name in names} for tier, names in tree.tiers.items() if names}


def real_node_fields(tree: HyperNodes) -> DumpFields:
    """RealNodesSet."""
    return {name: {node: {} for node in nodes} for name, nodes in tree.real_nodes.items()}


def hyper_node_fields(tree: HyperNodes) -> Mapping[str, DumpFields]:
    """HyperNodes: parents and children."""
    return {
        name: {"Name": info.name, "Parent": info.parent, "Children": {child: {} for child in info.children}}
        for name, info in tree.by_name.items()
    }
