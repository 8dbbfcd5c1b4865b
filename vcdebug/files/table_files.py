"""Writes the tables of a recording as JSON lines or CSV, and its spans as a trace for Perfetto."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Final

from vcdebug.debugger.tables import TABLES, CellValue, RecordedRow
from vcdebug.errors import VcdebugError, missing_extra
from vcdebug.framework.record import Level
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.file_access import check_replaceable, replace_file

PERFETTO: Final = "perfetto"


def export_recording(recording: Recording, target: Path, form: str) -> list[Path]:
    """Write the recording: a file per table into the folder `target`, or one trace; returns the files."""
    if form == PERFETTO:
        check_replaceable(target)
        with replace_file(target) as file:
            # Perfetto shows escaped characters as they are.
            file.write(json.dumps(build_trace(recording), ensure_ascii=False, separators=(",", ":")).encode())
        return [target]
    if form not in TEXT_WRITERS:
        _require_arrow()
    write = _write_text_file if form in TEXT_WRITERS else _write_arrow_file
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VcdebugError(f"cannot be made: {error.strerror}", "--to must name a folder", str(target)) from error
    written = []
    for name, table in TABLES.items():
        path = target / f"{name}.{form}"
        check_replaceable(path)
        with replace_file(path) as file:
            write(table.types, table.iter_rows(recording), file, form)
        written.append(path)
    return written


# Text.

WriteText = Callable[[str], object]
"""Writes a piece of text that ends with a line break."""


def _write_text_file(types: Mapping[str, str], rows: Iterable[RecordedRow], file: BinaryIO, form: str) -> None:
    TEXT_WRITERS[form](types, rows, lambda text: file.write(text.encode()))


def _write_json_lines(types: Mapping[str, str], rows: Iterable[RecordedRow], write: WriteText) -> None:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for row in rows:
        write(f"{encode(dict(zip(types, map(_json_value, row), strict=True)))}\n")


def _json_value(value: CellValue) -> CellValue:
    """The value for JSON: infinity becomes text, because JSON has no such number."""
    return str(value) if isinstance(value, float) and value in (float("inf"), -float("inf")) else value


def _write_csv(types: Mapping[str, str], rows: Iterable[RecordedRow], write: WriteText) -> None:
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for row in chain([tuple(types)], rows):
        writer.writerow(format_cell(value) if isinstance(value, tuple) else value for value in row)
        write(line.getvalue())
        line.seek(0)
        line.truncate()


def format_cell(value: CellValue) -> str:
    """A value as text; several names are joined by spaces, which Kubernetes names never contain."""
    return " ".join(value) if isinstance(value, tuple) else "" if value is None else str(value)


TEXT_WRITERS: Final[Mapping[str, Callable[[Mapping[str, str], Iterable[RecordedRow], WriteText], None]]] = {
    "jsonl": _write_json_lines,
    "csv": _write_csv,
}
"""Format → function that writes the rows of a table."""


# Arrow and Parquet.

BATCH_ROWS: Final = 65_536
FRACTIONS: Final = ("score", "amount", "value")
"""Number columns with fractions; all others are integers."""


def _require_arrow() -> None:
    """Raise UnsupportedError without the extra, before anything is replaced."""
    try:
        import pyarrow as pa  # noqa: F401
    except ImportError as error:
        raise missing_extra("tables", "parquet or arrow") from error


def _write_arrow_file(types: Mapping[str, str], rows: Iterable[RecordedRow], file: BinaryIO, form: str) -> None:
    """Write rows in batches; columns with values of several types, or with lists of names, become text."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    names = {"number": pa.int64(), "yes or no": pa.bool_(), "list": pa.list_(pa.string())}
    kinds = [pa.float64() if name in FRACTIONS else names.get(types[name], pa.string()) for name in types]
    schema = pa.schema(list(zip(types, kinds, strict=True)))
    remaining = iter(rows)
    with ParquetWriter(file, schema) if form == "parquet" else pa.ipc.new_file(file, schema) as writer:
        while batch := list(islice(remaining, BATCH_ROWS)):
            columns = zip(*batch, strict=True)
            filled = [_arrow_column(kind, column) for kind, column in zip(kinds, columns, strict=True)]
            writer.write_batch(pa.record_batch(filled, schema))


def _arrow_column(kind: object, column: Iterable[CellValue]) -> object:
    import pyarrow as pa

    texts = kind == pa.string()
    return pa.array([None if value is None else format_cell(value) if texts else value for value in column], kind)


def build_trace(recording: Recording) -> dict[str, object]:
    """The spans in Chrome's JSON form, which Perfetto opens; an event takes a microsecond, as a cycle has no clock."""
    track = {"pid": 1, "tid": 1}
    events: list[dict[str, object]] = [
        {"name": "process_name", "ph": "M", **track, "args": {"name": recording.snapshot.name}},
        {"name": "thread_name", "ph": "M", **track, "args": {"name": "1 µs = 1 event"}},
    ]
    for span in recording.spans:
        if span.level is not Level.NODE and span.last >= span.first:
            level = span.level.name.lower()
            events.append(
                {"name": span.name or level, "cat": level, "ph": "X", "ts": span.first}
                | {"dur": span.last - span.first + 1, **track, "args": {"first": span.first, "last": span.last}}
            )
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"snapshot": recording.snapshot.name}}
