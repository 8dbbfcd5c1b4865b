"""`vcdebug open --context`: the first capture of a live cluster, and further ones."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tests.capture.fake_server import serving, write_kubeconfig
from tests.capture.small_cluster import small_cluster
from vcdebug.capture import CaptureOptions
from vcdebug.cli.commands.open import first_capture
from vcdebug.cli.output import Output
from vcdebug.snapshot.loader import load_snapshot


def test_a_cluster_is_captured_kept_and_captured_again(tmp_path: Path) -> None:
    with serving(small_cluster()) as address:
        options = CaptureOptions(kubeconfig=str(write_kubeconfig(tmp_path / "config", address)), first_wait=0.01)
        file, captures = first_capture(Namespace(history=None), options, tmp_path / "state", Output())
        assert tmp_path / "state" / "captures" / "dev" == file.parent
        assert captures.take_capture is not None
        taken = captures.take_capture()
    assert 2 == len(list(file.parent.iterdir()))
    assert 3 == len(taken.capture().objects_of("Node")) == len(load_snapshot(file).objects_of("Node"))
    assert 1 == captures.open_count


def test_the_folder_may_be_named(tmp_path: Path) -> None:
    with serving(small_cluster()) as address:
        options = CaptureOptions(kubeconfig=str(write_kubeconfig(tmp_path / "config", address)), first_wait=0.01)
        file, _ = first_capture(Namespace(history=str(tmp_path / "mine")), options, tmp_path / "state", Output())
    assert tmp_path / "mine" == file.parent
