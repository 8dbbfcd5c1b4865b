"""What the command line asked for: a snapshot, and where to stand in its recording; and what follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from vcdebug.debugger.captures import CaptureSeries
from vcdebug.debugger.driver import DebuggerState, Driver
from vcdebug.files.recording_files import RecordingCache
from vcdebug.framework.replay_options import AskExtender
from vcdebug.model.names import Seq
from vcdebug.snapshot.bundled import find_bundled
from vcdebug.snapshot.sources import find_snapshots
from vcdebug.tui.worker import DEFAULT_LIMITS, RecordingLimits, SnapshotSource

STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class Start:
    """A snapshot and a first position."""

    source: SnapshotSource
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
    limits: RecordingLimits = DEFAULT_LIMITS
    """Events and megabytes at which the replay stops."""
    fresh: bool = False
    """Whether what was set in earlier sessions is left aside."""
    release: str | None = None
    """The release that is replayed; None goes by the snapshot's own."""
    captures: CaptureSeries | None = None
    """Where further captures of the same cluster come from."""
    follow: float = 0.0
    """Seconds after which the cluster is captured again; 0 leaves that to a key."""
    kept: RecordingCache | None = None
    """Where recordings are kept for the next time, if they are."""
    after: bool = False
    """Whether another snapshot lay open before."""

    @property
    def has_position(self) -> bool:
        """Whether the first position is chosen."""
        return self.goto is not None or self.job is not None

    def snapshots_to_choose(self) -> list[Path]:
        """The snapshots to choose from, where a folder holds some instead of being one."""
        folder = Path(self.source) if isinstance(self.source, str) and self.source != STDIN else None
        return find_snapshots(folder) if folder is not None and folder.is_dir() else []

    def newest_capture(self, files: list[Path]) -> Start:
        """The last of several captures of one cluster, with the others before it."""
        from vcdebug.snapshot.loader import load_snapshot

        reads = [partial(load_snapshot, file, complete=self.complete, release=self.release) for file in files]
        return replace(
            self.with_source(str(files[-1])), captures=CaptureSeries(None, list(reads[:-1]), list(reads[-1:]))
        )

    def with_source(self, source: str) -> Start:
        """The same for another snapshot."""
        return replace(self, source=source, name=Path(source).name)

    def source_path(self) -> SnapshotSource:
        """A bundled snapshot's folder for its name, else what was given."""
        if not isinstance(self.source, str) or Path(self.source).exists():
            return self.source
        return str(find_bundled(self.source) or self.source)

    def command_line_name(self) -> str:
        """What a command line calls the snapshot: a bundled one's name, a path, or - for standard input."""
        if not isinstance(self.source, str):
            return STDIN
        path = Path(self.source)
        if not path.exists():
            return self.source
        return path.name if find_bundled(path.name) == path else str(path)

    def apply_to(self, driver: Driver) -> DebuggerState:
        """Set the breakpoints, then go to the event, else to the job's first one."""
        there = driver.notebook.breakpoints.command_lines()
        for words in self.breaks:
            if f"break {words.removeprefix('break ')}" not in there:
                driver.add_breakpoint(words)
        if self.goto is not None:
            return driver.goto_event(self.goto)
        if self.job is not None:
            return driver.next_about("job", self.job, back=False)
        return driver.current_state()


class NextScreen(NamedTuple):
    """What follows the main screen: another snapshot, or the chooser with the reason why this one is closed."""

    snapshot: str = ""
    failure: str = ""
