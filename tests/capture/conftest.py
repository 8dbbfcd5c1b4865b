from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.capture.fake_server import FakeApi, serving, write_kubeconfig
from tests.capture.small_cluster import small_cluster
from vcdebug.capture import CaptureOptions


@pytest.fixture
def api() -> FakeApi:
    return small_cluster()


@pytest.fixture
def options(api: FakeApi, tmp_path: Path) -> Iterator[CaptureOptions]:
    """Capture options that reach the fake server through a kubeconfig, like a user's."""
    with serving(api) as address:
        kubeconfig = write_kubeconfig(tmp_path / "config", address)
        yield CaptureOptions(kubeconfig=str(kubeconfig), first_wait=0.01, timeout=10)
