"""A folder of captures of one cluster."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.builders import cluster, node
from vcdebug.snapshot.history import History, timeline_of
from vcdebug.snapshot.load import load
from vcdebug.snapshot.snapshot import Snapshot


def at(seconds: int, name: str = "prod/eu") -> Snapshot:
    snapshot = cluster([node("n0")])
    snapshot.name = name
    snapshot.now += timedelta(seconds=seconds)
    return snapshot


def test_only_the_newest_stay_in_the_order_of_their_moments(tmp_path: Path) -> None:
    history = History(tmp_path / "captures", most=3)
    kept = [history.keep(at(seconds)) for seconds in (0, 5, 5, 5, 70)]
    assert kept[2:] == history.files()
    assert 5 == len({file.name for file in kept})
    assert at(70).now == load(history.files()[-1]).now


def test_captures_are_readable_for_their_owner_alone(tmp_path: Path) -> None:
    file = History(tmp_path / "captures").keep(at(0))
    assert (0o600, 0o700) == (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777)


def test_files_of_several_clusters_are_no_timeline(tmp_path: Path) -> None:
    files = [History(tmp_path).keep(at(0, name)) for name in ("prod", "dev")]
    assert [] == timeline_of(files)
    assert [] == timeline_of([tmp_path / "incident.tar.gz"])
