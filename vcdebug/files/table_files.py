"""Writes the tables of a recording as JSON lines or CSV, and its spans as a trace for Perfetto."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from vcdebug.debugger.tables import TABLES, CellValue, RecordedTable
from vcdebug.errors import VcdebugError
from vcdebug.framework.record import Level
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.file_access import check_replaceable, replace_file

PERFETTO: Final = "perfetto"


def export_recording(recording: Recording, target: Path, form: str) -> list[Path]:
    """Write the recording: a file per table into the folder `target`, or one trace; returns the files."""
    if form == PERFETTO:
        check_replaceable(target)
        with replace_file(target) as file:
            file.write(json.dumps(build_trace(recording), separators=(",", ":")).encode())
        return [target]
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VcdebugError(f"cannot be made: {error.strerror}", "name a folder for --to", str(target)) from error
    return [_write_table(recording, name, target / f"{name}.{form}", TABLE_WRITERS[form]) for name in TABLES]


def _write_table(recording: Recording, name: str, path: Path, write: "TableWriter") -> Path:
    check_replaceable(path)
    with replace_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        write(recording, TABLES[name], text)
        text.detach()  # flushes; the file below stays open, since replace_file closes it
    return path


def _write_json_lines(recording: Recording, table: RecordedTable, text: io.TextIOBase) -> None:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for row in table.iter_rows(recording):
        values = map(_json_value, row)
        text.write(f"{encode(dict(zip(table.types, values, strict=True)))}\n")


def _json_value(value: CellValue) -> CellValue:
    """Infinity as text, since JSON has none."""
    return str(value) if isinstance(value, float) and value in (float("inf"), -float("inf")) else value


def _write_csv(recording: Recording, table: RecordedTable, text: io.TextIOBase) -> None:
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.types)
    for row in table.iter_rows(recording):
        # Several names share a cell, one per word: names of Kubernetes have no spaces.
        writer.writerow(" ".join(value) if isinstance(value, tuple) else value for value in row)


TableWriter = Callable[[Recording, RecordedTable, io.TextIOBase], None]
TABLE_WRITERS: Final[Mapping[str, TableWriter]] = {"jsonl": _write_json_lines, "csv": _write_csv}
"""Format → how a table is written."""


def build_trace(recording: Recording) -> dict[str, object]:
    """The spans in Chrome's JSON form, which Perfetto opens; an event takes a microsecond, as a cycle has no clock."""
    spans = [span for span in recording.spans if span.last >= span.first]
    events: list[dict[str, object]] = [
        {
            "name": span.name or span.level.name.lower(),
            "cat": span.level.name.lower(),
            "ph": "X",
            "ts": span.first,
            "dur": span.last - span.first + 1,
            "pid": 1,
            "tid": 1,
            "args": {"first": span.first, "last": span.last},
        }
        for span in spans
        if span.level is not Level.NODE
    ]
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"snapshot": recording.snapshot.name}}
