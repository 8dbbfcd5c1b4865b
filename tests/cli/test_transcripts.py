"""The exact output of the commands on the bundled snapshots."""

import json

import pytest

from tests.cli.once import one_snapshot
from tests.cli.transcripts import GOLDEN, NAMES, call, jobs, transcript


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_print_what_they_printed(name: str) -> None:
    """For intended changes, run `python -m tests.cli.transcripts` and read the diff of the expected files."""
    assert (GOLDEN / f"{name}.txt").read_text(encoding="utf-8") == transcript(name)


def test_there_is_an_expected_file_per_bundled_snapshot() -> None:
    assert sorted(NAMES) == sorted(path.stem for path in GOLDEN.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_explain_gives_the_same_json_twice_with_all_its_keys(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = explained(name)
    one_snapshot(monkeypatch)
    assert first == explained(name)
    keys = ["job", "pod", "outcome", "cause", "sentence", "facts", "numbers", "evidence", "lines"]
    for _, out, _ in first:
        document = json.loads(out)
        others = [
            key for key in ("chance", "otherReleases", "otherReleasesFix") if key in document
        ]  # only where they matter
        assert [*keys, "contributing", "advice", "release", "steps", *others] == list(document)


def explained(name: str) -> list[tuple[int, str, str]]:
    """`explain --json` of every job."""
    return [call(["explain", name, job, "--json"]) for job in jobs(name)]


@pytest.mark.parametrize("name", NAMES)
def test_run_gives_the_same_json_twice_but_for_the_seconds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = json.loads(call(["run", name, "--json"])[1])
    one_snapshot(monkeypatch)
    second = json.loads(call(["run", name, "--json"])[1])
    seconds = first.pop("seconds")
    second.pop("seconds")
    assert first == second
    stages = ["load", "read", "open", *dict.fromkeys(action["action"] for action in first["actions"]), "close", "cycle"]
    assert sorted(stages) == sorted(seconds)
    assert all(value >= 0 for value in seconds.values())
