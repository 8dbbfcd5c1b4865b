"""`submit`: explain a manifest added to a snapshot."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.transcripts import call

MANIFEST = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: probe, namespace: research}
spec:
  queue: research
  tasks:
  - name: worker
    replicas: 1
    template:
      spec:
        containers:
        - {name: main, resources: {limits: {cpu: "1", nvidia.com/gpu: "GPUS"}}}
"""


def written(folder: Path, gpus: int) -> str:
    file = folder / "job.yaml"
    file.write_text(MANIFEST.replace("GPUS", str(gpus)), encoding="utf-8")
    return str(file)


def test_a_job_that_fits_is_placed(tmp_path: Path) -> None:
    code, out, err = call(["submit", "preempt-blocked-by-gang", written(tmp_path, 1), "--json"])
    (answer,) = json.loads(out)["submitted"]
    assert (0, "", "places", "research/probe-submitted") == (code, err, answer["cause"], answer["job"])


def test_a_job_that_does_not_fit_is_explained(tmp_path: Path) -> None:
    manifest = written(tmp_path, 9)
    code, out, _ = call(["submit", "preempt-blocked-by-gang", manifest])
    assert (2, True) == (code, "probe-worker-0 asks 9 nvidia.com/gpu" in out and "larger-than-any-node" in out)
    assert "Add --prove for " in out.splitlines()[-1]


def test_a_manifest_that_is_no_workload_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("kind: Node\nmetadata: {name: n}\n", encoding="utf-8")
    code, _, err = call(["submit", "preempt-works", str(file)])
    assert (1, 1) == (code, len(err.splitlines()))
    assert "unsupported kind Node" in err
