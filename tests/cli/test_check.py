"""`vcdebug check` and `vcdebug inspect --against`: exit codes, text and JSON."""

import gzip
import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.transcripts import call
from tests.comparison.test_dump import own_documents, text_of
from tests.logs.log_cases import CASES, copied, log_file, position

SNAPSHOT = str(CASES / "preempt-0003")
LOG = str(log_file("preempt-0003"))
CLUSTER = str(CASES / "hypernode-0005")


@pytest.fixture
def altered(tmp_path: Path) -> tuple[str, int]:
    """A log with one changed node name, and the number of its line."""
    lines = list(copied("preempt-0003")[0])
    at = position(lines, "Binding Task")
    lines[at] = lines[at].rsplit("<", 1)[0] + "<node-999>"
    path = tmp_path / "altered.log"
    path.write_text("\n".join(lines))
    return str(path), at + 1


def test_a_log_that_agrees_exits_0() -> None:
    code, out, err = call(["check", LOG, SNAPSHOT])
    assert (0, "") == (code, err)
    release = "  Release unknown, replayed by the latest rules (master of 2026-08-20)."
    cycle = "cycle 1 of 1 in the log (detected level -v=5)"
    assert ["log and replay agree", release, cycle] == out.splitlines()[:3]
    assert "lines; " in out


def test_a_log_that_disagrees_exits_2_and_shows_both_sides(altered: tuple[str, int]) -> None:
    log, line = altered
    code, out, _ = call(["check", log, SNAPSHOT])
    assert 2 == code
    assert f"log     line {line}: Binding Task" in out
    assert "replay  event " in out


def test_the_disagreement_as_json(altered: tuple[str, int]) -> None:
    log, line = altered
    code, out, _ = call(["check", log, SNAPSHOT, "--json"])
    document = json.loads(out)
    assert (2, False, "different", line) == (
        code,
        document["agrees"],
        document["disagreement"]["kind"],
        document["disagreement"]["log"]["line"],
    )
    assert document["disagreement"]["replay"]["text"].startswith("Binding Task")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["check", "nowhere.log", SNAPSHOT], "nowhere.log: no such file"),
        (["check", SNAPSHOT, SNAPSHOT], "is a folder"),
        (["check", str(Path(SNAPSHOT) / "scheduler.conf"), SNAPSHOT], "no scheduling cycle found in this log"),
        (["check", LOG, SNAPSHOT, "--cycle", "7"], "cycle 7 is not in this log"),
        (["check", "-", "-"], "cannot both be standard input"),
        (["inspect", CLUSTER, "--against", LOG], "not a dump of the scheduler's cache"),
    ],
)
def test_an_error_is_one_line_and_exits_1(arguments: list[str], text: str) -> None:
    code, out, err = call(arguments)
    assert (1, "", 1) == (code, out, err.count("\n"))
    assert text in err


def test_a_log_may_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(Path(LOG).read_bytes())))
    assert 0 == call(["check", "-", SNAPSHOT])[0]


def test_a_damaged_archive_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "cut.log.gz"
    path.write_bytes(Path(LOG).read_bytes()[:500])
    code, _, err = call(["check", str(path), SNAPSHOT])
    assert 1 == code
    assert "cannot be decompressed" in err


def test_a_dump_that_agrees_exits_0(tmp_path: Path) -> None:
    path = tmp_path / "dump.json.gz"
    path.write_bytes(gzip.compress(text_of(own_documents()).encode()))
    code, out, _ = call(["inspect", CLUSTER, "--against", str(path)])
    assert 0 == code
    assert out.startswith("dump and replay agree\n")


def test_a_dump_that_differs_exits_2_and_names_the_field(tmp_path: Path) -> None:
    documents = own_documents()
    name = next(iter(documents["Nodes"]))
    documents["Nodes"][name]["Used"]["Memory"] = 1
    path = tmp_path / "dump.json"
    path.write_text(text_of(documents))
    code, out, _ = call(["inspect", CLUSTER, "--against", str(path), "--json"])
    found = json.loads(out)["differences"]
    assert (2, [(f"node {name}", "Used.Memory", "1")]) == (
        code,
        [(one["object"], one["field"], one["dumped"]) for one in found],
    )


def test_a_truncated_dump_says_what_is_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(text_of(own_documents())[:-100])
    code, out, _ = call(["inspect", CLUSTER, "--against", str(path)])
    assert 2 == code
    assert out.startswith("the dump is unreadable after line 6; not compared: Jobs\n")
