"""Every recorded case loads with all fields that vcdebug reads; only missing references are reported."""

import gzip
import json
from pathlib import Path
from typing import Any

from tests.recorded import each_case, recorded
from tests.snapshot.manifests import as_read

REAL = ("is not in the snapshot", "is missing")


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return [without_nulls(part) for part in value] if isinstance(value, list) else value


@each_case
def test_a_recorded_case_loads_with_every_field_that_is_read(case: Path) -> None:
    packed = case / "cluster.json.gz"
    text = gzip.decompress(packed.read_bytes()) if packed.exists() else (case / "cluster.json").read_bytes()
    expected: dict[str, list[Any]] = {}
    for manifest in json.loads(text)["items"]:
        expected.setdefault(manifest["kind"], []).append(without_nulls(manifest))
    snapshot = recorded(case).snapshot
    assert as_read(expected) == without_nulls(snapshot.objects)
    assert (case / "scheduler.conf").read_text(encoding="utf-8") == snapshot.scheduler_conf
    assert [] == [p.format_line() for p in snapshot.problems if not any(real in p.what for real in REAL)]
