"""`vcdebug redact` writes a renamed copy and a mapping for the owner, and reports both."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.cli.transcripts import call

CASE = "preempt-blocked-by-gang"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "copy.tar.gz"


def test_the_copy_decides_the_same_under_other_names(target: Path) -> None:
    mapping = target.with_name("names.json")
    code, out, err = call(["redact", CASE, "-o", str(target), "--map", str(mapping)])
    assert (0, f"{target}\n") == (code, out)
    assert "replaced" in err
    assert "keep it private" in err
    names = json.loads(mapping.read_text(encoding="utf-8"))
    assert {"Node", "Pod", "PodGroup", "Queue", "value"} <= set(names)
    group = names["PodGroup"]["llm-finetune"]
    answers = [json.loads(call(["explain", CASE, "research/llm-finetune", "--json"])[1])]
    answers.append(json.loads(call(["explain", str(target), f"{names['Namespace']['research']}/{group}", "--json"])[1]))
    assert answers[0]["cause"] == answers[1]["cause"]
    assert answers[0]["numbers"] == answers[1]["numbers"]


def test_only_the_owner_may_read_what_was_written(target: Path) -> None:
    mapping = target.with_name("names.json")
    call(["redact", CASE, "-o", str(target), "--map", str(mapping)])
    assert [0o600, 0o600] == [stat.S_IMODE(path.stat().st_mode) for path in (target, mapping)]


@pytest.mark.parametrize("which", ["copy.tar.gz", "names.json"])
def test_redact_replaces_a_file_only_with_force(which: str, target: Path) -> None:
    existing = target.with_name(which)
    existing.write_text("mine", encoding="utf-8")
    words = ["redact", CASE, "-o", str(target), "--map", str(target.with_name("names.json"))]
    code, _, err = call(words)
    assert 1 == code
    assert "exists already" in err
    assert "mine" == existing.read_text(encoding="utf-8")
    assert 0 == call([*words, "--force"])[0]


def test_a_name_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    code, _, err = call(["redact", CASE, "-o", str(tmp_path / "copy.zip")])
    assert (1, True) == (code, "must end in .tar.gz" in err)
