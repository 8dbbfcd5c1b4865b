"""Every answer names the replayed release and the evidence for its fidelity."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.test_check import LOG
from tests.cli.transcripts import call
from vcdebug.errors import VcdebugError
from vcdebug.releases.release_names import require_release

WORKS, JOB = "preempt-works", "assistants/chat-api"
EXACT = "Release v1.14.4 (replayed exactly)."
AT = ["--release", "v1.14.4"]
ANSWERS = {
    "ask": ["ask", "next", WORKS, *AT],
    "odds": ["odds", WORKS, "-n", "1", "-j", "1", *AT],
    "why": ["why", WORKS, JOB, *AT],
    "explain": ["explain", WORKS, JOB, *AT],
    "run": ["run", WORKS, *AT],
    "inspect": ["inspect", WORKS, *AT],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_names_the_release_once_among_its_first_lines(name: str) -> None:
    lines = call(ANSWERS[name])[1].splitlines()
    told = [at for at, line in enumerate(lines) if line.strip().rstrip(".").casefold() == EXACT.rstrip(".").casefold()]
    assert 1 == len(told), lines[:8]
    assert told[0] < 6


@pytest.mark.parametrize("name", sorted({*ANSWERS} - {"explain"}))
def test_programs_get_the_release_and_its_trust(name: str) -> None:
    release = json.loads(call([*ANSWERS[name], "--json"])[1])["release"]
    assert ("v1.14.4", "v1.14.4", "exact") == (release["name"], release["stated"], release["trust"])


def test_a_log_is_compared_with_a_release_that_is_named() -> None:
    assert "unknown" == json.loads(call(["check", LOG, "preempt-blocked-by-gang", "--json"])[1])["release"]["trust"]


def test_a_script_ends_with_its_release(tmp_path: Path) -> None:
    (tmp_path / "commands").write_text("goto 5")
    words = ["script", WORKS, str(tmp_path / "commands"), *AT]
    assert f"  {EXACT}" == call(words)[1].splitlines()[-1]
    assert "exact" == json.loads(call([*words, "--json"])[1])["release"]["trust"]


@pytest.mark.parametrize("columns", [[], ["--columns", "seq,task"]])
def test_events_that_are_asked_for_end_with_their_release(columns: list[str]) -> None:
    assert f"  {EXACT}" == call(["query", WORKS, "victim", *columns, *AT])[1].splitlines()[-1]


def test_written_tables_are_told_with_their_release(tmp_path: Path) -> None:
    words = ["export", WORKS, "--to", str(tmp_path), *AT]
    assert f"  {EXACT}" == call(words)[1].splitlines()[1]
    assert "exact" == json.loads(call([*words, "--json"])[1])["release"]["trust"]


def test_a_comparison_names_both_releases() -> None:
    out = call(["diff", WORKS, *AT])[1].splitlines()
    unknown = "  Before: release unknown, replayed by the latest rules (master of 2026-08-20)."
    assert [unknown, "  After: release v1.14.4 (replayed exactly)."] == out[2:4]
    releases = json.loads(call(["diff", WORKS, *AT, "--json"])[1])["releases"]
    assert ["unknown", "exact"] == [releases[side]["trust"] for side in ("before", "after")]
    assert unknown.replace("Before: r", "R") in call(["diff", WORKS, "preempt-blocked-by-gang"])[1].splitlines()


@pytest.mark.parametrize(
    ("text", "name", "stated"),
    [
        ("v1.99,nearest", "master", "v1.99"),
        ("v1.10.9,nearest", "v1.10.2", "v1.10.9"),
        ("v1.14.4,nearest", "v1.14.4", "v1.14.4"),
    ],
)
def test_any_version_is_replayed_as_the_nearest_release_if_asked_for(text: str, name: str, stated: str) -> None:
    found = require_release(text).release
    assert (name, stated) == (found.name, found.stated_name)


def test_an_unknown_version_is_refused_and_the_error_says_how_to_get_the_nearest_one() -> None:
    with pytest.raises(VcdebugError) as refused:
        require_release("v1.99")
    assert "v1.99,nearest replays the nearest of them" in str(refused.value)


@pytest.mark.parametrize(("stated", "replayed"), [("v1.10.9", "v1.10.2"), ("v1.14.4", "v1.14.4")])
def test_nearest_alone_is_for_the_release_that_the_snapshot_states(stated: str, replayed: str, tmp_path: Path) -> None:
    folder = tmp_path / "snapshot"
    shutil.copytree(Path(__file__).parents[2] / "fixtures" / WORKS, folder)
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | {"scheduler": {"release": stated}}))
    release = json.loads(call(["ask", "next", str(folder), "--release", "nearest", "--json"])[1])["release"]
    assert (replayed, stated) == (release["name"], release["stated"])


def test_nearest_alone_is_no_release_to_compare_with() -> None:
    status, _, err = call(["diff", WORKS, "--release", "nearest"])
    assert 1 == status
    assert "v1.99,nearest replays" in err
    assert "nearest,nearest" not in err
