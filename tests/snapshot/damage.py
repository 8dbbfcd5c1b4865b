"""About 300 damaged snapshots, the same on every run, for load and for every command."""

from __future__ import annotations

import copy
import gzip
import io
import itertools
import json
import random
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.snapshot.manifests import as_list, cluster, config_map

MEBIBYTE = b"\0" * (1 << 20)


class Damaged(NamedTuple):
    """One damaged snapshot: its fault, its file name, and the file's bytes, or a function that returns them."""

    name: str
    file: str
    data: bytes | Callable[[], bytes]

    def content(self) -> bytes:
        """The file's bytes; large files are built only here."""
        return self.data if isinstance(self.data, bytes) else self.data()

    def write(self, folder: Path) -> Path:
        """Write the file into a folder; returns its path."""
        path = folder / self.file
        path.write_bytes(self.content())
        return path


@cache
def damaged() -> tuple[Damaged, ...]:
    """All damaged snapshots."""
    return (
        *truncated(),
        *wrong_types(),
        *missing_fields(),
        *huge_numbers(),
        *strange_objects(),
        *hostile_texts(),
        *hostile_archives(),
    )


def manifests() -> list[dict[str, Any]]:
    """The valid cluster that the functions below damage."""
    return [*cluster(), config_map()]


def sound_json() -> bytes:
    return json.dumps(as_list(manifests()), indent=1).encode()


def sound_yaml() -> bytes:
    return yaml.safe_dump_all(manifests()).encode()


def sound_ndjson() -> bytes:
    return "\n".join(json.dumps(manifest) for manifest in manifests()).encode()


def tar_of(files: dict[str, bytes], change: Callable[[tarfile.TarInfo], None] = lambda _: None) -> bytes:
    """The bytes of a tar archive; `change` may alter each member's header."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            change(member)
            archive.addfile(member, io.BytesIO(data) if member.isreg() else None)
    return packed.getvalue()


def zip_of(files: dict[str, bytes], mode: int = stat.S_IFREG | 0o644, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """The bytes of a zip archive whose members have this mode and method."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(name)
            member.external_attr, member.compress_type = mode << 16, method
            archive.writestr(member, data)
    return packed.getvalue()


def _sound_files() -> dict[str, bytes]:
    return {"cluster.json": sound_json(), "meta.json": b'{"now": "2026-11-01T00:00:00Z"}'}


def truncated() -> Iterator[Damaged]:
    """Yield truncated files."""
    whole = {
        "json": ("cluster.json", sound_json(), 20),
        "yaml": ("cluster.yaml", sound_yaml(), 15),
        "ndjson": ("cluster.ndjson", sound_ndjson(), 8),
        "gzip": ("cluster.json.gz", gzip.compress(sound_json(), mtime=0), 8),
        "tar": ("cluster.tar.gz", gzip.compress(tar_of(_sound_files()), mtime=0), 12),
        "zip": ("cluster.zip", zip_of(_sound_files()), 12),
    }
    for kind, (file, data, count) in whole.items():
        for number in range(count):
            end = (number + 1) * len(data) // (count + 1)
            yield Damaged(f"truncated {kind} after {end} bytes", file, data[:end])


WRONG: tuple[Any, ...] = ("text", 7, -1, 1.5, True, [], {}, [None], {"a": {"b": 1}}, [[1]], 10**30)

TYPED_FIELDS: tuple[tuple[str, str], ...] = (
    ("Node", "metadata"),
    ("Node", "metadata.labels"),
    ("Node", "spec"),
    ("Node", "spec.taints"),
    ("Node", "spec.taints.0"),
    ("Node", "spec.taints.0.key"),
    ("Node", "status"),
    ("Node", "status.allocatable"),
    ("Node", "status.allocatable.cpu"),
    ("Node", "status.capacity.memory"),
    ("Node", "status.conditions"),
    ("Node", "status.images"),
    ("Node", "status.images.0.names"),
    ("Node", "status.images.0.sizeBytes"),
    ("Pod", "metadata.annotations"),
    ("Pod", "metadata.namespace"),
    ("Pod", "metadata.uid"),
    ("Pod", "metadata.creationTimestamp"),
    ("Pod", "spec"),
    ("Pod", "spec.priority"),
    ("Pod", "spec.schedulerName"),
    ("Pod", "spec.containers"),
    ("Pod", "spec.containers.0"),
    ("Pod", "spec.containers.0.resources"),
    ("Pod", "spec.containers.0.resources.requests"),
    ("Pod", "spec.containers.0.resources.requests.cpu"),
    ("Pod", "spec.containers.0.ports"),
    ("Pod", "spec.containers.0.ports.0.hostPort"),
    ("Pod", "spec.nodeSelector"),
    ("Pod", "spec.nodeSelector.zone"),
    ("Pod", "spec.tolerations"),
    ("Pod", "spec.tolerations.0.operator"),
    ("Pod", "spec.affinity"),
    ("Pod", "spec.affinity.nodeAffinity"),
    ("Pod", "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"),
    ("Pod", "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"),
    ("Pod", "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.0.weight"),
    ("Pod", "spec.topologySpreadConstraints"),
    ("Pod", "spec.topologySpreadConstraints.0.maxSkew"),
    ("Pod", "spec.volumes"),
    ("Pod", "spec.volumes.0.persistentVolumeClaim"),
    ("Pod", "status"),
    ("Pod", "status.phase"),
    ("PodGroup", "spec"),
    ("PodGroup", "spec.minMember"),
    ("PodGroup", "spec.minTaskMember"),
    ("PodGroup", "spec.minResources"),
    ("PodGroup", "spec.queue"),
    ("PodGroup", "status.phase"),
    ("Queue", "spec"),
    ("Queue", "spec.weight"),
    ("Queue", "spec.reclaimable"),
    ("Queue", "spec.capability"),
    ("Queue", "status.state"),
    ("PriorityClass", "value"),
    ("PersistentVolume", "spec.capacity.storage"),
    ("PersistentVolumeClaim", "spec.accessModes"),
    ("StorageClass", "provisioner"),
    ("Pod", "kind"),
    ("Pod", "apiVersion"),
    ("Node", "metadata.name"),
)


def wrong_types() -> Iterator[Damaged]:
    """Yield the cluster with one field of one kind set to a random value of another type."""
    lots = random.Random(1)
    for kind, path in TYPED_FIELDS:
        wrong = lots.choice(WRONG)
        yield _changed(f"{kind} {path} is {wrong!r}", kind, path, partial(_put, value=wrong))


def missing_fields() -> Iterator[Damaged]:
    """Yield the cluster without one field of one kind."""
    for kind, path in TYPED_FIELDS:
        yield _changed(f"{kind} without {path}", kind, path, _delete)


def _changed(name: str, kind: str, path: str, change: Callable[[Any, Any], None]) -> Damaged:
    """The valid cluster with a field of every object of a kind changed."""
    objects = copy.deepcopy(manifests())
    for manifest in objects:
        if manifest["kind"] == kind:
            parent: Any = manifest
            *way, last = (int(part) if part.isdigit() else part for part in path.split("."))
            for part in way:
                parent = parent[part]
            change(parent, last)
    return Damaged(name, "cluster.json", json.dumps(as_list(objects)).encode())


def _put(parent: Any, key: Any, value: object) -> None:
    parent[key] = value


def _delete(parent: Any, key: Any) -> None:
    del parent[key]


HUGE: tuple[tuple[str, str, object], ...] = (
    ("Pod", "spec.containers.0.resources.requests.cpu", "1e400"),
    ("Pod", "spec.containers.0.resources.requests.cpu", "9" * 5000),
    ("Pod", "spec.containers.0.resources.requests.memory", "10Ei"),
    ("Pod", "spec.containers.0.resources.requests.memory", "-5Gi"),
    ("Pod", "spec.containers.0.resources.requests.cpu", "lots"),
    ("Node", "status.allocatable.memory", "99999999999999999999999"),
    ("Node", "status.allocatable.cpu", 1e308),
    ("Node", "status.allocatable.pods", 10**25),
    ("Node", "status.images.0.sizeBytes", 2**63),
    ("Pod", "spec.priority", 2**31),
    ("PodGroup", "spec.minMember", -(2**31) - 1),
    ("Queue", "spec.weight", 10**18),
    ("PriorityClass", "value", 1e19),
    ("Pod", "metadata.creationTimestamp", "9999-99-99T99:99:99Z"),
    ("Pod", "metadata.deletionTimestamp", "yesterday"),
)


def huge_numbers() -> Iterator[Damaged]:
    """Yield amounts beyond the scheduler's range, and invalid times."""
    for kind, path, value in HUGE:
        shown = str(value)[:20]
        yield _changed(f"{kind} {path} is {shown}", kind, path, partial(_put, value=value))
    text = json.dumps(as_list(manifests())).replace('"weight": 3', '"weight": ' + "7" * 10_000)
    yield Damaged("Queue weight of 10000 digits", "cluster.json", text.encode())
    yield Damaged("Infinity as weight", "cluster.json", text.replace("7" * 10_000, "Infinity").encode())


def strange_objects() -> Iterator[Damaged]:
    """Yield unknown kinds, duplicates, dangling references, and documents that are no objects."""
    extra: dict[str, list[Any]] = {
        "unknown kinds": [{"apiVersion": "x/v1", "kind": f"Kind{n}", "metadata": {"name": "a"}} for n in range(20)],
        "foreign PodGroup": [{"apiVersion": "other/v1", "kind": "PodGroup", "metadata": {"name": "a"}}],
        "duplicate objects": cluster(),
        "numbers as objects": [1, 2.5, None, True, "text"],
        "object without kind": [{"metadata": {"name": "a"}}],
        "kind is a list": [{"kind": ["Pod"], "metadata": {"name": "a"}}],
        "name is a mapping": [{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": {"a": 1}}}],
        "name with a line break": [{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a\nb"}}],
        "metadata is null": [{"kind": "Node", "apiVersion": "v1", "metadata": None}],
        "items is a mapping": [{"kind": "PodList", "apiVersion": "v1", "items": {"a": 1}}],
        "list of lists": [as_list([as_list([{"kind": "Node", "metadata": {}}])])],
        "an API server's error": [{"kind": "Status", "apiVersion": "v1", "message": "forbidden", "code": 403}],
        "pod of an unknown group": [_stray("group", {"annotations": {"scheduling.k8s.io/group-name": "none"}}, {})],
        "pod on an unknown node": [_stray("placed", {}, {"nodeName": "none"})],
        "pod without spec": [{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "team-a"}}],
        "two pods with one uid": [_stray("one", {"uid": "same"}, {}), _stray("two", {"uid": "same"}, {})],
        "another configuration": [config_map("actions: allocate")],
        "a configuration that is no text": [{**config_map(), "data": {"volcano-scheduler.conf": {"a": 1}}}],
        "nonsense configuration": [config_map("]["), {"kind": "Deployment", "spec": {"template": [1]}}],
    }
    for name, objects in extra.items():
        yield Damaged(name, "cluster.json", json.dumps(as_list([*manifests(), *objects])).encode())
    for meta in ('{"now": 5, "flags": [1]}', "[1]", "{", '{"flags": {"percentage_nodes_to_find": "many"}}'):
        files = {
            **_sound_files(),
            "meta.json": meta.encode(),
            "usage.json": b'{"gpu-0": 7, "gpu-1": {"cpu": {"5m": "x"}}}',
        }
        yield Damaged(f"settings {meta}", "cluster.tar.gz", gzip.compress(tar_of(files), mtime=0))


def _stray(name: str, metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "team-a", **metadata},
        "spec": {"schedulerName": "volcano", **spec},
    }


def hostile_texts() -> Iterator[Damaged]:
    """Yield texts that could crash, overload or mislead a parser."""
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 12))
    merges = "".join(f"m{n}: &m{n}\n  <<: [{', '.join([f'*m{n - 1}'] * 10)}]\n" for n in range(1, 12))
    texts: dict[str, tuple[str, bytes]] = {
        "empty file": ("cluster.json", b""),
        "only spaces": ("cluster.yaml", b" \n\n "),
        "only a comment": ("cluster.yaml", b"# nothing here\n"),
        "an empty list": ("cluster.json", b'{"kind": "List", "items": []}'),
        "deep JSON lists": ("cluster.json", b"[" * 200_000 + b"]" * 200_000),
        "deep JSON mappings": ("cluster.json", b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
        "deep JSON in an object": ("cluster.json", sound_json().replace(b'"z1"', b"[" * 500 + b"]" * 500)),
        "deep YAML flow": ("cluster.yaml", b"a: " + b"[" * 100_000),
        "deep YAML blocks": ("cluster.yaml", b"- " * 100_000 + b"a"),
        "deep YAML mappings": ("cluster.yaml", b"".join(b" " * n + b"a:\n" for n in range(2000))),
        "YAML alias bomb": ("cluster.yaml", f"l0: &l0 [a, b]\n{levels}kind: Pod\n".encode()),
        "YAML merge bomb": ("cluster.yaml", f"m0: &m0 {{a: 1}}\n{merges}kind: Pod\n".encode()),
        "YAML alias of itself": ("cluster.yaml", b"kind: Pod\nmetadata: &m\n  name: a\n  labels: *m\n"),
        "YAML that runs code": ("cluster.yaml", b"kind: !!python/object/apply:os.system ['true']\n"),
        "YAML with a tab": ("cluster.yaml", b"kind: Pod\n\tmetadata: {}\n"),
        "YAML list as key": ("cluster.yaml", b"? [a, b]\n: 1\nkind: Pod\n"),
        "YAML set": ("cluster.yaml", b"kind: Pod\nmetadata: !!set {a, b}\n"),
        "YAML dates": ("cluster.yaml", sound_yaml().replace(b"z1", b"2026-01-01")),
        "YAML broken in the third document": ("cluster.yaml", sound_yaml() + b"---\na: [\n"),
        "binary": ("cluster.json", random.Random(2).randbytes(4096)),
        "a picture": ("cluster.yaml", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(200)),
        "HTML": ("cluster.json", b"<!DOCTYPE html><html><body>404: not found</body></html>"),
        "bad UTF-8": ("cluster.json", sound_json().replace(b"gpu-1", b"gpu-\xff\xfe")),
        "lone surrogates": ("cluster.json", sound_json().replace(b"gpu-1", b"gpu-\\ud800")),
        "escape codes in a name": ("cluster.json", sound_json().replace(b"gpu-1", b"gpu-\\u001b[31m")),
        "UTF-16": ("cluster.json", sound_json().decode().encode("utf-16")),
        "half of UTF-16": ("cluster.json", sound_json().decode().encode("utf-16")[:1001]),
        "a key twice": ("cluster.json", b'{"kind": "Node", "kind": "Pod", "metadata": {"name": "a"}}'),
        "comma at the end": ("cluster.json", sound_json()[:-3] + b",]}"),
        "one apostrophe": ("cluster.json", sound_json().replace(b'"', b"'")),
        "a recording": ("cluster.json", b'{"ev":"hook","seq":1}\n' * 1000),
    }
    for name, (file, data) in texts.items():
        yield Damaged(name, file, data)


def hostile_archives() -> Iterator[Damaged]:
    """Yield archives that try to write or read outside of the folder, or to fill the memory."""
    yield from _hostile_tars()
    yield from _hostile_zips()
    yield Damaged("gzip bomb", "cluster.json.gz", _gzip_bomb)
    yield Damaged("gzip bomb in a tar", "cluster.tar.gz", _gzip_bomb_in_a_tar)
    yield Damaged(
        "gzip with a wrong checksum", "cluster.json.gz", gzip.compress(sound_json(), mtime=0)[:-8] + b"\1" * 8
    )
    yield Damaged("gzip in gzip", "cluster.json.gz", gzip.compress(gzip.compress(sound_json(), mtime=0), mtime=0))
    yield Damaged("xz", "cluster.json.xz", b"\xfd7zXZ\0" + bytes(100))
    yield Damaged("bzip2", "cluster.tar.bz2", b"BZh9" + bytes(100))
    yield Damaged("nothing but a gzip header", "cluster.tar.gz", b"\x1f\x8b")


@cache
def _gzip_bomb() -> bytes:
    return gzip.compress(MEBIBYTE * 80, mtime=0)


@cache
def _gzip_bomb_in_a_tar() -> bytes:
    return gzip.compress(tar_of({**_sound_files(), "a.json.gz": _gzip_bomb()}), mtime=0)


@cache
def _zip_bomb() -> bytes:
    return zip_of({"a.json": MEBIBYTE * 80})


@cache
def _tar_of_many() -> bytes:
    return gzip.compress(tar_of({f"{number}.txt": b"" for number in range(20_100)}), mtime=0)


def _hostile_tars() -> Iterator[Damaged]:
    files = {**_sound_files(), "evil.json": b'{"kind": "Node", "metadata": {"name": "evil"}}'}
    for name in ("../evil.json", "/tmp/evil.json", "a/../../evil.json", "C:\\evil.json", "..\\evil.json"):
        yield _tar(f"tar member {name}", {**_sound_files(), name: files["evil.json"]})
    links = {
        "symlink": tarfile.SYMTYPE,
        "hard link": tarfile.LNKTYPE,
        "device": tarfile.CHRTYPE,
        "pipe": tarfile.FIFOTYPE,
    }
    for name, kind in links.items():
        yield _tar(f"tar member that is a {name}", files, partial(_make_link, kind=kind))
    yield _tar("tar of one directory", {"a": b""}, lambda member: setattr(member, "type", tarfile.DIRTYPE))
    sound = tar_of(files)
    yield Damaged("tar with a huge size", "cluster.tar", _with_size(sound, b"77777777777\0"))
    yield Damaged("tar with a size that is no number", "cluster.tar", _with_size(sound, b"xxxxxxxxxxx\0"))
    long_names = b"".join(_long_name_header() for _ in range(3000))
    yield Damaged("tar of nothing but long names", "cluster.tar", long_names + sound)
    yield Damaged("tar with bad bytes in a name", "cluster.tar", sound.replace(b"evil.json", b"ev\xff\x1b.json"))
    yield Damaged("tar with noise inside", "cluster.tar", sound[:700] + random.Random(3).randbytes(600) + sound[1300:])
    yield Damaged("tar of 20100 files", "cluster.tar.gz", _tar_of_many)


def _tar(name: str, files: dict[str, bytes], change: Callable[[tarfile.TarInfo], None] = lambda _: None) -> Damaged:
    return Damaged(name, "cluster.tar.gz", gzip.compress(tar_of(files, change), mtime=0))


def _make_link(member: tarfile.TarInfo, kind: bytes) -> None:
    if member.name == "evil.json":
        member.type, member.linkname, member.size = kind, "/etc/passwd", 0


def _with_size(tar: bytes, size: bytes) -> bytes:
    header = bytearray(tar[:512])
    header[124:136] = size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + tar[512:]


def _long_name_header() -> bytes:
    member = tarfile.TarInfo("././@LongLink")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 5
    return member.tobuf(tarfile.GNU_FORMAT) + b"name\0".ljust(512, b"\0")


def _hostile_zips() -> Iterator[Damaged]:
    files = _sound_files()
    evil = b'{"kind": "Node", "metadata": {"name": "evil"}}'
    for name in ("../evil.json", "/tmp/evil.json"):
        yield Damaged(f"zip member {name}", "cluster.zip", zip_of({**files, name: evil}))
    yield Damaged("zip of links", "cluster.zip", zip_of(files, mode=stat.S_IFLNK | 0o777))
    yield Damaged("zip packed with lzma", "cluster.zip", zip_of(files, method=zipfile.ZIP_LZMA))
    yield Damaged("zip bomb", "cluster.zip", _zip_bomb)
    sound = zip_of(files)
    yield Damaged("zip with a wrong checksum", "cluster.zip", sound.replace(sound[14:18], b"\1\2\3\4"))
    yield Damaged("zip said to be encrypted", "cluster.zip", _encrypted(sound))
    yield Damaged("zip without members", "cluster.zip", zip_of({}))
    yield Damaged("zip of a zip", "cluster.zip", zip_of({"cluster.zip": sound}))
    yield Damaged("zip with noise inside", "cluster.zip", sound[:100] + random.Random(4).randbytes(200) + sound[300:])


def _encrypted(archive: bytes) -> bytes:
    """The zip with the encryption bit set in both headers of every member."""
    data = bytearray(archive)
    for magic, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        for position in itertools.takewhile(lambda at: at >= 0, _positions(archive, magic)):
            struct.pack_into("<H", data, position + offset, 1)
    return bytes(data)


def _positions(data: bytes, wanted: bytes) -> Iterator[int]:
    position = data.find(wanted)
    while position >= 0:
        yield position
        position = data.find(wanted, position + 1)
