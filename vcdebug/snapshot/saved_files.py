"""Save a snapshot as a folder or a .tar.gz with reproducible bytes, and keep a history of captures."""

import gzip
import io
import json
import re
import tarfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import asdict, replace

from vcdebug.errors import SnapshotError
from vcdebug.snapshot.cycle_inputs import ChanceSettings, SchedulerProcess
from vcdebug.snapshot.file_access import replace_file
from vcdebug.snapshot.gathered_objects import EXTENDER_FILE, META_FILE, USAGE_FILE
from vcdebug.snapshot.kinds import KIND_BY_NAME, KINDS
from vcdebug.snapshot.provenance import provenance_document
from vcdebug.snapshot.settings import DEVICE_CONFIG_FILE as DEVICE_FILE
from vcdebug.snapshot.snapshot import Manifest, Snapshot

CONF_FILE = "scheduler.conf"
ARCHIVE_SUFFIXES = (".tar.gz", ".tgz")

_COMPRESSION_LEVEL = 6
_MEMBER_MODE = 0o644


def save_snapshot(snapshot: Snapshot, path: str | Path) -> None:
    """Write a .tar.gz, or a folder where the path has no suffix; an archive is replaced, a folder must be empty."""
    target = Path(path)
    try:
        if target.name.endswith(ARCHIVE_SUFFIXES):
            _replace_file(target, archive_bytes(snapshot))
        elif target.suffix:
            raise SnapshotError(f"has the suffix {target.suffix}", "a snapshot is a .tar.gz or a folder", str(target))
        else:
            _write_folder(snapshot, target)
    except OSError as error:
        raise SnapshotError(f"cannot be written: {error.strerror or error}", where=str(target)) from error


def archive_bytes(snapshot: Snapshot) -> bytes:
    """The snapshot as the bytes of a .tar.gz."""
    # No name, time or owner in the headers, so that equal snapshots give equal bytes.
    packed = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION_LEVEL, fileobj=packed, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, data in saved_files(snapshot):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), _MEMBER_MODE
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def saved_files(snapshot: Snapshot) -> Iterator[tuple[str, bytes]]:
    """The files of a saved snapshot: settings first, then one List per kind in the order of the table of kinds."""
    yield META_FILE, _json_bytes(_meta_document(snapshot), indent=1)
    if snapshot.scheduler_conf is not None:
        yield CONF_FILE, snapshot.scheduler_conf.encode("utf-8", errors="replace")
    if snapshot.usage:
        yield USAGE_FILE, _json_bytes(dict(snapshot.usage), indent=1)
    if snapshot.extender:
        yield EXTENDER_FILE, _json_bytes(dict(snapshot.extender), indent=1)
    if snapshot.device_config is not None:
        yield DEVICE_FILE, snapshot.device_config.encode("utf-8", errors="replace")
    for kind in KINDS:
        if kind.name in snapshot.objects:
            yield kind.file_name, _list_bytes(snapshot.objects[kind.name], kind.name)


def _list_bytes(manifests: list[Manifest], kind: str) -> bytes:
    """A v1 List; items without kind and apiVersion get them."""
    # The API server leaves kind and apiVersion out of a list's items.
    header = {"apiVersion": KIND_BY_NAME[kind].api_version, "kind": kind}
    items = [manifest if "kind" in manifest else {**header, **manifest} for manifest in manifests]
    return _json_bytes({"apiVersion": "v1", "kind": "List", "items": items})


def _meta_document(snapshot: Snapshot) -> Manifest:
    meta: Manifest = {"now": snapshot.now.isoformat().replace("+00:00", "Z"), "complete": False}
    for key, text in (("name", snapshot.name), ("description", snapshot.description)):
        if text:
            meta[key] = text
    if flags := snapshot.flags.changed_values():
        meta["flags"] = flags
    if snapshot.chance != ChanceSettings():
        meta["chance"] = asdict(snapshot.chance)
    release = {} if snapshot.release.is_assumed else {"release": snapshot.release.stated_name}
    if scheduler := release | _process_document(snapshot.process):
        meta["scheduler"] = scheduler
    if snapshot.persistence != "auto":
        meta["persistence"] = snapshot.persistence
    if snapshot.provenance is not None:
        meta["capture"] = provenance_document(snapshot.provenance)
    if snapshot.bound:
        meta["bound"] = dict(snapshot.bound)
    if snapshot.workloads:
        meta["workloads"] = {name: facts._asdict() for name, facts in snapshot.workloads.items()}
    if snapshot.problems:
        meta["problems"] = [[p.file, p.object, p.field, p.what, p.effect] for p in snapshot.problems]
    return meta


def _process_document(process: SchedulerProcess) -> Manifest:
    # A file without a start means a process that runs for long, so a first cycle must be stated explicitly.
    first: Manifest = {"started": None} if process.started is None and not process.assumed else {}
    first.update(msgspec.to_builtins(replace(process, assumed=False)))
    return first


def _json_bytes(value: object, indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else (",", ": ")
    # ASCII only, so that lone surrogates of a manifest can be written at all.
    return (json.dumps(value, indent=indent, separators=separators) + "\n").encode()


def _write_folder(snapshot: Snapshot, folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SnapshotError("exists and is not an empty folder", "choose another name", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in saved_files(snapshot):
        _replace_file(folder / name, data)


def _replace_file(target: Path, data: bytes) -> None:
    """Write the file as a whole; a failure leaves the old one."""
    with replace_file(target) as file:
        file.write(data)


MAX_CAPTURES: Final = 100
CAPTURE_SUFFIX: Final = ".tar.gz"
CAPTURE_NAME: Final = re.compile(r"(.+)-(\d{8}-\d{6})(?:-(\d+))?\.tar\.gz")


def capture_file_name(context: str, now: datetime) -> str:
    """The default file name of a capture: context and time."""
    name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in context) or "cluster"
    return f"{name}-{now:%Y%m%d-%H%M%S}{CAPTURE_SUFFIX}"


class CaptureHistory:
    """A private folder of captures, at most `most`: adding one more deletes the oldest."""

    def __init__(self, folder: Path, most: int = MAX_CAPTURES) -> None:
        self.folder = folder
        self._max_files = most

    def add_capture(self, snapshot: Snapshot) -> Path:
        """Write a capture and delete the oldest ones beyond the limit; returns the new file."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = self.folder / self._free_name(capture_file_name(snapshot.name, snapshot.now))
        save_snapshot(snapshot, target)
        for old in self.list_captures()[: -self._max_files]:
            old.unlink(missing_ok=True)
        return target

    def _free_name(self, name: str) -> str:
        """The file name; with a number appended if a capture of the same second exists."""
        stem = name.removesuffix(CAPTURE_SUFFIX)
        matches = [CAPTURE_NAME.fullmatch(file.name) for file in self.folder.glob(f"{stem}*{CAPTURE_SUFFIX}")]
        twins = [int(match[3] or 1) for match in matches if match is not None]
        return f"{stem}-{max(twins) + 1}{CAPTURE_SUFFIX}" if twins else name

    def list_captures(self) -> list[Path]:
        """The captures, oldest first."""
        return order_captures(sorted(self.folder.glob(f"*{CAPTURE_SUFFIX}")))


def order_captures(files: list[Path]) -> list[Path]:
    """Captures ordered by time; empty if any file is no capture, or the files are of several clusters."""
    matches = [(match, file) for file in files if (match := CAPTURE_NAME.fullmatch(file.name)) is not None]
    if len(matches) != len(files) or len({match[1] for match, _ in matches}) > 1:
        return []
    return [file for _, file in sorted(matches, key=lambda pair: (pair[0][2], int(pair[0][3] or 1)))]
