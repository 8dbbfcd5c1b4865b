"""Archives, read member by member in memory: nothing is written to disk, and unpacked sizes are limited."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Final, NamedTuple, Self

from vcdebug.errors import SnapshotError
from vcdebug.snapshot.problems import ProblemReport

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_BYTES = 2 << 30
"""Maximum number of unpacked bytes of a snapshot."""
MAX_FILES = 20_000
MAX_RATIO = 250
"""Maximum ratio of unpacked to packed bytes; manifests of large clusters reach about 30."""
RATIO_FREE_BYTES = 64 << 20
"""The ratio is checked only from this many unpacked bytes on."""


class _ZstdStream(io.RawIOBase):
    """The content of a file packed with zstd; one that ends too early raises EOFError, as those of other packers."""

    def __init__(self, packed: IO[bytes]) -> None:
        import zstandard  # takes longer to load than a small snapshot

        self._packed = packed
        self._ready = io.BytesIO()
        self._new_frame: Callable[[], zstandard.ZstdDecompressionObj] = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._new_frame()
        self._fault = zstandard.ZstdError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        while not (count := self._ready.readinto(buffer)):
            # A small piece: a block of four bytes unpacks to 128 KiB.
            if not (piece := self._packed.read(1 << 10)):
                break
            self._ready = io.BytesIO(b"".join(self._unpack(piece)))
        if not count and not self._frame.eof:
            raise EOFError("the file ends too early")
        return count

    def _unpack(self, piece: bytes) -> Iterator[bytes]:
        while piece:
            if self._frame.eof:
                self._frame = self._new_frame()
            try:
                yield self._frame.decompress(piece)
            except self._fault as error:
                raise ValueError(str(error)) from error
            piece = self._frame.unused_data


_OPENERS: Final[dict[bytes, Callable[[IO[bytes]], gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile | io.BufferedReader]]] = {
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": lambda packed: io.BufferedReader(_ZstdStream(packed)),
}
PACKED_MAGICS = tuple(_OPENERS)
"""First bytes of a file packed with gzip, bzip2, xz or zstd."""
PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
FOREIGN_MAGICS = {
    b"7z\xbc\xaf": ("7-Zip", "unpack it first: 7z x FILE"),
    b"Rar!": ("RAR", "unpack it first: unrar x FILE"),
}
"""First bytes → (packer, hint) of files that are not unpacked."""

ARCHIVE_ERRORS = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, struct.error, lzma.LZMAError),
    *(EOFError, OSError, RuntimeError, ValueError, LookupError, OverflowError),
)
"""Errors that the standard library raises for a damaged, encrypted or unsupported archive."""

_LEFT_OUT = "member ignored"
_CHUNK = 1 << 20


class SourceFile(NamedTuple):
    """One file of a snapshot: its path inside the folder or archive, and its bytes."""

    name: str
    data: bytes


class UnpackBudget:
    """Limits of unpacked bytes and files for one snapshot."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES) -> None:
        self.max_bytes = max_bytes
        self.max_files = max_files
        self._bytes = 0
        self._files = 0

    def take_bytes(self, count: int, name: str) -> None:
        """Count unpacked bytes; raises SnapshotError above the limit."""
        self._bytes += count
        if self._bytes > self.max_bytes:
            raise SnapshotError(f"exceeds {self.max_bytes >> 20} MiB when unpacked", where=name)

    def take_file(self, name: str) -> None:
        """Count one file; raises SnapshotError above the limit."""
        self._files += 1
        if self._files > self.max_files:
            raise SnapshotError(f"contains more than {self.max_files} files", where=name)


class UnpackedStream(io.RawIOBase):
    """The content of a packed file; budget and compression ratio are checked while it is read, against bombs."""

    def __init__(self, packed: IO[bytes], budget: UnpackBudget, name: str) -> None:
        self._packed_file = packed
        self._start = packed.tell()
        magic = packed.read(8)
        packed.seek(self._start)
        self._stream = next(opener for first, opener in _OPENERS.items() if magic.startswith(first))(packed)
        self._budget = budget
        self._name = name
        self._count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes, or all that is left."""
        if size >= 0:
            return self._count_data(self._stream.read(size))
        return b"".join(iter(lambda: self._count_data(self._stream.read(_CHUNK)), b""))

    def _count_data(self, data: bytes) -> bytes:
        self._count += len(data)
        self._budget.take_bytes(len(data), self._name)
        packed = max(1, self._packed_file.tell() - self._start)
        if self._count > RATIO_FREE_BYTES and self._count > MAX_RATIO * packed:
            raise SnapshotError(f"compression ratio exceeds {MAX_RATIO} (rejected as unsafe)", where=self._name)
        return data


def unpack_bytes(data: bytes, budget: UnpackBudget, name: str) -> bytes:
    """The content of a packed file; raises ARCHIVE_ERRORS and SnapshotError."""
    return UnpackedStream(io.BytesIO(data), budget, name).read()


def unpacked_name(name: str) -> str:
    """The name of a packed file without the packer's suffix."""
    return next((name.removesuffix(suffix) for suffix in PACKED_SUFFIXES if name.endswith(suffix)), name)


def is_tar(first_bytes: bytes) -> bool:
    """Whether the first 512 bytes are a tar header."""
    return first_bytes[257:262] == b"ustar"


class _StrictTarInfo(tarfile.TarInfo):
    """A tar header; an invalid one raises ReadError, where the standard library assumes the end of the archive."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if bytes(buf).strip(b"\0"):
                raise tarfile.ReadError(str(error)) from error
            raise


def tar_files(
    stream: IO[bytes] | UnpackedStream, name: str, budget: UnpackBudget, report: ProblemReport
) -> Iterator[SourceFile]:
    """The regular files of a tar stream in order; of a damaged stream, the files before the damage."""
    try:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_StrictTarInfo) as archive:
            # Mode r|: strictly forward, so that a member is never unpacked twice and a stream need not seek.
            for member in archive:
                budget.take_file(name)
                if member.isdir() or not _is_plain_member(member, report):
                    continue
                content = archive.extractfile(member)
                if content is not None:
                    yield SourceFile(printable_name(member.name), content.read())
    except ARCHIVE_ERRORS as error:
        _note_damage(report, name, error)


def _is_plain_member(member: tarfile.TarInfo, report: ProblemReport) -> bool:
    if not member.isreg() or member.issparse():
        report.add_problem("is a link, device or sparse file", _LEFT_OUT, file=printable_name(member.name))
        return False
    if _leaves_archive(member.name):
        report.add_problem("has a path outside the archive", _LEFT_OUT, file=printable_name(member.name))
        return False
    return True


def _leaves_archive(name: str) -> bool:
    # Both separators, and drive letters: archives come from any system.
    parts = name.replace("\\", "/").split("/")
    return name.startswith(("/", "\\")) or ".." in parts or parts[0].endswith(":")


def zip_files(stream: IO[bytes], name: str, budget: UnpackBudget, report: ProblemReport) -> Iterator[SourceFile]:
    """The regular files of a zip archive, in archive order."""
    try:
        archive = zipfile.ZipFile(stream)
    except ARCHIVE_ERRORS as error:
        _note_damage(report, name, error)
        return
    with archive:
        for member in archive.infolist():
            budget.take_file(name)
            if member.is_dir() or not _is_plain_zip_member(member, report):
                continue
            data = _read_zip_member(archive, member, budget, report)
            if data is not None:
                yield SourceFile(printable_name(member.filename), data)


def _is_plain_zip_member(member: zipfile.ZipInfo, report: ProblemReport) -> bool:
    mode = member.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        report.add_problem("is a link or a device", _LEFT_OUT, file=printable_name(member.filename))
        return False
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
        report.add_problem("is encrypted or packed in an unusual way", _LEFT_OUT, file=printable_name(member.filename))
        return False
    if _leaves_archive(member.orig_filename):
        report.add_problem("has a path outside the archive", _LEFT_OUT, file=printable_name(member.orig_filename))
        return False
    return True


def _read_zip_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: UnpackBudget, report: ProblemReport
) -> bytes | None:
    chunks: list[bytes] = []
    count = 0
    try:
        with archive.open(member) as content:
            while chunk := content.read(_CHUNK):
                count += len(chunk)
                budget.take_bytes(len(chunk), member.filename)
                # The header's size is not trusted: the bytes are counted as they are unpacked.
                if count > RATIO_FREE_BYTES and count > MAX_RATIO * max(1, member.compress_size):
                    raise SnapshotError(f"compression ratio exceeds {MAX_RATIO}", where=member.filename)
                chunks.append(chunk)
    except ARCHIVE_ERRORS as error:
        _note_damage(report, member.filename, error)
        return None
    return b"".join(chunks)


def _note_damage(report: ProblemReport, name: str, error: BaseException) -> None:
    fault = f"is damaged: {' '.join(str(error).split()) or type(error).__name__}"
    report.add_problem(fault[:200], "only objects before the damage are used", file=printable_name(name))


def printable_name(name: str) -> str:
    """The name; if it is unprintable or longer than 120 characters, the repr of its first 120."""
    return name if len(name) <= 120 and name.isprintable() else repr(name[:120])
