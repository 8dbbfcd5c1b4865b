"""What the command line asked for: a snapshot, and where to stand in its recording; and what follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from vcdebug.debugger.captures import Captures
from vcdebug.debugger.driver import DebuggerState, Driver
from vcdebug.files.kept import KeptRecordings
from vcdebug.framework.webhook import AskExtender
from vcdebug.model.names import Seq
from vcdebug.snapshot.bundled import find
from vcdebug.snapshot.collection import snapshots_in
from vcdebug.tui.worker import USUAL, Limits, Source

STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class Start:
    """A snapshot and a first position."""

    source: Source
    name: str
    goto: Seq | None = None
    breaks: tuple[str, ...] = ()
    job: str | None = None
    ask_extender: AskExtender | None = None
    """The extender's webhook, where the replay may call it."""
    complete: bool | None = None
    """Whether hand-written manifests are completed; None goes by the snapshot's own setting."""
    filter: str = ""
    """Which rows of the panel are shown first."""
    panel: str = ""
    """Which panel has the focus first; the filter is for it, else for the jobs."""
    limits: Limits = USUAL
    """Events and megabytes at which the replay stops."""
    fresh: bool = False
    """Whether what was set in earlier sessions is left aside."""
    release: str | None = None
    """The release that is replayed; None goes by the snapshot's own."""
    captures: Captures | None = None
    """Where further captures of the same cluster come from."""
    follow: float = 0.0
    """Seconds after which the cluster is captured again; 0 leaves that to a key."""
    kept: KeptRecordings | None = None
    """Where recordings are kept for the next time, if they are."""
    after: bool = False
    """Whether another snapshot lay open before."""

    @property
    def somewhere(self) -> bool:
        """Whether the first position is chosen."""
        return self.goto is not None or self.job is not None

    def among(self) -> list[Path]:
        """The snapshots to choose from, where a folder holds some instead of being one."""
        folder = Path(self.source) if isinstance(self.source, str) and self.source != STDIN else None
        return snapshots_in(folder) if folder is not None and folder.is_dir() else []

    def newest(self, files: list[Path]) -> Start:
        """The last of several captures of one cluster, with the others before it."""
        from vcdebug.snapshot.load import load

        reads = [partial(load, file, complete=self.complete, release=self.release) for file in files]
        return replace(self.at(str(files[-1])), captures=Captures(None, list(reads[:-1]), list(reads[-1:])))

    def at(self, source: str) -> Start:
        """The same for another snapshot."""
        return replace(self, source=source, name=Path(source).name)

    def origin(self) -> Source:
        """A bundled snapshot's folder for its name, else what was given."""
        if not isinstance(self.source, str) or Path(self.source).exists():
            return self.source
        return str(find(self.source) or self.source)

    def place(self) -> str:
        """What a command line calls the snapshot: a bundled one's name, a path, or - for standard input."""
        if not isinstance(self.source, str):
            return STDIN
        path = Path(self.source)
        if not path.exists():
            return self.source
        return path.name if find(path.name) == path else str(path)

    def apply(self, driver: Driver) -> DebuggerState:
        """Set the breakpoints, then go to the event, else to the job's first one."""
        there = driver.notebook.breakpoints.lines()
        for words in self.breaks:
            if f"break {words.removeprefix('break ')}" not in there:
                driver.add_breakpoint(words)
        if self.goto is not None:
            return driver.goto(self.goto)
        if self.job is not None:
            return driver.next_about("job", self.job, back=False)
        return driver.moment()


class Next(NamedTuple):
    """What follows the main screen: another snapshot, or the chooser with the reason why this one is closed."""

    snapshot: str = ""
    failure: str = ""
