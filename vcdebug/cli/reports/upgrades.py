"""The search and report of `vcdebug diff --release`: which changes between two releases alter decisions."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from vcdebug.amount_text import count_noun
from vcdebug.cli.batch import BatchResults, PackedSnapshot
from vcdebug.cli.output import Output, status_line
from vcdebug.cli.worker_processes import TrialRounds
from vcdebug.errors import EngineError
from vcdebug.grouping import group_by_key
from vcdebug.releases.release import CHANGES, Release
from vcdebug.releases.release_names import require_release
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.views.document import Block, make_listing, make_paragraph, titled_listing
from vcdebug.whatif.upgrades import ChangeMixture, MixtureTrial, Upgrade, build_upgrade, run_search, start_search

CHANGE_HEADS = ("change", "pull request", "jobs#", "pods#", "first event#", "release: its rule")
ALONE_HEADS = ("change", "pull request", "first event#", "release: its rule")
SNAPSHOT_HEADS = ("snapshot", "jobs#", "pods#", "changes that affect decisions")
TOTAL_HEADS = ("change", "pull request", "decides in#", "shows in#", "release: its rule")
NO_FIGURE = "-"


def upgrade_blocks(found: Upgrade) -> Iterator[Block]:
    """The text report, below the comparison of the two runs."""
    yield make_paragraph("")
    yield make_paragraph(
        f"upstream changes between {found.before.display_name()} and {found.after.display_name()}", "title"
    )
    yield make_paragraph(_upgrade_verdict(found), indent=2)
    decided_by = found.decided_by
    if decided_by:
        yield make_listing(CHANGE_HEADS, tuple(_deciding_row(name, found) for name in decided_by), 2, prose=True)
    others = [one for one in found.alone if one.id not in decided_by]
    rows = [(*_change_cells(one.id), _event_text(one.trial.first), _older_form_text(one.id, found)) for one in others]
    yield from titled_listing(
        "changes visible in the recording without effect on decisions", ALONE_HEADS, rows, prose=True
    )
    if not found.finished:
        yield make_paragraph("search interrupted; the list can be incomplete", "warn", 2)


def _upgrade_verdict(found: Upgrade) -> str:
    run = count_noun(found.trials, "cycle")
    asked = (
        f"{count_noun(len(found.apart), 'change')} between the releases, {len(found.asked)} relevant to this "
        f"snapshot, {run}"
    )
    if not found.altered:
        return f"the recordings are identical ({asked})"
    if found.deciding is None:
        return f"no minimal set of changes was found ({asked})"
    if not found.deciding:
        return f"no change affects a decision ({asked})"
    several = len(found.deciding) > 1
    gives = "together explain" if several else "alone explains"
    least = "; all are needed" if several else ""
    return f"{', '.join(found.deciding)} {gives} the decisions of {found.after.display_name()}{least} ({asked})"


def _deciding_row(name: str, found: Upgrade) -> tuple[str, ...]:
    trial = _trials_alone(found).get(name)
    numbers = (
        (NO_FIGURE,) * 3 if trial is None else (*map(str, (len(trial.jobs), len(trial.pods))), _event_text(trial.first))
    )
    return *_change_cells(name), *numbers, _older_form_text(name, found)


def _trials_alone(found: Upgrade) -> dict[str, MixtureTrial]:
    return {one.id: one.trial for one in found.alone}


def _change_cells(name: str) -> tuple[str, str]:
    return name, CHANGES[name].pull


def _event_text(seq: int | None) -> str:
    return NO_FIGURE if seq is None else str(seq)


def _older_form_text(name: str, found: Upgrade) -> str:
    return f"{_older_release(name, found.before, found.after).name}: {CHANGES[name].what}"


def _older_release(name: str, before: Release, after: Release) -> Release:
    return after if name in after.older else before


def upgrade_document(found: Upgrade) -> dict[str, object]:
    """The JSON document of one snapshot; the keys are a contract."""
    return {
        "before": found.before.build_document(),
        "after": found.after.build_document(),
        "same": found.same,
        "sameRecording": not found.altered,
        "apart": list(found.apart),
        "asked": list(found.asked),
        "cycles": found.trials,
        "failed": found.failed,
        "finished": found.finished,
        "deciding": None if found.deciding is None else list(found.deciding),
        "changes": [_change_document(name, found) for name in _telling_changes(found)],
    }


def _telling_changes(found: Upgrade) -> ChangeMixture:
    ids = dict.fromkeys([*found.decided_by, *(one.id for one in found.alone)])
    return tuple(name for name in found.apart if name in ids)


def _change_document(name: str, found: Upgrade) -> dict[str, object]:
    change, trial = CHANGES[name], _trials_alone(found).get(name)
    return {
        "id": name,
        "olderForm": change.what,
        "decides": change.decides,
        "pullRequest": change.pull,
        "weight": change.weight,
        "olderIn": _older_release(name, found.before, found.after).name,
        "alone": None if trial is None else _trial_document(trial),
    }


def _trial_document(trial: MixtureTrial) -> dict[str, object]:
    return {
        "decides": trial.decided,
        "jobs": list(trial.jobs),
        "tasks": list(trial.pods),
        "firstDifference": trial.first,
        "firstOperation": trial.deed,
    }


@dataclass(frozen=True, slots=True)
class Upgrades(BatchResults[Upgrade]):
    """What another release decides differently, for each snapshot of a folder."""

    after: Release

    @property
    def different_snapshots(self) -> int:
        """How many snapshots have a decision that changes."""
        return len([one for one in self.results_by_name.values() if not one.same])

    def totals_by_change(self) -> list[tuple[str, int, int, Upgrade]]:
        """(change, snapshots it decides, snapshots it shows in, an example), the most frequent first."""
        decides = Counter(name for one in self.results_by_name.values() for name in one.decided_by)
        shows = group_by_key((name, one) for one in self.results_by_name.values() for name in _telling_changes(one))
        found = [(name, decides[name], len(shows[name]), shows[name][0]) for name in CHANGES if name in shows]
        return sorted(found, key=lambda row: (-row[1], -row[2]))


def upgrades_blocks(found: Upgrades) -> Iterator[Block]:
    """The text report of a folder of snapshots."""
    upgrades = found.results_by_name
    yield make_listing(SNAPSHOT_HEADS, tuple(_snapshot_row(name, one) for name, one in upgrades.items()), prose=True)
    yield make_paragraph("")
    looked = count_noun(len(upgrades), "snapshot")
    if len(upgrades) < len(found.names):
        looked = f"only {len(upgrades)} of {count_noun(len(found.names), 'snapshot')}"
    verb = "decides" if found.different_snapshots == 1 else "decide"
    line = f"{looked}: {found.different_snapshots} {verb} with {found.after.display_name()}"
    yield make_paragraph(line, "bad" if found.different_snapshots else "good")
    rows = tuple(
        (*_change_cells(name), str(decides), str(shows), _older_form_text(name, one))
        for name, decides, shows, one in found.totals_by_change()
    )
    if rows:
        yield make_paragraph("")
        yield make_listing(TOTAL_HEADS, rows, 2, prose=True)


def _snapshot_row(name: str, one: Upgrade) -> tuple[str, ...]:
    if one.same:
        words = "the same decisions" if one.altered else "the same recording"
    else:
        words = ", ".join(one.decided_by) or "no minimal set was found"
    return name, str(one.jobs), str(one.pods), words


def upgrades_document(found: Upgrades) -> dict[str, object]:
    """The JSON document of a folder of snapshots; the keys are a contract."""
    return {
        "release": found.after.build_document(),
        "snapshots": found.build_documents(lambda one: {"jobs": one.jobs, "tasks": one.pods, **upgrade_document(one)}),
        "different": found.different_snapshots,
        "changes": [
            {
                "id": name,
                "decides": decides,
                "shows": shows,
                "pullRequest": CHANGES[name].pull,
                "weight": CHANGES[name].weight,
            }
            for name, decides, shows, _ in found.totals_by_change()
        ],
    }


# The search itself.


def wanted_release(text: str, output: Output) -> Release:
    """The release of this name, else the nearest one with a notice; raises VcdebugError for an unreadable name."""
    named = require_release(text)
    if named.what:
        output.write_notice(f"{named.what}: {named.effect}")
    return named.release


def search_upgrade(snapshot: Snapshot, after: Release, args: Namespace, output: Output) -> Upgrade:
    """Search one snapshot for the changes that matter; Ctrl-C ends the search and keeps its results."""
    search, trials = start_search(snapshot, after)
    with (
        status_line(output, "testing upstream changes one by one (Ctrl-C to stop)") as tell,
        closing(TrialRounds(trials, args.workers)) as rounds,
    ):

        def run_trials(wanted: list[ChangeMixture]) -> list[MixtureTrial | None]:
            tell(count_noun(search.trial_count, "cycle"))
            return rounds(wanted)

        try:
            run_search(search, run_trials)
        except KeyboardInterrupt:
            output.write_notice("interrupted; partial results follow")
    return build_upgrade(snapshot, after, search)


@dataclass(frozen=True, slots=True)
class UpgradeSearcher:
    """Searches one snapshot of many. Its fields are plain values: it is pickled for workers."""

    after: Release
    complete: bool | None

    def __call__(self, item: PackedSnapshot) -> Upgrade:
        """The search on a packed snapshot; called in a worker."""
        snapshot = load_snapshot(item.open_file(), complete=self.complete)
        search, trials = start_search(snapshot, self.after)
        with closing(TrialRounds(trials, workers=1)) as rounds:
            run_search(search, rounds)
        if search.endpoint_trial is None:
            # A failed trial has no error: running both ends again, outside the rounds, raises it.
            trials(search.all_changes)
            trials(())
            raise EngineError("a replay failed once and succeeded on retry", where=item.name)
        return build_upgrade(snapshot, self.after, search)
