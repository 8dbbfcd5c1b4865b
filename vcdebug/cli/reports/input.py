"""What reports say of the input of a cycle: what is wrong with it, and whose rules decide."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import count_noun
from vcdebug.releases.release import Release
from vcdebug.trace.input_problems import input_problems
from vcdebug.trace.recording import Recording
from vcdebug.views.document import Block, make_paragraph


def release_document(release: Release) -> dict[str, object]:
    """For programs: `stated` is null where the snapshot does not say which release runs."""
    return {
        "name": release.name,
        "stated": release.stated or None,
        "kubernetes": ".".join(map(str, release.kubernetes_version)),
        "olderRules": [change.id for change in release.changes_in_force()],
        "notReplayed": [change.id for change in release.unreplayed_changes()],
    }


def release_line(release: Release) -> str:
    """For people."""
    if release.is_assumed:
        return f"release not stated: replayed by the newest rules, {release.display_name()}"
    stated = "" if release.stated in (release.name, release.name.removeprefix("v")) else f" (stated: {release.stated})"
    return f"release {release.display_name()}{stated}"


def problem_count(recording: Recording) -> Iterator[Block]:
    """One line where something is wrong with the input."""
    if problems := input_problems(recording):
        yield make_paragraph(f"{count_noun(len(problems), 'problem')} in the input: see vcdebug inspect", "bad")
