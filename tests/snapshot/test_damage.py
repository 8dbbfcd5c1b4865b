"""load returns the usable part of a damaged snapshot with Problems, or raises one clear error."""

from pathlib import Path

import pytest

from tests.effort import at_most
from tests.snapshot.damage import Damaged, damaged, missing_fields, wrong_types
from vcdebug.errors import SnapshotError
from vcdebug.snapshot.loader import load_snapshot

CASES = damaged()
SOUND_AFTER_ALL = ("gzip in gzip", "zip of a zip", "YAML dates", "lone surrogates", "UTF-16")
SECONDS = 5.0
"""Limit of processor time for one snapshot, in seconds."""


def first_line(case: Damaged, folder: Path) -> str:
    """The error line or the first Problem; empty if there is neither."""
    path = case.write(folder)
    try:
        snapshot = load_snapshot(path)
    except SnapshotError as error:
        return error.format_line() if error.where else "nameless"
    assert snapshot.objects
    return snapshot.problems[0].format_line() if snapshot.problems else ""


def test_there_are_at_least_200_and_their_names_differ() -> None:
    names = [case.name for case in CASES]
    assert len(dict.fromkeys(names)) == len(names) >= 200


UNSAID = (*SOUND_AFTER_ALL, *(case.name for case in (*wrong_types(), *missing_fields())))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name[:60])
def test_load_reports_damage_in_one_line(case: Damaged, tmp_path: Path) -> None:
    with at_most(SECONDS):
        line = first_line(case, tmp_path)
    assert "\n" not in line
    assert len(line) < 1000
    assert "Traceback" not in line
    assert [case.file] == [path.name for path in tmp_path.iterdir()]
    if case.name not in UNSAID and not case.name.startswith("truncated yaml"):
        assert line
        assert case.file.split(".")[0] in line or case.name.split()[0] in line or ".json" in line


def test_a_hostile_archive_leaves_nothing_behind(tmp_path: Path) -> None:
    outside = Path("/tmp/evil.json")
    assert not outside.exists()
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    for case in CASES:
        if "evil" in case.name:
            snapshot = load_snapshot(case.write(inner))
            assert "evil" not in [node["metadata"]["name"] for node in snapshot.objects_of("Node")]
            (inner / case.file).unlink()
    assert ["a"] == [path.name for path in tmp_path.iterdir()]
    assert not outside.exists()


def test_damage_is_the_same_every_time() -> None:
    again = damaged.__wrapped__()
    assert [(case.name, case.content()) for case in CASES] == [(case.name, case.content()) for case in again]
