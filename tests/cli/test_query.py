"""`query`: events with selected columns, over cycles and snapshots."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from shutil import copytree

import pytest

from tests.cli.scripts import steps
from tests.cli.transcripts import call
from tests.recorded import ROOT
from vcdebug.debugger.tables import DEFAULT_COLUMNS

BLOCKED = "preempt-blocked-by-gang"
GANG = 'victim if plugin == "gang"'
LATER = ("--cycles", "2")


def query(*arguments: str) -> str:
    code, out, err = call(["query", *arguments])
    assert (0, "") == (code, err)
    return out


def json_rows(*arguments: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in query(*arguments, "--format", "jsonl").splitlines()]


def test_query_lists_the_same_rows_as_find(tmp_path: Path) -> None:
    (step,) = steps(tmp_path, f"find {GANG}")
    assert step["table"] == query(BLOCKED, GANG).splitlines()[:-1]


def test_columns_are_fields_and_expressions() -> None:
    columns = 'seq, job, count(victims), all(victims, it in candidates), node("gpu-a100-01").idle.cpu'
    first = json_rows(BLOCKED, GANG, "--columns", columns)[0]
    assert columns.split(", ", 3)[:3] == list(first)[:3]
    assert [103, "research/llm-finetune", 1, True, 72.0] == list(first.values())


def test_every_form_has_the_same_rows() -> None:
    asked = (BLOCKED, GANG, "--columns", "seq,job,victims", *LATER)
    rows = json_rows(*asked)
    found = list(csv.DictReader(io.StringIO(query(*asked, "--format", "csv"))))
    assert [{**row, "seq": str(row["seq"]), "victims": " ".join(row["victims"])} for row in rows] == found  # type: ignore[arg-type]
    heads, *lines, _ = query(*asked).splitlines()
    assert (["cycle", "seq", "job", "victims"], len(rows)) == (heads.split(), len(lines))
    assert {"1", "2"} == {row["cycle"] for row in rows}


def test_without_columns_data_has_the_usual_ones() -> None:
    assert DEFAULT_COLUMNS.split(",") == list(json_rows(BLOCKED, GANG)[0])


def test_a_folder_names_each_snapshot_and_reports_those_that_fail(tmp_path: Path) -> None:
    for name in (BLOCKED, "preempt-works"):
        copytree(ROOT / "fixtures" / name, tmp_path / name)
    (tmp_path / "broken.tar.gz").write_bytes(b"no archive")
    code, out, err = call(["query", str(tmp_path), GANG, "--columns", "seq", "--format", "jsonl"])
    names = {json.loads(line)["snapshot"] for line in out.splitlines()}
    assert (1, {BLOCKED, "preempt-works"}) == (code, names)
    assert "broken.tar.gz" in err


def test_a_folder_of_recordings_is_asked_as_its_snapshots_are(tmp_path: Path) -> None:
    for name in (BLOCKED, "preempt-works"):
        assert 0 == call(["run", name, "--save", str(tmp_path / f"{name}.vcdebug")])[0]
        copytree(ROOT / "fixtures" / name, tmp_path / "below" / name)
    rows = json_rows(str(tmp_path), GANG, "--columns", "seq,task,victims")
    stored, replayed = ([row for row in rows if (".vcdebug" in str(row["snapshot"])) is kept] for kept in (True, False))
    assert [[*row.values()][1:] for row in stored] == [[*row.values()][1:] for row in replayed] != []
    _, out, _ = call(["explain", str(tmp_path), "--json"])
    why = {each["snapshot"]: each["jobs"] for each in json.loads(out)["snapshots"]}
    assert why[f"{BLOCKED}.vcdebug"] == why[f"below/{BLOCKED}"] != []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((BLOCKED, "nonsense"), "no kind of breakpoint"),
        ((BLOCKED, "victim", "--columns", "seq job"), "expected a comma"),
        ((BLOCKED, "victim", "--columns", "nonsense"), "no field 'nonsense'"),
        ((BLOCKED, 'victim if node("nowhere").idle.cpu > 1'), "no node 'nowhere'"),
        ((BLOCKED, "victim", "--every", "1s"), "--every"),
    ],
)
def test_invalid_query_is_refused(arguments: tuple[str, ...], words: str) -> None:
    code, out, err = call(["query", *arguments])
    assert (1, "") == (code, out)
    assert words in err


# Within a run.


def test_two_moments_of_a_run_are_compared(tmp_path: Path) -> None:
    first, again = (one["table"] for one in steps(tmp_path, "diff 100 130", "goto 100", "diff 130")[::2])
    assert first == again
    assert "Events 100 to 130: 35 figures changed" == first[0]
    assert "task research/llm-finetune-worker-0 node" in "\n".join(first)
    (same,) = steps(tmp_path, "diff 100 100")
    assert [] == same["rows"]


def test_rows_of_diff_agree_with_watched_figures(tmp_path: Path) -> None:
    (step,) = steps(tmp_path, "diff 1 166")
    commands = [line for name, *_ in step["rows"] for line in ("goto 166", f"watch {name}", "goto 1", f"watch {name}")]
    said = [one["text"].rpartition(": ")[2] for one in steps(tmp_path, *commands)]
    assert [[old, new] for _, old, new, _ in step["rows"]] == [
        list(pair) for pair in zip(said[3::4], said[1::4], strict=True)
    ]


def test_continue_goes_on_in_the_next_cycle_and_back(tmp_path: Path) -> None:
    found = steps(tmp_path, "advance", "cycle 1", "break statement discard", "c", "C", "C")
    *_, set_, second = [step["shown"]["cycle"] for step in found[:4]]
    assert (1, 1) == (set_, second)
    stops = steps(tmp_path, "advance", "cycle 1", f"break {GANG}", "goto 166", "c", "C")
    assert [2, 1] == [step["shown"]["cycle"] for step in stops[-2:]]
    assert "cycle 2" in stops[-2]["reason"]


def test_a_log_point_speaks_on_the_way_into_the_next_cycle(tmp_path: Path) -> None:
    lines = ("advance", "cycle 1", "goto 166", 'break starving log "{job}"', f"break {GANG}", "c")
    last = steps(tmp_path, *lines)[-1]
    (asked,) = steps(tmp_path, "advance", f"find starving if seq <= {last['seq']}")[1:]
    assert last["log"]
    found = [row[0] for row in asked["rows"] if row[0].startswith("2:")]
    assert [f"2:{line['seq']}" for line in last["log"]] == found


FOLLOWED = "data task research/llm-finetune-worker-0 node"


def test_events_that_change_a_figure_have_both_values_in_every_form() -> None:
    rows = json_rows(BLOCKED, FOLLOWED)
    assert [("", "gpu-a100-01"), ("gpu-a100-01", "")] == [(row["old"], row["new"]) for row in rows]
    assert [row["new"] for row in rows] == [row["new"] for row in json_rows(BLOCKED, FOLLOWED, "--columns", "seq,new")]
    lines = query(BLOCKED, FOLLOWED).splitlines()
    assert [True, True] == ["none → gpu-a100-01" in lines[-3], "gpu-a100-01 → none" in lines[-2]]
    assert 1 == len(json_rows(BLOCKED, f"{FOLLOWED} if new == none"))


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ('victim if plugin == "gagn"', "no plugin 'gagn' in this recording; did you mean gang?"),
        ('victim if action == "premept"', "no action 'premept' in this recording; did you mean preempt?"),
        ('victim if queue == "research" and job == "research/llm"', "no job 'research/llm' in this recording"),
        ('predicate if node == "gpu-a100-1"', "no node 'gpu-a100-1' in this recording; did you mean gpu-a100-01?"),
        ('victim if queue == "platform"', "no event of this recording"),
    ],
)
def test_a_name_that_the_recording_lacks_is_said_where_nothing_is_found(words: str, answer: str) -> None:
    assert answer in query(BLOCKED, words)


def test_victims_of_a_queue_are_found_by_the_queue_and_job_of_each_pod() -> None:
    by_job = json_rows(BLOCKED, 'victim if any(candidates, task(it).job == "research/speech-asr")')
    by_name = json_rows(BLOCKED, 'victim if any(candidates, it matches "speech-asr")')
    assert by_name == by_job != []
    every = json_rows(BLOCKED, "victim if count(candidates) > 0")
    assert every == json_rows(
        BLOCKED, 'victim if count(candidates) > 0 and all(candidates, task(it).queue == "research")'
    )
    assert not json_rows(BLOCKED, 'victim if any(candidates, task(it).queue == "platform")')
