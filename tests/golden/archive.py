"""Recordings of real schedulers in one file, `recordings.tar.xz`, and the folder into which the tests unpack it.

The archive holds traces as text, and the unpacked folder holds them as .gz: compressing text twice takes three times
the space. Cases that lie unpacked in this folder are not in the archive. Run as a module with the folder that has all
of the recordings, it writes the archive anew: the same files give the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ARCHIVE = HERE / "recordings.tar.xz"
PARTS = ("audit", "causes", "crash", "cycles", "dumps", "logs", "random", "releases", "threads")
"""Folders of recordings of this project; test clusters of upstream are not among them."""
TRACE = "trace.jsonl"
DOCUMENTATION = ".md"
FAST = 1
"""Compression level of unpacked traces, which are written once and read once per test session."""


def pack(folder: Path, archive: Path, loose: Path = HERE) -> int:
    """Write all recordings of a folder into an archive; return the number of files."""
    files = sorted(files_to_pack(folder, loose), key=lambda path: (path.parent.name, path))
    # Traces of one input are similar under all releases: side by side they compress to a third.
    with lzma.open(archive, "wb", preset=9) as compressed, tarfile.open(fileobj=compressed, mode="w") as tar:
        for path in files:
            _add_file(tar, path, folder)
    return len(files)


def files_to_pack(folder: Path, loose: Path) -> Iterator[Path]:
    """The files of all recordings, except those of unpacked cases."""
    for part in PARTS:
        for path in folder.glob(f"{part}/**/*"):
            if (
                path.is_file()
                and path.suffix != DOCUMENTATION
                and not (loose / path.parent.relative_to(folder)).is_dir()
            ):
                yield path


def _add_file(tar: tarfile.TarFile, path: Path, folder: Path) -> None:
    """Add a file without owner and time, so that only name and content decide the bytes."""
    name, content = path.relative_to(folder), path.read_bytes()
    if path.name == f"{TRACE}.gz":
        name, content = name.with_suffix(""), gzip.decompress(content)
    member = tarfile.TarInfo(name.as_posix())
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive into a folder, traces as .gz; raises EOFError if the archive is truncated."""
    with lzma.open(archive) as text, tarfile.open(fileobj=text, mode="r|") as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None, member.name
            path = folder / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.name == TRACE:
                packed = gzip.compress(content.read(), FAST, mtime=0)
                path.with_name(f"{TRACE}.gz").write_bytes(packed)
            else:
                path.write_bytes(content.read())
        text.read()  # tarfile accepts a truncated archive as complete; the decompressor does not


def unpack_once(archive: Path = ARCHIVE, caches: Path | None = None) -> Path:
    """The folder with the unpacked recordings: the first process that calls this makes it, later sessions reuse it.

    Its name is the archive's digest, so that checkouts with different archives may share the folder of all caches.
    """
    caches = caches or folder_of_caches()
    folder = caches / hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    if not folder.is_dir():
        caches.mkdir(parents=True, exist_ok=True)
        # Several processes may unpack at once: each renames its folder when complete, and the first one wins.
        with tempfile.TemporaryDirectory(prefix="unpacking-", dir=caches) as started:
            complete = Path(started) / "recordings"
            unpack(archive, complete)
            try:
                complete.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
    return folder


def folder_of_caches() -> Path:
    """The folder of all caches: in .venv, which `make clean` removes, or else among the system's temporary files."""
    private = sys.prefix != sys.base_prefix
    return (Path(sys.prefix) if private else Path(tempfile.gettempdir())) / "vcdebug-recordings"


def main() -> None:
    (folder,) = map(Path, sys.argv[1:])
    count = pack(folder, ARCHIVE)
    print(f"{ARCHIVE.name}: {count} files, {ARCHIVE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
