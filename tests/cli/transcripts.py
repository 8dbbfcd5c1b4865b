"""The output of the commands on the bundled snapshots; run as a module, it writes the expected files anew."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

from vcdebug.cli.main import main
from vcdebug.snapshot.sources import list_bundled

GOLDEN = Path(__file__).parent / "golden"
NAMES = [one.name for one in list_bundled()]
_SECONDS = re.compile(r"\b\d+\.\d{3}\b")


def call(arguments: Sequence[str]) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return code, out.getvalue(), err.getvalue()


def jobs(name: str) -> list[str]:
    """Every job of a bundled snapshot."""
    return [str(job["job"]) for job in json.loads(call(["run", name, "--json"])[1])["jobs"]]


def transcript(name: str) -> str:
    """The output of every headless command on one snapshot, with seconds replaced by #."""
    explained = [["explain", name], *(["explain", name, job] for job in jobs(name))]
    commands = [["inspect", name], ["run", name], *explained]
    parts = []
    for arguments in commands:
        code, out, err = call(arguments)
        parts.append(f"$ vcdebug {' '.join(arguments)}\n{_SECONDS.sub('#', out)}{err}[exit {code}]\n")
    return "\n".join(parts)


def write() -> None:
    """Write every expected file."""
    GOLDEN.mkdir(exist_ok=True)
    for name in NAMES:
        (GOLDEN / f"{name}.txt").write_text(transcript(name), encoding="utf-8")


if __name__ == "__main__":
    write()
