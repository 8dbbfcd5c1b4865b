"""docs/kubectl.md has the command for every kind, and the output of the commands is a snapshot."""

from pathlib import Path

import yaml

from tests.snapshot.kubectl_page import PAGE, page
from tests.snapshot.manifests import cluster
from vcdebug.snapshot.kinds import KINDS, WORKLOAD_KINDS
from vcdebug.snapshot.loader import load_snapshot


def test_the_page_is_up_to_date_and_names_every_kind() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page() == text, "run: make docs"
    assert [] == [kind.name for kind in KINDS if f"kubectl get {kind.kubectl_resource} " not in text]
    assert [] == [kind.name for kind in WORKLOAD_KINDS if kind.kubectl_resource not in text]


def test_a_file_per_kind_as_kubectl_writes_them_is_a_snapshot(tmp_path: Path) -> None:
    for kind in KINDS:
        items = [manifest for manifest in cluster() if manifest["kind"] == kind.name]
        if items:
            listed = {"apiVersion": "v1", "kind": "List", "items": items}
            (tmp_path / f"{kind.plural}.yaml").write_text(yaml.safe_dump(listed))
    assert len(cluster()) == sum(len(found) for found in load_snapshot(tmp_path).objects.values())
