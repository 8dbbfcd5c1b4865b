"""What an upgrade would decide, from the command line: one snapshot, or a worker's part of many."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing
from dataclasses import dataclass

from vcdebug.amount_text import count_noun
from vcdebug.cli.output import Output
from vcdebug.cli.packing import PackedSnapshot
from vcdebug.cli.progress import status_line
from vcdebug.cli.rounds import TrialRounds
from vcdebug.debugger.upgrades.search import Upgrade, build_upgrade, run_search, start_search
from vcdebug.debugger.upgrades.trial import ChangeMixture, MixtureTrial
from vcdebug.errors import EngineError, VcdebugError
from vcdebug.releases.naming import resolve_release
from vcdebug.releases.release import Release, release_names
from vcdebug.snapshot.load import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot


def wanted_release(text: str, output: Output) -> Release:
    """The release that is asked for, or the nearest one, which is said; raises VcdebugError for what is none at all."""
    named = resolve_release(text)
    if not named.readable:
        raise VcdebugError(named.what, f"there are {', '.join(release_names())}", "--release")
    if named.what:
        output.write_notice(f"{named.what}: {named.effect}")
    return named.release


def search_upgrade(snapshot: Snapshot, after: Release, args: Namespace, output: Output) -> Upgrade:
    """The search on one snapshot; Ctrl-C keeps what there is."""
    search, trials = start_search(snapshot, after)
    with (
        status_line(output, "switching changes one by one (Ctrl-C stops)") as tell,
        closing(TrialRounds(trials, args.workers)) as rounds,
    ):

        def run_trials(wanted: list[ChangeMixture]) -> list[MixtureTrial | None]:
            tell(count_noun(search.trial_count, "cycle"))
            return rounds(wanted)

        try:
            run_search(search, run_trials)
        except KeyboardInterrupt:
            output.write_notice("interrupted: what was found until then follows")
    return build_upgrade(snapshot, after, search)


@dataclass(frozen=True, slots=True)
class UpgradeSearcher:
    """Searches one snapshot of many; only plain values, so that it travels."""

    after: Release
    complete: bool | None

    def __call__(self, item: PackedSnapshot) -> Upgrade:
        """What came of a snapshot that came as bytes."""
        snapshot = load_snapshot(item.open_file(), complete=self.complete)
        search, trials = start_search(snapshot, self.after)
        with closing(TrialRounds(trials, workers=1)) as rounds:
            run_search(search, rounds)
        if search.endpoint_trial is None:
            trials(search.all_changes)
            trials(())
            raise EngineError("a cycle failed once and not again", where=item.name)
        return build_upgrade(snapshot, self.after, search)
