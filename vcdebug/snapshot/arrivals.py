"""Objects that arrive between cycles: a file that maps numbers of cycles to manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vcdebug.errors import SnapshotError
from vcdebug.snapshot.documents import read_documents
from vcdebug.snapshot.file_access import read_file
from vcdebug.snapshot.gather import GatheredObjects, object_name
from vcdebug.snapshot.report import ProblemReport
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.snapshot.yaml_documents import DocumentError

Arrivals = Mapping[int, Mapping[str, Sequence[Manifest]]]
"""Number of a cycle → manifests by kind that arrive before it."""

FIRST_CYCLE = 2
_FORM = '{"2": [manifest, ...], "3": [...]}: the number of a cycle from 2 on, and what arrives before it'


def read_arrivals(path: Path) -> Arrivals:
    """The file's manifests; raises SnapshotError where anything of it could not take part."""
    try:
        documents = list(read_documents(read_file(path)))
    except DocumentError as error:
        raise SnapshotError(str(error), _FORM, str(path)) from error
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise SnapshotError("does not say what arrives when", _FORM, str(path))
    return {_parse_cycle(key, path): _read_arriving(value, path) for key, value in documents[0].items()}


def _parse_cycle(key: Any, path: Path) -> int:
    text = str(key)
    if not text.isdecimal() or int(text) < FIRST_CYCLE:
        raise SnapshotError(f"{text!r} is no cycle before which something can arrive", _FORM, str(path))
    return int(text)


def _read_arriving(value: Any, path: Path) -> Mapping[str, Sequence[Manifest]]:
    report = ProblemReport()
    found = GatheredObjects(report, slim=True)
    found.add_document(value, path.name, "element")
    found.note_unknown_kinds()
    problems = report.all_problems()
    if problems:
        raise SnapshotError(problems[0].format_line(), where=str(path))
    return found.objects


def with_arrivals(present: Sequence[Manifest], arriving: Sequence[Manifest]) -> list[Manifest]:
    """The objects of a kind, those that arrive at the end; one of a known name takes its place."""
    newest = {object_name(manifest): manifest for manifest in arriving}
    kept = [newest.pop(object_name(manifest), manifest) for manifest in present]
    return [*kept, *newest.values()]
