"""Asking the person at the terminal what a cluster does not tell."""

from __future__ import annotations

import sys
from dataclasses import replace

from vcdebug.cli.output import Output
from vcdebug.snapshot.report import ProblemReport
from vcdebug.snapshot.settings import RELEASE_FIELDS, with_release
from vcdebug.snapshot.snapshot import Snapshot

RELEASE_QUESTION = "which release of Volcano does its scheduler run, as v1.15.1? (Enter: not known)"


def ask_for_release(snapshot: Snapshot, output: Output) -> Snapshot:
    """The snapshot of the release that somebody names, where nothing else does and somebody is there."""
    if not snapshot.release.is_assumed or not (sys.stdin.isatty() and output.err.isatty()):
        return snapshot
    output.write_notice(RELEASE_QUESTION)
    answer = sys.stdin.readline().strip()
    if not answer:
        return snapshot
    report = ProblemReport()
    flags = with_release(snapshot.flags, answer, report, field=RELEASE_FIELDS[0])
    told = [problem for problem in snapshot.problems if problem.field != RELEASE_FIELDS[2]]
    return replace(snapshot, flags=flags, problems=[*told, *report.all_problems()])


def release_note(snapshot: Snapshot) -> str:
    """What the file says about the release, in one line."""
    release = snapshot.release
    if release.is_assumed:
        return f"release not known, none recorded: replayed as {release.display_name()}; name it with --release"
    return f"release {release.stated} recorded, replayed as {release.display_name()}"
