"""What an upgrade would decide, from the command line: one snapshot, or a worker's part of many."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing
from dataclasses import dataclass

from vcdebug.amount_text import plural
from vcdebug.cli.output import Output
from vcdebug.cli.packing import Packed
from vcdebug.cli.progress import told
from vcdebug.cli.rounds import Rounds
from vcdebug.debugger.upgrades.search import Upgrade, carried_out, search_for, upgrade
from vcdebug.debugger.upgrades.trial import Mixture, Trial
from vcdebug.errors import EngineError, VcdebugError
from vcdebug.releases.naming import named_release
from vcdebug.releases.release import Release, names
from vcdebug.snapshot.load import load
from vcdebug.snapshot.snapshot import Snapshot


def wanted_release(text: str, output: Output) -> Release:
    """The release that is asked for, or the nearest one, which is said; raises VcdebugError for what is none at all."""
    named = named_release(text)
    if not named.readable:
        raise VcdebugError(named.what, f"there are {', '.join(names())}", "--release")
    if named.what:
        output.narrate(f"{named.what}: {named.effect}")
    return named.release


def searched(snapshot: Snapshot, after: Release, args: Namespace, output: Output) -> Upgrade:
    """The search on one snapshot; Ctrl-C keeps what there is."""
    search, trials = search_for(snapshot, after)
    with (
        told(output, "switching changes one by one (Ctrl-C stops)") as tell,
        closing(Rounds(trials, args.workers)) as rounds,
    ):

        def run(wanted: list[Mixture]) -> list[Trial | None]:
            tell(plural(search.trials, "cycle"))
            return rounds(wanted)

        try:
            carried_out(search, run)
        except KeyboardInterrupt:
            output.narrate("interrupted: what was found until then follows")
    return upgrade(snapshot, after, search)


@dataclass(frozen=True, slots=True)
class Upgrader:
    """Searches one snapshot of many; only plain values, so that it travels."""

    after: Release
    complete: bool | None

    def __call__(self, item: Packed) -> Upgrade:
        """What came of a snapshot that came as bytes."""
        snapshot = load(item.file(), complete=self.complete)
        search, trials = search_for(snapshot, self.after)
        with closing(Rounds(trials, workers=1)) as rounds:
            carried_out(search, rounds)
        if search.ends is None:
            trials(search.changes)
            trials(())
            raise EngineError("a cycle failed once and not again", where=item.name)
        return upgrade(snapshot, self.after, search)
