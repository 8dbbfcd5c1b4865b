"""Progress messages of the command line while it reads a large snapshot."""

from pathlib import Path

import pytest
import yaml

from tests.cli.transcripts import call
from tests.snapshot.manifests import cluster
from vcdebug.snapshot import loader


def test_a_large_yaml_file_is_announced_on_stderr_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "SLOW_YAML_BYTES", 1_000)
    path = tmp_path / "cluster.yaml"
    path.write_text("".join(f"---\n{yaml.safe_dump(one)}" for one in cluster()))
    code, out, err = call(["run", str(path)])
    assert 0 == code
    assert "cluster: 3 nodes" in out
    assert (
        "vcdebug: cluster.yaml: reading 0 MB of YAML takes about 0 s; JSON (kubectl -o json) takes a few seconds\n"
        == err
    )
