"""The history folder with the captures of one cluster."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.builders import cluster, node
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.saved_files import CaptureHistory, order_captures
from vcdebug.snapshot.snapshot import Snapshot


def at(seconds: int, name: str = "prod/eu") -> Snapshot:
    snapshot = cluster([node("n0")])
    snapshot.name = name
    snapshot.now += timedelta(seconds=seconds)
    return snapshot


def test_only_the_newest_stay_in_the_order_of_their_moments(tmp_path: Path) -> None:
    history = CaptureHistory(tmp_path / "captures", most=3)
    kept = [history.add_capture(at(seconds)) for seconds in (0, 5, 5, 5, 70)]
    assert kept[2:] == history.list_captures()
    assert 5 == len({file.name for file in kept})
    assert at(70).now == load_snapshot(history.list_captures()[-1]).now


def test_captures_are_readable_for_their_owner_alone(tmp_path: Path) -> None:
    file = CaptureHistory(tmp_path / "captures").add_capture(at(0))
    assert (0o600, 0o700) == (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777)


def test_files_of_several_clusters_are_no_timeline(tmp_path: Path) -> None:
    files = [CaptureHistory(tmp_path).add_capture(at(0, name)) for name in ("prod", "dev")]
    assert [] == order_captures(files)
    assert [] == order_captures([tmp_path / "incident.tar.gz"])
