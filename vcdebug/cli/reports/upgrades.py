"""The report of `vcdebug diff --release`: which changes between two releases decide, on one snapshot or on many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from vcdebug.amount_text import plural
from vcdebug.cli.many import OfMany
from vcdebug.cli.reports.input import release_document
from vcdebug.debugger.upgrades.search import Upgrade
from vcdebug.debugger.upgrades.trial import Mixture, Trial
from vcdebug.grouping import by_key
from vcdebug.releases.release import Release
from vcdebug.releases.table import CHANGES
from vcdebug.views.document import Block, listing, paragraph, titled_listing

HEADS = ("change", "pull request", "jobs#", "pods#", "first event#", "the older form")
ALONE_HEADS = ("change", "pull request", "first event#", "the older form")
SNAPSHOT_HEADS = ("snapshot", "jobs#", "pods#", "changes that decide")
TOTAL_HEADS = ("change", "pull request", "decides in#", "shows in#", "the older form")
UNKNOWN = "-"


def blocks(found: Upgrade) -> Iterator[Block]:
    """For people, below the comparison of the two runs."""
    yield paragraph("")
    yield paragraph(f"what parts {found.before.text()} and {found.after.text()}", "title")
    yield paragraph(_verdict(found), indent=2)
    decided_by = found.decided_by
    if decided_by:
        yield listing(HEADS, tuple(_deciding_row(name, found) for name in decided_by), 2, prose=True)
    others = [one for one in found.alone if one.id not in decided_by]
    rows = [(*_named(one.id), _text(one.trial.first), _older_form(one.id, found)) for one in others]
    yield from titled_listing("changes that show in the recording and decide nothing", ALONE_HEADS, rows, prose=True)
    if not found.finished:
        yield paragraph("the search was interrupted: there may be more", "warn", 2)


def _verdict(found: Upgrade) -> str:
    run = plural(found.trials, "cycle")
    asked = f"{plural(len(found.apart), 'change')}, of which rules asked about {len(found.asked)} here; {run} run"
    if not found.altered:
        return f"the recordings are the same ({asked})"
    if found.deciding is None:
        return f"no smallest set of changes was found ({asked})"
    if not found.deciding:
        return f"none of them decides anything ({asked})"
    several = len(found.deciding) > 1
    gives = "together give" if several else "alone gives"
    least = ", and none of them can be left out" if several else ""
    return f"{', '.join(found.deciding)} {gives} the decisions of {found.after.text()}{least} ({asked})"


def _deciding_row(name: str, found: Upgrade) -> tuple[str, ...]:
    trial = _alone(found).get(name)
    numbers = (UNKNOWN,) * 3 if trial is None else (*map(str, (len(trial.jobs), len(trial.pods))), _text(trial.first))
    return *_named(name), *numbers, _older_form(name, found)


def _alone(found: Upgrade) -> dict[str, Trial]:
    return {one.id: one.trial for one in found.alone}


def _named(name: str) -> tuple[str, str]:
    return name, CHANGES[name].pull


def _text(seq: int | None) -> str:
    return UNKNOWN if seq is None else str(seq)


def _older_form(name: str, found: Upgrade) -> str:
    return f"{_who_has(name, found.before, found.after).name}: {CHANGES[name].what}"


def _who_has(name: str, before: Release, after: Release) -> Release:
    return after if name in after.older else before


def document(found: Upgrade) -> dict[str, object]:
    """For programs; the keys are a contract."""
    return {
        "before": release_document(found.before),
        "after": release_document(found.after),
        "same": found.same,
        "sameRecording": not found.altered,
        "apart": list(found.apart),
        "asked": list(found.asked),
        "cycles": found.trials,
        "failed": found.failed,
        "finished": found.finished,
        "deciding": None if found.deciding is None else list(found.deciding),
        "changes": [_change(name, found) for name in _telling_changes(found)],
    }


def _telling_changes(found: Upgrade) -> Mixture:
    ids = dict.fromkeys([*found.decided_by, *(one.id for one in found.alone)])
    return tuple(name for name in found.apart if name in ids)


def _change(name: str, found: Upgrade) -> dict[str, object]:
    change, trial = CHANGES[name], _alone(found).get(name)
    return {
        "id": name,
        "olderForm": change.what,
        "decides": change.decides,
        "pullRequest": change.pull,
        "weight": change.weight,
        "olderIn": _who_has(name, found.before, found.after).name,
        "alone": None if trial is None else _switched(trial),
    }


def _switched(trial: Trial) -> dict[str, object]:
    return {
        "decides": trial.decided,
        "jobs": list(trial.jobs),
        "tasks": list(trial.pods),
        "firstDifference": trial.first,
        "firstOperation": trial.deed,
    }


@dataclass(frozen=True, slots=True)
class Upgrades(OfMany[Upgrade]):
    """What a release decides otherwise on all snapshots."""

    after: Release

    @property
    def different(self) -> int:
        """Snapshots with a decision that changes."""
        return len([one for one in self.results.values() if not one.same])

    def totals(self) -> list[tuple[str, int, int, Upgrade]]:
        """(change, snapshots that it decides, snapshots in which it shows, one of them), the most frequent first."""
        decides = Counter(name for one in self.results.values() for name in one.decided_by)
        shows = by_key((name, one) for one in self.results.values() for name in _telling_changes(one))
        found = [(name, decides[name], len(shows[name]), shows[name][0]) for name in CHANGES if name in shows]
        return sorted(found, key=lambda row: (-row[1], -row[2]))


def blocks_of_many(found: Upgrades) -> Iterator[Block]:
    """For people."""
    upgrades = found.results
    yield listing(SNAPSHOT_HEADS, tuple(_snapshot_row(name, one) for name, one in upgrades.items()), prose=True)
    yield paragraph("")
    looked = plural(len(upgrades), "snapshot")
    if len(upgrades) < len(found.names):
        looked = f"only {len(upgrades)} of {plural(len(found.names), 'snapshot')}"
    verb = "decides" if found.different == 1 else "decide"
    line = f"{looked}: {found.different} {verb} otherwise under {found.after.text()}"
    yield paragraph(line, "bad" if found.different else "good")
    rows = tuple(
        (*_named(name), str(decides), str(shows), _older_form(name, one))
        for name, decides, shows, one in found.totals()
    )
    if rows:
        yield paragraph("")
        yield listing(TOTAL_HEADS, rows, 2, prose=True)


def _snapshot_row(name: str, one: Upgrade) -> tuple[str, ...]:
    if one.same:
        words = "the same decisions" if one.altered else "the same recording"
    else:
        words = ", ".join(one.decided_by) or "no smallest set was found"
    return name, str(one.jobs), str(one.pods), words


def document_of_many(found: Upgrades) -> dict[str, object]:
    """For programs; the keys are a contract."""
    return {
        "release": release_document(found.after),
        "snapshots": found.documents(_snapshot),
        "different": found.different,
        "changes": [
            {
                "id": name,
                "decides": decides,
                "shows": shows,
                "pullRequest": CHANGES[name].pull,
                "weight": CHANGES[name].weight,
            }
            for name, decides, shows, _ in found.totals()
        ],
    }


def _snapshot(one: Upgrade) -> dict[str, object]:
    return {"jobs": one.jobs, "tasks": one.pods, **document(one)}
