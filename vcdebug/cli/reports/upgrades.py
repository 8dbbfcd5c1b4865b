"""The search and report of `vcdebug diff --release`: which changes between two releases alter decisions."""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import starmap

from msgspec import Struct

from vcdebug.amount_text import count_noun
from vcdebug.cli.batch import BatchResults, PackedSnapshot
from vcdebug.cli.output import Output, status_line
from vcdebug.cli.worker_processes import TrialRounds
from vcdebug.errors import EngineError
from vcdebug.grouping import group_by_key, named_attributes
from vcdebug.releases.release import CHANGES, Release
from vcdebug.releases.release_names import require_release
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.views.document import Block, make_listing, make_paragraph, titled_listing
from vcdebug.whatif.upgrades import ChangeMixture, MixtureTrial, Upgrade, run_search, start_search

CHANGE_HEADS = ("change", "pull request", "jobs#", "pods#", "first event#", "release: its rule")
ALONE_HEADS = ("change", "pull request", "first event#", "release: its rule")
SNAPSHOT_HEADS = ("snapshot", "jobs#", "pods#", "changes that affect decisions")
TOTAL_HEADS = ("change", "pull request", "decides in#", "shows in#", "release: its rule")
NO_FIGURE = "-"


def upgrade_blocks(upgrade: Upgrade) -> Iterator[Block]:
    """The text report, below the comparison of the two runs."""
    yield make_paragraph("")
    yield make_paragraph(
        f"upstream changes between {upgrade.before.display_name()} and {upgrade.after.display_name()}", "title"
    )
    yield make_paragraph(_upgrade_verdict(upgrade), indent=2)
    decided_by = upgrade.decided_by
    if decided_by:
        yield make_listing(CHANGE_HEADS, tuple(_deciding_row(name, upgrade) for name in decided_by), 2, prose=True)
    rows = [
        (*_change_cells(name), _event_text(trial.difference), _older_form_text(name, upgrade))
        for name, trial in upgrade.altering_changes
        if name not in decided_by
    ]
    yield from titled_listing(
        "changes visible in the recording without effect on decisions", ALONE_HEADS, rows, prose=True
    )
    if not upgrade.is_finished:
        yield make_paragraph("search interrupted; the list can be incomplete", "warn", 2)


def _upgrade_verdict(upgrade: Upgrade) -> str:
    run = count_noun(upgrade.trial_count, "cycle")
    extent = (
        f"{count_noun(len(upgrade.differing_changes), 'change')} between the releases, "
        f"{len(upgrade.consulted_changes)} relevant to this "
        f"snapshot, {run}"
    )
    if not upgrade.has_differences:
        return f"the recordings are identical ({extent})"
    if upgrade.deciding_set is None:
        return f"no minimal set of changes was found ({extent})"
    if not upgrade.deciding_set:
        return f"no change affects a decision ({extent})"
    several = len(upgrade.deciding_set) > 1
    gives = "together explain" if several else "alone explains"
    note = "; all are needed" if several else ""
    return f"{', '.join(upgrade.deciding_set)} {gives} the decisions of {upgrade.after.display_name()}{note} ({extent})"


def _deciding_row(name: str, upgrade: Upgrade) -> tuple[str, ...]:
    trial = dict(upgrade.altering_changes).get(name)
    numbers = (
        (NO_FIGURE,) * 3
        if trial is None
        else (*map(str, (len(trial.jobs), len(trial.pods))), _event_text(trial.difference))
    )
    return *_change_cells(name), *numbers, _older_form_text(name, upgrade)


def _change_cells(name: str) -> tuple[str, str]:
    return name, CHANGES[name].pull


def _event_text(seq: int | None) -> str:
    return NO_FIGURE if seq is None else str(seq)


def _older_form_text(name: str, upgrade: Upgrade) -> str:
    return f"{_older_release(name, upgrade.before, upgrade.after).name}: {CHANGES[name].behavior}"


def _older_release(name: str, before: Release, after: Release) -> Release:
    return after if name in after.older_forms else before


def upgrade_document(upgrade: Upgrade) -> dict[str, object]:
    """The JSON document of one snapshot; the keys are a contract."""
    return {
        "before": upgrade.before.build_document(),
        "after": upgrade.after.build_document(),
        "same": upgrade.has_same_decisions,
        "sameRecording": not upgrade.has_differences,
        **named_attributes(
            upgrade,
            "apart=differing_changes asked=consulted_changes cycles=trial_count failed=failed_count "
            "finished=is_finished deciding=deciding_set",
        ),
        "changes": [_change_document(name, upgrade) for name in _telling_changes(upgrade)],
    }


def _telling_changes(upgrade: Upgrade) -> ChangeMixture:
    ids = dict.fromkeys([*upgrade.decided_by, *(change.id for change in upgrade.altering_changes)])
    return tuple(name for name in upgrade.differing_changes if name in ids)


def _change_document(name: str, upgrade: Upgrade) -> dict[str, object]:
    change, trial = CHANGES[name], dict(upgrade.altering_changes).get(name)
    names = "decides=has_other_decisions jobs tasks=pods firstDifference=difference firstOperation=operation"
    return {
        **named_attributes(change, "id olderForm=behavior decides=affected_decisions pullRequest=pull weight"),
        "olderIn": _older_release(name, upgrade.before, upgrade.after).name,
        "alone": None if trial is None else named_attributes(trial, names),
    }


class Upgrades(BatchResults[Upgrade], frozen=True):
    """The decisions that another release changes, for each snapshot of a folder."""

    after: Release

    @property
    def different_snapshots(self) -> int:
        """Number of snapshots with changed decisions."""
        return len([upgrade for upgrade in self.results_by_name.values() if not upgrade.has_same_decisions])

    def totals_by_change(self) -> list[tuple[str, int, int, Upgrade]]:
        """(change, snapshots whose decisions it changes, snapshots where it shows, an example), most frequent first."""
        upgrades = self.results_by_name.values()
        decides = Counter(name for upgrade in upgrades for name in upgrade.decided_by)
        shows = group_by_key((name, upgrade) for upgrade in upgrades for name in _telling_changes(upgrade))
        totals = [(name, decides[name], len(shows[name]), shows[name][0]) for name in CHANGES if name in shows]
        return sorted(totals, key=lambda row: (-row[1], -row[2]))


def upgrades_blocks(upgrades: Upgrades) -> Iterator[Block]:
    """The text report of a folder of snapshots."""
    results = upgrades.results_by_name
    yield make_listing(SNAPSHOT_HEADS, tuple(starmap(_snapshot_row, results.items())), prose=True)
    yield make_paragraph("")
    verb = "decides" if upgrades.different_snapshots == 1 else "decide"
    line = f"{upgrades.describe_extent()}: {upgrades.different_snapshots} {verb} with {upgrades.after.display_name()}"
    yield make_paragraph(line, "bad" if upgrades.different_snapshots else "good")
    rows = tuple(
        (*_change_cells(name), str(decides), str(shows), _older_form_text(name, upgrade))
        for name, decides, shows, upgrade in upgrades.totals_by_change()
    )
    if rows:
        yield make_paragraph("")
        yield make_listing(TOTAL_HEADS, rows, 2, prose=True)


def _snapshot_row(name: str, upgrade: Upgrade) -> tuple[str, ...]:
    if upgrade.has_same_decisions:
        words = "the same decisions" if upgrade.has_differences else "the same recording"
    else:
        words = ", ".join(upgrade.decided_by) or "no minimal set was found"
    return name, *map(str, upgrade.changed_counts), words


def upgrades_document(upgrades: Upgrades) -> dict[str, object]:
    """The JSON document of a folder of snapshots; the keys are a contract."""
    return {
        "release": upgrades.after.build_document(),
        "snapshots": upgrades.build_documents(
            lambda upgrade: (
                dict(zip(("jobs", "tasks"), upgrade.changed_counts, strict=True)) | upgrade_document(upgrade)
            )
        ),
        "different": upgrades.different_snapshots,
        "changes": [
            {
                "id": name,
                "decides": decides,
                "shows": shows,
                **named_attributes(CHANGES[name], "pullRequest=pull weight"),
            }
            for name, decides, shows, _ in upgrades.totals_by_change()
        ],
    }


# The search itself.


def wanted_release(text: str, output: Output) -> Release:
    """The release of this name, else the nearest one with a notice; raises VcdebugError for an unreadable name."""
    resolved = require_release(text)
    if resolved.problem:
        output.write_notice(f"{resolved.problem}: {resolved.effect}")
    return resolved.release


def search_upgrade(snapshot: Snapshot, after: Release, args: Namespace, output: Output) -> Upgrade:
    """Search one snapshot for the changes that matter; Ctrl-C ends the search and keeps its results."""
    search, trials = start_search(snapshot, after)
    with (
        status_line(output, "testing upstream changes one by one (Ctrl-C to stop)") as show_status,
        closing(TrialRounds(trials, args.workers)) as rounds,
    ):

        def run_trials(mixtures: list[ChangeMixture]) -> list[MixtureTrial | None]:
            show_status(count_noun(search.trial_count, "cycle"))
            return rounds(mixtures)

        try:
            run_search(search, run_trials)
        except KeyboardInterrupt:
            output.write_notice("interrupted; partial results follow")
    return search


class UpgradeSearcher(Struct, frozen=True):
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
            # A failed trial carries no error: running both releases again here raises it.
            trials(search.differing_changes)
            trials(())
            raise EngineError("a replay failed once and succeeded on retry", where=item.name)
        return search
