"""Packed recordings are unpacked completely and once, and equal the files that were packed."""

import gzip
import os
from pathlib import Path

import pytest

from tests.golden.archive import ARCHIVE, PARTS, TRACE, pack, unpack_once
from tests.recorded import BESIDE, LOOSE, PLACES, cases, find_recorded

TEXTS = {
    "random/b-1/cluster.json": b"{}",
    "random/b-1/trace.jsonl.gz": gzip.compress(b'{"seq": 1}\n'),
    "releases/v1/random/b-1/trace.jsonl.gz": gzip.compress(b'{"seq": 1}\n'),
    "logs/b-1.log.gz": gzip.compress(b"a line\n"),
}


def content(path: Path) -> bytes:
    """The content of a file, decompressed if its name ends in .gz."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def contents(folder: Path) -> dict[str, bytes]:
    """The contents of all files below a folder, by name without .gz."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix().removesuffix(".gz"): content(path) for path in files}


def written(folder: Path, names: list[str]) -> Path:
    """Write these recordings into a folder, in this order."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(TEXTS[name])
    return folder


def packed(folder: Path) -> Path:
    """Pack a small folder into an archive."""
    archive = folder / "recordings.tar.xz"
    pack(written(folder / "given", list(TEXTS)), archive, folder / "loose")
    return archive


def test_packed_recordings_come_back_as_they_were(tmp_path: Path) -> None:
    folder = unpack_once(packed(tmp_path), tmp_path / "caches")
    assert contents(tmp_path / "given") == contents(folder)


def test_the_same_recordings_give_the_same_bytes(tmp_path: Path) -> None:
    later = written(tmp_path / "later", list(reversed(TEXTS)))
    os.utime(later / "random/b-1/cluster.json", (0, 0))
    pack(later, tmp_path / "later.tar.xz", tmp_path / "loose")
    assert packed(tmp_path).read_bytes() == (tmp_path / "later.tar.xz").read_bytes()


def test_a_case_that_lies_loose_and_a_folder_of_others_are_not_packed(tmp_path: Path) -> None:
    given, archive = written(tmp_path / "given", list(TEXTS)), tmp_path / "recordings.tar.xz"
    (given / "upstream" / "u-1").mkdir(parents=True)
    (given / "upstream" / "u-1" / "cluster.json").write_bytes(b"{}")
    assert 2 == pack(given, archive, written(tmp_path / "loose", ["random/b-1/cluster.json"]))
    folder = unpack_once(archive, tmp_path / "caches")
    assert ["logs/b-1.log", f"releases/v1/random/b-1/{TRACE}"] == sorted(contents(folder))


def test_what_is_unpacked_is_kept_for_the_next_session(tmp_path: Path) -> None:
    archive, caches = packed(tmp_path), tmp_path / "caches"
    folder = unpack_once(archive, caches)
    (folder / "kept").touch()
    assert folder == unpack_once(archive, caches)
    assert [folder] == [*caches.iterdir()]
    assert (folder / "kept").exists()


def test_a_damaged_archive_leaves_no_folder_behind(tmp_path: Path) -> None:
    archive, caches = packed(tmp_path), tmp_path / "caches"
    archive.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises(EOFError):
        unpack_once(archive, caches)
    assert [] == [*caches.iterdir()]


def test_concurrent_unpacking_uses_the_folder_that_is_finished_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, caches = packed(tmp_path), tmp_path / "caches"

    def overtaken(_: Path, folder: Path) -> None:
        """Simulate another process that unpacks everything meanwhile."""
        monkeypatch.undo()
        (unpack_once(archive, caches) / "first").touch()
        written(folder, list(TEXTS))

    monkeypatch.setattr("tests.golden.archive.unpack", overtaken)
    folder = unpack_once(archive, caches)
    assert (folder / "first").exists()
    assert [folder] == [*caches.iterdir()]


def test_the_archive_has_cases_of_every_part_and_none_of_upstream() -> None:
    unpacked = unpack_once(ARCHIVE)
    assert sorted(PARTS) == sorted({*(path.name for path in unpacked.iterdir()), "crash"})
    assert 3 == len(cases("crash"))


def test_each_recording_is_found_in_one_place() -> None:
    loose, unpacked, _ = PLACES
    both = [path.relative_to(loose) for path in loose.glob("*/*/trace.jsonl.gz")]
    assert [] == [name for name in both if (unpacked / name).exists()]
    assert len(cases("random")) == len(dict.fromkeys(case.name for case in cases("random")))


@pytest.mark.corpus
@pytest.mark.skipif(not BESIDE.is_dir(), reason="no recordings lie beside the checkout")
def test_the_recordings_of_the_checkout_are_those_beside_it() -> None:
    """If this fails, write the archive anew, or copy an unpacked case again."""
    differing = []
    for place in PLACES[:2]:
        for path in (each for part in PARTS for each in place.glob(f"{part}/**/*") if each.is_file()):
            original = BESIDE / path.relative_to(place)
            others = (original, original.with_name(f"{original.name}.gz"), original.with_suffix(""))
            found = next((other for other in others if other.is_file()), None)
            if found is None or content(found) != content(path):
                differing.append(path.relative_to(place).as_posix())
    assert [] == differing


def test_logs_and_dumps_are_found_by_their_pattern() -> None:
    assert {"basic-0001.log.gz", "preempt-0003.log.gz"} <= {path.name for path in find_recorded("logs/*.log.gz")}
    assert LOOSE not in find_recorded("dumps/*")[0].parents
