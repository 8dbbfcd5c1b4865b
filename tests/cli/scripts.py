"""Runs `vcdebug script` on the snapshot in which gang blocks preemption."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.transcripts import call

BLOCKED = "preempt-blocked-by-gang"


def run(tmp_path: Path, *lines: str, options: tuple[str, ...] = ()) -> tuple[int, str, str]:
    """Run a script with these lines; returns exit code, stdout and stderr."""
    file = tmp_path / "commands"
    file.write_text("\n".join(lines))
    return call(["script", BLOCKED, str(file), *options])


def steps(tmp_path: Path, *lines: str) -> list[dict[str, Any]]:
    """The result of each line of a script that succeeds, from its JSON."""
    code, out, err = run(tmp_path, *lines, options=("--json",))
    assert (0, "") == (code, err)
    found: list[dict[str, Any]] = json.loads(out)["steps"]
    return found
