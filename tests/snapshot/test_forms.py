"""The same cluster in every form in which people have it decides the same; other files are refused with words."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
import zstandard

from tests.builders import cluster, node, pod_group, pods, priority_class, queue
from tests.recorded import recorded, recorded_path
from tests.snapshot.damage import MEBIBYTE, tar_of, zip_of
from vcdebug.errors import SnapshotError
from vcdebug.explain.pending.doubts import doubt_of_input
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot

OBJECTS: Final = [
    {"apiVersion": KIND_BY_NAME[one["kind"]].api_version, **one}
    for one in (
        *(queue("default"), node("n1", cpu="4"), node("n2", cpu="4"), priority_class("low", 1)),
        *(pod_group("train"), *pods("train", 2), pod_group("large"), *pods("large", 1, cpu="99")),
    )
]
LIST: Final = {"apiVersion": "v1", "kind": "List", "items": OBJECTS}
COMPACT, INDENTED = json.dumps(LIST), json.dumps(LIST, indent=4)
YAML: Final = yaml.safe_dump_all(OBJECTS)
YAML_LIST: Final = yaml.safe_dump(LIST)
LINES: Final = "\n".join(map(json.dumps, OBJECTS))
Form = str | bytes | dict[str, bytes]


def typed_lists() -> Iterator[dict[str, Any]]:
    """A list for each kind, with kind and apiVersion on the list alone, as an API server answers."""
    for kind in dict.fromkeys(str(one["kind"]) for one in OBJECTS):
        same = [one for one in OBJECTS if one["kind"] == kind]
        bare = [{key: value for key, value in one.items() if key not in ("kind", "apiVersion")} for one in same]
        yield {"apiVersion": same[0]["apiVersion"], "kind": f"{kind}List", "items": bare}


def by_resource() -> dict[str, Any]:
    """Lists named by resource, as the export of a simulator."""
    plurals = {"PriorityClass": "priorityClasses", "PodGroup": "podGroups"}
    lists = {str(one["kind"]): one["items"] for one in typed_lists()}
    return {plurals.get(kind := name.removesuffix("List"), f"{kind.lower()}s"): items for name, items in lists.items()}


def watch() -> str:
    """A watch in which each object is added, changed to what it is, and one more is deleted."""
    gone = node("n3", cpu="200")
    events = [("ADDED", gone), *(("ADDED", one) for one in OBJECTS), *(("MODIFIED", one) for one in OBJECTS)]
    events += [("DELETED", gone), ("BOOKMARK", {"kind": "Node", "apiVersion": "v1", "metadata": {}})]
    return "\n".join(json.dumps({"type": kind, "object": one}) for kind, one in events)


def must_gather() -> dict[str, bytes]:
    """One file for each object, in folders by namespace and resource, with logs between them."""
    files = {f"gather/{one['kind'].lower()}s/{i}.yaml": yaml.safe_dump(one).encode() for i, one in enumerate(OBJECTS)}
    return {**files, "gather/pods/train-0/current.log": b"I0101 started\n", "gather/timestamp": b"2026-11-01\n"}


def old_groups() -> str:
    return YAML.replace("scheduling.volcano.sh/v1beta1", "scheduling.incubator.k8s.io/v1alpha1")


ACCEPTED: Final[dict[str, Callable[[], Form]]] = {
    "a.json": lambda: COMPACT,
    "indented.json": lambda: INDENTED,
    "array.json": lambda: json.dumps(OBJECTS),
    "lines.ndjson": lambda: LINES,
    "concatenated.json": lambda: LINES.replace("\n", ""),
    "lists-in-lists.json": lambda: json.dumps({**LIST, "items": [LIST, None]}),
    "typed-lists.json": lambda: "\n".join(map(json.dumps, typed_lists())),
    "by-resource.json": lambda: json.dumps(by_resource()),
    "watch.json": watch,
    "a.yaml": lambda: YAML,
    "list.yaml": lambda: YAML_LIST,
    "flow.yaml": lambda: yaml.safe_dump(LIST, default_flow_style=True),
    "empty-documents.yaml": lambda: f"---\n---\n# nothing\n---\n{YAML}---\n...\n",
    "aliases.yaml": lambda: yaml.dump({**LIST, "items": [*OBJECTS, OBJECTS[0]]}, Dumper=yaml.CSafeDumper),
    "old-groups.yaml": old_groups,
    "windows.yaml": lambda: YAML.replace("\n", "\r\n"),
    "old-mac.yaml": lambda: YAML.replace("\n", "\r"),
    "marked.json": lambda: b"\xef\xbb\xbf" + COMPACT.encode(),
    "utf-16.yaml": lambda: YAML.encode("utf-16"),
    "pasted-blanks.yaml": lambda: YAML.replace("  ", "\u00a0\u00a0"),
    "trailing-comma.json": lambda: INDENTED.replace("}\n    ]", "},\n    ]"),
    "python-quotes.json": lambda: COMPACT.replace('"', "'"),
    "comment.json": lambda: f"// from the test cluster\n{INDENTED}",
    "prompt.json": lambda: f"user@host:~$ kubectl get pods,nodes -A -o json\n{INDENTED}",
    "root-prompt.yaml": lambda: f"[root@host ~]# kubectl get all -o yaml\n{YAML_LIST}",
    "warning.json": lambda: f"Warning: batch/v1beta1 CronJob is deprecated\n{INDENTED}",
    "client-log.yaml": lambda: f"E1101 09:30:00.123456   4242 memcache.go:265] no answer\n{YAML}",
    "issue.md": lambda: f"# It stays Pending\n\n```yaml\n{YAML}```\nand\n```console\n$ kubectl get pods\n```\n",
    "a.json.gz": lambda: gzip.compress(COMPACT.encode()),
    "twice.json.gz": lambda: gzip.compress(gzip.compress(COMPACT.encode())),
    "a.yaml.bz2": lambda: bz2.compress(YAML.encode()),
    "a.yaml.xz": lambda: lzma.compress(YAML.encode()),
    "a.yaml.zst": lambda: zstd(YAML.encode()),
    "a.tar.zst": lambda: zstd(tar_of({"c/cluster.json": COMPACT.encode()})),
    "a.tar": lambda: tar_of({"c/cluster.json": COMPACT.encode()}),
    "a.tar.gz": lambda: gzip.compress(tar_of({"c/cluster.json": COMPACT.encode()})),
    "a.tar.xz": lambda: lzma.compress(tar_of({"c/cluster.json": COMPACT.encode()})),
    "a.zip": lambda: zip_of({"dump\\cluster.json": COMPACT.encode()}),
    "archive-in-archive.zip": lambda: zip_of({"in.tar.gz": gzip.compress(tar_of({"a.json": COMPACT.encode()}))}),
    "must-gather": must_gather,
}
"""File name → a form in which the cluster is read."""


def put(folder: Path, name: str, form: Form) -> Path:
    """Write a form as a file or folder."""
    files = {f"{name}/{inner}": data for inner, data in form.items()} if isinstance(form, dict) else {name: form}
    for inner, data in files.items():
        path = folder / inner
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return folder / name


def decided(snapshot: Snapshot) -> tuple[list[str], list[str]]:
    """Every event of the cycle, and the first line about each job that is Pending."""
    recording = replay_cycle(snapshot)
    return list(map(repr, recording.events)), [one.explanation.sentence for one in survey_jobs(recording).explained]


@pytest.mark.parametrize("name", ACCEPTED)
def test_each_form_of_a_cluster_decides_the_same(name: str, tmp_path: Path) -> None:
    expected = decided(cluster(*OBJECTS))
    assert ["default/large"] == [sentence.partition(" ")[0] for sentence in expected[1]]
    assert expected == decided(load_snapshot(put(tmp_path, name, ACCEPTED[name]())))


def zstd(data: bytes) -> bytes:
    """Two frames, as of files that were packed one after the other."""
    return zstandard.compress(data[:100]) + zstandard.compress(data[100:])


def kai() -> bytes:
    return zip_of({"snapshot.json": json.dumps({"rawObjects": {"pods": [], "queues": []}}).encode()})


REFUSED: Final[dict[str, tuple[Form, str]]] = {
    "table.txt": ("NAME    READY   STATUS    AGE\ntrain-0   0/1   Pending   4d\n", "kubectl get ... -o json"),
    "wide.txt": ("NAMESPACE   NAME      READY\nteam        train-0   0/1\n", "kubectl get ... -o json"),
    "helm.yaml": ("kind: Pod\nmetadata:\n  name: {{ .Release.Name }}-a\n", "helm template CHART"),
    "scheduler.log": ("I1101 09:30:00.000001       1 scheduler.go:90] Start\n", "vcdebug check LOG SNAPSHOT"),
    "dump.json": ('{"n1": {"Name": "n1", "Idle": {}, "Allocatable": {}}}', "vcdebug inspect SNAPSHOT --against"),
    "kai.zip": (kai(), "snapshot of KAI Scheduler"),
    "audit.json": ('{"kind": "Event", "apiVersion": "audit.k8s.io/v1", "verb": "get"}', "a snapshot needs nodes"),
    "scheduler.conf": ("actions: allocate\ntiers:\n- plugins:\n  - name: gang\n", "vcdebug diff SNAPSHOT --conf"),
    "status.json": ('{"kind": "Status", "apiVersion": "v1", "message": "forbidden"}', "API server error: 'forbidden'"),
    "a.7z": (b"7z\xbc\xaf....", "7z x FILE"),
    "tab.yaml": (YAML.replace("  ", "\t"), "is indented with a tab"),
    "cut.json": (INDENTED[:30], "the file ends here"),
    "cut.json.gz": (gzip.compress(COMPACT.encode())[:-20], "is damaged"),
    "empty.json": ("", "is empty"),
    "no-items.json": ('{"kind": "List", "apiVersion": "v1", "items": null}', "contains no Kubernetes objects"),
}
"""File name → (content, words of its refusal)."""


@pytest.mark.parametrize("name", REFUSED)
def test_another_file_is_refused_with_what_it_is_and_the_command_that_helps(name: str, tmp_path: Path) -> None:
    form, words = REFUSED[name]
    with pytest.raises(SnapshotError) as refused:
        load_snapshot(put(tmp_path, name, form))
    assert words in f"{refused.value} {refused.value.hint}"


def test_a_plugin_that_is_not_replayed_leaves_every_answer_in_doubt() -> None:
    recording = recorded(recorded_path("threads/4446-plugin-of-the-vendor"))
    assert doubt_of_input(recording).startswith("plugin volcano-npu_v7.0.RC1_linux-x86_64 is not replayed")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("cut.json", INDENTED[: len(INDENTED) * 2 // 3]),
        ("error.json", f"Error from server (NotFound): no podgroups\n{INDENTED}"),
        ("damaged.ndjson", f"{LINES}\n{{]"),
    ],
)
def test_the_objects_before_a_damage_are_read_and_no_answer_is_certain(name: str, form: str, tmp_path: Path) -> None:
    recording = replay_cycle(load_snapshot(put(tmp_path, name, form)))
    assert recording.session.jobs
    assert f"{name} " in doubt_of_input(recording)
    assert "objects may be missing" in doubt_of_input(recording)


def test_an_archive_that_holds_too_many_archives_is_not_opened_to_the_end(tmp_path: Path) -> None:
    data = COMPACT.encode()
    for _ in range(5):
        data = gzip.compress(data)
    with pytest.raises(SnapshotError, match="is an archive inside of archives"):
        load_snapshot(put(tmp_path, "deep.json.gz", data))


UNSOUND_ZSTD: Final[dict[str, tuple[Callable[[], bytes], str]]] = {
    "cut": (lambda: zstd(COMPACT.encode())[:-9], "is damaged: the file ends too early"),
    "followed by other bytes": (lambda: zstd(COMPACT.encode()) + b"more", "is damaged"),
    "damaged": (lambda: zstd(COMPACT.encode())[:8] + b"\xff" * 60, "is damaged"),
    "bomb": (lambda: zstd(MEBIBYTE * 80), "compression ratio exceeds 250"),
}
"""What is wrong with a file → (the file, words of its refusal)."""


@pytest.mark.parametrize("name", UNSOUND_ZSTD)
def test_zstd_is_checked_as_other_packers_are(name: str, tmp_path: Path) -> None:
    data, fault = UNSOUND_ZSTD[name]
    with pytest.raises(SnapshotError, match=fault):
        load_snapshot(put(tmp_path, "a.json.zst", data()))


def test_a_comment_that_names_kubectl_is_no_line_of_a_terminal(tmp_path: Path) -> None:
    commented = load_snapshot(put(tmp_path, "a.yaml", f"# kubectl apply -f this\n{YAML}"))
    assert commented.problems == load_snapshot(put(tmp_path / "plain", "a.yaml", YAML)).problems


def test_files_of_no_snapshot_keep_their_code_fences(tmp_path: Path) -> None:
    readme = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "notes"},
        "data": {"a": "```yaml\nx: 1\n```\n"},
    }
    found = load_snapshot(put(tmp_path, "a.yaml", yaml.safe_dump_all([readme, *OBJECTS], default_style="|")))
    assert 2 == len(found.objects["Node"])
