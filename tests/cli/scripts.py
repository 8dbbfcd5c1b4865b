"""Running `vcdebug script` on the snapshot that gang blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.transcripts import call

BLOCKED = "preempt-blocked-by-gang"


def run(tmp_path: Path, *lines: str, options: tuple[str, ...] = ()) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a file with these lines."""
    file = tmp_path / "commands"
    file.write_text("\n".join(lines))
    return call(["script", BLOCKED, str(file), *options])


def steps(tmp_path: Path, *lines: str) -> list[dict[str, Any]]:
    """What each line came to, of a script that works."""
    code, out, err = run(tmp_path, *lines, options=("--json",))
    assert (0, "") == (code, err)
    found: list[dict[str, Any]] = json.loads(out)["steps"]
    return found
