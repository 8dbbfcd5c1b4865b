"""The Python API: `vcdebug.replay(path)` gives a cycle's recording as tables, for notebooks and scripts."""

from pathlib import Path

from vcdebug.debugger.tables import TABLES, CellValue
from vcdebug.errors import VcdebugError, closest_name_hint
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.files.recording_files import is_recording_file, open_recording
from vcdebug.recording.recording import Recording, require_complete
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.sources import find_only_snapshot, resolve_snapshot_path


class ReplayedCycle:
    """One replayed cycle."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def __len__(self) -> int:
        return len(self._recording)

    @property
    def jobs(self) -> list[str]:
        """The session's jobs, as namespace/name."""
        return list(self._recording.session.jobs)

    @property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """Table name → its columns, as in `vcdebug export`."""
        return {name: tuple(table.types) for name, table in TABLES.items()}

    def read_table(self, name: str) -> list[dict[str, CellValue]]:
        """The rows of a table; raises VcdebugError for an unknown name."""
        if name not in TABLES:
            raise VcdebugError(f"no table {name!r}", closest_name_hint(name, list(TABLES), ", ".join(TABLES)))
        table = TABLES[name]
        return [dict(zip(table.types, row, strict=True)) for row in table.iter_rows(self._recording)]

    def explain(self, job: str) -> str:
        """The first line of `vcdebug explain` for the job or pod; raises VcdebugError for an unknown name."""
        return explain_by_name(self._recording, job).sentence


def replay(path: str | Path, *, release: str | None = None, complete: bool | None = None) -> ReplayedCycle:
    """Replay a snapshot, or open a recording; `path` is a path or the name of a bundled snapshot.

    `release` replays another release's scheduler; `complete` fills in what a server fills in. Raises VcdebugError.
    """
    source = resolve_snapshot_path(str(path))
    source = find_only_snapshot(source) if source.is_dir() else source
    if is_recording_file(source):
        if release is not None or complete is not None:
            raise VcdebugError("release and complete are for a snapshot, and this is a recording", where=str(path))
        return ReplayedCycle(open_recording(source))
    return ReplayedCycle(require_complete(replay_cycle(load_snapshot(source, complete=complete, release=release))))
