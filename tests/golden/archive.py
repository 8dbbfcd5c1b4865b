"""Recordings of real schedulers in one file, `recordings.tar.xz`, and the folder into which the tests unpack it.

The archive holds traces as text, and the unpacked folder holds them as .gz: text that is compressed twice takes three
times the room. Cases that lie loose in this folder are not in the archive. Run as a module with the folder that has all
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
"""Folders of recordings that belong to this project; test clusters of upstream do not."""
TRACE = "trace.jsonl"
DOCUMENTATION = ".md"
FAST = 1
"""Compression of unpacked traces: they are written once and read once per session of tests."""


def pack(folder: Path, archive: Path, loose: Path = HERE) -> int:
    """Write all recordings of a folder into an archive; gives how many files it has."""
    files = sorted(files_to_pack(folder, loose), key=lambda path: (path.parent.name, path))
    # Traces of one input are much alike under all releases: side by side they compress to a third.
    with lzma.open(archive, "wb", preset=9) as compressed, tarfile.open(fileobj=compressed, mode="w") as tar:
        for path in files:
            _add_file(tar, path, folder)
    return len(files)


def files_to_pack(folder: Path, loose: Path) -> Iterator[Path]:
    """The files of all recordings, without those of cases that lie loose."""
    for part in PARTS:
        for path in folder.glob(f"{part}/**/*"):
            if (
                path.is_file()
                and path.suffix != DOCUMENTATION
                and not (loose / path.parent.relative_to(folder)).is_dir()
            ):
                yield path


def _add_file(tar: tarfile.TarFile, path: Path, folder: Path) -> None:
    """A member without owner and time: only name and content count."""
    name, content = path.relative_to(folder), path.read_bytes()
    if path.name == f"{TRACE}.gz":
        name, content = name.with_suffix(""), gzip.decompress(content)
    member = tarfile.TarInfo(name.as_posix())
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def unpack(archive: Path, folder: Path) -> None:
    """Write all files of an archive into a folder, traces as .gz; raises EOFError where the archive is cut off."""
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
        text.read()  # tarfile takes an archive that was cut off for one that ends there; the decompressor does not


def unpack_once(archive: Path = ARCHIVE, caches: Path | None = None) -> Path:
    """The folder with the unpacked recordings: made by the first process that asks, and kept for later sessions.

    Its name is the archive's digest, so that checkouts with different archives may share the folder of all caches.
    """
    caches = caches or folder_of_caches()
    folder = caches / hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    if not folder.is_dir():
        caches.mkdir(parents=True, exist_ok=True)
        # Several processes may unpack at once: the folder gets its name when it is complete, and the first one stays.
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
    """In the private environment, which `make clean` removes; without one, among the system's temporary files."""
    private = sys.prefix != sys.base_prefix
    return (Path(sys.prefix) if private else Path(tempfile.gettempdir())) / "vcdebug-recordings"


def main() -> None:
    (folder,) = map(Path, sys.argv[1:])
    count = pack(folder, ARCHIVE)
    print(f"{ARCHIVE.name}: {count} files, {ARCHIVE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
