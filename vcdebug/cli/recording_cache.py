"""Where the command line keeps recordings, and for which replays it does."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vcdebug.cli.output import Output
from vcdebug.errors import ConfigError, SnapshotError
from vcdebug.snapshot.bundled import resolve_snapshot_path
from vcdebug.snapshot.sources import find_only_snapshot

if TYPE_CHECKING:
    from vcdebug.files.recording_files import RecordingCache
    from vcdebug.recording.recording import Recording
    from vcdebug.snapshot.sources import Source


CACHE_VARIABLE: Final = "VCDEBUG_CACHE"
OFF_WORDS: Final = ("off", "no", "0")


class CachedRecordings:
    """Looks a recording up before its cycle is run, and keeps it once the answer is out."""

    def __init__(self, kept: RecordingCache, later: Callable[[Callable[[], object]], object]) -> None:
        self._kept = kept
        self._later = later

    def find_recording(self, source: Source, **options: object) -> tuple[str | None, Recording | None]:
        """What a recording of the source would be kept as, and the one that is."""
        from vcdebug.files.recording_files import cache_key

        key = cache_key(source, options)
        return key, None if key is None else self._kept.find_recording(key)

    def store_later(self, key: str, recording: Recording) -> None:
        """Keep it when everything else is done."""
        self._later(lambda: self._kept.cache_recording(key, recording))


def cached_recordings(args: Namespace, output: Output) -> CachedRecordings | None:
    """None where no recording is to be kept, or other bounds than the usual ones are asked for."""
    bounded = getattr(args, "max_events", None) or getattr(args, "max_memory", None)
    kept = None if bounded else open_cache(args)
    return None if kept is None else CachedRecordings(kept, output.afterwards.append)


def open_cache(args: Namespace | None = None) -> RecordingCache | None:
    """The folder of kept recordings; None where there is to be none."""
    from vcdebug.files.recording_files import DEFAULT_MEGABYTES, RecordingCache

    said = os.environ.get(CACHE_VARIABLE, "").strip()
    if said.lower() in OFF_WORDS or getattr(args, "no_cache", False):
        return None
    if said and not said.isdecimal():
        raise ConfigError(f"{said!r} is no number of megabytes", "off keeps none", CACHE_VARIABLE)
    return RecordingCache(cache_folder() / "recordings", int(said or DEFAULT_MEGABYTES))


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/vcdebug`, or where the platform has such folders."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if chosen.startswith("/"):
        return Path(chosen) / "vcdebug"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "vcdebug"
    local = os.environ.get("LOCALAPPDATA", "")
    return Path(local) / "vcdebug" if local else Path.home() / ".cache" / "vcdebug"


# From the word on the command line to the place where the snapshot lies.

STDIN = "-"


def snapshot_source(word: str) -> str | Path:
    """A path that exists, standard input, or the folder of a bundled snapshot."""
    if word == STDIN:
        return STDIN
    if not word:
        raise SnapshotError("the name of the snapshot is empty")
    return resolve_snapshot_path(word)


def one_snapshot_source(word: str) -> str | Path:
    """The same for whoever wants one snapshot: raises SnapshotError for a folder of several."""
    where = snapshot_source(word)
    return find_only_snapshot(where) if isinstance(where, Path) and where.is_dir() else where
