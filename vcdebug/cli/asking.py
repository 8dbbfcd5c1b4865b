"""Asking the person at the terminal what a cluster does not tell."""

from __future__ import annotations

import sys
from dataclasses import replace

from vcdebug.cli.output import Output
from vcdebug.snapshot.report import Report
from vcdebug.snapshot.settings import RELEASE_FIELDS, with_release
from vcdebug.snapshot.snapshot import Snapshot

QUESTION = "which release of Volcano does its scheduler run, as v1.15.1? (Enter: not known)"


def with_asked_release(snapshot: Snapshot, output: Output) -> Snapshot:
    """The snapshot of the release that somebody names, where nothing else does and somebody is there."""
    if not snapshot.release.assumed or not (sys.stdin.isatty() and output.err.isatty()):
        return snapshot
    output.narrate(QUESTION)
    answer = sys.stdin.readline().strip()
    if not answer:
        return snapshot
    report = Report()
    flags = with_release(snapshot.flags, answer, report, field=RELEASE_FIELDS[0])
    told = [problem for problem in snapshot.problems if problem.field != RELEASE_FIELDS[2]]
    return replace(snapshot, flags=flags, problems=[*told, *report.problems()])


def recorded_release(snapshot: Snapshot) -> str:
    """What the file says about the release, in one line."""
    release = snapshot.release
    if release.assumed:
        return f"release not known, none recorded: replayed as {release.text()}; name it with --release"
    return f"release {release.stated} recorded, replayed as {release.text()}"
