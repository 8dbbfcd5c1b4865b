"""`export`: the recording as tables and as a trace."""

import csv
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyarrow import feather

from tests.architecture.source_tree import ROOT
from tests.cli.transcripts import call
from tests.recorded import GOLDEN, bundled, golden, recorded_path
from vcdebug.debugger.figures import comparable_value, figure_value, parse_figure
from vcdebug.debugger.tables import TABLES
from vcdebug.errors import missing_extra
from vcdebug.files.table_files import build_trace
from vcdebug.recording.recording import Recording
from vcdebug.recording.trace_schema import EventEncoder

FIXTURE = "preempt-blocked-by-gang"
BUNDLED = sorted(path.name for path in (ROOT / "fixtures").iterdir())
Reader = Callable[[Path], Any]  # Any: pyarrow ships no type hints


def export(tmp_path: Path, form: str, snapshot: str = FIXTURE) -> Path:
    target = tmp_path / f"out-{form}"
    code, _, err = call(["export", snapshot, "--to", str(target), "--format", form])
    assert (0, "") == (code, err)
    return target


def test_each_table_is_a_file_of_json_lines_with_its_columns(tmp_path: Path) -> None:
    target = export(tmp_path, "jsonl")
    assert {f"{name}.jsonl" for name in TABLES} == {path.name for path in target.iterdir()}
    for name, table in TABLES.items():
        rows = [json.loads(line) for line in (target / f"{name}.jsonl").read_text().splitlines()]
        assert rows, name
        assert all(list(table.types) == list(row) for row in rows)


@pytest.mark.parametrize("name", TABLES)
def test_csv_has_the_same_rows(name: str, tmp_path: Path) -> None:
    lines = (export(tmp_path, "jsonl") / f"{name}.jsonl").read_text().splitlines()
    with (export(tmp_path, "csv") / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = [{key: cell_text(value) for key, value in json.loads(line).items()} for line in lines]
    assert expected == rows


def cell_text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(value)
    return "" if value is None else str(value)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("name", [FIXTURE, "preempt-vetoed-by-drf"])
def test_duckdb_counts_protected_victims_as_the_trace_does(name: str, form: str, tmp_path: Path) -> None:
    events = list(map(EventEncoder(bundled(name)).encode_event, bundled(name).events))
    assert protected_victims(events, bundled(name)) == ask_duckdb(export(tmp_path, form, name), form)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_duckdb_counts_protected_victims_as_the_real_scheduler_does(form: str, tmp_path: Path) -> None:
    case = recorded_path("random/mixed-0008")
    with gzip.open(case / "trace.jsonl.gz") as file:
        counted = protected_victims(list(map(json.loads, file)), golden(case.name))
    assert {"priority", "drf", "gang", "proportion"} == {plugin for _, plugin, _ in counted}
    assert counted == ask_duckdb(export(tmp_path, form, str(case)), form)


def ask_duckdb(folder: Path, form: str) -> list[tuple[Any, ...]]:
    """The answer to the query of docs/events.md."""
    (query,) = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "events.md").read_text(), re.DOTALL)
    return duckdb.execute(query.replace("FOLDER/votes.jsonl", f"{folder}/votes.{form}")).fetchall()


def protected_victims(events: list[dict[str, Any]], recording: Recording) -> list[tuple[str, str, int]]:
    """Queue, plugin, number of pods: candidates that a plugin that votes does not return."""
    queues = {
        f"{task.namespace}/{task.name}": job.queue
        for job in recording.session.jobs.values()
        for task in job.tasks.values()
    }
    votes = [event for event in events if event.get("vote")]
    protected = {(event["plugin"], pod) for event in votes for pod in {*event["candidates"]} - {*event["result"]}}
    assert protected
    counted = Counter((queues[pod], plugin) for plugin, pod in protected)
    return sorted((queue, plugin, number) for (queue, plugin), number in counted.items())


def test_amounts_begin_with_the_opening_state_and_end_with_the_last_one(tmp_path: Path) -> None:
    lines = (export(tmp_path, "jsonl") / "node_amounts.jsonl").read_text().splitlines()
    last: dict[tuple[str, str, str], float] = {}
    for row in map(json.loads, lines):
        key = row["node"], row["figure"], row["dimension"]
        assert (row["seq"] == 0) == (key not in last)
        assert row["amount"] != last.get(key)
        last[key] = row["amount"]
    recording = bundled(FIXTURE)
    for (node, part, dim), amount in last.items():
        figure = parse_figure(recording, ("node", node, part, dim))
        found = figure_value(recording, figure, len(recording))
        assert amount == comparable_value(figure, found)


TRACK = {"pid": {"type": "integer"}, "tid": {"type": "integer"}, "args": {"type": "object"}}
SPAN = {
    "ph": {"const": "X"},
    "name": {"type": "string", "minLength": 1},
    "cat": {"type": "string", "minLength": 1},
    "ts": {"type": "integer", "minimum": 1},
    "dur": {"type": "integer", "minimum": 1},
    **TRACK,
}
NAME = {"ph": {"const": "M"}, "name": {"enum": ["process_name", "thread_name"]}, **TRACK}
EVENT = [{"properties": fields, "required": list(fields), "additionalProperties": False} for fields in (SPAN, NAME)]
TRACE = {"properties": {"traceEvents": {"type": "array", "items": {"oneOf": EVENT}}}, "required": ["traceEvents"]}
"""What Chrome's Trace Event Format asks of complete events and names; tests/browser asks Perfetto itself."""


def test_perfetto_gets_a_span_per_action_queue_job_and_task(tmp_path: Path) -> None:
    trace = json.loads(export(tmp_path, "perfetto").read_text())
    assert build_trace(bundled(FIXTURE)) == trace
    assert {"cycle", "action", "queue", "job", "task"} == {one["cat"] for one in trace["traceEvents"] if "cat" in one}


@pytest.mark.parametrize(
    ("replay", "name"), [*((bundled, one) for one in BUNDLED), *((golden, one) for one in GOLDEN[:10])]
)
def test_spans_have_the_form_of_trace_events_and_nest(replay: Callable[[str], Recording], name: str) -> None:
    trace: dict[str, Any] = build_trace(replay(name))
    jsonschema.validate(trace, TRACE)
    open_until: list[int] = []
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            while open_until and open_until[-1] <= event["ts"]:
                open_until.pop()
            assert not open_until or event["ts"] + event["dur"] <= open_until[-1]
            open_until.append(event["ts"] + event["dur"])


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = call(["export", FIXTURE, "--to", str(tmp_path / "file" / "below")])
    assert 1 == code
    assert "cannot be made" in err


def test_the_page_of_events_names_every_column() -> None:
    page = (ROOT / "docs" / "events.md").read_text()
    for name, table in TABLES.items():
        columns = ", ".join(f"`{column}`" for column in table.types)
        assert f"| `{name}` | {table.description} | {columns} |" in page


@pytest.mark.parametrize(("form", "read"), [("parquet", pyarrow.parquet.read_table), ("arrow", feather.read_table)])
@pytest.mark.parametrize("name", TABLES)
def test_arrow_and_parquet_have_the_same_rows(name: str, form: str, read: Reader, tmp_path: Path) -> None:
    lines = (export(tmp_path, "jsonl") / f"{name}.jsonl").read_text().splitlines()
    found = read(export(tmp_path, form) / f"{name}.{form}")
    assert list(TABLES[name].types) == found.column_names
    texts = [one for one in found.column_names if found.schema.field(one).type == pa.string()]
    assert [in_words(json.loads(line), texts) for line in lines] == [in_words(row, texts) for row in found.to_pylist()]


def in_words(row: dict[str, object], texts: list[str]) -> dict[str, object]:
    """A row in which the values of Arrow's text columns are converted to text."""
    return {key: cell_text(value) if key in texts and value is not None else value for key, value in row.items()}


def test_arrow_without_the_extra_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = call(["export", FIXTURE, "--to", str(tmp_path / "out"), "--format", "parquet"])
    expected = f"vcdebug: {missing_extra('tables', 'parquet or arrow')}\n"
    assert (1, expected, []) == (code, err, list(tmp_path.iterdir()))
