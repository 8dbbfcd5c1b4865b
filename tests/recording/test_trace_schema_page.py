"""docs/trace.schema.json describes the output of --trace and the recordings of real schedulers."""

import gzip
import io
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.recorded import ROOT, bundled
from vcdebug.recording.trace_schema import write_cycles, write_jsonl

SCHEMA = json.loads((ROOT / "docs" / "trace.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
RECORDED = ("basic-0000", "hypernode-0005", "nominated-0000", "devices-0000")
WRITTEN = ("preempt-blocked-by-gang", "gangpreempt-bundles", "shuffle-clears-nodes")

Event = dict[str, Any]  # Any: JSON


def written(name: str) -> list[Event]:
    text = io.StringIO()
    write_jsonl(bundled(name), text)
    return [json.loads(line) for line in text.getvalue().splitlines()]


def faults(events: list[Event]) -> list[str]:
    return [f"{event['seq']}: {error.message}" for event in events for error in VALIDATOR.iter_errors(event)]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_trace_is_as_the_schema_says(name: str) -> None:
    assert [] == faults(written(name))


@pytest.mark.parametrize("name", RECORDED)
def test_a_real_scheduler_was_recorded_in_the_same_form(name: str) -> None:
    with gzip.open(ROOT / "tests" / "golden" / "random" / name / "trace.jsonl.gz", "rt", encoding="utf-8") as lines:
        assert [] == faults(list(map(json.loads, lines)))


def test_cycles_begin_with_an_event_of_their_own() -> None:
    text = io.StringIO()
    write_cycles([bundled()], text)
    first = json.loads(text.getvalue().splitlines()[0])
    assert ("cycle", []) == (first["ev"], faults([first]))


def test_every_kind_of_event_has_a_definition() -> None:
    kinds = SCHEMA["properties"]["ev"]["enum"]
    assert kinds == [rule["if"]["properties"]["ev"]["const"] for rule in SCHEMA["allOf"]]
    assert set(kinds) <= set(SCHEMA["$defs"])
    page = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
    assert [] == [kind for kind in kinds if f"| `{kind}` |" not in page]


def test_a_line_that_lacks_a_key_or_has_another_one_is_refused() -> None:
    firsts = {event["ev"]: event for event in written("preempt-blocked-by-gang")}
    assert len(firsts) >= 9
    for event in firsts.values():
        assert faults([{**event, "surprise": 1}])
        for key in ("ev", *SCHEMA["$defs"][event["ev"]]["required"]):
            assert list(VALIDATOR.iter_errors({name: value for name, value in event.items() if name != key})), key
